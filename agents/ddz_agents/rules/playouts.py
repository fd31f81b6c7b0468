"""Playouts by the rule agent, in which each seat uses only information that it may have."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ddz_agents.rules.rules import next_action, rules_move
from ddz_agents.rules.weights import WEIGHTS
from ddz_agents.rules.workspace import RuleWorkspace, new_rule_workspace
from ddz_env import State
from ddz_env.core.engine.layout import STAGE, STAGE_KICKER, STAGE_OVER, STAGE_PLAY
from ddz_env.core.engine.legal import pending_options
from ddz_env.core.engine.score import write_returns
from ddz_env.core.engine.step import apply_action, play_move
from ddz_env.core.engine.tables import KICKER_ID
from ddz_env.core.engine.words import U0, U1, lowest_bit
from ddz_env.core.state import SCORINGS
from ddz_env.support.compiling import kernel, part_kernel, pure_kernel


def play_out_by_rules(state: State) -> npt.NDArray[np.float64]:
    """Play a copy of a game to its end with the rule agent, and return each seat's return.

    There is no generator: the rule agent draws nothing, so that all playouts of one game are equal.

    Args:
        state: The game, with every hand, at any stage; it stays as it is.

    Returns:
        Each seat's return, shape ``[players]``, float64.

    Example:
        >>> play_out_by_rules(State.new(seed=1)).tolist()
        [-1.0, 0.5, 0.5]
    """
    rules, row, returns = state.rules, state.row.copy(), np.zeros(3)
    _play_out_from_any_stage(row, state.rule_words, new_rule_workspace(), np.zeros(2, np.uint64))
    write_returns(row, state.rule_words, SCORINGS[rules.scoring], rules.peasant_reward, returns)
    return returns[: rules.players]


@kernel
def _play_out_from_any_stage(row: np.ndarray, rules: np.ndarray, workspace: RuleWorkspace, plan: np.ndarray) -> None:
    """Play a game to its end with the rule agent from any stage, even in the middle of a move."""
    while row[STAGE] != STAGE_OVER:
        if row[STAGE] == STAGE_PLAY:
            play_out(row, rules, workspace)
        elif row[STAGE] == STAGE_KICKER:
            apply_action(row, next_kicker(row, rules, workspace, plan), rules)
        else:
            main, _ = rules_move(row, rules, workspace, WEIGHTS)
            apply_action(row, main, rules)


@pure_kernel
def next_kicker(row: np.ndarray, rules: np.ndarray, workspace: RuleWorkspace, plan: np.ndarray) -> np.uint64:
    """Return the kicker that the rule agent would add, or the lowest legal one if it would add no legal one."""
    plan[0] = U0  # of another move, perhaps
    action, options = next_action(row, rules, workspace, WEIGHTS, plan), pending_options(row, rules)
    if action != U0 and (options >> (action - KICKER_ID)) & U1:
        return action
    return KICKER_ID + lowest_bit(options)


@part_kernel
def play_out(row: np.ndarray, rules: np.ndarray, workspace: RuleWorkspace) -> None:
    """Play a game to its end with the rule agent, which looks at no hand but its own.

    Args:
        row: The game, in the play stage or over, changed in place.
        rules: The rules array.
        workspace: The rule agent's memory.
    """
    while row[STAGE] == STAGE_PLAY:
        main, kickers = rules_move(row, rules, workspace, WEIGHTS)
        play_move(row, main, kickers, rules)
