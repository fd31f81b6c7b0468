"""Compiled functions that write observations, action masks and full states by the layout tables."""

from __future__ import annotations

import numpy as np

from ddz_env.core.engine import layout as at
from ddz_env.core.engine.legal import write_legal_mask
from ddz_env.core.engine.score import get_bid
from ddz_env.core.engine.step import body_cards, hand_size
from ddz_env.core.engine.tables import BID_ID, MAIN_SEGMENT, MASK_WORDS, SEGMENT_KICKER_SIZE
from ddz_env.core.engine.words import BYTE, U0, U1, U2, U3, U4, U8, U15, U16, U32, U48, add_hand, popcount, remove_hand
from ddz_env.core.observation.layout import HISTORY, MASK_BYTE_WORDS, OBSERVATION, STATE, WORD
from ddz_env.core.rules import R_DECK, R_OPEN_HANDS, R_PLAYERS
from ddz_env.support.compiling import inline_kernel, part_kernel, pure_kernel

_O, _S = OBSERVATION.word_offsets, STATE.word_offsets
"""Words of the features."""
_O_TAIL, _S_TAIL = OBSERVATION.byte_offsets_from("role"), STATE.byte_offsets_from("seat")
"""The features behind the card fields share the bytes of a few words: their first bytes within these."""
_S_TAIL_WORDS = STATE.words - _S.seat

_ONES = np.uint64(0x0101010101010101)
_LANES = np.array([sum((bits >> lane & 1) << (8 * lane) for lane in range(8)) for bits in range(256)], np.uint64)
_MAIN = np.uint64(0xFFFF)
_U56 = np.uint64(56)
_NO_SEAT = np.uint64(at.NO_SEAT)
# Places in the one-hot stage.
_AT_LEAD, _AT_FOLLOW, _AT_KICKER, _AT_BID, _AT_DOUBLE = U0, U1, U2, U3, U4
_NOWHERE = np.uint64(255)
"""Far from every lane: the stage of showing a hand has no place of its own."""


@inline_kernel
def spread_bits(bits: np.uint64) -> np.uint64:
    """Spread eight bits over eight bytes, so that byte ``i`` has the value of bit ``i``."""
    lanes: np.uint64 = _LANES[bits]
    return lanes


@inline_kernel
def count_low_ranks(hand: np.uint64) -> np.uint64:
    """Count a hand's cards of ranks 0..7, packed into one byte per rank."""
    counts = spread_bits(hand & BYTE) + spread_bits((hand >> U16) & BYTE)
    return counts + spread_bits((hand >> U32) & BYTE) + spread_bits((hand >> U48) & BYTE)


@inline_kernel
def count_high_ranks(hand: np.uint64) -> np.uint64:
    """Count a hand's cards of ranks 8..14, packed into the lower seven bytes of a word."""
    return count_low_ranks(hand >> U8)


@inline_kernel
def _write_cards(out: np.ndarray, word: int, hand: np.uint64, beside: np.uint64) -> None:
    """Write a hand as 15 rank counts into two words, and another value into the sixteenth byte."""
    out[word] = count_low_ranks(hand)
    out[word + 1] = count_high_ranks(hand) | (beside << _U56)


@inline_kernel
def _shift_to_lane(value: np.uint64, lane: np.uint64) -> np.uint64:
    """Shift a value to a byte position in a word; return zero if the position lies outside the word."""
    return value << (U8 * lane) if lane < U8 else U0


@part_kernel
def _relative_seat(seat: np.uint64, observer: np.uint64, players: np.uint64) -> np.uint64:
    """Return a seat's distance from the observer in playing order (0 for the observer)."""
    return seat - observer if seat >= observer else seat + players - observer


@part_kernel
def _stage_index(row: np.ndarray, seat: np.uint64) -> np.uint64:
    """Return the one-hot index of the stage, hiding from other seats that a seat is choosing kickers."""
    stage = row[at.STAGE]
    if stage == at.STAGE_BID:
        return _AT_BID
    if stage == at.STAGE_DOUBLE:
        return _AT_DOUBLE
    if stage == at.STAGE_SHOW:
        return _NOWHERE
    if stage == at.STAGE_KICKER and row[at.SEAT] == seat:
        return _AT_KICKER
    return _AT_LEAD if row[at.TARGET] == U0 else _AT_FOLLOW


@part_kernel
def _observed_bid(row: np.ndarray) -> np.uint64:
    """Return the bid level that observations show: the highest bid plus the number of robs, at most 3."""
    return min(get_bid(row, at.HIGHEST_BID) + get_bid(row, at.ROBS), U3)


@part_kernel
def _past_slot(row: np.ndarray, back: np.uint64) -> np.int64:
    """Return the buffer index of the recent move that was played ``back`` moves before the last one."""
    return np.int64((row[at.MOVES] - U1 - back) & U15)


# Inlined by Numba: whether LLVM does it turns on chance, and an observation takes a fifth longer where it does not.


@part_kernel
def _write_seats(row: np.ndarray, rules: np.ndarray, seat: np.uint64, players: np.uint64, out: np.ndarray) -> None:
    """Write the played cards, hand size, open hand and bid of each seat in turn order, and the unseen cards."""
    hand = row[at.HANDS + np.int64(seat)]
    dealt = remove_hand(rules[R_DECK], row[at.LEFT_OUT])
    low = count_low_ranks(dealt) - count_low_ranks(hand)
    high = count_high_ranks(dealt) - count_high_ranks(hand)
    for relative in range(3):
        word = 2 * relative
        turns = np.uint64(relative)
        if turns >= players:
            for field in (_O.played_self, _O.last_self, _O.hand_next - 2):
                _write_cards(out, field + word, U0, U0)
            continue
        other = seat + turns
        if other >= players:
            other -= players
        _write_cards(out, _O.played_self + word, row[at.PLAYED + np.int64(other)], hand_size(row, other))
        low -= out[_O.played_self + word]
        high -= count_high_ranks(row[at.PLAYED + np.int64(other)])
        _write_cards(out, _O.last_self + word, U0, U0)
        if relative == 0:
            _write_cards(out, _O.hand, hand, get_bid(row, seat))
        else:
            visible = row[at.HANDS + np.int64(other)] if rules[R_OPEN_HANDS] == U1 else U0
            _write_cards(out, _O.hand_next + word - 2, visible, get_bid(row, other))
            low -= count_low_ranks(visible)
            high -= count_high_ranks(visible)
    out[_O.unseen] = low
    out[_O.unseen + 1] = high | (((low + high) * _ONES) >> _U56) << _U56


@part_kernel
def _write_history(row: np.ndarray, ring: np.ndarray, seat: np.uint64, players: np.uint64, out: np.ndarray) -> None:
    """Write the recent moves and, from them, the last move of each seat."""
    back = U0
    in_play = True
    word = _O.move_1
    for _ in range(HISTORY):
        if back >= row[at.MOVES]:
            out[word] = U0
            out[word + 1] = U0
        else:
            slot = _past_slot(row, back)
            main = ring[slot, 1] & _MAIN
            relative = _relative_seat(ring[slot, 1] >> U16, seat, players)
            low, high = count_low_ranks(ring[slot, 0]), count_high_ranks(ring[slot, 0])
            in_play = in_play and main < BID_ID
            actor = relative + U1 if main < BID_ID else relative + U4
            out[word] = low
            out[word + 1] = high | (actor << _U56)
            if in_play and back < players:
                last = _O.last_self + 2 * np.int64(relative)
                out[last] = low
                out[last + 1] = high | ((U1 if main == U0 else U2) << _U56)
        back += U1
        word += 2


@part_kernel
def _write_trick(row: np.ndarray, ring: np.ndarray, seat: np.uint64, out: np.ndarray) -> None:
    """Write the landlord cards, the move to beat and the observer's half-built move."""
    face_up = row[at.BOTTOM] if row[at.LANDLORD] != _NO_SEAT else U0
    _write_cards(out, _O.landlord_cards, face_up, row[at.BOMBS])
    _write_cards(out, _O.landlord_cards_held, row[at.KNOWN], _observed_bid(row))
    target = row[at.TARGET]
    cards = ring[_past_slot(row, row[at.PASSES]), 0] if target != U0 and row[at.MOVES] > U0 else U0
    _write_cards(out, _O.target, cards, row[at.PASSES])
    _write_target_body(row, _O.target_body, out)
    if row[at.STAGE] == at.STAGE_KICKER and row[at.SEAT] == seat:
        _write_half_built_move(row, _O.pending_body, _O.kickers, out)
    else:
        _write_cards(out, _O.pending_body, U0, U0)
        _write_cards(out, _O.kickers, U0, U0)


@part_kernel
def _write_target_body(row: np.ndarray, word: int, out: np.ndarray) -> None:
    target = row[at.TARGET]
    if target == U0:
        _write_cards(out, word, U0, U0)
    else:
        _write_cards(out, word, body_cards(target) if target != at.BOMBS_ONLY else U0, row[at.KEY] + U1)


@part_kernel
def _write_half_built_move(row: np.ndarray, body_word: int, kicker_word: int, out: np.ndarray) -> None:
    pending = row[at.PENDING]
    _write_cards(out, body_word, body_cards(pending), row[at.LEFT])
    _write_cards(out, kicker_word, row[at.CHOSEN], SEGMENT_KICKER_SIZE[MAIN_SEGMENT[pending]])


@part_kernel
def _write_tail(row: np.ndarray, seat: np.uint64, players: np.uint64, out: np.ndarray) -> None:
    """Write the small features at the end of an observation, such as the role, the stage and the seat to act."""
    role = _NO_SEAT
    if row[at.LANDLORD] != _NO_SEAT:
        role = _relative_seat(seat, row[at.LANDLORD], players)
    over = row[at.STAGE] == at.STAGE_OVER
    for half in range(2):
        first = U8 * np.uint64(half)
        word = _shift_to_lane(U1, _O_TAIL.role + role - first)
        if over:
            word |= _shift_to_lane(U1, _O_TAIL.over - first)
        else:
            word |= _shift_to_lane(U1, _O_TAIL.stage + _stage_index(row, seat) - first)
            word |= _shift_to_lane(U1, _O_TAIL.to_act + _relative_seat(row[at.SEAT], seat, players) - first)
        turns = U0
        while turns < players:
            other = seat + turns if seat + turns < players else seat + turns - players
            word |= _shift_to_lane((row[at.DOUBLES] >> (U2 * other)) & U3, _O_TAIL.doubles + turns - first)
            turns += U1
        out[_O.role + half] = word


@pure_kernel
def write_observation(row: np.ndarray, ring: np.ndarray, rules: np.ndarray, seat: np.uint64, out: np.ndarray) -> None:
    """Write what a seat sees of a game as a vector in the layout ``OBSERVATION``.

    Nothing that the seat may not know is read, but its result would be the same if it were (see the metamorphic test).

    Args:
        row: The game, or a view of it for the same seat, shape ``[32]``, uint64.
        ring: The recent moves, shape ``[16, 2]``, uint64.
        rules: The rules array.
        seat: The observer.
        out: Output, shape ``[OBSERVATION_WORDS]``, uint64; its bytes are the observation.
    """
    players = rules[R_PLAYERS]
    _write_seats(row, rules, seat, players, out)
    _write_history(row, ring, seat, players, out)
    _write_trick(row, ring, seat, out)
    _write_tail(row, seat, players, out)


@pure_kernel
def expand_mask(mask: np.ndarray, out: np.ndarray) -> None:
    """Expand an action mask from one bit to one byte per action id.

    Args:
        mask: Shape ``[7]``, uint64, as written by :func:`ddz_env.core.engine.legal.write_legal_mask`.
        out: Output, shape ``[50]``, uint64; its bytes are 0 or 1, one per action id.
    """
    lane = 0
    for word in range(MASK_WORDS):
        bits = mask[word]
        stop = min(lane + WORD, MASK_BYTE_WORDS)
        while lane < stop:
            out[lane] = spread_bits(bits & BYTE)
            bits >>= U8
            lane += 1


@pure_kernel
def write_mask(row: np.ndarray, rules: np.ndarray, mask: np.ndarray, out: np.ndarray) -> None:
    """Write the mask of the legal actions of the seat to act, both as bits and as bytes.

    Args:
        row: The game, shape ``[32]``, uint64.
        rules: The rules array.
        mask: Output, shape ``[7]``, uint64: bits.
        out: Output, shape ``[50]``, uint64: bytes (:func:`expand_mask`).
    """
    write_legal_mask(row, rules, mask)
    expand_mask(mask, out)


@pure_kernel
def write_concealed(row: np.ndarray, rules: np.ndarray, seat: np.uint64, out: np.ndarray) -> None:
    """Write the cards hidden from a seat as a vector in the layout ``CONCEALED``.

    Args:
        row: The game, shape ``[32]``, uint64.
        rules: The rules array.
        seat: The observer.
        out: Output, shape ``[CONCEALED_WORDS]``, uint64.
    """
    players = rules[R_PLAYERS]
    for turns in range(1, 3):
        hand = U0
        if np.uint64(turns) < players:
            other = seat + np.uint64(turns)
            hand = row[at.HANDS + np.int64(other if other < players else other - players)]
        _write_cards(out, 2 * turns - 2, hand, popcount(hand))
    undealt = row[at.HIDDEN]
    low, high = count_low_ranks(undealt), count_high_ranks(undealt)
    if row[at.LANDLORD] == _NO_SEAT:
        low += count_low_ranks(row[at.BOTTOM])
        high += count_high_ranks(row[at.BOTTOM])
    out[4] = low
    out[5] = high | (((low + high) * _ONES) >> _U56) << _U56


@pure_kernel
def write_state(row: np.ndarray, rules: np.ndarray, out: np.ndarray) -> None:
    """Write the whole game, with all hands, as a vector in the layout ``STATE``.

    Args:
        row: The game, shape ``[32]``, uint64.
        rules: The rules array.
        out: Output, shape ``[STATE_WORDS]``, uint64.
    """
    for seat in range(3):
        dealt = np.uint64(seat) < rules[R_PLAYERS]
        hand = row[at.HANDS + seat] if dealt else U0
        played = row[at.PLAYED + seat] if dealt else U0
        _write_cards(out, _S.hand_0 + 2 * seat, hand, popcount(hand))
        _write_cards(out, _S.played_0 + 2 * seat, played, (row[at.PLAYS] >> (U8 * np.uint64(seat))) & BYTE)
    _write_cards(out, _S.undealt, add_hand(row[at.HIDDEN], row[at.LEFT_OUT]), row[at.PASSES])
    _write_cards(out, _S.landlord_cards, row[at.BOTTOM], row[at.BOMBS])
    _write_cards(out, _S.landlord_cards_held, row[at.KNOWN], _observed_bid(row))
    _write_target_body(row, _S.target_body, out)
    if row[at.STAGE] == at.STAGE_KICKER:
        _write_half_built_move(row, _S.pending_body, _S.kickers, out)
    else:
        _write_cards(out, _S.pending_body, U0, U0)
        _write_cards(out, _S.kickers, U0, U0)
    _write_state_tail(row, rules, out)


@part_kernel
def _write_state_tail(row: np.ndarray, rules: np.ndarray, out: np.ndarray) -> None:
    over = row[at.STAGE] == at.STAGE_OVER
    for part in range(_S_TAIL_WORDS):
        first = U8 * np.uint64(part)
        word = _shift_to_lane(U1, _S_TAIL.landlord + row[at.LANDLORD] - first)
        word |= _shift_to_lane(U1, _S_TAIL.players + rules[R_PLAYERS] - U2 - first)
        if over:
            word |= _shift_to_lane(U1, _S_TAIL.over - first)
        else:
            word |= _shift_to_lane(U1, _S_TAIL.seat + row[at.SEAT] - first)
            word |= _shift_to_lane(U1, _S_TAIL.stage + _stage_index(row, row[at.SEAT]) - first)
        if row[at.TARGET] != U0:
            word |= _shift_to_lane(U1, _S_TAIL.owner + row[at.OWNER] - first)
        seat = U0
        while seat < rules[R_PLAYERS]:
            word |= _shift_to_lane(get_bid(row, seat), _S_TAIL.bids + seat - first)
            word |= _shift_to_lane((row[at.DOUBLES] >> (U2 * seat)) & U3, _S_TAIL.doubles + seat - first)
            seat += U1
        out[_S.seat + part] = word
