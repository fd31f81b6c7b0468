"""Agents that fail, cheat or stall; each is played by name, as a user's own agent is.

A class that ``loses`` must lose its games by a fault that is named; the others must play as :class:`Honest` does.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import random
import signal
import sys
import threading
import time
import warnings
from typing import Any, NoReturn

import numpy as np

from ddz_env import Move, View


class Honest:
    """Plays the first legal move; what the cheats are compared with."""

    loses = stalls = False

    def act(self, view: View, rng: np.random.Generator) -> Move:
        return view.legal_moves()[0]


class _Loser(Honest):
    loses = True


class _Raises(_Loser):
    """Raises an error instead of a move."""

    error: BaseException

    def act(self, view: View, rng: np.random.Generator) -> Move:
        raise self.error


class _Answers(_Loser):
    """Answers with something that is not a legal move."""

    answer: Any

    def act(self, view: View, rng: np.random.Generator) -> Any:
        return self.answer


def _unread(kind: type[Move], **fields: object) -> Move:
    move = object.__new__(kind)
    for name, value in fields.items():
        object.__setattr__(move, name, value)
    return move


RAISED: dict[str, BaseException] = {
    "Exits": SystemExit(0),
    "Raises": RuntimeError("on purpose"),
    "RaisesLines": ValueError("a table\n| of | its | own |\x1b[2J\r\0"),
    "RaisesAMegabyte": ValueError("x" * 1_000_000),
    "RaisesStopIteration": StopIteration(),
}
ANSWERED: dict[str, Any] = {
    "AnswersNothing": None,
    "AnswersText": "pass",
    "AnswersAnId": 0,
    "AnswersAnArray": np.zeros(400),
    "AnswersABid": Move.parse("bid 3"),
    "AnswersHugeNumbers": _unread(Move, main=10**30, kickers=(10**30,)),
}
"""What agents of these names raise, or answer, for a move."""
globals().update({name: type(name, (_Raises,), {"error": error}) for name, error in RAISED.items()})
globals().update({name: type(name, (_Answers,), {"answer": answer}) for name, answer in ANSWERED.items()})


class ExitsInReset(_Loser):
    def reset(self, seat: int, rules: Any) -> None:
        sys.exit(0)


class ExitsInObserve(_Loser):
    def observe(self, seat: int, move: Move) -> None:
        sys.exit(0)


class Recurses(_Loser):
    def act(self, view: View, rng: np.random.Generator) -> Move:
        return self.act(view, rng)


class AnswersTheRocket(_Loser):
    def act(self, view: View, rng: np.random.Generator) -> Move:
        return Move.parse("BR") if Move.parse("BR") not in view.legal_moves() else Move.parse("pass")


class AnswersEndlessKickers(_Loser):
    class Endless(Move):
        @property
        def kickers(self) -> Any:  # type: ignore[override]
            return itertools.repeat(3)

    def act(self, view: View, rng: np.random.Generator) -> Move:
        return _unread(self.Endless, main=view.legal_moves()[0].main)


class AnswersAMoveThatExits(_Loser):
    class Exit(Move):
        @property
        def main(self) -> int:  # type: ignore[override]
            sys.exit(0)

    def act(self, view: View, rng: np.random.Generator) -> Move:
        return _unread(self.Exit, kickers=())


class AnswersACoroutine(_Loser):
    async def act(self, view: View, rng: np.random.Generator) -> Move:  # type: ignore[override]
        return view.legal_moves()[0]


class CannotBeMade(_Loser):
    def __init__(self) -> None:
        sys.exit(0)


class HasNoAct(_Loser):
    act: Any = None


class HasAFailingName(_Raises):
    error = OSError("no move")

    @property
    def name(self) -> str:
        raise OSError("no name")


class Changes(Honest):
    """Its move says something else at each read; the first reading counts, and it is the honest one."""

    class Other(Move):
        def __getattribute__(self, name: str) -> Any:
            if name == "main":
                fields = object.__getattribute__(self, "__dict__")
                fields["read"] = fields.get("read", -1) + 1
                return fields["first"] if fields["read"] == 0 else fields["read"] % 300
            return super().__getattribute__(name)

    def act(self, view: View, rng: np.random.Generator) -> Move:
        honest = super().act(view, rng)
        return _unread(self.Other, first=honest.main, kickers=honest.kickers)


def _write(thing: Any, *names: str) -> None:
    """Write into something in every way."""
    for name in names:
        with contextlib.suppress(Exception):
            getattr(thing, name)[...] = 1
        with contextlib.suppress(Exception):
            getattr(thing, name).clear()
        with contextlib.suppress(Exception):
            setattr(thing, name, 4)


class WritesTheView(Honest):
    def act(self, view: View, rng: np.random.Generator) -> Move:
        moves = view.legal_moves()
        _write(view, *dir(view))
        return moves[0]


class WritesTheRules(Honest):
    def reset(self, seat: int, rules: Any) -> None:
        _write(rules, "open_hands", "kicker_repeat", "bombs", "deck")


class WritesHeardMoves(Honest):
    def observe(self, seat: int, move: Move) -> None:
        _write(move, "main", "kickers")


class DrawsFromAllGenerators(Honest):
    def act(self, view: View, rng: np.random.Generator) -> Move:
        rng.random(1_000)
        np.random.seed(0)  # noqa: NPY002
        random.seed(0)
        np.random.random(10)  # noqa: NPY002
        return super().act(view, rng)


class ReplacesItsGenerator(Honest):
    def act(self, view: View, rng: np.random.Generator) -> Move:
        with contextlib.suppress(Exception):
            rng.bit_generator.state = np.random.default_rng(0).bit_generator.state
        return super().act(view, rng)


class ReadsTheSeed(Honest):
    """Fails (and so loses, which is not expected) if its generator's seeds deal this very game."""

    def act(self, view: View, rng: np.random.Generator) -> Move:
        from ddz_env import State

        entropy = rng.bit_generator.seed_seq.entropy  # type: ignore[attr-defined]
        numbers = [int(n) for n in np.atleast_1d(entropy)]
        for seed, game in itertools.product(numbers, [0, *numbers]):
            with contextlib.suppress(Exception):
                if State.new(seed=seed, game=game).view(view.seat).hand == view.hand and not view.history:
                    raise SystemExit("the generator gave the deal away")
        return super().act(view, rng)


class PrintsAndWarns(Honest):
    def act(self, view: View, rng: np.random.Generator) -> Move:
        warnings.warn("noise", stacklevel=1)
        return super().act(view, rng)


class StartsThreads(Honest):
    def act(self, view: View, rng: np.random.Generator) -> Move:
        threading.Thread(target=time.sleep, args=(0.01,), daemon=True).start()
        return super().act(view, rng)


class FailsInClose(Honest):
    def close(self) -> NoReturn:
        sys.exit(0)


class _Stalls(_Loser):
    """Needs a process of its own, and so a limit of time."""

    stalls = True


class Sleeps(_Stalls):
    def act(self, view: View, rng: np.random.Generator) -> Move:
        while True:
            time.sleep(1)


class Spins(_Stalls):
    def act(self, view: View, rng: np.random.Generator) -> Move:
        while True:
            pass


class IgnoresSignals(_Stalls):
    def act(self, view: View, rng: np.random.Generator) -> Move:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM):
            signal.signal(number, signal.SIG_IGN)
        while True:
            time.sleep(1)


class EndsItsProcess(_Stalls):
    def act(self, view: View, rng: np.random.Generator) -> Move:
        os._exit(0)


class KillsItsProcess(_Stalls):
    def act(self, view: View, rng: np.random.Generator) -> Move:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError


class ReadsNullPointers(_Stalls):
    def act(self, view: View, rng: np.random.Generator) -> Move:
        ctypes.string_at(0)
        raise AssertionError


AGENTS: list[type[Any]] = [
    kind
    for name, kind in list(globals().items())
    if isinstance(kind, type) and issubclass(kind, Honest) and kind is not Honest and not name.startswith("_")
]
"""Every hostile agent."""
