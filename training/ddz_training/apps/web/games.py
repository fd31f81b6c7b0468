"""The games of the server: each under a secret name, kept as a file after every move.

A server that is killed goes on with all of them.  Only the games used last are in memory.  A game without a move for
two weeks is deleted.
"""

from __future__ import annotations

import contextlib
import logging
import math
import re
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ddz_env.core.errors import DouDizhuError
from ddz_env.playing.agent import Agent
from ddz_env.playing.registry import LEVELS, make_agent
from ddz_env.table.session import PERSON, Advisers, Record, RecordError, Session
from ddz_training.apps.chances import auction_counts_points
from ddz_training.measure.store import claim

LIFETIME = 14 * 24 * 3600.0
"""Seconds after which a game without a move is deleted."""
TIDIED_EVERY = 3600.0
"""Seconds between two looks for such games."""
IN_MEMORY = 32
"""Games; agents may hold some ten megabytes for each, and a game is read again in milliseconds."""
_log = logging.getLogger(__name__)
_NAME = r"[A-Za-z0-9_-]{22}"
_FILE = re.compile(rf"\.?({_NAME})\.game\.txt(\..*)?")
"""A game's file, or what a server that was killed while it wrote has left behind."""


class NoSuchGameError(DouDizhuError):
    """There is no game of that name, or it has expired."""


class GameLostError(DouDizhuError):
    """A game's file has been damaged."""


class StaleGameError(DouDizhuError):
    """The game has gone on since the page was drawn."""


class RequestError(DouDizhuError):
    """A request does not say what it should; the message names the field."""


class WebOptionError(DouDizhuError):
    """The server cannot be started like that."""


@dataclass
class StoredGame:
    """A game of the server.

    Attributes:
        name: Its name; to know it is to sit at the table.
        loaded: The game; None until its file has been read under the lock.
        lock: Held while it is read or changed, but not while its agents think.
        users: Requests that hold it or wait for it; such a game stays in memory.
    """

    name: str
    loaded: Session | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)
    users: int = 0

    @property
    def session(self) -> Session:
        """The game."""
        if self.loaded is None:
            raise NoSuchGameError("there is no such game")
        return self.loaded

    @property
    def viewer(self) -> int | None:
        """The person's seat; None where only agents play."""
        players = self.session.players
        return players.index(PERSON) if PERSON in players else None

    @property
    def is_open(self) -> bool:
        """Whether the whole game may be seen: it is over, or only agents play."""
        return self.viewer is None or self.session.is_over


class Games:
    """All games of a server.

    Args:
        folder: Where they are kept; it is made if there is none.
        agents: The agents that may play: a page never names any other code.
        advisers: Agents that may also give advice; one that looks at hidden cards plays only where all hands lie open.

    Attributes:
        advisers: Who gives hints: the same agents in all games.

    Raises:
        WebOptionError: If the folder cannot be written.
        InUseError: If another server keeps its games there.
    """

    def __init__(self, folder: Path, agents: Sequence[str], advisers: Sequence[str] = ()) -> None:
        self._folder, self._named, self._agents = folder, frozenset(agents), frozenset((*agents, *advisers))
        self.advisers = Advisers()
        self._tidied = -math.inf
        self._lock = threading.Lock()
        self._used: OrderedDict[str, StoredGame] = OrderedDict()
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._claim = claim(folder, folder=True)
        except OSError as error:
            raise WebOptionError(f"games cannot be kept in {folder}: {error.strerror or error}") from error
        self.expire()

    def begin(self, record: Record) -> str:
        """Begin a game, and return its name.

        Raises:
            RequestError: If an agent is not offered, or several persons would share one page.
            DouDizhuError: If the record cannot be played.
            OSError: If it cannot be kept.
        """
        self.expire()
        game = StoredGame(secrets.token_urlsafe(16), self._session(record))
        try:
            self.keep(game)
        except BaseException:
            _release(game.session)
            raise
        self._remember(game)
        return game.name

    @contextmanager
    def held(self, name: str) -> Iterator[StoredGame]:
        """A game by name, for one user at a time.

        Raises:
            NoSuchGameError: If there is none.
            GameLostError: If its file cannot be read any more.
        """
        with self._in_use(name) as game, self._loaded(game):
            yield game

    @contextmanager
    def studied(self, name: str) -> Iterator[StoredGame]:
        """A copy of a game by name, whose agents may think while the game itself is looked at and played on.

        Only one copy of a game may let its agents move at a time; advice comes from others.

        Raises:
            NoSuchGameError: If there is none.
            GameLostError: If its file cannot be read any more.
        """
        with self._in_use(name) as game:
            with self._loaded(game):
                copy = StoredGame(name, game.session.copy())
            yield copy

    def go_on(self, copy: StoredGame, number: int) -> None:
        """Let a game go on as its copy has, if it has not gone on since.

        Args:
            copy: The copy; it holds more moves now.
            number: How many moves the game had.

        Raises:
            StaleGameError: If the game has gone another way.
            OSError: If it cannot be kept.
        """
        with self.held(copy.name) as game:
            now, then = game.session, copy.session
            if (now.players, now.moves) != (then.players, then.moves[:number]):
                raise StaleGameError("the game has gone on: this page shows it now")
            game.loaded = then
            self.keep(game)

    @contextmanager
    def _loaded(self, game: StoredGame) -> Iterator[None]:
        """Hold a game's lock; the first to do so reads its file."""
        with game.lock:
            if game.loaded is None:
                game.loaded = self._read(self._path(game.name))
            self._remember(game)
            yield

    @contextmanager
    def _in_use(self, name: str) -> Iterator[StoredGame]:
        """A game that stays in memory meanwhile."""
        self._path(name)  # refuses a wrong name
        with self._lock:
            game = self._used.setdefault(name, StoredGame(name))
            game.users += 1
        try:
            yield game
        finally:
            with self._lock:
                game.users -= 1
                if game.loaded is None and not game.users:
                    self._used.pop(name, None)

    def keep(self, game: StoredGame) -> None:
        """Write a game's file, whole or not at all.

        Raises:
            OSError: If it cannot be written: the game is then as it was before.
        """
        try:
            game.session.record().save(self._path(game.name))
        except OSError:
            with contextlib.suppress(DouDizhuError):
                self._swap(game, self._read(self._path(game.name)))
            raise

    def replace(self, game: StoredGame, seat: int, agent: str) -> None:
        """Let another agent take an agent's seat.

        Raises:
            RequestError: If the agent is not offered, or the seat is the person's.
        """
        record = game.session.record()
        if record.players[seat] == PERSON:
            raise RequestError(f"seat {seat} is held by a person")
        players = (*record.players[:seat], agent, *record.players[seat + 1 :])
        self._swap(game, self._session(Record(record.deal, players, record.moves)))
        self.keep(game)

    def close(self) -> None:
        """Release what the agents of all games hold: the server ends."""
        with self._lock:
            games, self._used = self._used, OrderedDict()
        for game in games.values():
            if game.loaded is not None:
                _release(game.loaded)
        _release(self.advisers)

    def check_agent(self, name: str) -> str:
        """The same name.

        Raises:
            RequestError: If the agent is not offered.
        """
        if name not in self._agents:
            raise RequestError(f"the agent {name[:80]!r} is not offered here: see --agent of ddz web")
        return name

    def expire(self) -> None:
        """Delete games without a move for two weeks; no other file is touched."""
        if time.monotonic() - self._tidied < TIDIED_EVERY:
            return
        self._tidied = time.monotonic()
        for path in self._folder.iterdir():
            found = _FILE.fullmatch(path.name)
            with self._lock, contextlib.suppress(OSError):
                if found and found[1] not in self._used and time.time() - path.stat().st_mtime > LIFETIME:
                    path.unlink()

    def _remember(self, game: StoredGame) -> None:
        """Put a game in front of those in memory, and let those go that were used least lately."""
        with self._lock:
            self._used[game.name] = game
            self._used.move_to_end(game.name)
            idle = [name for name, one in self._used.items() if not one.users and one is not game]
            gone = [self._used.pop(name) for name in idle[: max(0, len(self._used) - IN_MEMORY)]]
        for one in gone:  # an agent may take its time
            _release(one.session)

    def _swap(self, game: StoredGame, session: Session) -> None:
        """Go on with another session; what the agents of the one before hold is released."""
        before, game.loaded = game.session, session
        _release(before)

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
        # An endgame is a puzzle: hands are open.
        session = Session(record, _bidders(record), shown=record.deal.endgame, advisers=self.advisers)
        unnamed = [record.players[seat] for seat in session.cheaters if record.players[seat] not in self._named]
        if unnamed:
            _release(session)
            raise RequestError(f"{unnamed[0]} looks at hidden cards: it plays puzzles alone, unless --agent names it")
        return session

    def _path(self, name: str) -> Path:
        if not re.fullmatch(_NAME, name):
            raise NoSuchGameError("there is no such game")
        return self._folder / f"{name}.game.txt"


def _bidders(record: Record) -> dict[int, Agent]:
    """The levels, which bid, show and double for the points that count."""
    levels = [level.name for level in LEVELS if auction_counts_points(record.deal.rules)]
    found = {seat: name for seat, name in enumerate(record.players) if name in levels}
    return {seat: make_agent(f"payoff:gain=points,play={name}") for seat, name in found.items()}


def _release(used: Session | Advisers) -> None:
    """Close a session or the advisers; a failure of their agents is only logged."""
    try:
        used.close()
    except Exception:
        _log.exception("an agent failed when its game was put away")
