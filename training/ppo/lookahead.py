"""Looking one action ahead: what the critic says of the games that the likeliest actions lead to.

A policy gradient asks how much better an action was than the others would have been.  The rewards of one game answer
that for one action and with the luck of all that followed.  The critic sees every hand, so it can value the game after
*each* action that the policy considers, in the deal that was really played; over many deals its answers average over
what the policy cannot know, exactly as often as it happens.  (The sum over all actions is the expected policy gradient
of K. Ciosek and S. Whiteson, "Expected policy gradients", AAAI 2018; a critic that sees more than the policy is the
perfect-information distillation of G. Yang et al., "PerfectDou", NeurIPS 2022.)  The answers are as biased as the
critic is, so they are mixed with the rewards (:mod:`training.ppo.surrogate`).

What has hardly any probability is never tried, and nobody learns that it would have been good.  But it need not be
tried to be valued: a *probe*, one other legal action at random, is looked at beside those considered.

Where the rule agent plays the other side, its replies are known: they are played, and the critic is asked at the next
decision of the decider's own side.  The critic is never taught at decisions of others, and what it said of them would
be what they are worth among equals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from agents.neural.model import Bytes, Floats
from agents.neural.teacher import taught_action
from agents.rule_agent.mind import Mind, new_mind
from agents.rule_agent.weights import WEIGHTS
from ddz_env.actions import NUM_ACTIONS
from ddz_env.cards import NUM_RANKS
from ddz_env.engine.compiling import kernel, pure_kernel
from ddz_env.engine.history import HISTORY_MOVES, HISTORY_WORDS, apply_and_record
from ddz_env.engine.layout import LANDLORD, MOVES, NO_SEAT, PASSES, ROW_WORDS, SEAT, STAGE, STAGE_OVER
from ddz_env.engine.legal import count_legal, legal_mask, nth_legal
from ddz_env.engine.score import SCORE_STAKE, SCORE_WIN, write_returns
from ddz_env.engine.tables import MASK_WORDS
from ddz_env.engine.words import U0, U1, spread
from ddz_env.observation import CONCEALED_WORDS, OBSERVATION, OBSERVATION_WORDS, write_concealed, write_observation
from ddz_env.rules import R_PLAYERS, Rules
from training.ppo.workers import Workers, shards

NONE = -1
"""Stands where a decision has fewer candidates than there is room for."""

_NO_SEAT = np.uint64(NO_SEAT)
_SCORINGS = {"win": SCORE_WIN, "stake": SCORE_STAKE}
_SHARD = 1024
_TARGET = OBSERVATION.offsets["target"]
_RING_SLOTS = np.uint64(HISTORY_MOVES)

Flags = npt.NDArray[np.bool_]

Value = Callable[[Bytes, Bytes, Flags], Floats]
"""A critic: values for the seats to act, shape ``[n]``, from observations, concealed cards, and whether the other side
is the rule agent's."""


@dataclass
class Candidates:
    """The actions that a policy considered at some decisions.

    Attributes:
        actions: Likeliest first, then the probe; ``NONE`` where there are no more, shape ``[n, candidates]``, int16.
        probabilities: Under the policy that chose, shape ``[n, candidates]``, float32; 0 for ``NONE``.
        advantages: How much better than their mean each is, shape ``[n, candidates]``, float32; 0 for ``NONE``.
    """

    actions: npt.NDArray[np.int16]
    probabilities: Floats
    advantages: Floats

    @classmethod
    def allocate(cls, *shape: int) -> Candidates:
        """None at all.

        Args:
            *shape: Of the arrays, the number of candidates last.
        """
        return cls(np.full(shape, NONE, np.int16), np.zeros(shape, np.float32), np.zeros(shape, np.float32))

    def __getitem__(self, rows: Any) -> Candidates:
        """Those of some decisions, by any index that arrays take."""
        return Candidates(self.actions[rows], self.probabilities[rows], self.advantages[rows])


@pure_kernel
def pick_candidates(
    log_probabilities: np.ndarray, least: float, actions: np.ndarray, probabilities: np.ndarray
) -> None:
    """Note the likeliest actions of each decision, if there are two that the policy may well choose.

    Args:
        log_probabilities: Shape ``[n, 400]``, float32, minus infinity where illegal.
        least: The least probability of a candidate.
        actions: Output, shape ``[n, candidates]``, int16, likeliest first; all ``NONE`` where there is no second.
        probabilities: Output, shape ``[n, candidates]``, float32.
    """
    bound = np.log(least)
    for row in range(log_probabilities.shape[0]):
        found = 0
        for action in range(NUM_ACTIONS):
            value = log_probabilities[row, action]
            if value < bound:
                continue
            chance = np.float32(np.exp(value))
            if chance == 0.0:  # below the least float: nothing can be weighed against it
                continue
            place = min(found, actions.shape[1] - 1)
            if found == actions.shape[1] and chance <= probabilities[row, place]:
                continue
            while place > 0 and probabilities[row, place - 1] < chance:
                actions[row, place], probabilities[row, place] = actions[row, place - 1], probabilities[row, place - 1]
                place -= 1
            actions[row, place], probabilities[row, place] = action, chance
            found = min(found + 1, actions.shape[1])
        for place in range(found if found > 1 else 0, actions.shape[1]):
            actions[row, place], probabilities[row, place] = NONE, np.float32(0.0)


@kernel
def add_probes(
    log_probabilities: np.ndarray,
    draws: np.ndarray,
    wanted: np.ndarray,
    actions: np.ndarray,
    probabilities: np.ndarray,
) -> None:
    """Put one more legal action beside the candidates of decisions; the likeliest, too, where there were none.

    Args:
        log_probabilities: Shape ``[n, 400]``, float32, minus infinity where illegal.
        draws: Uniform in 0..1, shape ``[n]``, float64; which one.
        wanted: Where to, shape ``[n]``, bool.
        actions: The candidates, with a place left at the end, shape ``[n, candidates]``, int16; changed in place.
        probabilities: Theirs, shape ``[n, candidates]``, float32; changed in place.
    """
    others = np.empty(NUM_ACTIONS, np.int16)
    for row in range(log_probabilities.shape[0]):
        if not wanted[row]:
            continue
        found, likeliest, count = 0, 0, 0
        while found < actions.shape[1] and actions[row, found] != NONE:
            found += 1
        for action in range(NUM_ACTIONS):
            if log_probabilities[row, action] > log_probabilities[row, likeliest]:
                likeliest = action
        for action in range(NUM_ACTIONS):
            known = found == 0 and action == likeliest
            for place in range(found):
                known = known or actions[row, place] == action
            if not known and np.float32(np.exp(log_probabilities[row, action])) > 0.0:
                others[count] = action
                count += 1
        if count == 0 or found == actions.shape[1]:
            continue
        if found == 0:
            actions[row, 0] = likeliest
            found = 1
        actions[row, found] = others[min(int(draws[row] * count), count - 1)]
        for place in range(found + 1):
            probabilities[row, place] = np.exp(log_probabilities[row, np.int64(actions[row, place])])


@pure_kernel
def _own_return(row: np.ndarray, seat: np.uint64, rules: np.ndarray, scoring: int, returns: np.ndarray) -> float:
    """What a finished game brought a seat's side (as in :func:`training.ppo.returns.shared_rewards`)."""
    write_returns(row, rules, scoring, 1.0, returns)
    own: float = returns[np.int64(row[LANDLORD])]
    if scoring == SCORE_STAKE:
        own /= np.float64(rules[R_PLAYERS] - U1)
    return own if seat == row[LANDLORD] else -own


@pure_kernel
def _recall_target(row: np.ndarray, seen: np.ndarray, ring: np.ndarray) -> None:
    """Begin a ring that knows the cards of the move to beat and nothing else: a row has no room for its kickers."""
    ring[:] = U0
    slot = np.int64((row[MOVES] - U1 - row[PASSES]) % _RING_SLOTS)
    for rank in range(NUM_RANKS):
        ring[slot, 0] |= spread(U1 << np.uint64(rank), np.uint64(seen[_TARGET + rank]))


@pure_kernel
def _certain_action(
    row: np.ndarray, own: bool, against_rules: bool, rules: np.ndarray, mind: Mind, plan: np.ndarray, mask: np.ndarray
) -> int:
    """What is surely played next: the only legal action, or the rule agent's; ``NONE`` where somebody decides."""
    if against_rules and not own:
        return taught_action(row, rules, mind, WEIGHTS, plan)  # it began the move itself: never ``NO_LABEL``
    legal_mask(row, rules, mask)
    return int(nth_legal(mask, U0)) if count_legal(mask) == U1 else NONE


@kernel
def lead_on(
    rows: np.ndarray,
    seen: np.ndarray,
    actions: np.ndarray,
    against_rules: np.ndarray,
    rules: np.ndarray,
    mind: Mind,
    scoring: int,
    signs: np.ndarray,
    returns: np.ndarray,
    observations: np.ndarray,
    concealed: np.ndarray,
) -> int:
    """Play each candidate, and what is certain after it, up to the next decision or to the end.

    What is forced is certain, and so is what the rule agent plays.

    Args:
        rows: The games at the decisions, shape ``[n, 32]``, uint64; unchanged.
        seen: What the deciders see of them, shape ``[n, OBSERVATION_SIZE]``, int8.
        actions: The candidates, shape ``[n, candidates]``, int16.
        against_rules: Where the rule agent plays the side that is not the decider's, shape ``[n]``, bool.
        rules: The rules array.
        mind: The rule agent's memory.
        scoring: ``SCORE_WIN`` or ``SCORE_STAKE``.
        signs: Output, shape ``[n, candidates]``, int8: 1 where a seat of the decider's side is to act next, -1 where
            one of the other side is, 0 where the game is over or there is no candidate.
        returns: Output, shape ``[n, candidates]``, float32: of games that are over.
        observations: Output, one a sign that is not 0, in order, shape ``[n * candidates, OBSERVATION_WORDS]``,
            uint64, as the seat to act sees the game; of the history, only the move to beat is right.
        concealed: Output, likewise, shape ``[n * candidates, CONCEALED_WORDS]``, uint64.

    Returns:
        How many signs are not 0.
    """
    row, mask = np.empty(ROW_WORDS, np.uint64), np.empty(MASK_WORDS, np.uint64)
    ring, points = np.empty((HISTORY_MOVES, HISTORY_WORDS), np.uint64), np.empty(3)
    plan = np.zeros(2, np.uint64)
    found = 0
    for index in range(rows.shape[0]):
        landlord, seat = rows[index, LANDLORD], rows[index, SEAT]
        for place in range(actions.shape[1]):
            if actions[index, place] == NONE or landlord == _NO_SEAT:
                continue
            row[:] = rows[index]
            _recall_target(row, seen[index], ring)
            apply_and_record(row, ring, np.uint64(actions[index, place]), rules)
            while row[STAGE] != STAGE_OVER:
                own = (row[SEAT] == landlord) == (seat == landlord)
                action = _certain_action(row, own, against_rules[index], rules, mind, plan, mask)
                if action == NONE:
                    break
                apply_and_record(row, ring, np.uint64(action), rules)
            if row[STAGE] == STAGE_OVER:
                returns[index, place] = _own_return(row, seat, rules, scoring, points)
                continue
            signs[index, place] = 1 if (row[SEAT] == landlord) == (seat == landlord) else -1
            write_observation(row, ring, rules, row[SEAT], observations[found])
            write_concealed(row, rules, row[SEAT], concealed[found])
            found += 1
    return found


def successor_values(
    rows: npt.NDArray[np.uint64],
    seen: Bytes,
    actions: npt.NDArray[np.int16],
    against_rules: Flags,
    rules: Rules,
    objective: str,
    value: Value,
) -> Floats:
    """What candidates are worth to those who consider them.

    Args:
        rows: The games at the decisions, shape ``[n, 32]``, uint64.
        seen: What the deciders see of them, shape ``[n, OBSERVATION_SIZE]``, int8.
        actions: The candidates, shape ``[n, candidates]``, int16.
        against_rules: Where the rule agent plays the side that is not the decider's, shape ``[n]``, bool.
        rules: The rules.
        objective: ``win`` or ``stake``.
        value: The critic.

    Returns:
        Shape ``[n, candidates]``, float32: the critic's value of the next decision that is not the rule agent's, turned
        to the side of the decider; the return where the game ends; 0 for ``NONE``, and before there is a landlord.
    """
    shape, most = actions.shape, actions.size
    signs, values = np.zeros(shape, np.int8), np.zeros(shape, np.float32)
    observations = np.empty((most, OBSERVATION_WORDS), np.uint64)
    concealed = np.empty((most, CONCEALED_WORDS), np.uint64)
    game = rules.words(), new_mind(), _SCORINGS[objective]
    found = lead_on(rows, seen, actions, against_rules, *game, signs, values, observations, concealed)
    if found:
        asked = signs != 0
        flags = np.broadcast_to(against_rules[:, None], shape)[asked]
        values[asked] = signs[asked] * value(observations[:found].view(np.int8), concealed[:found].view(np.int8), flags)
    return values


def look_ahead(
    rows: npt.NDArray[np.uint64],
    seen: Bytes,
    candidates: Candidates,
    against_rules: Flags,
    rules: Rules,
    objective: str,
    value: Value,
    workers: Workers,
) -> None:
    """Write the candidates' advantages over the mean of those considered together, in units of their deviation.

    Before there is a landlord nobody's side is known, and nothing is foreseen: the candidates are dropped.  What comes
    next is not discounted.  The deviation is that over all decisions with candidates.  Where a probe gives them to a
    settled decision, it adds next to nothing to the sum and counts in the number: the more such decisions there are,
    the smaller is the unit.

    Args:
        rows: The games at the decisions, shape ``[n, 32]``, uint64.
        seen: What the deciders see of them, shape ``[n, OBSERVATION_SIZE]``, int8.
        candidates: The candidates, changed in place.
        against_rules: Where the rule agent plays the side that is not the decider's, shape ``[n]``, bool.
        rules: The rules.
        objective: ``win`` or ``stake``.
        value: The critic.
        workers: The threads.
    """
    early = rows[:, LANDLORD] == NO_SEAT
    candidates.actions[early], candidates.probabilities[early] = NONE, 0.0
    contested = np.flatnonzero(candidates.actions[:, 0] != NONE)
    pieces = [contested[piece] for piece in shards(len(contested), _SHARD)]

    def foresee(piece: npt.NDArray[np.intp]) -> Floats:
        games = rows[piece], seen[piece], candidates.actions[piece], against_rules[piece]
        return successor_values(*games, rules, objective, value)

    values = workers.map(foresee, pieces)
    for piece, worth in zip(pieces, values, strict=True):
        chances = candidates.probabilities[piece]
        mean = (chances * worth).sum(1) / chances.sum(1)
        candidates.advantages[piece] = np.where(chances > 0, worth - mean[:, None], 0.0)
    weight = candidates.probabilities[contested]
    if len(contested):
        spread = float(np.sqrt((weight * candidates.advantages[contested] ** 2).sum() / weight.sum()))
        candidates.advantages[contested] /= spread + 1e-8
