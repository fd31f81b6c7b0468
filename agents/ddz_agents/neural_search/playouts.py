"""Playouts in which a policy plays one seat and the rule agent plays the others."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ddz_agents.neural.model import PolicyModel
from ddz_agents.neural_search.leaf_games import LeafGames, play_actions, play_forced
from ddz_agents.neural_search.values import evaluate_games
from ddz_agents.rules.rules import next_action
from ddz_agents.rules.workspace import RuleWorkspace, new_rule_workspace
from ddz_agents.worlds.determinize import Reals, Words
from ddz_env.core.engine.layout import LANDLORD, SEAT, STAGE, STAGE_KICKER, WINNER
from ddz_env.core.engine.step import apply_and_record
from ddz_env.support.compiling import kernel


def play_out_against_rules(
    model: PolicyModel, games: LeafGames, seat: int, rules: Words, weights: npt.NDArray[np.int64]
) -> Reals:
    """Play games out against rule agents, and return 1 for each game that the policy's side wins, else 0.

    Args:
        model: Who plays the seat, by its likeliest moves.
        games: The games, each at the start of a decision or over; changed.
        seat: The seat; the others are the rule agent.
        rules: The rules array.
        weights: The rule agent's (:data:`ddz_agents.rules.weights.WEIGHTS`).
    """
    playing = np.arange(len(games.waits))
    workspace, plan, fixed = new_rule_workspace(), np.zeros(2, np.uint64), weights.view()
    fixed.flags.writeable = False  # as constants are: for these the rule agent's kernels are compiled already
    while len(playing):
        play_forced(games, playing, rules)
        playing = playing[games.waits[playing] != 0]
        asked = games.rows[playing, SEAT] == seat
        if asked.any():
            play_actions(games, playing[asked], evaluate_games(model, games, playing[asked])[0].argmax(axis=1), rules)
        _play_rules_moves(games, playing[~asked], rules, workspace, fixed, plan)
    landlords = games.rows[:, LANDLORD].astype(np.int64)
    landlord_won = games.rows[:, WINNER].astype(np.int64) - 1 == landlords
    won: Reals = (landlord_won == (landlords == seat)).astype(np.float64)
    return won


@kernel
def _play_rules_moves(
    games: LeafGames,
    chosen: np.ndarray,
    rules: np.ndarray,
    workspace: RuleWorkspace,
    weights: np.ndarray,
    plan: np.ndarray,
) -> None:
    """Play one complete move of the rule agent in each of the chosen games.

    Args:
        games: The games; changed.
        chosen: Which of them, shape ``[k]``, int64; each at the start of a decision.
        rules: The rules array.
        workspace: The rule agent's memory.
        weights: Its weights.
        plan: Its plan, shape ``[2]``, uint64; changed.
    """
    for number in range(chosen.size):
        row, ring = games.rows[chosen[number]], games.rings[chosen[number]]
        apply_and_record(row, ring, next_action(row, rules, workspace, weights, plan), rules)
        while row[STAGE] == STAGE_KICKER:
            apply_and_record(row, ring, next_action(row, rules, workspace, weights, plan), rules)
