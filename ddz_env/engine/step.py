"""Applying an action to a row, in place and unchecked, with or without its ring of recent moves."""

from __future__ import annotations

import numpy as np

from ddz_env.engine.compiling import inline_kernel, pure_kernel
from ddz_env.engine.deal import deal_again
from ddz_env.engine.kickers import is_plane_with_solos
from ddz_env.engine.layout import (
    BIDS,
    BOMBS,
    BOMBS_ONLY,
    BOTTOM,
    CHOSEN,
    DOUBLES,
    FLOOR,
    HANDS,
    KEY,
    KNOWN,
    LANDLORD,
    LEFT,
    MOVES,
    NO_GAME,
    OWNER,
    PASSES,
    PENDING,
    PLAYED,
    PLAYS,
    SEAT,
    STAGE,
    STAGE_BID,
    STAGE_DOUBLE,
    STAGE_KICKER,
    STAGE_OVER,
    STAGE_PLAY,
    TARGET,
    WEIGHTS,
    WINNER,
)
from ddz_env.engine.tables import (
    BID_ID,
    DOUBLE_ID,
    KICKER_ID,
    MAIN_SEGMENT,
    PLANES_OF_FOUR,
    ROCKET_ID,
    SEG_BOMB,
    SEG_ROCKET,
    SEGMENT_BASE,
    SEGMENT_COPIES,
    SEGMENT_KICKER_COUNT,
    SEGMENT_KICKER_SIZE,
    SEGMENT_LENGTH,
    SEGMENT_WEIGHT,
)
from ddz_env.engine.words import (
    CHAIN_PLANE,
    JOKERS,
    U0,
    U1,
    U2,
    U3,
    U4,
    U8,
    U12,
    U15,
    U16,
    add,
    add_hand,
    body_mask,
    exactly,
    remove,
    remove_hand,
    spread,
)
from ddz_env.rules import (
    BIDDING_ONCE,
    DECLINE_END,
    DECLINE_FIRST_SEAT,
    KICKER_TRIOS_MERGE,
    R_BIDDING,
    R_BOMBS,
    R_DECLINE,
    R_DOUBLING,
    R_PLAYERS,
    R_TRIO_KICKERS,
)


@inline_kernel
def next_seat(seat: np.uint64, rules: np.ndarray) -> np.uint64:
    """The seat that acts after ``seat``."""
    seat += U1
    return U0 if seat == rules[R_PLAYERS] else seat


@inline_kernel
def main_cards(main: np.uint64) -> np.uint64:
    """The body of a main group as a hand."""
    if main == ROCKET_ID:
        return JOKERS
    segment = MAIN_SEGMENT[main]
    return spread(body_mask(main - SEGMENT_BASE[segment], SEGMENT_LENGTH[segment]), SEGMENT_COPIES[segment])


@inline_kernel
def apply_action(row: np.ndarray, action: np.uint64, rules: np.ndarray) -> None:
    """Play one action for the seat to act.  The action must be legal: nothing is checked.

    Args:
        row: The game, shape ``[32]``, uint64, changed in place.
        action: A legal action id.
        rules: The rules array.
    """
    stage = row[STAGE]
    if stage == STAGE_PLAY:
        if action == U0:
            _pass(row, rules)
        else:
            segment = MAIN_SEGMENT[action]
            count = SEGMENT_KICKER_COUNT[segment]
            if count == U0:
                _play(row, action, U0, rules)
            else:
                row[STAGE] = STAGE_KICKER
                row[PENDING] = action
                row[CHOSEN] = U0
                row[LEFT] = count
                row[FLOOR] = U0
    elif stage == STAGE_KICKER:
        rank = action - KICKER_ID
        pending = row[PENDING]
        row[CHOSEN] = add(row[CHOSEN], U1 << rank, SEGMENT_KICKER_SIZE[MAIN_SEGMENT[pending]])
        row[FLOOR] = rank
        row[LEFT] -= U1
        if row[LEFT] == U0:
            _play(row, pending, row[CHOSEN], rules)
    elif stage == STAGE_BID:
        _bid(row, action - BID_ID, rules)
    elif stage == STAGE_DOUBLE:
        _answer_doubling(row, action - DOUBLE_ID, rules)


@inline_kernel
def _pass(row: np.ndarray, rules: np.ndarray) -> None:
    row[MOVES] += U1
    pass_turn(row, rules)


@inline_kernel
def play_move(row: np.ndarray, main: np.uint64, kickers: np.uint64, rules: np.ndarray) -> None:
    """Play a whole move (or pass) at once; the row must be in the play stage and the move legal.

    Args:
        row: The game, shape ``[32]``, uint64, changed in place.
        main: Action id of the main group, 0 for pass.
        kickers: The kickers as a hand, 0 if none.
        rules: The rules array.
    """
    if main == U0:
        _pass(row, rules)
    else:
        _play(row, main, kickers, rules)


@inline_kernel
def _play(row: np.ndarray, main: np.uint64, kickers: np.uint64, rules: np.ndarray) -> None:
    """Play a whole move and keep the books that observations, views and scores read."""
    seat = row[SEAT]
    segment = MAIN_SEGMENT[main]
    cards = main_cards(main)
    if kickers != U0:
        cards = add_hand(cards, kickers)
    row[PLAYED + np.int64(seat)] = add_hand(row[PLAYED + np.int64(seat)], cards)
    if seat == row[LANDLORD] and row[KNOWN] != U0:
        row[KNOWN] = remove_hand(row[KNOWN], cards)
    row[PLAYS] += U1 << (U8 * seat)
    row[WEIGHTS] += SEGMENT_WEIGHT[segment] << (U16 * seat)
    row[MOVES] += U1
    row[PENDING] = U0
    row[CHOSEN] = U0
    row[LEFT] = U0
    row[FLOOR] = U0
    row[STAGE] = STAGE_PLAY
    play_lightly(row, main, kickers, rules)


@inline_kernel
def play_lightly(row: np.ndarray, main: np.uint64, kickers: np.uint64, rules: np.ndarray) -> None:
    """Play a whole move in a row that nobody will look at: hands, turn, target, bombs and winner only.

    Simulations use it; the row must be in the play stage.

    Args:
        row: The game, shape ``[32]``, uint64, changed in place.
        main: Action id of the main group, not pass.
        kickers: The kickers as a hand, 0 if none.
        rules: The rules array.
    """
    seat = row[SEAT]
    segment = MAIN_SEGMENT[main]
    start = main - SEGMENT_BASE[segment]
    if segment == SEG_ROCKET:
        hand = row[HANDS + np.int64(seat)] & ~JOKERS
    else:
        body = body_mask(start, SEGMENT_LENGTH[segment])
        hand = remove(row[HANDS + np.int64(seat)], body, SEGMENT_COPIES[segment])
        if kickers != U0:
            hand = remove_hand(hand, kickers)
    row[HANDS + np.int64(seat)] = hand
    if segment == SEG_ROCKET or (segment == SEG_BOMB and rules[R_BOMBS] == U1):
        row[BOMBS] += U1
    row[PASSES] = U0
    row[OWNER] = seat
    row[TARGET] = main
    row[KEY] = start
    if rules[R_TRIO_KICKERS] == KICKER_TRIOS_MERGE and is_plane_with_solos(segment):
        _merge_reading(row, main, segment, start, kickers)
    if hand == U0:
        row[STAGE] = STAGE_OVER
        row[WINNER] = seat + U1
    else:
        row[SEAT] = next_seat(seat, rules)


@inline_kernel
def pass_turn(row: np.ndarray, rules: np.ndarray) -> None:
    """Pass: the next seat follows, or the owner of the target leads."""
    row[PASSES] += U1
    if row[PASSES] + U1 == rules[R_PLAYERS]:
        row[SEAT] = row[OWNER]
        row[TARGET] = U0
        row[KEY] = U0
        row[PASSES] = U0
    else:
        row[SEAT] = next_seat(row[SEAT], rules)


@pure_kernel
def _merge_reading(row: np.ndarray, main: np.uint64, segment: np.uint64, start: np.uint64, kickers: np.uint64) -> None:
    """Set the target to DouZero's reading of a plane with solos.

    DouZero reads the cards alone: a kicker four times is no category (only a bomb follows), a kicker trio next to
    a body of three makes a plane of four, any other kicker trio counts as the plane's highest rank.
    """
    length = SEGMENT_LENGTH[segment]
    trios = exactly(kickers, U3)
    row[TARGET] = main
    row[KEY] = start + length - U1
    if exactly(kickers, U4) != U0 or (trios != U0 and length > U3):
        row[TARGET] = BOMBS_ONLY
    elif trios != U0:
        chain = (trios | body_mask(start, length)) & CHAIN_PLANE
        joined = chain & (chain >> U1) & (chain >> U2) & (chain >> U3)
        if joined != U0:
            first = start if (joined >> start) & U1 else start - U1
            row[TARGET] = PLANES_OF_FOUR + first
            row[KEY] = first
        else:
            rank = row[KEY] + U1
            while rank < U15:
                if (trios >> rank) & U1:
                    row[KEY] = rank
                rank += U1


@pure_kernel
def _bid(row: np.ndarray, bid: np.uint64, rules: np.ndarray) -> None:
    """One bid: 0 declines, 1..3 bids."""
    seat = row[SEAT]
    shift = U4 * seat
    row[MOVES] += U1
    first_round = ((row[BIDS] >> shift) & U15) == U0
    if bid > U0 or first_round:
        row[BIDS] = (row[BIDS] & ~(U15 << shift)) | ((bid + U1) << shift)
    if bid > U0:
        row[BIDS] = (row[BIDS] & ~(U15 << U12)) | (bid << U12)
        row[OWNER] = seat
        row[PASSES] = U0
    else:
        row[PASSES] += U1
    highest = (row[BIDS] >> U12) & U15
    following = next_seat(seat, rules)
    row[SEAT] = following
    opener = (row[BIDS] >> U16) & U15
    if rules[R_BIDDING] == BIDDING_ONCE:
        ended = highest == U3 or following == opener
    else:
        ended = highest == U3 or row[PASSES] == U3 or (row[PASSES] == U2 and highest > U0)
    if not ended:
        return
    if highest > U0:
        _make_landlord(row, row[OWNER], rules)
    elif rules[R_DECLINE] == DECLINE_END:
        row[STAGE] = STAGE_OVER
        row[WINNER] = NO_GAME
    elif rules[R_DECLINE] == DECLINE_FIRST_SEAT:
        row[BIDS] |= U1 << U12
        _make_landlord(row, opener, rules)
    else:
        deal_again(row, rules)


@pure_kernel
def _make_landlord(row: np.ndarray, seat: np.uint64, rules: np.ndarray) -> None:
    row[LANDLORD] = seat
    row[HANDS + np.int64(seat)] = add_hand(row[HANDS + np.int64(seat)], row[BOTTOM])
    row[KNOWN] = row[BOTTOM]
    row[SEAT] = seat
    row[PASSES] = U0
    row[OWNER] = seat
    row[STAGE] = STAGE_DOUBLE if rules[R_DOUBLING] == U1 else STAGE_PLAY


@pure_kernel
def _answer_doubling(row: np.ndarray, doubled: np.uint64, rules: np.ndarray) -> None:
    seat = row[SEAT]
    row[MOVES] += U1
    row[DOUBLES] |= (doubled + U1) << (U2 * seat)
    row[SEAT] = next_seat(seat, rules)
    if row[SEAT] == row[LANDLORD]:
        row[STAGE] = STAGE_PLAY


@pure_kernel
def apply_and_record(row: np.ndarray, ring: np.ndarray, action: np.uint64, rules: np.ndarray) -> None:
    """Play one action, as :func:`apply_action`, and enter the move in the ring once complete.

    Args:
        row: The game, changed in place.
        ring: Shape ``[16, 2]``, uint64, changed in place.  A new deal in the auction clears it.
        action: A legal action id.
        rules: The rules array.
    """
    before = row[MOVES]
    seat = row[SEAT]
    main, cards = action, U0
    if row[STAGE] == STAGE_KICKER:
        main = row[PENDING]
        size = SEGMENT_KICKER_SIZE[MAIN_SEGMENT[main]]
        cards = add_hand(main_cards(main), add(row[CHOSEN], U1 << (action - KICKER_ID), size))
    elif row[STAGE] == STAGE_PLAY and action != U0:
        cards = main_cards(action)
    apply_action(row, action, rules)
    if row[MOVES] == U0 and before > U0:
        ring[:] = U0
    elif row[MOVES] != before:
        slot = before % U16
        ring[slot, 0] = cards
        ring[slot, 1] = main | (seat << U16)
