"""The rule agent's next action at any stage of a move: what a guided search expands first."""

from __future__ import annotations

import numpy as np

from agents.rule_agent.mind import A_PLAN, Mind
from agents.rule_agent.rules import next_action
from agents.rule_agent.weights import WEIGHTS
from ddz_env.engine.compiling import pure_kernel
from ddz_env.engine.words import U0


@pure_kernel
def guided_action(row: np.ndarray, rules: np.ndarray, mind: Mind) -> np.uint64:
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
