"""The games of the server: each under a name that nobody guesses, kept as a file after every move.

A server that is killed goes on with all of them.  What is in memory is only what was used last; a game that nobody has
touched for a week is deleted.
"""

from __future__ import annotations

import re
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ddz_env.session import PERSON, Record, Session
from training.web.errors import NoSuchGameError, RequestError

LIFETIME = 7 * 24 * 3600.0
"""Seconds after which a game that nobody touched is deleted."""
IN_MEMORY = 64
_NAME = re.compile(r"[A-Za-z0-9_-]{22}")


@dataclass
class Game:
    """A game of the server.

    Attributes:
        name: Its name: whoever knows it sits at the table.
        session: The game.
        lock: Held by whoever reads or changes it.
    """

    name: str
    session: Session
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def viewer(self) -> int | None:
        """The person's seat; None where only agents play."""
        players = self.session.players
        return players.index(PERSON) if PERSON in players else None


class Games:
    """All games of a server.

    Args:
        folder: Where they are kept; it is made if there is none.
        agents: The agents that may play: a page never names any other code.

    Raises:
        OSError: If the folder cannot be written.
    """

    def __init__(self, folder: Path, agents: Sequence[str]) -> None:
        self._folder, self._agents = folder, frozenset(agents)
        self._lock = threading.Lock()
        self._used: OrderedDict[str, Game] = OrderedDict()
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)
        self.expire()

    def begin(self, record: Record) -> Game:
        """A new game.

        Raises:
            RequestError: If an agent is not offered, or several persons would share one page.
            DouDizhuError: If the record cannot be played.
        """
        self.expire()
        game = Game(secrets.token_urlsafe(16), self._session(record))
        self.keep(game)
        self._remember(game)
        return game

    def find(self, name: str) -> Game:
        """A game by name.

        Raises:
            NoSuchGameError: If there is none.
        """
        path = self._path(name)
        with self._lock:
            if (game := self._used.get(name)) is not None:
                self._used.move_to_end(name)
                return game
            if not path.exists():
                raise NoSuchGameError("there is no such game: it may have expired")
            game = Game(name, self._session(Record.load(path)))
        self._remember(game)
        return game

    def keep(self, game: Game) -> None:
        """Write a game's file, whole or not at all.

        Raises:
            OSError: If it cannot be written.
        """
        game.session.record().save(self._path(game.name))

    def check_agent(self, name: str) -> str:
        """The same name.

        Raises:
            RequestError: If the agent is not offered.
        """
        if name not in self._agents:
            raise RequestError(f"the agent {name[:80]!r} is not offered here: see --agents of ddz web")
        return name

    def expire(self, now: float | None = None) -> None:
        """Delete what nobody has touched for a week."""
        now = time.time() if now is None else now
        for path in self._folder.glob("*.txt"):
            if now - path.stat().st_mtime > LIFETIME:
                path.unlink(missing_ok=True)
                with self._lock:
                    self._used.pop(path.stem, None)

    def _remember(self, game: Game) -> None:
        with self._lock:
            self._used.setdefault(game.name, game)
            while len(self._used) > IN_MEMORY:
                self._used.popitem(last=False)

    def _session(self, record: Record) -> Session:
        for name in record.players:
            if name != PERSON:
                self.check_agent(name)
        if record.players.count(PERSON) > 1:
            raise RequestError("one page is one person: the other seats are held by agents")
        return Session(record, shown=record.deal.endgame)  # an endgame is a puzzle: hands are open

    def _path(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            raise NoSuchGameError("there is no such game")
        return self._folder / f"{name}.txt"
