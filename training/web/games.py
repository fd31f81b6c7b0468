"""The games of the server: each under a name that nobody guesses, kept as a file after every move.

A server that is killed goes on with all of them.  Only the games used last are in memory; a game without a move for a
week is deleted.
"""

from __future__ import annotations

import contextlib
import re
import secrets
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ddz_env.errors import DouDizhuError
from ddz_env.session import PERSON, Record, RecordError, Session
from training.arena.one_writer import claim
from training.web.errors import GameLostError, NoSuchGameError, RequestError, WebOptionError

LIFETIME = 7 * 24 * 3600.0
"""Seconds after which a game without a move is deleted."""
IN_MEMORY = 256
_NAME = r"[A-Za-z0-9_-]{22}"
_FILE = re.compile(rf"\.?({_NAME})\.game\.txt(\..*)?")
"""A game's file, or what a server that was killed while it wrote has left behind."""


@dataclass
class Game:
    """A game of the server.

    Attributes:
        name: Its name: whoever knows it sits at the table.
        session: The game.
        lock: Held by whoever reads or changes it.
        users: How many hold it or wait for it; such a game stays in memory.
    """

    name: str
    session: Session
    lock: threading.Lock = field(default_factory=threading.Lock)
    users: int = 0

    @property
    def viewer(self) -> int | None:
        """The person's seat; None where only agents play."""
        players = self.session.players
        return players.index(PERSON) if PERSON in players else None

    @property
    def is_open(self) -> bool:
        """Whether everybody may see the whole game: nobody plays it, or not any more."""
        return self.viewer is None or self.session.is_over


class Games:
    """All games of a server.

    Args:
        folder: Where they are kept; it is made if there is none.
        agents: The agents that may play: a page never names any other code.

    Raises:
        WebOptionError: If the folder cannot be written.
        InUseError: If another server keeps its games there.
    """

    def __init__(self, folder: Path, agents: Sequence[str]) -> None:
        self._folder, self._agents = folder, frozenset(agents)
        self._lock = threading.Lock()
        self._used: OrderedDict[str, Game] = OrderedDict()
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder) as file:
                file.write(b"0" * 4096)
        except OSError as error:
            raise WebOptionError(f"games cannot be kept in {folder}: {error.strerror or error}") from error
        self._claim = claim(folder, folder=True)
        self.expire()

    def begin(self, record: Record) -> str:
        """Begin a game, and return its name.

        Raises:
            RequestError: If an agent is not offered, or several persons would share one page.
            DouDizhuError: If the record cannot be played.
            OSError: If it cannot be kept.
        """
        self.expire()
        game = Game(secrets.token_urlsafe(16), self._session(record))
        self.keep(game)
        with self._lock:
            self._remember(game)
        return game.name

    @contextmanager
    def held(self, name: str) -> Iterator[Game]:
        """A game by name, for one user at a time.

        Raises:
            NoSuchGameError: If there is none.
            GameLostError: If its file cannot be read any more.
        """
        path = self._path(name)
        with self._lock:
            game = self._used.get(name)
            if game is None:
                game = Game(name, self._read(path))
            game.users += 1
            self._remember(game)
        try:
            with game.lock:
                yield game
        finally:
            with self._lock:
                game.users -= 1

    def keep(self, game: Game) -> None:
        """Write a game's file, whole or not at all.

        Raises:
            OSError: If it cannot be written: the game is then as it was before.
        """
        try:
            game.session.record().save(self._path(game.name))
        except OSError:
            with self._lock, contextlib.suppress(NoSuchGameError, DouDizhuError):
                game.session = self._read(self._path(game.name))
            raise

    def replace(self, game: Game, seat: int, agent: str) -> None:
        """Let another agent take an agent's seat.

        Raises:
            RequestError: If the agent is not offered, or the seat is the person's.
        """
        record = game.session.record()
        if record.players[seat] == PERSON:
            raise RequestError(f"seat {seat} is held by a person")
        players = (*record.players[:seat], agent, *record.players[seat + 1 :])
        game.session = self._session(Record(record.deal, players, record.moves))
        self.keep(game)

    def check_agent(self, name: str) -> str:
        """The same name.

        Raises:
            RequestError: If the agent is not offered.
        """
        if name not in self._agents:
            raise RequestError(f"the agent {name[:80]!r} is not offered here: see --agent of ddz web")
        return name

    def expire(self, now: float | None = None) -> None:
        """Delete games without a move for a week; no other file of the folder is touched."""
        now = time.time() if now is None else now
        for path in self._folder.iterdir():
            found = _FILE.fullmatch(path.name)
            with contextlib.suppress(OSError):
                if found and now - path.stat().st_mtime > LIFETIME:
                    path.unlink()
                    with self._lock:
                        self._used.pop(found[1], None)

    def _remember(self, game: Game) -> None:
        """Put a game in front of those in memory; the lock is held."""
        self._used[game.name] = game
        self._used.move_to_end(game.name)
        for name in [name for name, one in self._used.items() if not one.users][: max(0, len(self._used) - IN_MEMORY)]:
            if name != game.name:
                self._used.pop(name).session.close()

    def _read(self, path: Path) -> Session:
        if not path.exists():
            raise NoSuchGameError("there is no such game: it may have expired")
        try:
            return self._session(Record.load(path))
        except RecordError as error:
            raise GameLostError("the file of this game cannot be read any more") from error

    def _session(self, record: Record) -> Session:
        for name in record.players:
            if name != PERSON:
                self.check_agent(name)
        if record.players.count(PERSON) > 1:
            raise RequestError("one page is one person: the other seats are held by agents")
        return Session(record, shown=record.deal.endgame)  # an endgame is a puzzle: hands are open

    def _path(self, name: str) -> Path:
        if not re.fullmatch(_NAME, name):
            raise NoSuchGameError("there is no such game")
        return self._folder / f"{name}.game.txt"
