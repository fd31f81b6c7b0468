"""What playouts say of the actions that a policy considers: each is played out in the deal that was really played.

The policy could not know the deal, but it met it exactly as often as what it saw makes it likely, so the mean over many
decisions is over the right worlds: inference costs nothing here.  All actions of a decision share the deal, and the
planned simulation (:mod:`agents.mcts.simulate_planned`) draws nothing, so their results differ by what the actions
differ in, as in the duplicate rollouts of the search.  A policy that learns these results plays one step better than
the simulation does, without searching.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from agents.baselines.mind import Mind, new_mind
from agents.baselines.weights import WEIGHTS
from agents.mcts.simulate import landlord_won
from agents.mcts.simulate_planned import Plan, new_plan, set_plan_prices, simulate_planned
from agents.neural.policy import Floats
from agents.neural.teacher import NO_LABEL, teach_kicker
from ddz_env.engine.compiling import kernel, pure_kernel
from ddz_env.engine.layout import LANDLORD, NO_GAME, NO_SEAT, ROW_WORDS, SEAT, STAGE, STAGE_KICKER, WINNER
from ddz_env.engine.legal import legal_mask, nth_legal
from ddz_env.engine.step import apply_action
from ddz_env.engine.tables import MASK_WORDS
from ddz_env.engine.words import U0
from ddz_env.rules import Rules
from training.ppo.lookahead import NONE, Candidates
from training.ppo.workers import Workers, shards

_NO_SEAT, _NO_GAME = np.uint64(NO_SEAT), np.uint64(NO_GAME)
_KICKER = np.uint64(STAGE_KICKER)
_SHARD = 1024


@pure_kernel
def _complete(row: np.ndarray, rules: np.ndarray, mind: Mind, kickers: np.ndarray, mask: np.ndarray) -> None:
    """Give a half-built move the kickers that the rule agent would give it, or the lowest ones."""
    kickers[0] = U0
    while row[STAGE] == _KICKER:
        action = teach_kicker(row, rules, mind, WEIGHTS, kickers)
        if action == NO_LABEL:
            legal_mask(row, rules, mask)
            apply_action(row, nth_legal(mask, U0), rules)
        else:
            apply_action(row, np.uint64(action), rules)


@kernel
def _play_out(
    rows: np.ndarray, actions: np.ndarray, rules: np.ndarray, plan: Plan, mind: Mind, results: np.ndarray
) -> None:
    row, mask = np.empty(ROW_WORDS, np.uint64), np.empty(MASK_WORDS, np.uint64)
    kickers = np.empty(2, np.uint64)
    for index in range(rows.shape[0]):
        landlord = rows[index, LANDLORD]
        if landlord == _NO_SEAT or actions[index, 0] == NONE:
            continue
        set_plan_prices(rows[index], rules, plan)
        for place in range(actions.shape[1]):
            if actions[index, place] == NONE:
                break
            row[:] = rows[index]
            apply_action(row, np.uint64(actions[index, place]), rules)
            _complete(row, rules, mind, kickers, mask)
            simulate_planned(row, rules, mask, U0, plan)
            if row[WINNER] != _NO_GAME:
                won = landlord_won(row) == (rows[index, SEAT] == landlord)
                results[index, place] = np.float32(1.0) if won else np.float32(-1.0)


def playout_results(rows: npt.NDArray[np.uint64], actions: npt.NDArray[np.int16], rules: Rules) -> Floats:
    """Who wins after each candidate, if all go on as the planned simulation does.

    Args:
        rows: The games at the decisions, hidden cards included, shape ``[n, 32]``, uint64.
        actions: The candidates, shape ``[n, candidates]``, int16.
        rules: The rules.

    Returns:
        1 where the decider's side wins, -1 where it loses; 0 for ``NONE`` and before there is a landlord; shape
        ``[n, candidates]``, float32.
    """
    results = np.zeros(actions.shape, np.float32)
    _play_out(rows, actions, rules.words(), new_plan(), new_mind(), results)
    return results


def play_candidates_out(rows: npt.NDArray[np.uint64], candidates: Candidates, rules: Rules, workers: Workers) -> None:
    """Write the candidates' results, less the mean of those of their decision, as advantages.

    Args:
        rows: The games at the decisions, shape ``[n, 32]``, uint64.
        candidates: The candidates; ``advantages`` is written.
        rules: The rules.
        workers: The threads.
    """
    pieces = list(shards(len(rows), _SHARD))
    found = workers.map(lambda piece: playout_results(rows[piece], candidates.actions[piece], rules), pieces)
    results = np.concatenate([*found, np.zeros((0, candidates.actions.shape[1]), np.float32)])
    there = candidates.actions != NONE
    mean = results.sum(1) / np.maximum(there.sum(1), 1)
    candidates.advantages[:] = np.where(there, results - mean[:, None], 0.0)
