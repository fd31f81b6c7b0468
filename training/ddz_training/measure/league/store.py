"""Where a league keeps its games: one SQLite file, from which every table can be computed again.

Tables: ``settings`` (name, JSON), ``agents`` (label, specification), ``rounds`` (what was scheduled: round, pair, first
deal, number of deals) and ``games`` (the fields of :class:`ddz_training.measure.match.duplicate.GameRecord`; the key is
pair, deal and seats, so no game can be there twice).  The games of a deal are added in one transaction as soon as they
are reported.  SQLite keeps a write-ahead log beside the file while it is written: what has been committed survives a
kill at any moment, and the next process to open the file takes it over.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ddz_env.core.whole_file import real_path
from ddz_training.measure.match.duplicate import GameRecord, Match
from ddz_training.measure.match.errors import ResultsFileError, SettingsMismatchError
from ddz_training.measure.match.provenance import Provenance
from ddz_training.measure.match.results import as_rows, check_settings, claimed, of_rows
from ddz_training.measure.match.round_robin import Arena
from ddz_training.measure.match.statistics import balance

FORMAT = "ddz-league-1"
SUFFIXES = (".sqlite", ".db")

Pair = tuple[str, str]
"""Two labels in the order of the alphabet."""

_FIELDS = tuple(field.name for field in dataclasses.fields(GameRecord))
_TYPES = {"int": "INTEGER", "float": "REAL"}
_COLUMNS = ", ".join(
    f"{field.name} {_TYPES.get(str(field.type), 'TEXT')} NOT NULL" for field in dataclasses.fields(GameRecord)
)
_INSERT = f"INSERT INTO games ({', '.join(_FIELDS)}) VALUES (:{', :'.join(_FIELDS)})"
_SCHEMA = (
    "CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE agents (label TEXT PRIMARY KEY, spec TEXT NOT NULL)",
    "CREATE TABLE rounds (round INTEGER, a TEXT, b TEXT, first_deal INTEGER, deals INTEGER, "
    "PRIMARY KEY (a, b, first_deal))",
    f"CREATE TABLE games ({_COLUMNS}, PRIMARY KEY (a, b, deal, seats))",
)


def pairs_of(labels: Iterable[str]) -> list[Pair]:
    """Every pair of a league, as the store names it.

    Example:
        >>> pairs_of(["rules", "isuct", "random"])
        [('isuct', 'random'), ('isuct', 'rules'), ('random', 'rules')]
    """
    return list(itertools.combinations(sorted(labels), 2))


class League:
    """A file of a league as it is, for reports.

    Args:
        path: The file.

    Raises:
        ResultsFileError: If it does not exist or is none of a league.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if not self.path.is_file():
            raise ResultsFileError(f"there is no file {self.path}")
        with self._reading():
            self._db = sqlite3.connect(f"{real_path(self.path).as_uri()}?mode=ro", uri=True)
            self._check_format()

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    @property
    def settings(self) -> dict[str, Any]:
        """What the games depend on, and the code and files that they are from."""
        return {name: json.loads(value) for name, value in self._rows("SELECT name, value FROM settings ORDER BY name")}

    @property
    def agents(self) -> dict[str, str]:
        """Specification by label."""
        return dict(self._rows("SELECT label, spec FROM agents ORDER BY label"))

    @property
    def rounds(self) -> list[tuple[int, Pair, int, int]]:
        """What was scheduled: round, pair, first deal, number of deals."""
        rows = self._rows("SELECT round, a, b, first_deal, deals FROM rounds ORDER BY round, a, b, first_deal")
        return [(number, (a, b), first, deals) for number, a, b, first, deals in rows]

    def games(self) -> list[GameRecord]:
        """All games, ordered by pair, deal and game."""
        rows = self._rows(f"SELECT {', '.join(_FIELDS)} FROM games ORDER BY a, b, deal, game")
        return of_rows(GameRecord, (dict(zip(_FIELDS, row, strict=True)) for row in rows))

    def _rows(self, query: str) -> list[Any]:
        with self._reading():
            return self._db.execute(query).fetchall()

    @contextlib.contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise ResultsFileError(f"{self.path} cannot be used as the file of a league: {error}") from error

    def _check_format(self) -> None:
        if (found := self.settings.get("format")) != FORMAT:
            raise ResultsFileError(f"{self.path} is of the format {found!r}, not {FORMAT!r}")


class LeagueStore(League):
    """A file of a league that grows.

    Args:
        path: The file, ``.sqlite`` or ``.db``.
        arena: Agents, rules and seed.  Agents that are new to the league join it; the others keep their games.
        resume: Whether an existing file is resumed; otherwise it is refused.

    Attributes:
        here: The code and the agents' files of this process.
        tally: Games and wins of the pair's first agent, by pair.

    Raises:
        ResultsFileError: If the file is something else, cannot be written, or exists and ``resume`` is False.
        SettingsMismatchError: If it was written under other settings, or a label stands for another agent.
        AgentChangedError: If a file that an agent reads has been replaced since.
        InUseError: If another process has the file.
        UnknownAgentError: If an agent does not exist.
    """

    def __init__(self, path: str | Path, arena: Arena, resume: bool = False) -> None:
        self.path, self.arena, self.here = Path(path), arena, Provenance.of(arena.agents)
        file, self._claim = claimed(self.path, "a league is", SUFFIXES, resume)
        with self._reading():
            self._db = sqlite3.connect(file)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._enter()
        self.tally: dict[Pair, tuple[int, float]] = {}
        self._done: set[tuple[str, str, int]] = set()
        for game in self.games():
            self._count(game)

    def close(self) -> None:
        """Close the file: it is one file again, without a log beside it."""
        with contextlib.suppress(sqlite3.Error):  # somebody else is reading
            self._db.execute("PRAGMA journal_mode = DELETE")
        super().close()
        self._claim = None

    def sign(self) -> None:
        """Name the code and the agents of this process in the file, before anything is added.

        Raises:
            OtherCodeError: If the file was written by other code and that is not allowed.
        """
        signed = self.here.after(Provenance.take(self.settings), self.path) if self.tally else self.here
        with self._reading(), self._db:
            self._write_settings(signed.settings())

    def plan(self, blocks: Mapping[Pair, int]) -> None:
        """Schedule one more round.

        Args:
            blocks: How many deals each pair plays; they follow those it has.
        """
        planned = self.planned()
        number = 1 + max((number for number, *_ in self.rounds), default=0)
        rows = [(number, *pair, planned[pair], deals) for pair, deals in blocks.items()]
        with self._reading(), self._db:
            self._db.executemany("INSERT INTO rounds VALUES (?, ?, ?, ?, ?)", rows)

    def planned(self) -> Counter[Pair]:
        """How many deals each pair was given so far."""
        found = Counter[Pair]()
        for _, pair, _, deals in self.rounds:
            found[pair] += deals
        return found

    def missing(self) -> list[Match]:
        """What has been scheduled for the agents of this run and not been played, in the order of the rounds."""
        specs = dict(zip(self.arena.labels, self.arena.agents, strict=True))
        return [
            Match((a, b), deal, (specs[a], specs[b]))
            for _, (a, b), first, deals in self.rounds
            if a in specs and b in specs
            for deal in range(first, first + deals)
            if (a, b, deal) not in self._done
        ]

    def add(self, games: Sequence[GameRecord]) -> None:
        """Add the games of a deal: all of them or, if the process is killed meanwhile, none.

        Raises:
            ResultsFileError: If one of them is there already, or the file cannot be written.
        """
        with self._reading(), self._db:
            self._db.executemany(_INSERT, as_rows(GameRecord, games))
        for game in games:
            self._count(game)

    def _count(self, game: GameRecord) -> None:
        played, won = self.tally.get((game.a, game.b), (0, 0.0))
        self.tally[game.a, game.b] = played + 1, won + balance(game, "a")
        self._done.add((game.a, game.b, game.deal))

    def _enter(self) -> None:
        """Make the tables, or check that the file is of this league; then let new agents join."""
        settings = {"format": FORMAT, **self.arena.settings()}
        settings = {name: value for name, value in settings.items() if name not in ("agents", "names")}
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            if not self._db.execute("SELECT 1 FROM sqlite_master").fetchone():
                for statement in _SCHEMA:
                    self._db.execute(statement)
                self._write_settings(settings)
            self._check_format()
            found = self.settings
            said = Provenance.take(found)
            check_settings(self.path, found, settings)
            self.here.check_files(said, self.path)
            known = self.agents
            for label, spec in zip(self.arena.labels, self.arena.agents, strict=True):
                if known.setdefault(label, spec) != spec:
                    raise SettingsMismatchError(
                        f"{self.path} has another agent {label!r}, {known[label]!r}: give this one another --name"
                    )
            self._db.executemany("INSERT OR IGNORE INTO agents VALUES (?, ?)", known.items())

    def _write_settings(self, settings: Mapping[str, Any]) -> None:
        rows = [(name, json.dumps(value, ensure_ascii=False, sort_keys=True)) for name, value in settings.items()]
        self._db.executemany("INSERT OR REPLACE INTO settings VALUES (?, ?)", rows)
