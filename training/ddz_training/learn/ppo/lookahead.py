"""Looking one action ahead: what the critic says of the games that the likeliest actions lead to.

A policy gradient asks how much better an action was than the others would have been.  The rewards of one game answer
that for one action and with the luck of all that followed.  The critic sees every hand, so it can value the game after
*each* action that the policy considers, in the deal that was really played; over many deals its answers average over
what the policy cannot know, exactly as often as it happens.  (The sum over all actions is the expected policy gradient
of K. Ciosek and S. Whiteson, "Expected policy gradients", AAAI 2018; a critic that sees more than the policy is the
perfect-information distillation of G. Yang et al., "PerfectDou", NeurIPS 2022.)  The answers are as biased as the
critic is, so they are mixed with the rewards (:mod:`ddz_training.learn.ppo.kernels`).

An action need not be tried to be valued: a probe (:mod:`ddz_training.learn.ppo.kernels`) is looked at beside those
considered.

Where the rule agent plays the other side, its replies are known: they are played, and the critic is asked at the next
decision of the decider's own side.  The critic is never taught at its decisions, and what it said of them would be what
they are worth among equals.  Another agent's replies are not known; the critic is taught what its decisions are worth.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from array_api_compat import array_namespace

from ddz_agents.neural.model import Bytes, Floats
from ddz_agents.rules.agent import taught_action
from ddz_agents.rules.scratch import RuleScratch, new_rule_scratch
from ddz_agents.rules.weights import WEIGHTS
from ddz_env.core.cards import NUM_RANKS
from ddz_env.core.engine import layout as at
from ddz_env.core.engine.compiling import kernel, pure_kernel
from ddz_env.core.engine.legal import count_legal, legal_mask, nth_legal
from ddz_env.core.engine.score import SCORE_STAKE, SCORE_WIN, write_returns
from ddz_env.core.engine.step import apply_and_record
from ddz_env.core.engine.tables import MASK_WORDS
from ddz_env.core.engine.words import U0, U1, spread
from ddz_env.core.observation import CONCEALED_WORDS, OBSERVATION, OBSERVATION_WORDS, write_concealed, write_observation
from ddz_env.core.rules import R_PLAYERS, Rules
from ddz_training.learn.ppo.kernels import NONE, Candidates
from ddz_training.learn.threads import Threads, shards

_SCORINGS = {"win": SCORE_WIN, "stake": SCORE_STAKE}
_TARGET = OBSERVATION.offsets["target"]
_RING_SLOTS = np.uint64(at.HISTORY_MOVES)

Flags = npt.NDArray[np.bool_]

Value = Callable[[Bytes, Bytes, Flags], Floats]
"""A critic: values for the seats to act, shape ``[n]``, from observations, concealed cards, and whether the other side
is the rule agent's."""


class Positions(NamedTuple):
    """Games at decisions.

    Attributes:
        rows: The engine's rows, shape ``[n, 32]``, uint64.
        seen: What the deciders see, shape ``[n, OBSERVATION_SIZE]``, int8.
        against_rules: Where the rule agent plays the side that is not the decider's, shape ``[n]``, bool.
    """

    rows: npt.NDArray[np.uint64]
    seen: Bytes
    against_rules: Flags


class Successors(NamedTuple):
    """What follows the candidates of some decisions.

    Attributes:
        signs: Shape ``[n, candidates]``, int8: 1 where a seat of the decider's side is to act next, -1 where one of the
            other side is, 0 where the game is over or there is no candidate.
        returns: What the games that are over brought the decider's side, shape ``[n, candidates]``, float32.
        observations: One a sign that is not 0, in order, as the seat to act sees the game, shape
            ``[n * candidates, OBSERVATION_WORDS]``, uint64; of the history, only the move to beat is right.
        concealed: Likewise, shape ``[n * candidates, CONCEALED_WORDS]``, uint64.
    """

    signs: npt.NDArray[np.int8]
    returns: Floats
    observations: npt.NDArray[np.uint64]
    concealed: npt.NDArray[np.uint64]


@pure_kernel
def _recall_target(row: np.ndarray, seen: np.ndarray, ring: np.ndarray) -> None:
    """Begin a ring that knows the cards of the move to beat and nothing else: a row has no room for its kickers."""
    for number in range(at.HISTORY_MOVES):
        for word in range(at.HISTORY_WORDS):
            ring[number, word] = U0
    slot = np.int64((row[at.MOVES] - U1 - row[at.PASSES]) % _RING_SLOTS)
    for rank in range(NUM_RANKS):
        ring[slot, 0] |= spread(U1 << np.uint64(rank), np.uint64(seen[_TARGET + rank]))


@pure_kernel
def forced_action(
    row: np.ndarray,
    own: bool,
    against_rules: bool,
    rules: np.ndarray,
    mind: RuleScratch,
    plan: np.ndarray,
    mask: np.ndarray,
) -> int:
    """The only legal action; ``NONE`` where somebody decides.

    It takes what :func:`certain_action` takes and stands for it on a device, where nobody plays against the rule agent:
    that agent's tables are larger than a device's memory for constants.
    """
    legal_mask(row, rules, mask)
    return int(nth_legal(mask, U0)) if count_legal(mask) == U1 else NONE


@pure_kernel
def certain_action(
    row: np.ndarray,
    own: bool,
    against_rules: bool,
    rules: np.ndarray,
    mind: RuleScratch,
    plan: np.ndarray,
    mask: np.ndarray,
) -> int:
    """What is surely played next: the only legal action, or the rule agent's; ``NONE`` where somebody decides."""
    if against_rules and not own:
        return taught_action(row, rules, mind, WEIGHTS, plan)  # it began the move itself: never ``NO_LABEL``
    return forced_action(row, own, against_rules, rules, mind, plan, mask)


class LeadMemory(NamedTuple):
    """Memory for one game that is played on.

    Attributes:
        row: Shape ``[32]``, uint64.
        ring: Shape ``[16, 2]``, uint64.
        mask: Shape ``[7]``, uint64.
        points: Shape ``[3]``, float64.
        plan: The rule agent's, shape ``[2]``, uint64.
    """

    row: npt.NDArray[np.uint64]
    ring: npt.NDArray[np.uint64]
    mask: npt.NDArray[np.uint64]
    points: npt.NDArray[np.float64]
    plan: npt.NDArray[np.uint64]


@pure_kernel
def lead_to(
    index: int,
    place: int,
    slot: int,
    games: Positions,
    actions: np.ndarray,
    rules: np.ndarray,
    mind: RuleScratch,
    scoring: int,
    memory: LeadMemory,
    found: Successors,
) -> int:
    """Play one candidate, and what is certain after it; otherwise as :func:`lead_on`.

    Args:
        index: The decision.
        place: The candidate's place.
        slot: Where the observation and the concealed cards are written if the game goes on.
        games: The games at the decisions; unchanged.
        actions: The candidates.
        rules: The rules array.
        mind: The rule agent's memory.
        scoring: ``SCORE_WIN`` or ``SCORE_STAKE``.
        memory: Memory.
        found: Output.

    Returns:
        The next slot that is free.
    """
    row, ring = memory.row, memory.ring
    landlord, seat = games.rows[index, at.LANDLORD], games.rows[index, at.SEAT]
    if actions[index, place] == NONE or landlord == np.uint64(at.NO_SEAT):
        return slot
    for word in range(at.ROW_WORDS):
        row[word] = games.rows[index, word]
    _recall_target(row, games.seen[index], ring)
    apply_and_record(row, ring, np.uint64(actions[index, place]), rules)
    while row[at.STAGE] != at.STAGE_OVER:
        own = (row[at.SEAT] == landlord) == (seat == landlord)
        action = certain_action(row, own, games.against_rules[index], rules, mind, memory.plan, memory.mask)
        if action == NONE:
            break
        apply_and_record(row, ring, np.uint64(action), rules)
    if row[at.STAGE] == at.STAGE_OVER:
        # As in :func:`ddz_training.learn.ppo.games.shared_rewards`.
        write_returns(row, rules, scoring, 1.0, memory.points)
        won = memory.points[np.int64(landlord)]
        if scoring == SCORE_STAKE:
            won /= np.float64(rules[R_PLAYERS] - U1)
        found.returns[index, place] = won if seat == landlord else -won
        return slot
    found.signs[index, place] = 1 if (row[at.SEAT] == landlord) == (seat == landlord) else -1
    write_observation(row, ring, rules, row[at.SEAT], found.observations[slot])
    write_concealed(row, rules, row[at.SEAT], found.concealed[slot])
    return slot + 1


@kernel
def lead_on(
    games: Positions, actions: np.ndarray, rules: np.ndarray, mind: RuleScratch, scoring: int, found: Successors
) -> int:
    """Play each candidate, and what is certain after it, up to the next decision or to the end.

    What is forced is certain, and so is what the rule agent plays.

    Args:
        games: The games at the decisions; unchanged.
        actions: The candidates, shape ``[n, candidates]``, int16.
        rules: The rules array.
        mind: The rule agent's memory.
        scoring: ``SCORE_WIN`` or ``SCORE_STAKE``.
        found: Output.

    Returns:
        How many signs are not 0.
    """
    row, mask = np.empty(at.ROW_WORDS, np.uint64), np.empty(MASK_WORDS, np.uint64)
    ring, points = np.empty((at.HISTORY_MOVES, at.HISTORY_WORDS), np.uint64), np.empty(3)
    memory = LeadMemory(row, ring, mask, points, np.zeros(2, np.uint64))
    count = 0
    for index in range(games.rows.shape[0]):
        for place in range(actions.shape[1]):
            count = lead_to(index, place, count, games, actions, rules, mind, scoring, memory, found)
    return count


Lead = Callable[[Positions, Any, Rules, int], tuple[Any, Any, Any, Any]]
"""Plays candidates on, as :func:`led` does."""


def led(games: Positions, actions: Any, rules: Rules, scoring: int) -> tuple[Any, Any, Any, Any]:
    """Play candidates on: :func:`lead_on` with output and memory of its own.

    Returns:
        Signs and returns, and the observations and concealed cards (:class:`Successors`) as bytes.
    """
    most = actions.size
    words = np.empty((most, OBSERVATION_WORDS), np.uint64), np.empty((most, CONCEALED_WORDS), np.uint64)
    found = Successors(np.zeros(actions.shape, np.int8), np.zeros(actions.shape, np.float32), *words)
    count = lead_on(games, actions, rules.words(), new_rule_scratch(), scoring, found)
    seen, concealed = found.observations[:count].view(np.int8), found.concealed[:count].view(np.int8)
    return found.signs, found.returns, seen, concealed


def successor_values(
    games: Positions, actions: Any, rules: Rules, objective: str, value: Value, frozen: Any = None, lead: Lead = led
) -> Floats:
    """What candidates are worth to those who consider them.

    Args:
        games: The games at the decisions.
        actions: The candidates, shape ``[n, candidates]``, int16.
        rules: The rules.
        objective: ``win`` or ``stake``.
        value: The critic.
        frozen: Where an agent that is not the rule agent plays the other side, shape ``[n]``, bool; nowhere if None.
            The critic is told so at that agent's decisions, by the same flag.
        lead: Plays the candidates on, where the games are.

    Returns:
        Shape ``[n, candidates]``, float32: the critic's value of the next decision that is not the rule agent's, turned
        to the side of the decider; the return where the game ends; 0 for ``NONE``, and before there is a landlord.
    """
    returns: Floats
    signs, returns, seen, concealed = lead(games, actions, rules, _SCORINGS[objective])
    if len(seen):
        asked = signs != 0
        theirs = signs < 0 if frozen is None else (signs < 0) & frozen[:, None]
        flags = array_namespace(signs).broadcast_to(games.against_rules[:, None], actions.shape)
        flags = (flags if frozen is None else flags | theirs)[asked]
        returns[asked] = signs[asked] * value(seen, concealed, flags)
    return returns


def look_ahead(
    games: Positions,
    candidates: Candidates,
    rules: Rules,
    objective: str,
    value: Value,
    threads: Threads,
    frozen: Any = None,
    lead: Lead = led,
    shard: int = 1024,
) -> None:
    """Write the candidates' advantages over the mean of those considered together, in units of their deviation.

    Before there is a landlord nobody's side is known, and nothing is foreseen: the candidates are dropped.  What comes
    next is not discounted.  The deviation is that over all decisions with candidates.  Where a probe gives them to a
    settled decision, it adds next to nothing to the sum and counts in the number: the more such decisions there are,
    the smaller is the unit.

    Args:
        games: The games at the decisions.
        candidates: The candidates, changed in place.
        rules: The rules.
        objective: ``win`` or ``stake``.
        value: The critic.
        threads: The threads.
        frozen: As for :func:`successor_values`.
        lead: Likewise.
        shard: Decisions that are looked at in one piece.
    """
    xp = array_namespace(candidates.actions)
    early = games.rows[:, at.LANDLORD] == at.NO_SEAT
    candidates.actions[early], candidates.probabilities[early] = NONE, 0.0
    contested = xp.nonzero(candidates.actions[:, 0] != NONE)[0]
    pieces = [contested[piece] for piece in shards(len(contested), shard)]

    def foresee(piece: npt.NDArray[np.intp]) -> Floats:
        part, against = Positions._make(array[piece] for array in games), None if frozen is None else frozen[piece]
        return successor_values(part, candidates.actions[piece], rules, objective, value, against, lead)

    values = threads.map(foresee, pieces)
    for piece, worth in zip(pieces, values, strict=True):
        chances = candidates.probabilities[piece]
        mean = (chances * worth).sum(1) / chances.sum(1)
        candidates.advantages[piece] = xp.where(chances > 0, worth - mean[:, None], 0.0)
    weight = candidates.probabilities[contested]
    if len(contested):
        spread = float(xp.sqrt((weight * candidates.advantages[contested] ** 2).sum() / weight.sum()))
        candidates.advantages[contested] /= spread + 1e-8
