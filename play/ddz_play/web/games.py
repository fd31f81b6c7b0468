"""A store of the web server's games, each under a secret name and saved to a file after every move.

A server that was killed resumes all of them.  Only the games used last are in memory.  A game without a move for two
weeks is deleted.
"""

from __future__ import annotations

import contextlib
import logging
import re
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ddz_env.playing.agent import Agent
from ddz_env.playing.registry import LEVELS, make_agent
from ddz_env.saved_games import PERSON, SavedGame, SavedGameError
from ddz_env.support.errors import DouDizhuError
from ddz_play.session import AdviserPool, Session
from ddz_play.winning_chances import auction_changes_points
from ddz_training.measure.store import lock_path

LIFETIME = 14 * 24 * 3600.0
"""Seconds after which a game without a move is deleted."""
MAX_IN_MEMORY = 32
"""Games; agents may hold some ten megabytes for each, and a game is read again in milliseconds."""
_log = logging.getLogger(__name__)
_NAME = r"[A-Za-z0-9_-]{22}"
_FILE = re.compile(rf"\.?({_NAME})\.game\.txt(\..*)?")
"""A game's file, or what a server that was killed while it wrote has left behind."""


class NoSuchGameError(DouDizhuError):
    """Raised when the requested game does not exist or has expired."""


class GameLostError(DouDizhuError):
    """Raised when a game's saved file is damaged."""


class StaleGameError(DouDizhuError):
    """Raised when a game has moved on since the page that sends the request was drawn."""


class RequestError(DouDizhuError):
    """Raised when a request is malformed or asks for something that is not offered; the message explains it."""


class WebOptionError(DouDizhuError):
    """Raised when the server cannot be started with a given option."""


@dataclass(frozen=True)
class StoredGame:
    """A server's game at one moment, read only; a change makes a new session (:meth:`GameStore.save`).

    Attributes:
        name: Its name; to know it is to sit at the table.
        session: The game, which is read only.
    """

    name: str
    session: Session

    @property
    def viewer(self) -> int | None:
        """The person's seat, or None if only agents play."""
        players = self.session.players
        return players.index(PERSON) if PERSON in players else None

    @property
    def is_open(self) -> bool:
        """Whether the whole game may be seen, because it is over or only agents play."""
        return self.viewer is None or self.session.is_over


@dataclass
class _LoadedGame:
    """A game in memory, with its lock and the number of requests that use it.

    Attributes:
        session: The game; None until its file has been read under the lock.
        lock: Held while the game changes, its agent's thinking included, and while its file is read.
        users: Requests that look at it; such a game stays in memory.
    """

    session: Session | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)
    users: int = 0


class GameStore:
    """A server's store of games, keyed by their secret names.

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
        self.advisers = AdviserPool()
        self._lock = threading.Lock()
        self._loaded: OrderedDict[str, _LoadedGame] = OrderedDict()
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._claim = lock_path(folder, folder=True)
        except OSError as error:
            raise WebOptionError(f"games cannot be kept in {folder}: {error.strerror or error}") from error
        self.delete_expired()

    def begin(self, record: SavedGame) -> str:
        """Create a game from a record, save it to a file, and return its secret name.

        Raises:
            RequestError: If an agent is not offered, or several persons would share one page.
            DouDizhuError: If the record cannot be played.
            OSError: If it cannot be kept.
        """
        self.delete_expired()
        name, session = secrets.token_urlsafe(16), self._open_session(record)
        session.to_saved_game().save(self._path(name))
        with self._lock:
            self._loaded[name] = _LoadedGame(session)
        return name

    @contextmanager
    def hold(self, name: str, *, exclusive: bool = False) -> Iterator[StoredGame]:
        """Hold the current state of a game in memory for the duration of a ``with`` block.

        Args:
            name: The name.
            exclusive: Wait until nobody else changes the game, and let nobody else change it meanwhile.

        Raises:
            NoSuchGameError: If there is none.
            GameLostError: If its file cannot be read any more.
        """
        path = self._path(name)
        if not path.exists():
            raise NoSuchGameError("there is no such game: it may have expired")
        with self._lock:
            kept = self._loaded.setdefault(name, _LoadedGame())
            self._loaded.move_to_end(name)
            kept.users += 1
        try:
            if kept.session is None:
                with kept.lock:
                    kept.session = kept.session or self._load(path)
            with kept.lock if exclusive else contextlib.nullcontext():
                yield StoredGame(name, kept.session)
        finally:
            self._unload(kept)

    def save(self, game: StoredGame, session: Session) -> StoredGame:
        """Save a game's new session to the game's file, and return the game with that session.

        Raises:
            OSError: If it cannot be written: the game is then as it was before.
        """
        session.to_saved_game().save(self._path(game.name))
        self._loaded[game.name].session = session
        return StoredGame(game.name, session)

    def replace(self, game: StoredGame, seat: int, agent: str) -> StoredGame:
        """Replace the agent in a seat by another agent, and save the game.

        Raises:
            RequestError: If the agent is not offered, or the seat is the person's.
        """
        record = game.session.to_saved_game()
        if record.players[seat] == PERSON:
            raise RequestError(f"a person plays seat {seat}: only an agent can be replaced")
        players = (*record.players[:seat], agent, *record.players[seat + 1 :])
        after = self.save(game, self._open_session(SavedGame(record.deal, players, record.moves)))
        _close_quietly(game.session)
        return after

    def close(self) -> None:
        """Close the agents of all games and all advisers when the server ends."""
        with self._lock:
            held = [game.session for game in self._loaded.values()]
        for used in (*held, self.advisers):
            _close_quietly(used)

    def check_agent(self, name: str) -> str:
        """Return an agent's name unchanged if this server offers the agent; otherwise raise an error.

        Raises:
            RequestError: If the agent is not offered.
        """
        if name not in self._agents:
            raise RequestError(f"the agent {name[:80]!r} is not offered here: see --agent of ddz web")
        return name

    def delete_expired(self) -> None:
        """Delete the files of games without a move for two weeks."""
        for path in self._folder.iterdir():
            match = _FILE.fullmatch(path.name)
            with self._lock, contextlib.suppress(OSError):
                if match and match[1] not in self._loaded and time.time() - path.stat().st_mtime > LIFETIME:
                    path.unlink()

    def _unload(self, game: _LoadedGame) -> None:
        """End a request's use of a loaded game, and close the least recently used games beyond the memory limit."""
        with self._lock:
            game.users -= 1
            idle = [name for name, other in self._loaded.items() if not other.users]
            gone = [self._loaded.pop(name) for name in idle[: max(0, len(self._loaded) - MAX_IN_MEMORY)]]
        for other in gone:  # an agent may take its time
            _close_quietly(other.session)

    def _load(self, path: Path) -> Session:
        try:
            return self._open_session(SavedGame.load(path))
        except SavedGameError as error:
            raise GameLostError("the file of this game is damaged: begin a new game") from error

    def _open_session(self, record: SavedGame) -> Session:
        for name in record.players:
            if name != PERSON:
                self.check_agent(name)
        if record.players.count(PERSON) > 1:
            raise RequestError("one person plays on a page: name agents for the other seats")
        # An endgame is a puzzle: hands are open.
        session = Session(record, _make_bidders(record), shown=record.deal.endgame, advisers=self.advisers)
        unnamed = [record.players[seat] for seat in session.cheaters if record.players[seat] not in self._named]
        if unnamed:
            _close_quietly(session)
            raise RequestError(f"{unnamed[0]} looks at hidden cards: it plays puzzles alone, unless --agent names it")
        return session

    def _path(self, name: str) -> Path:
        if not re.fullmatch(_NAME, name):
            raise NoSuchGameError(f"{name[:80]!r} is not the name of a game")
        return self._folder / f"{name}.game.txt"


def _make_bidders(record: SavedGame) -> dict[int, Agent]:
    """Create agents that bid, show and double for the seats held by levels, if the rules make points depend on it."""
    levels = [level.name for level in LEVELS if auction_changes_points(record.deal.rules)]
    levels_by_seat = {seat: name for seat, name in enumerate(record.players) if name in levels}
    return {seat: make_agent(f"payoff:gain=points,card_player={name}") for seat, name in levels_by_seat.items()}


def _close_quietly(used: Session | AdviserPool | None) -> None:
    """Close a session or an adviser pool, logging a failure of its agents instead of raising it."""
    try:
        if used is not None:
            used.close()
    except Exception:
        _log.exception("an agent failed when its game was put away")
