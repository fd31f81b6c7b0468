"""The rule agent's next action at any stage of a move: what a guided search expands first."""

from __future__ import annotations

import numpy as np

from agents.rule_agent.kickers import choose_kickers
from agents.rule_agent.mind import Mind, look_around
from agents.rule_agent.prices import set_prices
from agents.rule_agent.rules import rules_move
from agents.rule_agent.weights import WEIGHTS
from ddz_env.engine.compiling import pure_kernel
from ddz_env.engine.layout import CHOSEN, HANDS, PENDING, SEAT, STAGE, STAGE_KICKER
from ddz_env.engine.tables import KICKER_ID
from ddz_env.engine.words import PLANE, U0, U16, lowest, remove_hand

_KICKER = np.uint64(KICKER_ID)


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
    if row[STAGE] != STAGE_KICKER:
        main, _ = rules_move(row, rules, mind, WEIGHTS)
        return main
    look_around(row, rules, mind)
    set_prices(mind, WEIGHTS)
    hand = row[HANDS + np.int64(row[SEAT])]
    left = remove_hand(choose_kickers(row, hand, row[PENDING], rules, mind), row[CHOSEN])
    ranks = (left | (left >> U16)) & PLANE
    return _KICKER + lowest(ranks) if ranks != U0 else U0
