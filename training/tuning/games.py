"""What weights are worth: games on common deals, in one compiled call.

Every candidate plays the same deals against the same opponent, so that the luck of the cards is the same for all of
them, and two candidates differ only where they play differently.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from agents.mcts.simulate import landlord_won
from agents.rule_agent.mind import Mind
from agents.rule_agent.rules import rules_move
from ddz_env.engine.compiling import kernel
from ddz_env.engine.deal import new_game
from ddz_env.engine.layout import LANDLORD, ROW_WORDS, SEAT, STAGE, STAGE_PLAY
from ddz_env.engine.step import play_move


@kernel
def play_rules(
    deals: npt.NDArray[np.uint64],
    rules: npt.NDArray[np.uint64],
    mind: Mind,
    landlord: npt.NDArray[np.int64],
    peasants: npt.NDArray[np.int64],
    won: npt.NDArray[np.float64],
) -> None:
    """Play a game a deal between rule agents.

    Args:
        deals: The generator states of the deals (:func:`ddz_env.state.game_key`), shape ``[n]``.
        rules: The rules array, of a preset with a fixed landlord.
        mind: The rule agent's memory.
        landlord: The landlord's weights.
        peasants: The peasants' weights.
        won: Output, shape ``[n]``: 1 where the landlord won.
    """
    row = np.zeros(ROW_WORDS, np.uint64)
    for index in range(deals.size):
        new_game(row, deals[index], rules)
        while row[STAGE] == STAGE_PLAY:
            main, kickers = rules_move(row, rules, mind, landlord if row[SEAT] == row[LANDLORD] else peasants)
            play_move(row, main, kickers, rules)
        won[index] = 1.0 if landlord_won(row) else 0.0
