"""The time that decisions take, without what compiling or loading at the first use costs.

Two things keep that out.  An agent is *warmed up*: before a process times it, another one of the same specification
decides two moves of a fixed deal and is thrown away, so libraries are loaded, kernels compiled, and the agent that
plays, its memory and its random numbers are as if nothing had happened.  And for what is needed only later in a game,
the clock stops while Numba compiles or loads a kernel (:class:`ddz_env.support.clocks.ThinkingClock`).
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable

import numpy as np

from ddz_env import Move, Rules, State, View
from ddz_env.core.view import AUCTION
from ddz_env.playing.agent import Agent, close, reset
from ddz_env.playing.game import play_one, seat_generators

_WARM_SEED = 2026
_WARM_DECISIONS = 2


class _Simple:
    """Passes in the auction where it can; otherwise plays the lowest move."""

    name = "simple"

    def act(self, view: View, rng: np.random.Generator) -> Move:
        moves = view.legal_moves()
        return moves[min(len(moves) - 1, int(view.stage == "play"))]


def warm_up(make: Callable[[], Agent], rules: Rules, seconds: float = 0.0) -> None:
    """Make an agent, let it decide the first moves of a deal, and throw it away.

    The deal and the generators are always the same and belong to nothing else.  An agent that fails is left alone: it
    will fail again where its fault is reported.

    Args:
        make: Makes the agent.
        rules: The rules.
        seconds: If above 0, the agent plays all seats for about that long.
    """
    with contextlib.suppress(Exception, SystemExit, GeneratorExit):
        agent, state = make(), State.new(_WARM_SEED, rules)
        first, remaining, until = state.seat, _WARM_DECISIONS, time.monotonic() + seconds
        agents = [agent if seconds or seat == first else _Simple() for seat in range(rules.players)]
        rngs = seat_generators([_WARM_SEED], rules.players)
        try:
            for seat, player in enumerate(agents):
                reset(player, seat, rules)
            while not state.is_over and (time.monotonic() < until if seconds else remaining):
                remaining -= state.seat == first and state.stage not in AUCTION
                play_one(state, agents, rngs)
        finally:
            close(agent)
