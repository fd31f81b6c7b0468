"""In-place application of actions to a game-state array, without legality checks."""

from __future__ import annotations

import numpy as np

from ddz_env.core import rules as variant
from ddz_env.core.engine import layout as at
from ddz_env.core.engine import tables, words
from ddz_env.core.engine.deal import deal_again, stage_after_showing, stage_with_landlord
from ddz_env.core.engine.kickers import is_plane_with_solos
from ddz_env.core.engine.score import get_bid, set_bid
from ddz_env.core.engine.words import BYTE, CHAIN_PLANE, PLANE, U0, U1, U2, U3, U4, U8, U15, U16
from ddz_env.support.compiling import inline_kernel, part_kernel, pure_kernel


@inline_kernel
def next_seat(seat: np.uint64, rules: np.ndarray) -> np.uint64:
    """Return the seat after ``seat`` in playing order, wrapping around to seat 0."""
    seat += U1
    return U0 if seat == rules[variant.R_PLAYERS] else seat


@inline_kernel
def hand_size(row: np.ndarray, seat: np.uint64) -> np.uint64:
    """Return how many cards a seat holds, given a full game-state array or a view's array."""
    if row[at.SIZES] != U0:
        return (row[at.SIZES] >> (U8 * seat)) & BYTE
    return words.popcount(row[at.HANDS + np.int64(seat)])


@inline_kernel
def body_cards(main: np.uint64) -> np.uint64:
    """Return the cards of a main-group action id, without kickers, as a 64-bit hand word."""
    return tables.MAIN_CARDS[main]


@inline_kernel
def apply_action(row: np.ndarray, action: np.uint64, rules: np.ndarray) -> None:
    """Apply an action of the seat to act to a game in place, without checking that it is legal.

    Args:
        row: The game, shape ``[32]``, uint64, changed in place.
        action: A legal action id.
        rules: The rules array.
    """
    stage = row[at.STAGE]
    if stage == at.STAGE_PLAY:
        if action == U0:
            _play_pass(row, rules)
        else:
            segment = tables.MAIN_SEGMENT[action]
            count = tables.SEGMENT_KICKER_COUNT[segment]
            if count == U0:
                _play_cards(row, action, U0, rules)
            else:
                row[at.STAGE] = at.STAGE_KICKER
                row[at.PENDING] = action
                row[at.CHOSEN] = U0
                row[at.LEFT] = count
                row[at.FLOOR] = U0
    elif stage == at.STAGE_KICKER:
        rank = action - tables.KICKER_ID
        pending = row[at.PENDING]
        row[at.CHOSEN] = words.add_cards(
            row[at.CHOSEN], U1 << rank, tables.SEGMENT_KICKER_SIZE[tables.MAIN_SEGMENT[pending]]
        )
        row[at.FLOOR] = rank
        row[at.LEFT] -= U1
        if row[at.LEFT] == U0:
            _play_cards(row, pending, row[at.CHOSEN], rules)
    elif stage == at.STAGE_BID:
        _bid(row, action - tables.BID_ID, rules)
    elif stage == at.STAGE_DOUBLE:
        _answer_doubling(row, action - tables.DOUBLE_ID, rules)
    elif stage == at.STAGE_SHOW:
        _answer_showing(row, action - tables.DOUBLE_ID, rules)


@inline_kernel
def _play_pass(row: np.ndarray, rules: np.ndarray) -> None:
    row[at.MOVES] += U1
    pass_turn(row, rules)


@inline_kernel
def play_move(row: np.ndarray, main: np.uint64, kickers: np.uint64, rules: np.ndarray) -> None:
    """Play a whole move or a pass in place, without checks; the game must be in the play stage.

    Args:
        row: The game, shape ``[32]``, uint64, changed in place.
        main: Action id of the main group, 0 for pass.
        kickers: The kickers as a hand, 0 if none.
        rules: The rules array.
    """
    if main == U0:
        _play_pass(row, rules)
    else:
        _play_cards(row, main, kickers, rules)


@inline_kernel
def _play_cards(row: np.ndarray, main: np.uint64, kickers: np.uint64, rules: np.ndarray) -> None:
    """Play a whole move, and update the played cards and counters that observations, views and scores read."""
    seat = row[at.SEAT]
    segment = tables.MAIN_SEGMENT[main]
    body, copies = body_cards(main) & PLANE, tables.BODY_COPIES[segment]
    played = words.add_cards(row[at.PLAYED + np.int64(seat)], body, copies)
    row[at.PLAYED + np.int64(seat)] = played if kickers == U0 else words.add_hand(played, kickers)
    if seat == row[at.LANDLORD] and row[at.KNOWN] != U0:
        face_up = words.remove_cards(row[at.KNOWN], body, copies)
        row[at.KNOWN] = face_up if kickers == U0 else words.remove_hand(face_up, kickers)
    row[at.PLAYS] += U1 << (U8 * seat)
    row[at.WEIGHTS] += tables.SEGMENT_WEIGHT[segment] << (U16 * seat)
    row[at.MOVES] += U1
    row[at.PENDING] = U0
    row[at.CHOSEN] = U0
    row[at.LEFT] = U0
    row[at.FLOOR] = U0
    row[at.STAGE] = at.STAGE_PLAY
    play_without_bookkeeping(row, main, kickers, rules)


@inline_kernel
def play_without_bookkeeping(row: np.ndarray, main: np.uint64, kickers: np.uint64, rules: np.ndarray) -> None:
    """Play a whole move in a simulation, updating only hands, turn, move to beat, bombs and winner.

    Simulations use it; the row must be in the play stage.

    Args:
        row: The game, shape ``[32]``, uint64, changed in place.
        main: Action id of the main group, not pass.
        kickers: The kickers as a hand, 0 if none.
        rules: The rules array.
    """
    seat = row[at.SEAT]
    segment = tables.MAIN_SEGMENT[main]
    start = main - tables.SEGMENT_BASE[segment]
    hand = words.remove_cards(row[at.HANDS + np.int64(seat)], body_cards(main) & PLANE, tables.BODY_COPIES[segment])
    if kickers != U0:
        hand = words.remove_hand(hand, kickers)
    row[at.HANDS + np.int64(seat)] = hand
    if segment == tables.SEG_ROCKET or (segment == tables.SEG_BOMB and rules[variant.R_BOMBS] == U1):
        row[at.BOMBS] += U1
    row[at.PASSES] = U0
    row[at.OWNER] = seat
    row[at.TARGET] = main
    row[at.KEY] = start
    if rules[variant.R_TRIO_KICKERS] == variant.KICKER_TRIOS_MERGE and is_plane_with_solos(segment):
        _merge_reading(row, main, segment, start, kickers)
    if hand == U0:
        row[at.STAGE] = at.STAGE_OVER
        row[at.WINNER] = seat + U1
    else:
        row[at.SEAT] = next_seat(seat, rules)


@inline_kernel
def pass_turn(row: np.ndarray, rules: np.ndarray) -> None:
    """Pass the turn to the next seat or, if all others have passed, back to the owner of the unbeaten move."""
    row[at.PASSES] += U1
    if row[at.PASSES] + U1 == rules[variant.R_PLAYERS]:
        row[at.SEAT] = row[at.OWNER]
        row[at.TARGET] = U0
        row[at.KEY] = U0
        row[at.PASSES] = U0
    else:
        row[at.SEAT] = next_seat(row[at.SEAT], rules)


@part_kernel
def _merge_reading(row: np.ndarray, main: np.uint64, segment: np.uint64, start: np.uint64, kickers: np.uint64) -> None:
    """Set the move to beat after a plane with solo kickers, as DouZero interprets the cards.

    DouZero reads the cards alone: a kicker four times makes no category (only a bomb follows), a kicker trio next to
    a body of three makes a plane of four, any other kicker trio counts as the plane's highest rank.
    """
    length = tables.SEGMENT_LENGTH[segment]
    trios = words.ranks_with_count(kickers, U3)
    row[at.TARGET] = main
    row[at.KEY] = start + length - U1
    if words.ranks_with_count(kickers, U4) != U0 or (trios != U0 and length > U3):
        row[at.TARGET] = at.BOMBS_ONLY
    elif trios != U0:
        chain = (trios | words.body_mask(start, length)) & CHAIN_PLANE
        joined = chain & (chain >> U1) & (chain >> U2) & (chain >> U3)
        if joined != U0:
            first = start if (joined >> start) & U1 else start - U1
            row[at.TARGET] = tables.PLANES_OF_FOUR + first
            row[at.KEY] = first
        else:
            rank = row[at.KEY] + U1
            while rank < U15:
                if (trios >> rank) & U1:
                    row[at.KEY] = rank
                rank += U1


@part_kernel
def _bid(row: np.ndarray, bid: np.uint64, rules: np.ndarray) -> None:
    """Apply a bid (0 declines; under robbing rules 1 calls and 2 robs) and, if it is the last, end the auction."""
    row[at.MOVES] += U1
    robbing = rules[variant.R_BIDDING] == variant.BIDDING_ROBBING
    ended = _call_or_rob(row, bid, rules) if robbing else _outbid(row, bid, rules)
    if not ended:
        return
    if get_bid(row, at.HIGHEST_BID) > U0:
        make_landlord(row, row[at.OWNER], rules)
    elif rules[variant.R_DECLINE] == variant.DECLINE_END:
        row[at.STAGE] = at.STAGE_OVER
        row[at.WINNER] = at.NO_GAME
    elif rules[variant.R_DECLINE] == variant.DECLINE_FIRST_SEAT:
        set_bid(row, at.HIGHEST_BID, U1)
        make_landlord(row, get_bid(row, at.OPENER), rules)
    else:
        deal_again(row, rules)


@part_kernel
def _outbid(row: np.ndarray, bid: np.uint64, rules: np.ndarray) -> bool:
    """Bid above the highest bid or decline; return whether the auction has ended."""
    seat = row[at.SEAT]
    if bid > U0 or get_bid(row, seat) == U0:
        set_bid(row, seat, bid + U1)
    if bid > U0:
        set_bid(row, at.HIGHEST_BID, bid)
        row[at.OWNER] = seat
        row[at.PASSES] = U0
    else:
        row[at.PASSES] += U1
    highest = get_bid(row, at.HIGHEST_BID)
    row[at.SEAT] = next_seat(seat, rules)
    if rules[variant.R_BIDDING] == variant.BIDDING_ONCE:
        return bool(highest == U3 or row[at.SEAT] == get_bid(row, at.OPENER))
    return bool(highest == U3 or row[at.PASSES] == U3 or (row[at.PASSES] == U2 and highest > U0))


@part_kernel
def _call_or_rob(row: np.ndarray, answer: np.uint64, rules: np.ndarray) -> bool:
    """Call (1), rob (2) or decline (0); return whether the auction has ended.

    A seat that has declined has no further turn.  The caller has one more if it was robbed; that ends the auction.
    """
    seat, before = row[at.SEAT], get_bid(row, row[at.SEAT])
    is_caller = before != U0
    if answer > U0:
        set_bid(row, seat, before + U2 if is_caller else answer + U1)
        raised = at.HIGHEST_BID if answer == U1 else at.ROBS
        set_bid(row, raised, get_bid(row, raised) + U1)
        row[at.OWNER] = seat
    elif not is_caller:
        set_bid(row, seat, U1)
    robbed = get_bid(row, at.ROBS) != U0
    following = seat
    for _ in range(2):
        following = next_seat(following, rules)
        bid = get_bid(row, following)
        if not is_caller and (bid == U0 or (bid == U2 and robbed)):
            row[at.SEAT] = following
            return False
    return True


@pure_kernel
def make_landlord(row: np.ndarray, seat: np.uint64, rules: np.ndarray) -> None:
    """Make a seat the landlord: end the auction, and give the seat the landlord cards and the next turn.

    Args:
        row: The game, in the auction, changed in place.
        seat: The landlord.
        rules: The rules array.
    """
    row[at.LANDLORD] = seat
    row[at.HANDS + np.int64(seat)] = words.add_hand(row[at.HANDS + np.int64(seat)], row[at.BOTTOM])
    row[at.KNOWN] = row[at.BOTTOM]
    row[at.SEAT] = seat
    row[at.PASSES] = U0
    row[at.OWNER] = seat
    row[at.STAGE] = stage_with_landlord(rules)


@part_kernel
def _answer_showing(row: np.ndarray, shows: np.uint64, rules: np.ndarray) -> None:
    row[at.MOVES] += U1
    if shows != U0:
        set_bid(row, at.SHOWN, U1)
        row[at.KNOWN] = row[at.HANDS + np.int64(row[at.LANDLORD])]
    row[at.STAGE] = stage_after_showing(rules)


@part_kernel
def _answer_doubling(row: np.ndarray, doubled: np.uint64, rules: np.ndarray) -> None:
    seat = row[at.SEAT]
    row[at.MOVES] += U1
    row[at.DOUBLES] |= (doubled + U1) << (U2 * seat)
    row[at.SEAT] = next_seat(seat, rules)
    if row[at.SEAT] == row[at.LANDLORD]:
        row[at.STAGE] = at.STAGE_PLAY


@pure_kernel
def apply_and_record(row: np.ndarray, ring: np.ndarray, action: np.uint64, rules: np.ndarray) -> None:
    """Apply an action as :func:`apply_action` does, and add a completed move to the buffer of recent moves.

    Args:
        row: The game, changed in place.
        ring: Shape ``[16, 2]``, uint64, changed in place.  A new deal in the auction clears it.
        action: A legal action id.
        rules: The rules array.
    """
    before = row[at.MOVES]
    seat = row[at.SEAT]
    main, cards = action, U0
    if row[at.STAGE] == at.STAGE_KICKER:
        main = row[at.PENDING]
        size = tables.SEGMENT_KICKER_SIZE[tables.MAIN_SEGMENT[main]]
        cards = words.add_hand(
            body_cards(main), words.add_cards(row[at.CHOSEN], U1 << (action - tables.KICKER_ID), size)
        )
    elif row[at.STAGE] == at.STAGE_PLAY and action != U0:
        cards = body_cards(action)
    apply_action(row, action, rules)
    if row[at.MOVES] == U0 and before > U0:
        ring[:] = U0
    elif row[at.MOVES] != before:
        slot = before % U16
        ring[slot, 0] = cards
        ring[slot, 1] = main | (seat << U16)
