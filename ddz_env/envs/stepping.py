"""Stepping games: the kernels that deal them, play in them, and write what they show.

A game has one learner, whose opponents are compiled, asked by Python, or both; or all its seats are the learner's
(``EVERYONE``), and then it is stepped action by action.  What takes :class:`~ddz_env.envs.slots.Slots` is pure, because
other kernels count references to each array.  Listing the moves of a random opponent allocates memory, so it answers
between two passes over the games.
"""

from __future__ import annotations

import numpy as np

from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.core.engine.compiling import inline_kernel, kernel, pure_kernel
from ddz_env.core.engine.deal import new_game
from ddz_env.core.engine.layout import LANDLORD, MOVES, NO_SEAT, SEAT, STAGE, STAGE_OVER
from ddz_env.core.engine.legal import count_legal, legal_mask, marked, nth_legal
from ddz_env.core.engine.moves import all_moves
from ddz_env.core.engine.random import advance, below, key, mix
from ddz_env.core.engine.score import write_returns
from ddz_env.core.engine.step import apply_and_record
from ddz_env.core.engine.tables import KICKER_ID, MAIN_SEGMENT, SEGMENT_KICKER_SIZE
from ddz_env.core.engine.words import PLANE, U0, U1, lowest, remove
from ddz_env.core.observation import expand_mask, write_concealed, write_observation
from ddz_env.core.rules import R_PLAYERS
from ddz_env.core.view import seat_role
from ddz_env.envs import slots as at
from ddz_env.envs.outputs import write_info
from ddz_env.envs.slots import Slots, slots_of

WAIT, LOOK, DEAL, BEGIN, RESUME, ACT, ANSWER = range(7)
"""Orders: nothing; show the position; deal; begin with a row that is dealt already; likewise, and the learner keeps a
random seat; play the learner's action; play what an opponent answered."""

LEARNER_TURN, OPPONENT_TURN, RANDOM_TURN, FINISHED = range(4)
"""What a game waits for: the learner, an opponent who is asked, a random move, a new deal."""

ASKED, UNIFORM, STAGED = range(3)
"""How an opponent plays: an agent is asked, or compiled: uniform over whole moves, uniform over each stage."""

RANDOM_ROLE, EVERYONE = 3, 4
"""Roles of the learner besides the three: a random seat, and all seats."""

NO_LEARNER = 3
"""The learner's seat where all are."""

ILLEGAL_REWARD = -1.0

_OPPONENT_STREAM = np.uint64(0x4F50504F4E454E54)
_SAMPLE_STREAM = np.uint64(0x53414D504C45)
_NO_SEAT = np.uint64(NO_SEAT)
_STAGE_OVER = np.uint64(STAGE_OVER)
_KICKER_ID = np.uint64(KICKER_ID)
_U6 = np.uint64(6)
_U15 = np.uint64(15)
_U63 = np.uint64(63)


@pure_kernel
def is_playable(action: int, bits: np.ndarray) -> bool:
    """Whether any integer is a legal action of a mask of shape ``[7]``."""
    return 0 <= action < NUM_ACTIONS and marked(bits, np.uint64(action))


@pure_kernel
def first_illegal(actions: np.ndarray, bits: np.ndarray) -> int:
    """Index of the first action that is not legal, -1 if all are."""
    for index in range(actions.shape[0]):
        if not is_playable(actions[index], bits[index]):
            return index
    return -1


@pure_kernel
def play_action(row: np.ndarray, ring: np.ndarray, log: np.ndarray, action: np.uint64, rules: np.ndarray) -> None:
    """Play one legal action and enter a completed move in the ring and in the log.

    Args:
        row: The game, shape ``[32]``, uint64, changed in place.
        ring: The recent moves, shape ``[16, 2]``, uint64, changed in place.
        log: All moves of the deal, shape ``[256, 2]``, uint64, or ``[0, 2]`` where they are not kept.
        action: A legal action id.
        rules: The rules array.
    """
    before = row[MOVES]
    apply_and_record(row, ring, action, rules)
    if row[MOVES] != before and row[MOVES] > U0 and log.shape[0] > 0:
        slot = np.int64(before & _U15)
        log[np.int64(before), 0] = ring[slot, 0]
        log[np.int64(before), 1] = ring[slot, 1]


@pure_kernel
def play_whole_move(
    row: np.ndarray, ring: np.ndarray, log: np.ndarray, main: np.uint64, kickers: np.uint64, rules: np.ndarray
) -> None:
    """Play a legal whole move stage by stage.

    Args:
        row: The game, changed in place.
        ring: The recent moves, changed in place.
        log: All moves (:func:`play_action`).
        main: Action id of the main group, a bid or an answer to doubling.
        kickers: The kickers as a hand, 0 if none.
        rules: The rules array.
    """
    play_action(row, ring, log, main, rules)
    while kickers != U0:
        rank = lowest(kickers & PLANE)
        kickers = remove(kickers, U1 << rank, SEGMENT_KICKER_SIZE[MAIN_SEGMENT[main]])
        play_action(row, ring, log, _KICKER_ID + rank, rules)


@kernel
def random_move(row: np.ndarray, rules: np.ndarray, bits: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Draw a whole move, uniformly over the legal ones.

    Args:
        row: The game at the start of a decision, shape ``[32]``, uint64.
        rules: The rules array.
        bits: 64 random bits.

    Returns:
        The main id and the kickers as a hand.
    """
    mains, kickers = all_moves(row, rules)
    choice = np.int64(below(bits, np.uint64(mains.size)))
    return mains[choice], kickers[choice]


@pure_kernel
def _deal(index: int, slots: Slots) -> None:
    """Deal the game that the keys name."""
    keys = slots.keys[index]
    new_game(slots.rows[index], key(keys[at.SEED], keys[at.NUMBER]), slots.rules)
    slots.rings[index][:] = U0


@pure_kernel
def _seat_learner(index: int, slots: Slots, stays: bool) -> None:
    """Choose the learner's seat in a game that begins, and seed its opponents' generator; a random seat may stay."""
    row, rules, keys, cells = slots.rows[index], slots.rules, slots.keys[index], slots.cells[index]
    cells[at.DECIDED] = 0
    role = slots.terms[at.ROLE]
    if role == EVERYONE:
        cells[at.LEARNER] = NO_LEARNER
        return
    keys[at.STREAM] = advance(key(keys[at.SEED] ^ _OPPONENT_STREAM, keys[at.NUMBER]))
    if role != RANDOM_ROLE and row[LANDLORD] != _NO_SEAT:
        seat = row[LANDLORD] + np.uint64(role)
        cells[at.LEARNER] = np.int64(seat if seat < rules[R_PLAYERS] else seat - rules[R_PLAYERS])
    elif not stays:
        cells[at.LEARNER] = np.int64(below(mix(keys[at.STREAM]), rules[R_PLAYERS]))


@pure_kernel
def _begin_step(index: int, slots: Slots) -> None:
    """Forget what the step before brought."""
    cells, returns = slots.cells[index], slots.returns[index]
    cells[at.ENDED] = cells[at.ILLEGAL] = 0
    for seat in range(returns.shape[0]):
        returns[seat] = 0.0


@inline_kernel
def _obey(index: int, slots: Slots) -> bool:
    """Carry out a game's order; returns whether the game goes on from there."""
    row, ring, log = slots.rows[index], slots.rings[index], slots.logs[index]
    keys, cells = slots.keys[index], slots.cells[index]
    order = cells[at.ORDER]
    if order == ACT:
        _begin_step(index, slots)
        cells[at.DECIDED] = 1
        if not is_playable(cells[at.ACTION], slots.bits[index]):
            slots.returns[index, at.OWN] = ILLEGAL_REWARD
            cells[at.ILLEGAL] = cells[at.ENDED] = 1
            cells[at.STATUS] = FINISHED
            return False
        play_action(row, ring, log, np.uint64(cells[at.ACTION]), slots.rules)
    elif order == ANSWER:
        play_whole_move(row, ring, log, keys[at.MAIN], keys[at.KICKERS], slots.rules)
    elif order != LOOK:
        _begin_step(index, slots)
        if order == DEAL:
            _deal(index, slots)
        _seat_learner(index, slots, order == RESUME)
    return True


@inline_kernel
def _play_on(index: int, slots: Slots) -> None:
    """Find out what a game waits for; opponents who choose each stage at random play until then."""
    row, ring, log = slots.rows[index], slots.rings[index], slots.logs[index]
    keys, cells, bits = slots.keys[index], slots.cells[index], slots.bits[index]
    learner = cells[at.LEARNER]
    cells[at.STATUS] = FINISHED
    while row[STAGE] != _STAGE_OVER:
        if learner == NO_LEARNER or row[SEAT] == np.uint64(learner):
            cells[at.STATUS] = LEARNER_TURN
            return
        role = seat_role(row, row[SEAT], slots.rules)
        kind = slots.terms[at.KINDS + (role if role < 3 else 0)]  # in an auction all opponents are the same
        if kind != STAGED:
            cells[at.STATUS] = OPPONENT_TURN if kind == ASKED else RANDOM_TURN
            return
        keys[at.STREAM] = advance(keys[at.STREAM])
        legal_mask(row, slots.rules, bits)
        play_action(row, ring, log, nth_legal(bits, below(mix(keys[at.STREAM]), count_legal(bits))), slots.rules)
    if cells[at.DECIDED] or not slots.terms[at.RENEWS]:
        _pay(index, slots)


@pure_kernel
def _pay(index: int, slots: Slots) -> None:
    """Write the returns of a game that is over."""
    cells, terms, returns = slots.cells[index], slots.terms, slots.returns[index]
    peasant_reward = terms.view(np.float64)[at.PEASANT_REWARD]
    write_returns(slots.rows[index], slots.rules, terms[at.SCORING], peasant_reward, returns)
    cells[at.ENDED] = cells[at.DECIDED]
    if cells[at.LEARNER] != NO_LEARNER:
        returns[at.OWN] = returns[cells[at.LEARNER]]


@inline_kernel
def _show(index: int, slots: Slots) -> None:
    """Write what the seat to act, the learner, or the opponent who is asked may see.

    A learner's game that is over offers action 0, which changes nothing: a distribution over no actions at all does not
    exist, and policies are asked about such a game before it is dealt anew.
    """
    row, ring, bits, cells = slots.rows[index], slots.rings[index], slots.bits[index], slots.cells[index]
    seat = row[SEAT]
    legal_mask(row, slots.rules, bits)
    if cells[at.LEARNER] != NO_LEARNER:
        if cells[at.STATUS] != OPPONENT_TURN:
            seat = np.uint64(cells[at.LEARNER])
        if cells[at.STATUS] == FINISHED:
            bits[:] = U0
            bits[0] = U1
    if slots.masks.shape[1] > 0:
        expand_mask(bits, slots.masks[index])
    if slots.observations.shape[1] > 0:
        write_observation(row, ring, slots.rules, seat, slots.observations[index])
    if slots.concealed.shape[1] > 0:
        write_concealed(row, slots.rules, seat, slots.concealed[index])
    infos = slots.infos[index]
    for number in range(infos.shape[0]):
        write_info(row, ring, slots.rules, seat if infos.shape[0] == 1 else np.uint64(number), infos[number])
    cells[at.ACTING] = np.int64(row[SEAT])
    cells[at.ACTING_ROLE] = seat_role(row, row[SEAT], slots.rules)


@pure_kernel
def _copy(source: np.ndarray, target: np.ndarray) -> None:
    for place in range(target.shape[0]):  # an assignment would allocate
        target[place] = source[place]


@pure_kernel
def _renew(index: int, words: np.ndarray) -> None:
    """Deal a slot's next game, and keep what the learner saw last.

    Games that end before the learner has decided anything are passed over.
    """
    slots = slots_of(words)
    cells, keys = slots.cells[index], slots.keys[index]
    while cells[at.STATUS] == FINISHED:
        if slots.last_infos.shape[1] > 0 and cells[at.DECIDED]:
            _show(index, slots)
            _copy(slots.observations[index], slots.last_observations[index])
            _copy(slots.infos[index, 0], slots.last_infos[index])
        keys[at.NUMBER] += np.uint64(slots.terms[at.STRIDE])
        _deal(index, slots)
        _seat_learner(index, slots, False)
        _play_on(index, slots)


@pure_kernel
def play(first: int, stop: int, words: np.ndarray) -> bool:
    """Carry out one order in each of the games ``first..stop-1``, play on, and write what they show.

    Args:
        first: The first game.
        stop: The end.
        words: The games (:func:`ddz_env.envs.slots.allocate`).

    Returns:
        Whether any of them waits for a random move.
    """
    slots, random = slots_of(words), False
    for index in range(first, stop):
        cells = slots.cells[index]
        if cells[at.ORDER] == WAIT:
            continue
        if cells[at.ORDER] == ACT and cells[at.STATUS] == FINISHED:  # over before its learner could act
            cells[at.ENDED] = cells[at.DECIDED] = 1
            continue
        if _obey(index, slots):
            _play_on(index, slots)
        if slots.terms[at.RENEWS] and cells[at.STATUS] == FINISHED:
            _renew(index, words)
        if cells[at.STATUS] == RANDOM_TURN:
            random = True
        else:
            _show(index, slots)
    return random


@kernel
def play_with_random(first: int, stop: int, words: np.ndarray) -> None:
    """As :func:`play`, and opponents who choose whole moves at random answer."""
    while play(first, stop, words):
        _draw_answers(first, stop, words)


@kernel
def _draw_answers(first: int, stop: int, words: np.ndarray) -> None:
    """Order a random answer in each game that waits for one, and nothing in the others."""
    slots = slots_of(words)
    for index in range(first, stop):
        keys, cells = slots.keys[index], slots.cells[index]
        cells[at.ORDER] = WAIT
        if cells[at.STATUS] == RANDOM_TURN:
            cells[at.ORDER] = ANSWER
            keys[at.STREAM] = advance(keys[at.STREAM])
            keys[at.MAIN], keys[at.KICKERS] = random_move(slots.rows[index], slots.rules, mix(keys[at.STREAM]))


@pure_kernel
def seed_samples(words: np.ndarray) -> None:
    """Begin the stream of sampled actions of every game."""
    slots = slots_of(words)
    for index in range(slots.keys.shape[0]):
        slots.keys[index, at.STREAM] = key(slots.keys[index, at.SEED] ^ _SAMPLE_STREAM, np.uint64(index))


@pure_kernel
def sample(words: np.ndarray) -> None:
    """Draw a uniform legal action for each game from its own stream."""
    slots = slots_of(words)
    for index in range(slots.keys.shape[0]):
        keys, bits = slots.keys[index], slots.bits[index]
        keys[at.STREAM] = advance(keys[at.STREAM])
        slots.cells[index, at.ACTION] = np.int64(nth_legal(bits, below(mix(keys[at.STREAM]), count_legal(bits))))
