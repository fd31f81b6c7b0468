"""The rule agent in a search: the simulation in which it plays every seat, and the move that it would try first."""

from __future__ import annotations

import numpy as np

from ddz_agents.rules.rules import next_action, rules_move
from ddz_agents.rules.scratch import A_PLAN, RuleScratch
from ddz_agents.rules.weights import WEIGHTS
from ddz_agents.tree_search.simulate import to_play_stage
from ddz_env.core.engine.compiling import inline_kernel, pure_kernel
from ddz_env.core.engine.layout import STAGE, STAGE_PLAY
from ddz_env.core.engine.step import pass_turn, play_move
from ddz_env.core.engine.words import U0


@inline_kernel
def play_whole_move(row: np.ndarray, main: np.uint64, kickers: np.uint64, rules: np.ndarray) -> None:
    """Pass (``main`` 0) or play a main group with its kickers, books included."""
    if main == U0:
        pass_turn(row, rules)
    else:
        play_move(row, main, kickers, rules)


@pure_kernel
def simulate_rules(
    row: np.ndarray, rules: np.ndarray, mask: np.ndarray, state: np.uint64, mind: RuleScratch
) -> np.uint64:
    """Play to the end by the rule agent, which looks at no hand but its own.

    Args:
        row: The game, at any stage, changed in place.
        rules: The rules array.
        mask: Scratch, shape ``[7]``.
        state: The generator's state; drawn from only to finish an auction or a half-built move.
        mind: The rule agent's memory.

    Returns:
        The generator's new state.
    """
    state = to_play_stage(row, rules, mask, state)
    while row[STAGE] == STAGE_PLAY:
        main, kickers = rules_move(row, rules, mind, WEIGHTS)
        play_whole_move(row, main, kickers, rules)
    return state


@pure_kernel
def guided_action(row: np.ndarray, rules: np.ndarray, mind: RuleScratch) -> np.uint64:
    """The rule agent's main group, bid, answer to doubling, or next kicker.

    Args:
        row: A view's row or a full row, not over.
        rules: The rules array.
        mind: The rule agent's memory; its prices are changed.

    Returns:
        An action id; one that is not legal where an earlier kicker was not the rule agent's (0, pass, if none is left).
    """
    plan = mind.about[A_PLAN:]
    plan[0] = U0  # of another game, perhaps
    return next_action(row, rules, mind, WEIGHTS, plan)
