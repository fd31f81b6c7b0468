"""The rule agent: plays by hand decomposition, without search.

A hand is split into the cheapest set of moves (:mod:`agents.baselines.decomposition`).  A move's price is what it
costs to get rid of it: near one trick for a move that nothing unseen can beat, more for one that is easily beaten,
less than nothing for bombs.  The agent finishes when it can, plays a sure win out, and otherwise leads the move that
is dearest to keep and follows when the split gets cheaper by more than it gives away.  Peasants play as a team.

Only what the seat may know is read (its own hand, the cards played, the hand sizes, the landlord and the target), so
:func:`rules_move` gives the same move on a view and on the full row behind it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from agents.baselines.decomposition import (
    BOMB,
    EMIT,
    KICKERS,
    MAINS,
    PAIR,
    PAIR_CHAIN,
    PLANE_SOLOS,
    PLANES,
    PRICE_ONLY,
    PRICES,
    QUAD_SOLOS,
    ROCKET,
    SEGMENTS_END,
    SOLO,
    SOLO_CHAIN,
    TRIO,
    Scratch,
    decompose,
    new_scratch,
)
from ddz_env import Move, View
from ddz_env.engine.compiling import inline_kernel, pure_kernel
from ddz_env.engine.kickers import kicker_options
from ddz_env.engine.layout import (
    BOMBS_ONLY,
    HANDS,
    KEY,
    LANDLORD,
    OWNER,
    PLAYED,
    SEAT,
    SIZES,
    STAGE,
    STAGE_DOUBLE,
    STAGE_PLAY,
    TARGET,
)
from ddz_env.engine.legal import legal_mask, trio_needed
from ddz_env.engine.step import main_cards, next_seat
from ddz_env.engine.tables import (
    BID_ID,
    BOMB_ID,
    DOUBLE_ID,
    MAIN_SEGMENT,
    MASK_WORDS,
    ROCKET_ID,
    SEGMENT_BASE,
    SEGMENT_CARDS,
    SEGMENT_COPIES,
    SEGMENT_KICKER_COUNT,
    SEGMENT_KICKER_SIZE,
    SEGMENT_LENGTH,
    SEGMENT_SIZE,
)
from ddz_env.engine.words import (
    CHAIN_PLANE,
    FOUR_PLANES,
    JOKERS,
    PLANE,
    U0,
    U1,
    U2,
    U3,
    U4,
    U8,
    U16,
    add,
    body_mask,
    lowest,
    popcount,
    remove,
    remove_hand,
    run,
    spread,
)
from ddz_env.errors import IllegalMoveError
from ddz_env.rules import R_BOMBS, R_DECK, R_PLAYERS

# Indexes of the weights, all in hundredths of a trick.
W_BASE_SOLO, W_SLOPE_SOLO = 0, 1
W_BASE_PAIR, W_SLOPE_PAIR = 2, 3
W_BASE_TRIO, W_SLOPE_TRIO = 4, 5
W_BASE_CHAIN, W_SLOPE_CHAIN = 6, 7
W_BOMB, W_ROCKET, W_QUAD = 8, 9, 10
W_STEP_PAIR, W_STEP_TRIO, W_STEP_CHAIN, W_STEP_PAIR_CHAIN, W_STEP_PLANE = 11, 12, 13, 14, 15
W_LEAD_CARD, W_LEAD_HOLD = 16, 17
W_FOLLOW_HOLD, W_FOLLOW_NEED, W_FOLLOW_URGENT = 18, 19, 20
W_BOMB_NEED, W_BOMB_URGENT = 21, 22
W_PARTNER_NEED, W_PARTNER_WEAK, W_PARTNER_UP = 23, 24, 25
W_HELPER = 26
W_LEAD_DANGER = 27
W_CONTROL = 28
W_LEAD_SOLO, W_LEAD_PAIR, W_LEAD_TRIO = 29, 30, 31
W_TEAM = 32
WEIGHTS = np.array(
    [
        *(0, 161),  # solo: price of a control, and what being beaten by everything adds
        *(-22, 181),  # pair
        *(0, 200),  # trio
        *(8, 200),  # chain, pair chain, plane
        *(-204, -51, 100),  # bomb, rocket, quad with kickers
        *(
            10,
            10,
            13,
            16,
            8,
        ),  # how far each higher group unseen beats a pair, trio, chain, pair chain, plane (per cent)
        *(0, 40),  # lead: for each card, against a move that is beaten
        *(60, -29, 50),  # follow: for a move that holds, least gain, less of it when the enemy has few cards
        *(69, 63),  # the same two for bombs
        *(108, 85, 18),  # least gain over the partner, less over a weak card, less still before the landlord
        20,  # more where the partner still acts in the trick
        264,  # against a move with which the enemy could go out
        -18,  # what an unbeatable move is worth besides
        *(0, -1, 2),  # lead: for solos, pairs, trios
        0,  # lead: for a move with which the partner could go out
    ],
    np.int64,
)
"""The weights, climbed to by hand-made steps and 14 minutes of random ones, on self-play and against a compiled copy of
RLCard's rule model, on other deals than those that strengths are reported on."""

_LOSER, _WINNER = 100, 1
_ZERO = np.int64(0)
_NEVER = -(1 << 30)
_LIKELY = 40
_SAFER = 15
_BLOCK = 3000
_WIN = 100_000
# The price of a hand up to which it bids or doubles.  In 40,000 deals between rule agents the landlord won half, 60 %
# and 70 % from 17 cards of the first three prices, 60 % from 20 cards of the fourth, and 30 % against the fifth.
_BID_ONE, _BID_TWO, _BID_THREE = 330, 225, 150
_DOUBLE_LANDLORD, _DOUBLE_PEASANT = 210, 200
_U15 = np.uint64(15)
_U6 = np.uint64(6)
_U63 = np.uint64(63)
_BYTE = np.uint64(255)
_ROCKET_ID = np.uint64(ROCKET_ID)
_BOMB_ID = np.uint64(BOMB_ID)


class Mind(NamedTuple):
    """The memory of one rule player.

    Attributes:
        value: The decomposition that values a hand.
        sure: The decomposition that counts the moves that can be beaten: a beatable move costs 100, others 1.
        beaten: How easily each main group is beaten, 0 (a control) to 100, by segment and lowest rank, int64.
        mask: Legal actions, shape ``[7]``, uint64.
        about: What the seat knows, shape ``[8]``, uint64: see the ``A_`` indexes.
    """

    value: Scratch
    sure: Scratch
    beaten: npt.NDArray[np.int64]
    mask: npt.NDArray[np.uint64]
    about: npt.NDArray[np.uint64]


A_HAND, A_POOL, A_SEAT, A_ENEMY_CARDS, A_FEWEST, A_NEXT_ENEMY, A_PARTNER_CARDS, A_BOMB_RISK = range(8)


def new_mind() -> Mind:
    """Memory for one thread."""
    value = new_scratch()
    return Mind(
        value=value,
        sure=Scratch(value.price.copy(), value.memory),  # one search at a time: the memory is shared
        beaten=np.zeros(SEGMENTS_END * PRICES, np.int64),
        mask=np.zeros(MASK_WORDS, np.uint64),
        about=np.zeros(8, np.uint64),
    )


@inline_kernel
def _size_of(row: np.ndarray, seat: np.uint64) -> np.uint64:
    """Cards in a seat's hand, from a view or a full row."""
    if row[SIZES] != U0:
        return (row[SIZES] >> (U8 * seat)) & _BYTE
    return popcount(row[HANDS + np.int64(seat)])


@inline_kernel
def _is_enemy(row: np.ndarray, seat: np.uint64, other: np.uint64) -> bool:
    """Whether two seats are on different sides (before there is a landlord everybody is an enemy)."""
    landlord = row[LANDLORD]
    return other != seat and (landlord >= U3 or seat == landlord or other == landlord)


@pure_kernel
def look_around(row: np.ndarray, rules: np.ndarray, mind: Mind) -> None:
    """Write what the acting seat knows into ``mind.about``; reads nothing that it does not know."""
    seat = row[SEAT]
    hand = row[HANDS + np.int64(seat)]
    pool = remove_hand(rules[R_DECK], hand)
    most, fewest, partner = U0, np.uint64(99), U0
    other = U0
    while other < rules[R_PLAYERS]:
        pool = remove_hand(pool, row[PLAYED + np.int64(other)])
        size = _size_of(row, other)
        if other == seat:
            pass
        elif _is_enemy(row, seat, other):
            most, fewest = max(most, size), min(fewest, size)
        else:
            partner = size
        other += U1
    about = mind.about
    about[A_HAND], about[A_POOL], about[A_SEAT] = hand, pool, seat
    about[A_ENEMY_CARDS], about[A_FEWEST], about[A_PARTNER_CARDS] = most, fewest, partner
    following = next_seat(seat, rules)
    about[A_NEXT_ENEMY] = _size_of(row, following) if _is_enemy(row, seat, following) else U0
    quads = pool >> (U3 * U16) if rules[R_BOMBS] == U1 and most >= U4 else U0
    about[A_BOMB_RISK] = U1 if quads != U0 or ((pool & JOKERS) == JOKERS and most >= U2) else U0


@inline_kernel
def _put_price(mind: Mind, segment: int, rank: np.uint64, beaten: int, base: int, slope: int, w: np.ndarray) -> None:
    index = segment * PRICES + np.int64(rank)
    mind.beaten[index] = beaten
    price = base + slope * beaten // 100
    if beaten == 0:
        price += w[W_CONTROL]
    mind.value.price[index] = price
    mind.sure.price[index] = _LOSER if beaten > 0 else _WINNER


@pure_kernel
def _price_segment(mind: Mind, segment: int, ranks: np.uint64, step: int, base: int, slope: int, w: np.ndarray) -> None:
    """Price a segment of which the unseen cards could hold the groups with these lowest ranks."""
    if SEGMENT_CARDS[segment] > mind.about[A_ENEMY_CARDS]:
        ranks = U0
    rank = U0
    while rank < SEGMENT_SIZE[segment]:
        higher = np.int64(popcount(ranks >> (rank + U1)))
        _put_price(mind, segment, rank, min(np.int64(100), higher * step), base, slope, w)
        rank += U1


@pure_kernel
def _price_chains(mind: Mind, plane: np.uint64, first: int, stop: int, step: int, w: np.ndarray) -> None:
    for segment in range(first, stop):
        ranks = run(plane, SEGMENT_LENGTH[segment])
        _price_segment(mind, segment, ranks, step, w[W_BASE_CHAIN], w[W_SLOPE_CHAIN], w)


@pure_kernel
def set_prices(mind: Mind, w: np.ndarray) -> None:
    """Price every main group by how easily the unseen cards beat it."""
    pool = mind.about[A_POOL]
    unseen = max(popcount(pool), U1)
    two, three = (pool >> U16) & PLANE, (pool >> (U2 * U16)) & PLANE
    four = pool >> (U3 * U16)
    rank = U0
    while rank < _U15:
        higher = popcount(pool & (FOUR_PLANES * (PLANE & ~((U2 << rank) - U1))))
        beaten = (np.int64(higher) * 100 + np.int64(unseen) - 1) // np.int64(unseen)
        _put_price(mind, SOLO, rank, beaten, w[W_BASE_SOLO], w[W_SLOPE_SOLO], w)
        rank += U1
    _price_segment(mind, PAIR, two, w[W_STEP_PAIR], w[W_BASE_PAIR], w[W_SLOPE_PAIR], w)
    _price_segment(mind, TRIO, three, w[W_STEP_TRIO], w[W_BASE_TRIO], w[W_SLOPE_TRIO], w)
    _price_chains(mind, pool & CHAIN_PLANE, SOLO_CHAIN, PAIR_CHAIN, w[W_STEP_CHAIN], w)
    _price_chains(mind, two & CHAIN_PLANE, PAIR_CHAIN, PLANES, w[W_STEP_PAIR_CHAIN], w)
    _price_chains(mind, three & CHAIN_PLANE, PLANES, PLANE_SOLOS, w[W_STEP_PLANE], w)
    _price_segment(mind, BOMB, four, 10, w[W_BOMB], 20, w)
    _price_segment(mind, QUAD_SOLOS, four, 10, w[W_QUAD], 20, w)
    _put_price(mind, ROCKET, U0, 0, w[W_ROCKET], 0, w)


@inline_kernel
def beatable(mind: Mind, main: np.uint64) -> int:
    """How easily a main group is beaten; groups with kickers count as their bodies."""
    segment = MAIN_SEGMENT[main]
    rank = main - SEGMENT_BASE[segment]
    return mind.beaten[body_segment(segment) * PRICES + np.int64(rank)]


@inline_kernel
def body_segment(segment: np.uint64) -> int:
    """The segment that prices a group with kickers."""
    if SEGMENT_KICKER_COUNT[segment] == U0:
        return np.int64(segment)
    if SEGMENT_COPIES[segment] == U4:
        return QUAD_SOLOS
    if SEGMENT_LENGTH[segment] == U1:
        return TRIO
    return PLANES + np.int64(SEGMENT_LENGTH[segment]) - 2


@inline_kernel
def _is_bomb(main: np.uint64, rules: np.ndarray) -> bool:
    return main == _ROCKET_ID or (MAIN_SEGMENT[main] == BOMB and rules[R_BOMBS] == U1)


@inline_kernel
def _without(hand: np.uint64, main: np.uint64, kickers: np.uint64) -> np.uint64:
    return remove_hand(remove_hand(hand, main_cards(main)), kickers)


@inline_kernel
def _finishing(hand: np.uint64, mind: Mind) -> np.uint64:
    """The lowest legal main group that empties the hand, 0 if none."""
    cards = popcount(hand)
    for word in range(MASK_WORDS):
        bits = mind.mask[word]
        while bits != U0:
            main = np.uint64(word) * np.uint64(64) + lowest(bits)
            bits &= bits - U1
            if main < np.uint64(379) and SEGMENT_CARDS[MAIN_SEGMENT[main]] == cards:
                return main
    return U0


@inline_kernel
def _may(mind: Mind, main: np.uint64) -> bool:
    return ((mind.mask[main >> _U6] >> (main & _U63)) & U1) == U1


@pure_kernel
def _next_options(
    row: np.ndarray,
    hand: np.uint64,
    main: np.uint64,
    left: np.uint64,
    chosen: np.uint64,
    floor: np.uint64,
    rules: np.ndarray,
) -> np.uint64:
    """The engine's kicker options of a main group."""
    segment = MAIN_SEGMENT[main]
    start, length = main - SEGMENT_BASE[segment], SEGMENT_LENGTH[segment]
    size, count = SEGMENT_KICKER_SIZE[segment], SEGMENT_KICKER_COUNT[segment]
    on_lead = row[TARGET] == U0
    trio = trio_needed(segment, start, on_lead, row[KEY], rules)
    return kicker_options(hand, start, length, size, count, left, chosen, floor, on_lead, trio, rules)


@pure_kernel
def _may_ride(row: np.ndarray, hand: np.uint64, main: np.uint64, ranks: np.uint64, rules: np.ndarray) -> bool:
    """Whether kickers of these different ranks are legal with the main group."""
    segment = MAIN_SEGMENT[main]
    left, size = SEGMENT_KICKER_COUNT[segment], SEGMENT_KICKER_SIZE[segment]
    if popcount(ranks) != left:
        return False
    chosen, floor = U0, U0
    while left > U0:
        rank = lowest(ranks)
        ranks &= ranks - U1
        if (_next_options(row, hand, main, left, chosen, floor, rules) >> rank) & U1 == U0:
            return False
        chosen = add(chosen, U1 << rank, size)
        floor = rank
        left -= U1
    return True


@pure_kernel
def _lowest_kickers(row: np.ndarray, hand: np.uint64, main: np.uint64, rules: np.ndarray) -> np.uint64:
    """The lowest legal kickers, whatever they break."""
    segment = MAIN_SEGMENT[main]
    left, size = SEGMENT_KICKER_COUNT[segment], SEGMENT_KICKER_SIZE[segment]
    chosen, floor = U0, U0
    while left > U0:
        floor = lowest(_next_options(row, hand, main, left, chosen, floor, rules))
        chosen = add(chosen, U1 << floor, size)
        left -= U1
    return chosen


@pure_kernel
def choose_kickers(row: np.ndarray, hand: np.uint64, main: np.uint64, rules: np.ndarray, mind: Mind) -> np.uint64:
    """The kickers whose loss costs the hand least, chosen one after the other.

    Args:
        row: The game, at the start of a decision.
        hand: The acting seat's hand.
        main: A legal main group.
        rules: The rules array.
        mind: Prices and memory.

    Returns:
        The kickers as a hand, 0 if the group takes none.
    """
    segment = MAIN_SEGMENT[main]
    count, size = SEGMENT_KICKER_COUNT[segment], SEGMENT_KICKER_SIZE[segment]
    if count == U0:
        return U0
    body = body_mask(main - SEGMENT_BASE[segment], SEGMENT_LENGTH[segment])
    rest = remove_hand(hand, main_cards(main))
    ranks = U0
    while count > U0:
        options = (rest >> (U16 * (size - U1))) & PLANE & ~body & ~ranks
        best, chosen = np.int64(1 << 40), U0
        while options != U0:
            bit = options & (~options + U1)
            options ^= bit
            cost, _ = decompose(remove(rest, bit, size), rules, mind.value, PRICE_ONLY)
            if cost < best:
                best, chosen = cost, bit
        ranks |= chosen
        rest = remove(rest, chosen, size)
        count -= U1
    if _may_ride(row, hand, main, ranks, rules):
        return spread(ranks, size)
    return _lowest_kickers(row, hand, main, rules)


@pure_kernel
def _sure_win(count: int, rules: np.ndarray, mind: Mind) -> tuple[np.uint64, np.uint64]:
    """The move to lead from a split in which all moves but one cannot be beaten: the unbeaten first, bombs last.

    Returns:
        Main group and kickers; 0, 0 if one of the moves is not legal.
    """
    best, found = np.int64(_NEVER), _ZERO
    for index in range(count):
        main = mind.sure.memory[MAINS + index]
        if not _may(mind, main):
            return U0, U0
        score = np.int64(SEGMENT_CARDS[MAIN_SEGMENT[main]])
        if _is_bomb(main, rules):
            score -= 50
        if beatable(mind, main) > 0:
            score -= 100
        if score > best:
            best, found = score, np.int64(index)
    return mind.sure.memory[MAINS + found], mind.sure.memory[KICKERS + found]


@pure_kernel
def _lead_score(mind: Mind, main: np.uint64, kickers: np.uint64, rules: np.ndarray, w: np.ndarray) -> int:
    """How good it is to lead a move of the hand's split."""
    about = mind.about
    segment = MAIN_SEGMENT[main]
    beaten = beatable(mind, main)
    cards = SEGMENT_CARDS[segment]
    rank = main - SEGMENT_BASE[segment]
    score = mind.value.price[body_segment(segment) * PRICES + np.int64(rank)]
    score += w[W_LEAD_CARD] * np.int64(cards) - w[W_LEAD_HOLD] * beaten // 100
    if segment == SOLO:
        score += w[W_LEAD_SOLO]
    elif segment == PAIR:
        score += w[W_LEAD_PAIR]
    elif SEGMENT_COPIES[segment] == U3:
        score += w[W_LEAD_TRIO]
    if _is_bomb(main, rules):
        score -= 1000
    if cards <= U2 and cards == about[A_FEWEST] and beaten > 0:
        # The enemy could go out with it: lead something else, or else the highest.
        score -= 10 * w[W_LEAD_DANGER] + 20 * beaten
    if cards <= U2 and cards == about[A_PARTNER_CARDS] and cards < about[A_FEWEST]:
        score += w[W_TEAM] + 3 * beaten
    return score


@inline_kernel
def _lead_to_partner(hand: np.uint64, mind: Mind) -> np.uint64:
    """The lowest solo if the partner acts next and holds one card that is likely to beat it, else 0."""
    about = mind.about
    if about[A_PARTNER_CARDS] != U1 or about[A_NEXT_ENEMY] != U0:
        return U0
    main = SEGMENT_BASE[SOLO] + lowest(hand & PLANE)
    return main if beatable(mind, main) >= _LIKELY else U0


@pure_kernel
def _lead(row: np.ndarray, rules: np.ndarray, mind: Mind, w: np.ndarray) -> tuple[np.uint64, np.uint64]:
    hand = mind.about[A_HAND]
    price, count = decompose(hand, rules, mind.sure, EMIT)
    if price < 2 * _LOSER:
        main, kickers = _sure_win(count, rules, mind)
        if main != U0:
            return main, kickers
    main = _lead_to_partner(hand, mind)
    if main != U0:
        return main, U0
    _, count = decompose(hand, rules, mind.value, EMIT)
    kickers = U0
    best = np.int64(_NEVER)
    for index in range(count):
        candidate = mind.value.memory[MAINS + index]
        if not _may(mind, candidate):
            continue
        score = _lead_score(mind, candidate, mind.value.memory[KICKERS + index], rules, w)
        if score > best:
            best, main, kickers = score, candidate, mind.value.memory[KICKERS + index]
    if main == U0:
        main = _first_legal(mind)
        kickers = _lowest_kickers(row, hand, main, rules)
    elif main < _BOMB_ID and SEGMENT_CARDS[MAIN_SEGMENT[main]] == U1 and mind.about[A_FEWEST] == U1:
        main = SEGMENT_BASE[SOLO] + _highest_rank(hand)
    return main, kickers


@inline_kernel
def _first_legal(mind: Mind) -> np.uint64:
    for word in range(MASK_WORDS):
        if mind.mask[word] != U0:
            return np.uint64(word) * np.uint64(64) + lowest(mind.mask[word])
    return U0


@inline_kernel
def _highest_rank(hand: np.uint64) -> np.uint64:
    rank = np.uint64(14)
    while (hand >> rank) & U1 == U0:
        rank -= U1
    return rank


@pure_kernel
def _follow_need(row: np.ndarray, rules: np.ndarray, mind: Mind, w: np.ndarray, bomb: bool) -> int:
    """By how much a reply must improve the hand, in hundredths of a trick."""
    about = mind.about
    seat, owner = about[A_SEAT], row[OWNER]
    if not _is_enemy(row, seat, owner):
        target = row[TARGET]
        weak = np.int64(0) if target == np.uint64(BOMBS_ONLY) else beatable(mind, target)
        need = w[W_PARTNER_NEED] - w[W_PARTNER_WEAK] * weak // 100
        if about[A_NEXT_ENEMY] != U0:
            need -= w[W_PARTNER_UP] * weak // 100
        return need + (1000 if bomb else 0)
    size = np.int64(_size_of(row, owner))
    need = w[W_BOMB_NEED] if bomb else w[W_FOLLOW_NEED]
    urgent = w[W_BOMB_URGENT] if bomb else w[W_FOLLOW_URGENT]
    if size == 1:
        return -10000
    if size < 10:
        need -= urgent * (10 - size) // 4
    following = next_seat(seat, rules)
    if following != owner and not _is_enemy(row, seat, following):
        need += w[W_HELPER]
    return need


@inline_kernel
def _must_block(row: np.ndarray, mind: Mind, main: np.uint64) -> bool:
    """Whether an enemy could go out over the target, and the reply (a solo or a pair) makes that harder."""
    target, about = row[TARGET], mind.about
    if target == np.uint64(BOMBS_ONLY) or MAIN_SEGMENT[main] != MAIN_SEGMENT[target]:
        return False
    cards = SEGMENT_CARDS[MAIN_SEGMENT[main]]
    threat = beatable(mind, target)
    if cards > U2 or threat == 0:
        return False
    if _is_enemy(row, about[A_SEAT], row[OWNER]):
        return about[A_FEWEST] == cards
    # The partner's own card may do; spend a higher one only where it is much safer.
    return about[A_NEXT_ENEMY] == cards and threat - beatable(mind, main) >= _SAFER


@pure_kernel
def _reply_score(row: np.ndarray, rules: np.ndarray, mind: Mind, w: np.ndarray, main: np.uint64, gain: int) -> int:
    """By how much a reply that makes the hand cheaper by ``gain`` exceeds what is needed; positive: play it."""
    beaten = beatable(mind, main)
    score = gain + w[W_FOLLOW_HOLD] * (100 - beaten) // 100
    score -= _follow_need(row, rules, mind, w, _is_bomb(main, rules))
    if _must_block(row, mind, main):
        score += (_BLOCK if SEGMENT_CARDS[MAIN_SEGMENT[main]] == U1 else w[W_LEAD_DANGER]) - 20 * beaten
    return score


@pure_kernel
def _follow(row: np.ndarray, rules: np.ndarray, mind: Mind, w: np.ndarray) -> tuple[np.uint64, np.uint64]:
    hand = mind.about[A_HAND]
    before, _ = decompose(hand, rules, mind.value, PRICE_ONLY)
    best, main, kickers = np.int64(0), U0, U0
    for word in range(MASK_WORDS):
        bits = mind.mask[word]
        while bits != U0:
            candidate = np.uint64(word) * np.uint64(64) + lowest(bits)
            bits &= bits - U1
            if candidate == U0:
                continue
            riders = choose_kickers(row, hand, candidate, rules, mind)
            rest = _without(hand, candidate, riders)
            after, _ = decompose(rest, rules, mind.value, PRICE_ONLY)
            score = _reply_score(row, rules, mind, w, candidate, before - after)
            if beatable(mind, candidate) == 0:
                losers, _ = decompose(rest, rules, mind.sure, PRICE_ONLY)
                if losers < 2 * _LOSER:
                    score += _WIN
            if score > best:
                best, main, kickers = score, candidate, riders
    return main, kickers


@inline_kernel
def _count(mind: Mind) -> np.uint64:
    total = U0
    for word in range(MASK_WORDS):
        total += popcount(mind.mask[word])
    return total


@inline_kernel
def _speak(row: np.ndarray, mind: Mind, value: int) -> np.uint64:
    """The bid or the answer to doubling of a hand that costs ``value`` to play out."""
    if row[STAGE] == STAGE_DOUBLE:
        limit = _DOUBLE_LANDLORD if row[SEAT] == row[LANDLORD] else _DOUBLE_PEASANT
        return np.uint64(DOUBLE_ID) + (U1 if value <= limit else U0)
    bid = U0
    if value <= _BID_ONE:
        bid = U3 if value <= _BID_THREE else (U2 if value <= _BID_TWO else U1)
    return np.uint64(BID_ID) + (bid if _may(mind, np.uint64(BID_ID) + bid) else U0)


@pure_kernel
def rules_move(row: np.ndarray, rules: np.ndarray, mind: Mind, w: np.ndarray) -> tuple[np.uint64, np.uint64]:
    """The decision of the acting seat at any stage but in the middle of a move.

    Args:
        row: A view's row or a full row; both give the same decision.
        rules: The rules array.
        mind: Memory (:func:`new_mind`).
        w: The weights (``WEIGHTS``).

    Returns:
        Action id of the main group, bid or answer to doubling, and the kickers as a hand.
    """
    legal_mask(row, rules, mind.mask)
    first = _first_legal(mind)
    if row[STAGE] == STAGE_PLAY and first == U0 and _count(mind) == U1:
        return U0, U0  # nothing but pass
    look_around(row, rules, mind)
    set_prices(mind, w)
    hand = mind.about[A_HAND]
    if row[STAGE] != STAGE_PLAY:
        value, _ = decompose(hand, rules, mind.value, PRICE_ONLY)
        return _speak(row, mind, value), U0
    main = _finishing(hand, mind)
    if main != U0:
        return main, remove_hand(hand, main_cards(main))
    if row[TARGET] == U0:
        return _lead(row, rules, mind, w)
    return _follow(row, rules, mind, w)


class RulesAgent:
    """Plays by hand decomposition; no search, microseconds a decision, no randomness.

    Example:
        >>> from ddz_env import State
        >>> state = State.new(seed=1)
        >>> RulesAgent().act(state.view(), np.random.default_rng(0)) in state.legal_moves()
        True
    """

    name = "rules"
    cheats = False

    def __init__(self) -> None:
        self._mind = new_mind()

    def act(self, view: View, rng: np.random.Generator) -> Move:
        """Choose a move by the rules; the generator is not used.

        Raises:
            IllegalMoveError: If it is not the seat's turn.
        """
        if view.acting_seat != view.seat or view.stage == "over":
            raise IllegalMoveError(f"seat {view.seat} has nothing to decide: the stage is {view.stage}")
        main, kickers = rules_move(view.row, view.rule_words, self._mind, WEIGHTS)
        return Move.from_words(int(main), int(kickers))
