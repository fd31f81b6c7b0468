"""Agents that fail, cheat or stall, in one table; each is played by name, as a user's own agent is.

``LOSES`` lose their games by a fault that is named, ``STALLS`` do so in a process of their own, and ``KEEPS`` must play
as :class:`Honest` does.  Agent ``raises lines`` is the class ``tests.sabotage.hostile:RaisesLines``.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import random
import re
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ddz_env import Move, State, View
from ddz_training.measure.contest import Arena, run_arena
from ddz_training.measure.duplicate import GameRecord
from tests.sabotage import Outcome

_DEALS = 2
_TIME_LIMIT = 2.0


class Honest:
    """Plays the first legal move; what the cheats are compared with."""

    def act(self, view: View, rng: np.random.Generator) -> Move:
        return view.legal_moves()[0]


def unread(kind: type[Move], **fields: object) -> Move:
    """A move that was not checked when it was made."""
    move = object.__new__(kind)
    for name, value in fields.items():
        object.__setattr__(move, name, value)
    return move


def _raise(error: BaseException) -> Any:
    raise error


class Endless(Move):
    kickers: Any = property(lambda self: itertools.repeat(3))


class Leaving(Move):
    main: Any = property(lambda self: sys.exit(0))


class Changing(Move):
    """Says something else at each read; the first reading counts, and it is the honest one."""

    def __getattribute__(self, name: str) -> Any:
        if name == "main":
            fields = object.__getattribute__(self, "__dict__")
            fields["read"] = fields.get("read", -1) + 1
            return fields["first"] if fields["read"] == 0 else fields["read"] % 300
        return super().__getattribute__(name)


async def _later(view: View) -> Move:
    return view.legal_moves()[0]


def _recurse(view: View) -> Move:
    return _recurse(view)


def _rocket(view: View) -> Move:
    return next(move for move in (Move.parse("BR"), Move.parse("pass")) if move not in view.legal_moves())


LOSES: dict[str, tuple[str, str, Any]] = {
    "quits": ("act", "SystemExit: 0", lambda view: sys.exit(0)),
    "raises": ("act", "RuntimeError: on purpose", lambda view: _raise(RuntimeError("on purpose"))),
    "raises lines": ("act", "a table", lambda view: _raise(ValueError("a table\n| of | its | own |\x1b[2J\r\0"))),
    "raises a megabyte": ("act", "ValueError: ...", lambda view: _raise(ValueError("x" * 1_000_000))),
    "raises StopIteration": ("act", "StopIteration", lambda view: _raise(StopIteration())),
    "recurses": ("act", "RecursionError", _recurse),
    "answers nothing": ("act", "act must return a Move, not None", lambda view: None),
    "answers text": ("act", "act must return a Move, not 'pass'", lambda view: "pass"),
    "answers an id": ("act", "act must return a Move, not 0", lambda view: 0),
    "answers an array": ("act", "act must return a Move", lambda view: np.zeros(400)),
    "answers a coroutine": ("act", "act must return a Move", _later),
    "answers a bid": ("act", "", lambda view: Move.parse("bid 3")),
    "answers what is not legal": ("act", "not legal", _rocket),
    "answers huge numbers": ("act", "", lambda view: unread(Move, main=10**30, kickers=(10**30,))),
    "answers endless kickers": ("act", "kickers", lambda view: unread(Endless, main=view.legal_moves()[0].main)),
    "answers a move that quits": ("act", "SystemExit: 0", lambda view: unread(Leaving, kickers=())),
    "fails in reset": ("reset", "SystemExit: 0", lambda seat, rules: sys.exit(0)),
    "fails in observe": ("observe", "SystemExit: 0", lambda seat, move: sys.exit(0)),
    "fails in its name": ("name", "", property(lambda self: _raise(OSError("no name")))),
    "cannot be made": ("__init__", "SystemExit", lambda: sys.exit(0)),
    "has no act": ("no act", "", None),
}
"""What fails, part of the reason that is given (without its line), and what the agent does then."""
_LINE = re.compile(r" \(hostile\.py, line \d+\)")


def _stop_signals(view: View) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM):
        signal.signal(number, signal.SIG_IGN)
    time.sleep(1_000)


STALLS: dict[str, tuple[str, str, Any]] = {
    "sleeps": ("act", "", lambda view: time.sleep(1_000)),
    "spins": ("act", "", lambda view: [None for _ in itertools.repeat(None) if False]),
    "ignores signals": ("act", "", _stop_signals),
    "ends its process": ("act", "", lambda view: os._exit(0)),
    "kills its process": ("act", "", lambda view: os.kill(os.getpid(), signal.SIGKILL)),
    "reads null pointers": ("act", "", lambda view: ctypes.string_at(0)),
}
"""The same of agents that only a process of their own, and a limit of time, can stop."""


def _write(thing: Any, *names: str) -> None:
    """Write into something in every way."""
    for name in names:
        with contextlib.suppress(Exception):
            getattr(thing, name)[...] = 1
        with contextlib.suppress(Exception):
            getattr(thing, name).clear()
        with contextlib.suppress(Exception):
            setattr(thing, name, 4)


def _draw(view: View, rng: np.random.Generator) -> None:
    rng.random(1_000)
    np.random.seed(0)  # noqa: NPY002
    random.seed(0)
    np.random.random(10)  # noqa: NPY002


def _replace(view: View, rng: np.random.Generator) -> None:
    with contextlib.suppress(Exception):
        rng.bit_generator.state = np.random.default_rng(0).bit_generator.state


def _read_the_seed(view: View, rng: np.random.Generator) -> None:
    """Fail if the generator's seeds deal this very game."""
    numbers = [int(n) for n in np.atleast_1d(rng.bit_generator.seed_seq.entropy)]  # type: ignore[attr-defined]
    for seed, game in itertools.product(numbers, [0, *numbers]):
        with contextlib.suppress(Exception):
            if State.new(seed=seed, game=game).view(view.seat).hand == view.hand and not view.history:
                raise SystemExit("the generator gave the deal away")


KEEPS: dict[str, tuple[str, Any]] = {
    "writes the view": ("act", lambda view, rng: _write(view, *dir(view))),
    "writes the rules": ("reset", lambda seat, rules: _write(rules, "open_hands", "kicker_repeat", "bombs", "deck")),
    "writes heard moves": ("observe", lambda seat, move: _write(move, "main", "kickers")),
    "draws from all generators": ("act", _draw),
    "replaces its generator": ("act", _replace),
    "reads the seed": ("act", _read_the_seed),
    "warns": ("act", lambda view, rng: warnings.warn("noise", stacklevel=1)),
    "starts threads": ("act", lambda view, rng: threading.Thread(target=time.sleep, args=(0.01,), daemon=True).start()),
    "fails in close": ("close", lambda: sys.exit(0)),
}
"""What the agent does beside its honest move, and when."""


class Changes(Honest):
    def act(self, view: View, rng: np.random.Generator) -> Move:
        honest = super().act(view, rng)
        return unread(Changing, first=honest.main, kickers=honest.kickers)


def _class(name: str) -> str:
    """The name of an agent's class."""
    return "".join(word[:1].upper() + word[1:] for word in name.split())


def _method(phase: str, does: Callable[..., Any]) -> dict[str, Any]:
    """A method that does something without the agent itself."""
    return {phase: lambda self, *arguments: does(*arguments)}


def _faulty(phase: str, does: Any) -> dict[str, Any]:
    """The methods of an agent that fails."""
    if phase == "act":
        return _method(phase, lambda view, rng: does(view))
    if phase == "name":
        return {"name": does, **_method("act", lambda view, rng: _raise(OSError("no move")))}
    return {"act": None} if phase == "no act" else _method(phase, does)


def _beside(phase: str, does: Callable[..., Any]) -> dict[str, Any]:
    """The methods of an agent that does something beside its honest move."""

    def act(self: object, view: View, rng: np.random.Generator) -> Move:
        moves = view.legal_moves()
        does(view, rng)
        return moves[0]

    return {"act": act} if phase == "act" else _method(phase, does)


_MADE = {_class(name): _faulty(phase, does) for name, (phase, _, does) in (LOSES | STALLS).items()}
_MADE |= {_class(name): _beside(phase, does) for name, (phase, does) in KEEPS.items()}
globals().update({name: type(name, (Honest,), methods) for name, methods in _MADE.items()})


def play_hostile_agents(*, stalling: bool = True) -> Outcome:
    """Let every hostile agent play against an honest one, and those that only a process of their own can stop."""
    outcome = Outcome("hostile agents", "the fault is named and loses its game, or the game is an honest one's", 30)
    honest = [_played(record) for record in _match("Honest")]
    for name, (_, reason, _) in (LOSES | STALLS if stalling else LOSES).items():
        try:
            records = _match(_class(name), _TIME_LIMIT if name in STALLS else None)
            held = all(record.fault_by == "a" and record.fault.isprintable() for record in records)
            faults = [record.fault for record in records]
        except ValueError as error:  # before the first game
            held, faults = _class(name) in str(error), [str(error)]
        outcome.check(held and all(reason in _LINE.sub("", fault) for fault in faults), f"{name}: {faults}")
    for name in (*KEEPS, "changes"):
        records = _match(_class(name))
        outcome.check([_played(record) for record in records] == honest, f"{name}: {records}")
    return outcome


def _match(name: str, time_limit: float | None = None) -> list[GameRecord]:
    """The games of an agent against an honest one."""
    agents = (f"{__name__}:{name}", f"{__name__}:Honest")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return run_arena(Arena(agents, timing=False, time_limit=time_limit), _DEALS)


def _played(record: GameRecord) -> tuple[Any, ...]:
    return record.deal, record.seats, record.winner, record.moves, tuple(record.stake), record.fault_by
