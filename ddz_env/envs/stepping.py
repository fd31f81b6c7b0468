"""Stepping games: the kernels that deal them, play in them, and write what they show.

A game has one learner, whose opponents are compiled, answer from Python, or both; or all its seats are the learner's
(``EVERYONE``), and then it is stepped action by action.  What takes :class:`~ddz_env.envs.slots.Slots` is pure, because
other kernels count references to each array.
"""

from __future__ import annotations

import numpy as np

from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.core.engine.deal import new_game
from ddz_env.core.engine.kickers import may_ride
from ddz_env.core.engine.layout import HANDS, LANDLORD, MOVES, NO_SEAT, SEAT, STAGE, STAGE_OVER, STAGE_PLAY
from ddz_env.core.engine.legal import count_legal, legal_mask, marked, nth_legal
from ddz_env.core.engine.moves import random_move
from ddz_env.core.engine.random import advance, below, key, mix
from ddz_env.core.engine.score import write_returns
from ddz_env.core.engine.step import apply_and_record
from ddz_env.core.engine.tables import KICKER_ID, MAIN_SEGMENT, SEGMENT_KICKER_SIZE
from ddz_env.core.engine.unshuffled import new_unshuffled_game
from ddz_env.core.engine.words import PLANE, U0, U1, lowest, remove
from ddz_env.core.observation import expand_mask, write_concealed, write_observation
from ddz_env.core.rules import DEAL_UNSHUFFLED, R_DEAL, R_PLAYERS
from ddz_env.core.view import seat_role
from ddz_env.envs import slots as at
from ddz_env.envs.outputs import write_info
from ddz_env.envs.slots import Slots
from ddz_env.support.compiling import inline_kernel, part_kernel, pure_kernel

WAIT, LOOK, DEAL, BEGIN, RESUME, ACT, ANSWER, RENEW = range(8)
"""Orders: nothing; show the position; deal; begin with a row that is dealt already; likewise, and the learner keeps a
random seat; play the learner's action; play what an opponent answered; deal the next game in the same step."""

LEARNER_TURN, FINISHED, OPPONENT_TURN, UNSEEN_TURN = range(4)
"""What a game waits for: the learner, a new deal, an agent, an agent who needs no observation."""

ASKED, UNIFORM, STAGED, UNSEEN = range(4)
"""How an opponent plays: as an agent; compiled: uniform over whole moves, uniform over stages; as an agent who reads
the engine's rows, so that the position is not written for it."""

RANDOM_ROLE, EVERYONE = 3, 4
"""Roles of the learner besides the three: a random seat, and all seats."""

ILLEGAL_REWARD = -1.0

GAME_OVER = 4
"""Added to the number of the seat to act once the game is over."""

_OPPONENT_STREAM = np.uint64(0x4F50504F4E454E54)
_SAMPLE_STREAM = np.uint64(0x53414D504C45)
_NO_SEAT = np.uint64(NO_SEAT)
_STAGE_OVER, _STAGE_PLAY = np.uint64(STAGE_OVER), np.uint64(STAGE_PLAY)
_KICKER_ID = np.uint64(KICKER_ID)
_U15 = np.uint64(15)


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
def first_illegal_move(rows: np.ndarray, rules: np.ndarray, mask: np.ndarray, moves: np.ndarray) -> int:
    """Index of the first whole move that is not legal, -1 if all are.

    Args:
        rows: The games at the start of a decision, shape ``[k, 32]``, uint64.
        rules: The rules array.
        mask: Memory, shape ``[7]``, uint64.
        moves: Main ids and kickers as hands, shape ``[k, 2]``, uint64.
    """
    for index in range(rows.shape[0]):
        row, main = rows[index], moves[index, 0]
        legal_mask(row, rules, mask)
        if main >= np.uint64(NUM_ACTIONS) or not marked(mask, main):
            return index
        if row[STAGE] == _STAGE_PLAY:
            if not may_ride(row, row[HANDS + np.int64(row[SEAT])], main, moves[index, 1], rules):
                return index
        elif moves[index, 1] != U0:
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


@pure_kernel
def _deal(row: np.ndarray, ring: np.ndarray, keys: np.ndarray, bits: np.ndarray, rules: np.ndarray) -> None:
    """Deal the game that the keys name; ``bits`` is scratch."""
    seed = key(keys[at.SEED], keys[at.NUMBER])
    if rules[R_DEAL] == DEAL_UNSHUFFLED:
        new_unshuffled_game(row, seed, rules, bits)
    else:
        new_game(row, seed, rules)
    ring[:] = U0


@pure_kernel
def _seat_learner(row: np.ndarray, keys: np.ndarray, cells: np.ndarray, role: int, rules: np.ndarray) -> None:
    """Choose the learner's seat in a game that begins, and seed its opponents' generator."""
    cells[at.DECIDED] = 0
    keys[at.STREAM] = advance(key(keys[at.SEED] ^ _OPPONENT_STREAM, keys[at.NUMBER]))
    if role != RANDOM_ROLE and row[LANDLORD] != _NO_SEAT:
        seat = row[LANDLORD] + np.uint64(role)
        cells[at.LEARNER] = np.int64(seat if seat < rules[R_PLAYERS] else seat - rules[R_PLAYERS])
    elif cells[at.ORDER] != RESUME:
        cells[at.LEARNER] = np.int64(below(mix(keys[at.STREAM]), rules[R_PLAYERS]))


@part_kernel
def _begin_step(cells: np.ndarray, returns: np.ndarray) -> None:
    """Clear what the last step wrote: rewards, ends and illegal actions."""
    cells[at.ENDED] = cells[at.ILLEGAL] = 0
    for seat in range(returns.shape[0]):
        returns[seat] = 0.0


@inline_kernel
def _obey(index: int, slots: Slots) -> bool:
    """Carry out the order of a game with a learner; returns whether the game goes on from there."""
    row, ring, log = slots.rows[index], slots.rings[index], slots.logs[index]
    keys, cells = slots.keys[index], slots.cells[index]
    order = cells[at.ORDER]
    if order == ANSWER:
        play_whole_move(row, ring, log, keys[at.MAIN], keys[at.KICKERS], slots.rules)
    elif order == ACT:
        _begin_step(cells, slots.returns[index])
        cells[at.DECIDED] = 1
        if not is_playable(cells[at.ACTION], slots.bits[index]):
            slots.returns[index, at.OWN] = ILLEGAL_REWARD
            cells[at.ILLEGAL] = cells[at.ENDED] = 1
            cells[at.STATUS] = FINISHED
            return False
        play_action(row, ring, log, np.uint64(cells[at.ACTION]), slots.rules)
    else:
        if order != RENEW:
            _begin_step(cells, slots.returns[index])
        if order in (DEAL, RENEW):
            _deal(row, ring, keys, slots.bits[index], slots.rules)
        _seat_learner(row, keys, cells, slots.terms[at.ROLE], slots.rules)
    return True


@inline_kernel
def _play_on(index: int, slots: Slots) -> None:
    """Play for compiled opponents until the learner or an agent must decide, or the game is over."""
    row, ring, log = slots.rows[index], slots.rings[index], slots.logs[index]
    keys, cells, bits = slots.keys[index], slots.cells[index], slots.bits[index]
    learner = np.uint64(cells[at.LEARNER])
    while row[STAGE] != _STAGE_OVER:
        if row[SEAT] == learner:
            cells[at.STATUS] = LEARNER_TURN
            return
        role = seat_role(row, row[SEAT], slots.rules)
        kind = slots.terms[at.KINDS + (role if role < 3 else 0)]  # in an auction all opponents are the same
        if kind != STAGED and kind != UNIFORM:
            cells[at.STATUS] = OPPONENT_TURN if kind == ASKED else UNSEEN_TURN
            return
        keys[at.STREAM] = advance(keys[at.STREAM])
        if kind == UNIFORM:
            main, kickers = random_move(row, slots.rules, bits, mix(keys[at.STREAM]))
        else:
            legal_mask(row, slots.rules, bits)
            main, kickers = nth_legal(bits, below(mix(keys[at.STREAM]), count_legal(bits))), U0
        play_whole_move(row, ring, log, main, kickers, slots.rules)
    cells[at.STATUS] = FINISHED
    if cells[at.DECIDED] or not slots.terms[at.RENEWS]:
        _pay(row, cells, slots.terms, slots.returns[index], slots.rules)


@pure_kernel
def _pay(row: np.ndarray, cells: np.ndarray, terms: np.ndarray, returns: np.ndarray, rules: np.ndarray) -> None:
    """Write the returns of a game that is over."""
    write_returns(row, rules, terms[at.SCORING], terms.view(np.float64)[at.PEASANT_REWARD], returns)
    cells[at.ENDED] = cells[at.DECIDED]
    returns[at.OWN] = returns[cells[at.LEARNER]]


@inline_kernel
def _show(index: int, slots: Slots, seat: np.uint64, over: bool, observation: np.ndarray, mask: np.ndarray) -> None:
    """Write what a seat may see; observation and mask into rows that have no words where they are not wanted.

    A learner's game that is over offers action 0, which changes nothing: a distribution over no actions at all does not
    exist, and policies answer for such a game before the next is dealt.
    """
    row, ring, bits, cells = slots.rows[index], slots.rings[index], slots.bits[index], slots.cells[index]
    legal_mask(row, slots.rules, bits)
    if over:
        bits[:] = U0
        bits[0] = U1
    if mask.shape[0] > 0:
        expand_mask(bits, mask)
    if observation.shape[0] > 0:
        write_observation(row, ring, slots.rules, seat, observation)
    if slots.concealed.shape[1] > 0:
        write_concealed(row, slots.rules, seat, slots.concealed[index])
    infos = slots.infos[index]
    for number in range(infos.shape[0]):
        write_info(row, ring, slots.rules, seat if infos.shape[0] == 1 else np.uint64(number), infos[number])
    cells[at.ACTING] = np.int64(row[SEAT])
    cells[at.ACTING_ROLE] = seat_role(row, row[SEAT], slots.rules)


@pure_kernel
def _copy(source: np.ndarray, target: np.ndarray) -> None:
    for index in range(target.shape[0]):  # an assignment would allocate
        target[index] = source[index]


@part_kernel
def _act(index: int, slots: Slots) -> None:
    """Play the action of a game in which all seats are the learner's."""
    _begin_step(slots.cells[index], slots.returns[index])
    slots.cells[index, at.DECIDED] = 1
    action = np.uint64(slots.cells[index, at.ACTION])
    play_action(slots.rows[index], slots.rings[index], slots.logs[index], action, slots.rules)


@pure_kernel
def play(first: int, stop: int, slots: Slots) -> None:
    """Carry out one order in each of the games ``first..stop-1``, in which all seats are the learner's.

    Args:
        first: The first game.
        stop: The end.
        slots: The games.
    """
    for index in range(first, stop):
        row, cells, keys = slots.rows[index], slots.cells[index], slots.keys[index]
        order = cells[at.ORDER]
        if order == ACT:
            _act(index, slots)
        elif order != LOOK:
            _begin_step(cells, slots.returns[index])
            cells[at.DECIDED] = 0
        deals = order == DEAL
        if row[STAGE] == _STAGE_OVER and not deals:
            _pay(row, cells, slots.terms, slots.returns[index], slots.rules)
            deals = slots.terms[at.RENEWS] != 0
            keys[at.NUMBER] += np.uint64(slots.terms[at.STRIDE])
        if deals:
            _deal(row, slots.rings[index], keys, slots.bits[index], slots.rules)
        _show(index, slots, row[SEAT], False, slots.observations[index], slots.masks[index])


@pure_kernel
def play_alone(
    order: int,
    action: int,
    rules: np.ndarray,
    terms: np.ndarray,
    rows: np.ndarray,
    rings: np.ndarray,
    keys: np.ndarray,
    cells: np.ndarray,
    returns: np.ndarray,
    bits: np.ndarray,
    masks: np.ndarray,
    observations: np.ndarray,
    concealed: np.ndarray,
    infos: np.ndarray,
    logs: np.ndarray,
    last_observations: np.ndarray,
    last_infos: np.ndarray,
) -> int:
    """:func:`play` for a single game that is dealt already: begin it, or play an action.

    It takes the arrays of its :class:`Slots` one by one: Numba takes almost two microseconds longer for a named tuple
    that Python passes, half of a step.

    Returns:
        The seat to act, plus ``GAME_OVER`` behind the end of the game; -1 if the action is not legal, and nothing has
        changed.
    """
    slots = Slots(
        rules, terms, rows, rings, keys, cells, returns, bits, masks, observations, concealed, infos, logs,
        last_observations, last_infos,
    )  # fmt: skip
    row, cells = slots.rows[0], slots.cells[0]
    if order == ACT:
        if not is_playable(action, slots.bits[0]):
            return -1
        cells[at.ACTION] = action
        _act(0, slots)
    else:
        _begin_step(cells, slots.returns[0])
    over = row[STAGE] == _STAGE_OVER
    if over:
        _pay(row, cells, slots.terms, slots.returns[0], slots.rules)
    _show(0, slots, row[SEAT], False, slots.observations[0], slots.masks[0])
    seat: int = cells[at.ACTING]
    return seat + (GAME_OVER if over else 0)


@pure_kernel
def play_learners(first: int, stop: int, slots: Slots, observations: np.ndarray, masks: np.ndarray) -> None:
    """Carry out one order in each of the games ``first..stop-1``, play on, and write what they show.

    Where the step that ends a game deals the next one, what the learner saw last is kept, and games that end before the
    learner has decided anything are passed over.

    Args:
        first: The first game.
        stop: The end.
        slots: The games.
        observations: Output: what the learners see, shape ``[n, OBSERVATION_WORDS]``, uint64; what opponents see is
            written into the games.
        masks: Output, shape ``[n, 50]``, uint64, likewise.
    """
    for index in range(first, stop):
        cells, renews = slots.cells[index], slots.terms[at.RENEWS] != 0
        order = cells[at.ORDER]
        if order == WAIT:
            continue
        plays = order != LOOK
        if order == ACT and cells[at.STATUS] == FINISHED:  # over before its learner could act
            cells[at.ENDED] = cells[at.DECIDED] = 1
            plays = False
        while True:
            if plays and _obey(index, slots):
                _play_on(index, slots)
            over, asked = cells[at.STATUS] == FINISHED, cells[at.STATUS] == OPPONENT_TURN
            if cells[at.STATUS] != UNSEEN_TURN and (cells[at.DECIDED] or not (over and renews)):
                seat = np.int64(slots.rows[index, SEAT]) if asked else cells[at.LEARNER]
                observation = slots.observations[index] if asked else observations[index]
                mask = slots.masks[index] if asked else masks[index]
                _show(index, slots, np.uint64(seat), over, observation, mask)
            if not (plays and over and renews):
                break
            if cells[at.DECIDED]:
                _copy(observations[index], slots.last_observations[index])
                _copy(slots.infos[index, 0], slots.last_infos[index])
            slots.keys[index, at.NUMBER] += np.uint64(slots.terms[at.STRIDE])
            cells[at.ORDER] = RENEW


@pure_kernel
def seed_samples(slots: Slots) -> None:
    """Seed each game's generator of sampled actions."""
    for index in range(slots.keys.shape[0]):
        slots.keys[index, at.STREAM] = key(slots.keys[index, at.SEED] ^ _SAMPLE_STREAM, np.uint64(index))


@pure_kernel
def sample(slots: Slots) -> None:
    """Draw a uniform legal action for each game from its own stream."""
    for index in range(slots.keys.shape[0]):
        keys, bits = slots.keys[index], slots.bits[index]
        keys[at.STREAM] = advance(keys[at.STREAM])
        slots.cells[index, at.ACTION] = np.int64(nth_legal(bits, below(mix(keys[at.STREAM]), count_legal(bits))))
