"""Duplicate rollouts: every candidate is played out in the same worlds, and the worse half is dropped, again and again.

The luck of the hidden cards is the same for all candidates of a world, so it cancels out of their comparison, as
duplicate deals cancel it between agents.  The budget is shared out by sequential halving (Karnin, Koren and Somekh
2013): as many rounds as halvings, each with an equal share of the rollouts, after each of which the worse half of the
candidates is dropped.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from agents.mcts.search import simulate
from agents.mcts.settings import Settings
from agents.mcts.simulate import landlord_won
from agents.mcts.simulate_planned import Plan, set_plan_prices
from agents.mcts.simulate_rules import play_whole_move
from agents.worlds.pool import Pool, draw_world
from ddz_env.engine.compiling import inline_kernel, kernel
from ddz_env.engine.layout import LANDLORD, ROW_WORDS
from ddz_env.engine.tables import MASK_WORDS


class Arms(NamedTuple):
    """The candidates and what has been counted.

    Attributes:
        mains: Main groups, 0 for pass, shape ``[n]``, uint64.
        kickers: Their kickers as hands, shape ``[n]``, uint64.
        runs: Rollouts, shape ``[n]``, int64.
        wins: Rollouts that the side of the searcher won, shape ``[n]``, int64.
        order: The candidates, the best first, shape ``[n]``, int64.
    """

    mains: npt.NDArray[np.uint64]
    kickers: npt.NDArray[np.uint64]
    runs: npt.NDArray[np.int64]
    wins: npt.NDArray[np.int64]
    order: npt.NDArray[np.int64]


def new_arms(mains: npt.NDArray[np.uint64], kickers: npt.NDArray[np.uint64]) -> Arms:
    """Candidates without rollouts, in the order given."""
    count = len(mains)
    return Arms(mains, kickers, np.zeros(count, np.int64), np.zeros(count, np.int64), np.arange(count, dtype=np.int64))


@inline_kernel
def _score(arms: Arms, arm: int, caution: float) -> float:
    """Wins; the first candidate's with a bonus that chance alone could give another."""
    bonus = caution * math.sqrt(float(arms.runs[arm])) if arm == 0 else 0.0
    return float(arms.wins[arm]) + bonus


@inline_kernel
def _sort(arms: Arms, alive: int, caution: float) -> None:
    """Order the candidates still alive by score (they have equally many rollouts); ties keep their order."""
    for place in range(1, alive):
        arm, back = arms.order[place], place
        score = _score(arms, arm, caution)
        while back > 0 and _score(arms, arms.order[back - 1], caution) < score:
            arms.order[back] = arms.order[back - 1]
            back -= 1
        arms.order[back] = arm


@kernel
def play_worlds(
    view: np.ndarray,
    seat: int,
    rules: np.ndarray,
    arms: Arms,
    alive: int,
    worlds: int,
    settings: Settings,
    pool: Pool,
    plan: Plan | None,
    caution: float,
    state: np.uint64,
) -> np.uint64:
    """Roll the best ``alive`` candidates out in so many worlds, then sort them.

    Args:
        view: The searcher's view row in the play stage, shape ``[32]``.
        seat: The searcher's seat.
        rules: The rules array.
        arms: The candidates, changed in place.
        alive: How many of them, in their order.
        worlds: Determinizations, the same for all.
        settings: The simulation.
        pool: Weighted determinizations to draw from; empty for uniform ones.
        plan: Memory of the planned and rules simulations; None for random ones.
        caution: Bonus of the first candidate, in square roots of its rollouts: others must win by more than luck.
        state: The generator's state.

    Returns:
        The generator's new state.
    """
    world, row = np.empty(ROW_WORDS, np.uint64), np.empty(ROW_WORDS, np.uint64)
    mask = np.empty(MASK_WORDS, np.uint64)
    landlord = view[LANDLORD] == np.uint64(seat)
    if plan is not None:
        set_plan_prices(view, rules, plan)
    for _ in range(worlds):
        state = draw_world(view, np.uint64(seat), rules, pool, state, world)
        for place in range(alive):
            arm = arms.order[place]
            row[:] = world
            play_whole_move(row, arms.mains[arm], arms.kickers[arm], rules)
            state = simulate(row, rules, mask, state, settings, plan, None)
            arms.runs[arm] += 1
            arms.wins[arm] += 1 if landlord_won(row) == landlord else 0
    _sort(arms, alive, caution)
    return state
