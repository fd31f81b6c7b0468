"""The solver's move generation, which writes all complete moves of a hand straight into arrays.

A *target code* says what a reply must beat, in one number: ``(segment + 1) << 4 | key``, with the segment of the main
group on the table and the rank (or DouZero's highest trio) that a reply must exceed.  ``LEAD`` means no target,
``BOMBS`` one that only bombs and the rocket beat, ``NOTHING`` one that nothing beats.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_env.core.engine import layout as at
from ddz_env.core.engine import tables, words
from ddz_env.core.engine.kickers import body_at, is_plane_with_solos, kicker_options
from ddz_env.core.engine.legal import bomb_ranks, follow_starts, holds_rocket, is_category_allowed
from ddz_env.core.engine.step import play_without_bookkeeping
from ddz_env.core.engine.words import CHAIN_PLANE, FOUR_PLANES, JOKERS, PLANE, U0, U1, U3, U4, U15, U16
from ddz_env.core.rules import KICKER_TRIOS_MERGE, R_BOMBS_BEAT_ROCKET, R_CHAIN_FROM_QUAD, R_PLAYERS, R_TRIO_KICKERS
from ddz_env.support.compiling import inline_kernel, pure_kernel

LEAD = np.uint64(0)
BOMBS = np.uint64(0x3F0)
NOTHING = np.uint64(0x3F1)
_BOMB_TOP = np.uint64(((int(tables.SEG_BOMB) + 1) << 4) | 12)

_LEADING = np.bool_(True)
FOLLOWING = np.bool_(False)


_WORK = np.dtype(
    [
        ("hand", "u8"),
        *((name, "i8") for name in ["next", "end", "best", "segment", "weight", "beatable", "without_master"]),
    ]
)
"""A frame of a walk over one hand's moves: a hand, where its moves are on the stack, and what the walk remembers."""
RUN_FRAMES = 32
"""Frames from here on belong to the check for quick wins, those below to the fewest moves."""


class Moves(NamedTuple):
    """A stack of moves, with the memory used to generate them.

    Attributes:
        mains: Main groups, 0 for pass, shape ``[capacity]``, uint64.
        kickers: Their kickers as hands, uint64.
        rests: The mover's hand after the move, uint64.
        scores: How promising each is, int64.
        options: Scratch of the walk through kicker sets, shape ``[16]``, uint64.
        chosen: Scratch of the same walk, shape ``[16]``, uint64.
        row: A row of the engine, for DouZero's readings.
        work: Frames of the walks over one hand's moves, shape ``[64]`` (``_WORK``).
        tally: Scratch of the check for quick wins, one number per segment.
    """

    mains: npt.NDArray[np.uint64]
    kickers: npt.NDArray[np.uint64]
    rests: npt.NDArray[np.uint64]
    scores: npt.NDArray[np.int64]
    options: npt.NDArray[np.uint64]
    chosen: npt.NDArray[np.uint64]
    row: npt.NDArray[np.uint64]
    work: npt.NDArray[Any]
    tally: npt.NDArray[np.int64]


def new_moves(capacity: int) -> Moves:
    """Allocate an empty stack of moves."""
    stacks = [np.zeros(capacity, np.uint64) for _ in range(3)]
    scratch = [np.zeros(16, np.uint64) for _ in range(2)]
    row, work = np.zeros(at.ROW_WORDS, np.uint64), np.zeros(64, _WORK)
    return Moves(*stacks, np.zeros(capacity, np.int64), *scratch, row, work, np.zeros(64, np.int64))


@inline_kernel
def _append_move(moves: Moves, count: int, main: np.uint64, kickers: np.uint64, rest: np.uint64) -> int:
    """Append a move to the stack, or only count the move if the stack is full."""
    if count < moves.mains.size:
        moves.mains[count] = main
        moves.kickers[count] = kickers
        moves.rests[count] = rest
    return count + 1


@pure_kernel
def _kicker_options(
    hand: np.uint64,
    segment: np.uint64,
    start: np.uint64,
    leading: bool,
    key: np.uint64,
    left: np.uint64,
    chosen: np.uint64,
    floor: np.uint64,
    rules: np.ndarray,
) -> np.uint64:
    """Call the engine's ``kicker_options`` through one function, so that it is compiled only once."""
    return kicker_options(body_at(hand, segment, start, leading, key, rules), left, chosen, floor, rules)


@pure_kernel
def append_group_moves(
    moves: Moves,
    stop: int,
    hand: np.uint64,
    segment: np.uint64,
    starts: np.uint64,
    leading: bool,
    key: np.uint64,
    rules: np.ndarray,
) -> int:
    """Append all moves of one category and length that start at the given ranks, with all kicker sets."""
    length, copies = tables.SEGMENT_LENGTH[segment], tables.SEGMENT_COPIES[segment]
    count, size = tables.SEGMENT_KICKER_COUNT[segment], tables.SEGMENT_KICKER_SIZE[segment]
    while starts != U0:
        start = words.lowest_bit(starts)
        starts &= starts - U1
        main = tables.SEGMENT_BASE[segment] + start
        rest = words.remove_cards(hand, words.body_mask(start, length), copies)
        if count == U0:
            stop = _append_move(moves, stop, main, U0, rest)
            continue
        depth = np.int64(0)
        moves.options[0] = _kicker_options(hand, segment, start, leading, key, count, U0, U0, rules)
        moves.chosen[0] = U0
        while depth >= 0:
            options = moves.options[depth]
            if options == U0:
                depth -= 1
                continue
            rank = words.lowest_bit(options)
            moves.options[depth] = options & (options - U1)
            kickers = words.add_cards(moves.chosen[depth], U1 << rank, size)
            left = count - np.uint64(depth) - U1
            if left == U0:
                stop = _append_move(moves, stop, main, kickers, words.remove_hand(rest, kickers))
            else:
                depth += 1
                moves.chosen[depth] = kickers
                moves.options[depth] = _kicker_options(hand, segment, start, leading, key, left, kickers, rank, rules)
    return stop


@pure_kernel
def _append_category_leads(
    moves: Moves, stop: int, hand: np.uint64, plane: np.uint64, category: int, rules: np.ndarray
) -> int:
    """Append every lead of one category that a hand allows, in all chain lengths."""
    segment = tables.CATEGORY_FIRST[category]
    length = tables.SEGMENT_LENGTH[segment]
    blocked = U0
    if length > U1:
        plane &= CHAIN_PLANE
        if (
            rules[R_CHAIN_FROM_QUAD] == U0
            and tables.SEGMENT_KICKER_COUNT[segment] == U0
            and tables.SEGMENT_COPIES[segment] < U4
        ):
            blocked = hand >> np.uint64(48)
    starts = words.run_starts(plane, length)
    while starts != U0 and segment < tables.CATEGORY_STOP[category]:
        if is_category_allowed(segment, rules):
            stop = append_group_moves(moves, stop, hand, np.uint64(segment), starts & ~blocked, _LEADING, U0, rules)
        starts &= plane >> length
        length += U1
        segment += 1
    return stop


@pure_kernel
def append_leads(moves: Moves, stop: int, hand: np.uint64, rules: np.ndarray) -> int:
    """Append every move that a hand can lead, and return the new end of the stack."""
    if holds_rocket(hand, rules):
        stop = _append_move(moves, stop, tables.ROCKET_ID, U0, hand & ~JOKERS)
    for copies in range(4):
        plane = (hand >> (U16 * np.uint64(copies))) & PLANE
        if plane == U0:
            return stop
        for category in range(tables.COPIES_STOP[copies], tables.COPIES_STOP[copies + 1]):
            stop = _append_category_leads(moves, stop, hand, plane, category, rules)
    return stop


@inline_kernel
def segment_of(code: np.uint64) -> np.uint64:
    """Return the index of the category and chain length in a target code, which says what a reply must beat."""
    return (code >> U4) - U1


@pure_kernel
def reply_starts(hand: np.uint64, code: np.uint64, rules: np.ndarray) -> np.uint64:
    """Return, as bits, the starting ranks of a hand's replies that beat a target in its own category."""
    if code in (BOMBS, NOTHING):
        return U0
    return follow_starts(hand, segment_of(code), code & U15, rules)


@pure_kernel
def can_trump(hand: np.uint64, code: np.uint64, rules: np.ndarray) -> bool:
    """Return whether a hand beats a target with the rocket, or with a bomb if the target is not a bomb."""
    if code == NOTHING:
        return False
    if code != BOMBS and segment_of(code) == np.uint64(tables.SEG_BOMB):
        return holds_rocket(hand, rules)
    return bomb_ranks(hand, rules) != U0 or holds_rocket(hand, rules)


@inline_kernel
def can_beat(hand: np.uint64, code: np.uint64, rules: np.ndarray) -> bool:
    """Return whether a hand can beat a target, in the target's category or with a bomb or the rocket."""
    return can_trump(hand, code, rules) or reply_starts(hand, code, rules) != U0


@pure_kernel
def append_replies(moves: Moves, stop: int, hand: np.uint64, code: np.uint64, rules: np.ndarray) -> int:
    """Append the pass and a hand's replies to a target, and return the new end of the stack."""
    stop = _append_move(moves, stop, U0, U0, hand)
    if code == NOTHING:
        return stop
    trumps = bomb_ranks(hand, rules)
    if code != BOMBS:
        segment = segment_of(code)
        starts = reply_starts(hand, code, rules)
        if starts != U0:
            stop = append_group_moves(moves, stop, hand, segment, starts, FOLLOWING, code & U15, rules)
        if segment == np.uint64(tables.SEG_BOMB):
            trumps = U0
    while trumps != U0:
        rank = words.lowest_bit(trumps)
        trumps &= trumps - U1
        stop = _append_move(moves, stop, tables.BOMB_ID + rank, U0, words.remove_cards(hand, U1 << rank, U4))
    if holds_rocket(hand, rules):
        stop = _append_move(moves, stop, tables.ROCKET_ID, U0, hand & ~JOKERS)
    return stop


@inline_kernel
def code_of_target(target: np.uint64, key: np.uint64, rules: np.ndarray) -> np.uint64:
    """Return the solver's target code for the words ``TARGET`` and ``KEY`` of the engine's state."""
    if target == U0:
        return LEAD
    if target == at.BOMBS_ONLY:
        return BOMBS
    segment = tables.MAIN_SEGMENT[target]
    if segment == np.uint64(tables.SEG_ROCKET):
        return BOMBS if rules[R_BOMBS_BEAT_ROCKET] == U1 else NOTHING
    return ((segment + U1) << U4) | key


@pure_kernel
def _code_by_engine(row: np.ndarray, main: np.uint64, kickers: np.uint64, rules: np.ndarray) -> np.uint64:
    """Return the target code of a move with two readings, of which the engine selects one by DouZero's rule."""
    row[at.SEAT] = U0
    row[at.HANDS] = ~U0
    play_without_bookkeeping(row, main, kickers, rules)
    return code_of_target(row[at.TARGET], row[at.KEY], rules)


@inline_kernel
def is_compared_by_any_trio(code: np.uint64, rules: np.ndarray) -> bool:
    """Return whether DouZero's rule compares planes like the target by their highest trio, kickers included."""
    return rules[R_TRIO_KICKERS] == KICKER_TRIOS_MERGE and is_plane_with_solos(segment_of(code))


@inline_kernel
def code_after_move(moves: Moves, main: np.uint64, kickers: np.uint64, rules: np.ndarray) -> np.uint64:
    """Return the target code that a reply must beat after a given move, which must not be a pass."""
    segment = tables.MAIN_SEGMENT[main]
    if rules[R_TRIO_KICKERS] == KICKER_TRIOS_MERGE and is_plane_with_solos(segment):
        return _code_by_engine(moves.row, main, kickers, rules)
    return code_of_target(main, main - tables.SEGMENT_BASE[segment], rules)


@inline_kernel
def tighten_target(code: np.uint64, starts: np.uint64, rules: np.ndarray) -> np.uint64:
    """Return the highest target that allows the same replies, so that positions with equal replies hash alike.

    Args:
        code: A target that somebody can beat.
        starts: Where those who still may answer could reply within the category, all of them together.
        rules: The rules array.
    """
    if code in (BOMBS, NOTHING):
        return code
    if is_compared_by_any_trio(code, rules):
        return code
    segment = segment_of(code)
    if starts == U0:
        return _BOMB_TOP if segment == np.uint64(tables.SEG_BOMB) else BOMBS
    return ((segment + U1) << U4) | (words.lowest_bit(starts) - U1)


@pure_kernel
def is_unbeaten(hands: np.ndarray, owner: int, code: np.uint64, landlord: int, rules: np.ndarray) -> bool:
    """Return whether no opponent of a move's player can beat the move."""
    players = np.int64(rules[R_PLAYERS])
    for seat in range(players):
        if (seat == landlord) != (owner == landlord) and can_beat(hands[seat], code, rules):
            return False
    return True


# --- the fewest moves that play a hand out: a lower bound on the moves that it needs ---------------------------------

TURN_BITS = 18
"""The table has two to this many words."""
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(64 - TURN_BITS)
_HIGH = np.uint64(61)
_LOW = np.uint64(45)
_U7 = np.uint64(7)
_VALUE = np.uint64((7 << 61) | (7 << 45))
"""Bits that no hand sets (there are no two jokers of a colour): they hold the number of moves."""


def new_turns() -> npt.NDArray[np.uint64]:
    """Allocate an empty table for :func:`fewest_turns`, shape ``[2 ** TURN_BITS]``, uint64."""
    return np.zeros(1 << TURN_BITS, np.uint64)


@inline_kernel
def _table_slot(hand: np.uint64) -> np.uint64:
    return ((hand ^ (hand >> np.uint64(29))) * _MULTIPLIER) >> _SHIFT


@inline_kernel
def _look_up_turns(table: np.ndarray, hand: np.uint64) -> int:
    """Return the fewest-move count that the table holds for a non-empty hand, or 0 if it holds none."""
    word = table[_table_slot(hand)]
    return np.int64(((word >> _HIGH) << U3) | ((word >> _LOW) & _U7)) if (word & ~_VALUE) == hand else np.int64(0)


@inline_kernel
def takes_lowest(hand: np.uint64, rest: np.uint64) -> bool:
    """Return whether a move that leaves ``rest`` of a hand plays a card of the hand's lowest rank."""
    held = hand & PLANE
    column = (held & (~held + U1)) * FOUR_PLANES
    return ((rest ^ hand) & column) != U0


@inline_kernel
def fewest_turns(table: np.ndarray, moves: Moves, top: int, hand: np.uint64, rules: np.ndarray) -> int:
    """Return the fewest moves in which a hand can be played out if all other seats pass.

    Args:
        table: The table, changed in place.
        moves: A stack of moves; what lies above ``top`` is overwritten.
        top: Where its free part begins.
        hand: The hand; the empty one needs no move.
        rules: The rules array.
    """
    stored = _look_up_turns(table, hand)
    return stored if stored > 0 else _compute_fewest_turns(table, moves, top, hand, rules)


@pure_kernel
def _compute_fewest_turns(table: np.ndarray, moves: Moves, top: int, hand: np.uint64, rules: np.ndarray) -> int:
    """Compute :func:`fewest_turns` by trying every move that plays a card of the lowest rank."""
    if hand == U0:
        return 0
    depth, frame = np.int64(0), moves.work[0]
    frame.hand, frame.next, frame.best = hand, top, np.int64(words.popcount(hand))
    frame.end = append_leads(moves, top, hand, rules)
    while True:
        frame = moves.work[depth]
        index, end, current = frame.next, frame.end, frame.hand
        if end > moves.mains.size:
            return np.int64(words.popcount(hand))  # no room: solos are always possible
        if index == end:
            best = frame.best
            table[_table_slot(current)] = (
                current | ((np.uint64(best) >> U3) << _HIGH) | ((np.uint64(best) & _U7) << _LOW)
            )
            if depth == 0:
                return best
            depth -= 1
            moves.work[depth].best = min(moves.work[depth].best, 1 + best)
            continue
        frame.next = index + 1
        rest = moves.rests[index]
        if not takes_lowest(current, rest):
            continue
        if rest == U0:
            frame.best, frame.next = 1, end
        elif frame.best > 2:
            stored = _look_up_turns(table, rest)
            if stored > 0:
                frame.best = min(frame.best, 1 + stored)
            else:
                depth += 1
                frame = moves.work[depth]
                frame.hand, frame.next, frame.best = rest, end, np.int64(words.popcount(rest))
                frame.end = append_leads(moves, end, rest, rules)
