"""The planned simulation: every hand is split into moves once, and the split is played out.

Random simulations break every hand to pieces, so they say little about which hand is nearer to its end.  Here the
hands of a determinization are decomposed by the rule agent's prices (:mod:`ddz_agents.rules.decomposition`) when the
simulation begins.  Then a seat leads the move that is dearest to keep, and follows with the lowest move of its split
that beats the target; it breaks pairs and trios up and spends bombs only where that pays.  A decomposition is paid for
once a hand, not once a move: a planned simulation costs a few random ones, one guided by the rule agent a hundred.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_agents.rules import weights
from ddz_agents.rules.decomposition import decompose
from ddz_agents.rules.prices import body_segment, set_prices
from ddz_agents.rules.scratch import (
    A_ENEMY_CARDS,
    A_POOL,
    BOMB,
    EMIT,
    KICKERS,
    MAINS,
    PAIR,
    PRICES,
    SOLO,
    TRIO,
    RuleScratch,
    new_rule_scratch,
)
from ddz_agents.rules.weights import WEIGHTS
from ddz_agents.tree_search.simulate import to_play_stage
from ddz_env.core.engine.compiling import inline_kernel, pure_kernel
from ddz_env.core.engine.layout import BOMBS_ONLY, HANDS, KEY, LANDLORD, OWNER, PLAYED, SEAT, STAGE, STAGE_PLAY, TARGET
from ddz_env.core.engine.legal import replies
from ddz_env.core.engine.step import next_seat, pass_turn, play_lightly
from ddz_env.core.engine.tables import MAIN_SEGMENT, ROCKET_ID, SEGMENT_BASE, SEGMENT_CARDS
from ddz_env.core.engine.words import U0, U1, U2, popcount, remove_hand
from ddz_env.core.rules import R_BOMBS, R_DECK, R_PLAYERS

ROOM = 20
"""Moves a seat's split can have."""
_NEVER = np.int64(-(1 << 30))
_NONE = np.int64(-1)
_BOMB_LEAD = 1000
_DANGER = 2640
_ROCKET_ID = np.uint64(ROCKET_ID)
_BOMBS_ONLY = np.uint64(BOMBS_ONLY)
_MOST_CARDS = np.uint64(20)


class Plan(NamedTuple):
    """The splits of the three hands.

    Attributes:
        mind: The prices and the memory of the decomposition.
        main: Main groups, ``ROOM`` a seat, shape ``[60]``, uint64.
        kickers: Their kickers as hands, shape ``[60]``, uint64.
        moves: Moves in each seat's split, shape ``[3]``, int64.
    """

    mind: RuleScratch
    main: npt.NDArray[np.uint64]
    kickers: npt.NDArray[np.uint64]
    moves: npt.NDArray[np.int64]


def new_plan() -> Plan:
    """Memory for one thread."""
    return Plan(new_rule_scratch(), np.zeros(3 * ROOM, np.uint64), np.zeros(3 * ROOM, np.uint64), np.zeros(3, np.int64))


@pure_kernel
def set_plan_prices(row: np.ndarray, rules: np.ndarray, plan: Plan) -> None:
    """Price the main groups by the cards not yet played, before the first simulation of a search."""
    unplayed = rules[R_DECK]
    for seat in range(np.int64(rules[R_PLAYERS])):
        unplayed = remove_hand(unplayed, row[PLAYED + seat])
    plan.mind.about[A_POOL] = unplayed
    plan.mind.about[A_ENEMY_CARDS] = _MOST_CARDS
    set_prices(plan.mind, WEIGHTS)


@pure_kernel
def _split(hand: np.uint64, seat: int, rules: np.ndarray, plan: Plan) -> None:
    """Decompose a hand into the seat's moves."""
    _, count = decompose(hand, rules, plan.mind.value, EMIT)
    first = seat * ROOM
    for index in range(count):
        plan.main[first + index] = plan.mind.value.memory[MAINS + index]
        plan.kickers[first + index] = plan.mind.value.memory[KICKERS + index]
    plan.moves[seat] = count


@inline_kernel
def _place(main: np.uint64) -> int:
    """Where the price of a main group stands."""
    segment = MAIN_SEGMENT[main]
    return body_segment(segment) * PRICES + np.int64(main - SEGMENT_BASE[segment])


@inline_kernel
def _is_bomb(main: np.uint64, rules: np.ndarray) -> bool:
    return main == _ROCKET_ID or (MAIN_SEGMENT[main] == np.uint64(BOMB) and rules[R_BOMBS] == U1)


@inline_kernel
def _drop(plan: Plan, seat: int, index: int) -> None:
    """Take a move out of a seat's split."""
    plan.moves[seat] -= 1
    last = seat * ROOM + plan.moves[seat]
    plan.main[index] = plan.main[last]
    plan.kickers[index] = plan.kickers[last]


@inline_kernel
def _cards_in(row: np.ndarray, seat: np.uint64) -> np.uint64:
    return popcount(row[HANDS + np.int64(seat)])


@inline_kernel
def _fewest_of_enemies(row: np.ndarray, seat: np.uint64, rules: np.ndarray) -> np.uint64:
    """Cards of the enemy who has fewest."""
    landlord = row[LANDLORD]
    if seat != landlord:
        return _cards_in(row, landlord)
    fewest = np.uint64(99)
    other = U0
    while other < rules[R_PLAYERS]:
        if other != seat:
            fewest = min(fewest, _cards_in(row, other))
        other += U1
    return fewest


@pure_kernel
def _unbeaten(row: np.ndarray, seat: np.uint64, main: np.uint64, rules: np.ndarray) -> bool:
    """Whether no enemy of this determinization beats a main group."""
    landlord = row[LANDLORD]
    key = main - SEGMENT_BASE[MAIN_SEGMENT[main]]
    other = U0
    while other < rules[R_PLAYERS]:
        if other != seat and (seat == landlord or other == landlord):
            _, starts, bombs, rocket = replies(row[HANDS + np.int64(other)], main, key, rules)
            if (starts | bombs | rocket) != U0:
                return False
        other += U1
    return True


@pure_kernel
def _lead(row: np.ndarray, seat: np.uint64, rules: np.ndarray, plan: Plan) -> int:
    """Index of the move to lead."""
    first = np.int64(seat) * ROOM
    stop = first + plan.moves[np.int64(seat)]
    fewest = _fewest_of_enemies(row, seat, rules)
    best, best_score = first, _NEVER
    safe, losers = _NONE, 0
    for index in range(first, stop):
        main = plan.main[index]
        place = _place(main)
        beaten = plan.mind.beaten[place]
        score = plan.mind.value.price[place] - WEIGHTS[weights.LEAD_HOLD] * beaten // 100
        cards = SEGMENT_CARDS[MAIN_SEGMENT[main]]
        if _is_bomb(main, rules):
            score -= _BOMB_LEAD
        if cards <= U2 and cards == fewest and beaten > 0:
            score -= _DANGER + 20 * beaten
        if score > best_score:
            best, best_score = index, score
        if losers < 2:
            if _unbeaten(row, seat, main, rules):
                if safe < 0 or _is_bomb(plan.main[safe], rules):
                    safe = np.int64(index)
            else:
                losers += 1
    if losers < 2 and safe >= 0:
        return safe
    return best


@inline_kernel
def _need(row: np.ndarray, seat: np.uint64) -> int:
    """By how much a reply to an enemy must improve the hand, in hundredths of a trick (the rule agent's)."""
    size = np.int64(_cards_in(row, row[OWNER]))
    need = np.int64(WEIGHTS[weights.FOLLOW_NEED])
    if size < 10:
        need -= WEIGHTS[weights.FOLLOW_URGENT] * (10 - size) // 4
    return need


@inline_kernel
def _partner_need(row: np.ndarray, seat: np.uint64, rules: np.ndarray, plan: Plan) -> int:
    weak = np.int64(0) if row[TARGET] == _BOMBS_ONLY else plan.mind.beaten[_place(row[TARGET])]
    need = WEIGHTS[weights.PARTNER_NEED] - WEIGHTS[weights.PARTNER_WEAK] * weak // 100
    if next_seat(seat, rules) == row[LANDLORD]:
        need -= WEIGHTS[weights.PARTNER_UP] * weak // 100
    return need


@inline_kernel
def _price(plan: Plan, segment: int, rank: np.uint64) -> int:
    return plan.mind.value.price[body_segment(np.uint64(segment)) * PRICES + np.int64(rank)]


@inline_kernel
def _gain(plan: Plan, segment: int, rank: np.uint64) -> int:
    """What getting rid of a move is worth, with a bonus where it may hold the trick."""
    place = body_segment(np.uint64(segment)) * PRICES + np.int64(rank)
    return plan.mind.value.price[place] + WEIGHTS[weights.FOLLOW_HOLD] * (100 - plan.mind.beaten[place]) // 100


@inline_kernel
def _breaks(own: int, segment: int) -> bool:
    """Whether a move of the split may be broken to beat a target of the segment."""
    return (segment == SOLO and (own == PAIR or own == TRIO)) or (segment == PAIR and own == TRIO)  # noqa: SIM109


@pure_kernel
def _follow(row: np.ndarray, seat: np.uint64, rules: np.ndarray, plan: Plan) -> tuple[int, np.uint64, np.uint64]:
    """The reply of the split.

    Returns:
        Index of the move of the split that is played or broken (-1: pass), the main group and the kickers.
    """
    hand = row[HANDS + np.int64(seat)]
    target = row[TARGET]
    base, starts, bombs, rocket = replies(hand, target, row[KEY], rules)
    if (starts | bombs | rocket) == U0:
        return _NONE, U0, U0
    first = np.int64(seat) * ROOM
    stop = first + plan.moves[np.int64(seat)]
    partner = row[OWNER] != row[LANDLORD] and seat != row[LANDLORD]
    best, best_score = _NONE, _partner_need(row, seat, rules, plan) if partner else _need(row, seat)
    best_main, best_kickers = U0, U0
    segment = np.int64(MAIN_SEGMENT[target]) if target != _BOMBS_ONLY else _NONE
    may_bomb = not partner and (bombs | rocket) != U0
    may_bomb = may_bomb and (plan.moves[np.int64(seat)] <= 2 or _cards_in(row, row[OWNER]) <= U2)
    for index in range(first, stop):
        main = plan.main[index]
        own = np.int64(MAIN_SEGMENT[main])
        rank = main - SEGMENT_BASE[own]
        beats = segment != _NONE and (starts >> rank) & U1 == U1
        score = _NEVER
        if own == segment and beats:
            score = _gain(plan, own, rank)
        elif beats and _breaks(own, segment):
            left = PAIR if own == TRIO and segment == SOLO else SOLO
            score = _gain(plan, segment, rank) + _price(plan, own, rank)
            score -= _price(plan, left, rank) + _price(plan, segment, rank)
        elif may_bomb and best < 0 and own != segment and _is_bomb(main, rules):
            best, best_main, best_kickers = np.int64(index), main, U0
        if score > best_score:
            best, best_score, best_main = np.int64(index), score, base + rank
            best_kickers = plan.kickers[index] if own == segment else U0
    return best, best_main, best_kickers


@inline_kernel
def _book(plan: Plan, seat: int, index: int, main: np.uint64) -> None:
    """Write a reply into the split: gone, or a pair or trio that lost a solo or a pair."""
    held = plan.main[index]
    if held == main:
        _drop(plan, seat, index)
        return
    own, played = np.int64(MAIN_SEGMENT[held]), np.int64(MAIN_SEGMENT[main])
    left = PAIR if own == TRIO and played == SOLO else SOLO
    plan.main[index] = SEGMENT_BASE[left] + (main - SEGMENT_BASE[played])
    plan.kickers[index] = U0


@pure_kernel
def simulate_planned(row: np.ndarray, rules: np.ndarray, mask: np.ndarray, state: np.uint64, plan: Plan) -> np.uint64:
    """Play to the end, every hand by its split.

    Args:
        row: The game, at any stage, changed in place; only hands, turn, bombs and winner are kept right.
        rules: The rules array.
        mask: Scratch, shape ``[7]``.
        state: The generator's state; drawn from only to finish an auction or a half-built move.
        plan: Prices (:func:`set_plan_prices`) and memory.

    Returns:
        The generator's new state.
    """
    state = to_play_stage(row, rules, mask, state)
    if row[STAGE] == STAGE_PLAY:
        for seat in range(np.int64(rules[R_PLAYERS])):
            _split(row[HANDS + seat], seat, rules, plan)
    while row[STAGE] == STAGE_PLAY:
        seat = row[SEAT]
        mine = np.int64(seat)
        if row[TARGET] == U0:
            index = _lead(row, seat, rules, plan)
            main, kickers = plan.main[index], plan.kickers[index]
            _drop(plan, mine, index)
            play_lightly(row, main, kickers, rules)
        else:
            index, main, kickers = _follow(row, seat, rules, plan)
            if index < 0:
                pass_turn(row, rules)
            else:
                _book(plan, mine, index, main)
                play_lightly(row, main, kickers, rules)
    return state
