"""Where the time of plain UCT goes: whole iterations, those without simulations, and the drawing of worlds alone."""

from __future__ import annotations

import itertools

import numpy as np

from ddz_agents.tree_search.agent import IsUctAgent
from ddz_agents.worlds.determinize import determinize
from ddz_env import State
from ddz_env.core.engine.compiling import kernel, pure_kernel
from ddz_env.core.engine.layout import ROW_WORDS, STAGE, STAGE_OVER, WINNER
from ddz_env.core.engine.random import advance, below, mix
from ddz_env.core.engine.words import U1, U3
from ddz_training.measure.speed.benchmark import Prepare, Repeat, rate_of


@pure_kernel
def draw_winner(row: np.ndarray, rules: np.ndarray, mask: np.ndarray, state: np.uint64) -> np.uint64:
    """End a game at once; who wins it is drawn."""
    state = advance(state)
    row[WINNER] = U1 + below(mix(state), U3)
    row[STAGE] = STAGE_OVER
    return state


@kernel
def draw_worlds(view: np.ndarray, rules: np.ndarray, number: int, state: np.uint64) -> np.uint64:
    """Draw worlds of the view of seat 0; the generator's state after them."""
    row = np.empty(ROW_WORDS, np.uint64)
    for _ in range(number):
        state = determinize(view, np.uint64(0), rules, state, row)
    return state


def searching(simulation: str, iterations: int, deals: int) -> Prepare:
    """Iterations a second of information-set UCT at the landlord's first decision, one thread.

    Args:
        simulation: As the agent's option.
        iterations: Of one decision.
        deals: How many positions take turns.
    """

    def prepare(seconds: float) -> Repeat:
        agent = IsUctAgent(iterations=iterations, simulation=simulation)
        views = itertools.cycle([State.new(seed=0, game=game).view() for game in range(deals)])
        rng = np.random.default_rng(0)

        def work() -> int:
            agent.act(next(views), rng)
            return iterations

        return rate_of(work, seconds)

    return prepare


def worlds(seconds: float) -> Repeat:
    """Worlds a second, drawn as an iteration begins."""
    view, number = State.new(seed=0).view(), 10_000
    states = itertools.count()

    def work() -> int:
        draw_worlds(view.row, view.rule_words, number, np.uint64(next(states)))
        return number

    return rate_of(work, seconds)
