"""The decisions of the rule agent: which move to lead, which reply to give, and which bid to make.

A hand is split into the cheapest set of moves (:mod:`ddz_agents.rules.decomposition`).  A move's price is what it
costs to get rid of it: near one trick for a move that nothing unseen can beat, more for one that is easily beaten,
less than nothing for bombs.  The agent finishes when it can, plays a sure win out, and otherwise leads the move that
is dearest to keep and follows when the split gets cheaper by more than it gives away.  Peasants play as a team.

Only what the seat may know is read (its own hand, the cards played, the hand sizes, the landlord and the target), so
:func:`rules_move` gives the same move on a view and on the full row behind it.
"""

from __future__ import annotations

import numpy as np

from ddz_agents.rules import weights as of
from ddz_agents.rules import workspace as slots
from ddz_agents.rules.decomposition import losers_and_controls, price_of_hand, split_hand, write_split
from ddz_agents.rules.prices import LOSER, is_bomb, percent_beaten, price_of_main, set_prices
from ddz_agents.rules.workspace import RuleWorkspace, is_enemy, read_public_state
from ddz_env.core.engine import layout as at
from ddz_env.core.engine import tables, words
from ddz_env.core.engine.kickers import are_kickers_legal, body_of, kicker_options
from ddz_env.core.engine.legal import count_legal, finishing_action, is_legal_action, nth_legal, write_legal_mask
from ddz_env.core.engine.score import get_bid
from ddz_env.core.engine.step import body_cards, hand_size, next_seat
from ddz_env.core.engine.words import PLANE, U0, U1, U2, U3, U16
from ddz_env.core.rules import BIDDING_ROBBING, R_BIDDING
from ddz_env.support.compiling import part_kernel, pure_kernel

# The price of a hand up to which it bids or doubles.  In 40,000 deals between rule agents the landlord won half, 60 %
# and 70 % from 17 cards of the first three prices, 60 % from 20 cards of the fourth, and 30 % against the fifth.
_BID_ONE, _BID_TWO, _BID_THREE = 330, 225, 150
_DOUBLE_LANDLORD, _DOUBLE_PEASANT, _SHOW = 210, 200, 150
_ZERO = np.int64(0)
_NEVER = -(1 << 30)
_LIKELY = 40
_SAFER = 15
_BLOCK = 3000
_WIN = 100_000


@pure_kernel
def lowest_kickers(row: np.ndarray, hand: np.uint64, main: np.uint64, rules: np.ndarray) -> np.uint64:
    """Return the lowest legal kickers for a main group, even if they break up another group."""
    body = body_of(row, hand, main, rules)
    left = body.kickers
    chosen, floor = U0, U0
    while left > U0:
        floor = words.lowest_bit(kicker_options(body, left, chosen, floor, rules))
        chosen = words.add_cards(chosen, U1 << floor, body.size)
        left -= U1
    return chosen


@pure_kernel
def choose_kickers(
    row: np.ndarray, hand: np.uint64, main: np.uint64, rules: np.ndarray, workspace: RuleWorkspace
) -> np.uint64:
    """Choose a main group's kickers one after another, each time the one whose loss costs the hand least.

    Args:
        row: The game, at the start of a decision.
        hand: The acting seat's hand.
        main: A legal main group.
        rules: The rules array.
        workspace: Prices and memory.

    Returns:
        The kickers as a hand, 0 if the group takes none.
    """
    body = body_of(row, hand, main, rules)
    count, size = body.kickers, body.size
    if count == U0:
        return U0
    ranks_of_body = words.body_mask(body.start, body.length)
    rest = words.remove_hand(hand, body_cards(main))
    ranks = U0
    while count > U0:
        options = (rest >> (U16 * (size - U1))) & PLANE & ~ranks_of_body & ~ranks
        best, chosen = np.int64(1 << 40), U0
        while options != U0:
            bit = options & (~options + U1)
            options ^= bit
            cost = price_of_hand(words.remove_cards(rest, bit, size), workspace)
            if cost < best:
                best, chosen = cost, bit
        ranks |= chosen
        rest = words.remove_cards(rest, chosen, size)
        count -= U1
    kickers = words.cards_of_ranks(ranks, size)
    if are_kickers_legal(row, hand, main, kickers, rules):
        return kickers
    return lowest_kickers(row, hand, main, rules)


@part_kernel
def _find_sure_win(count: int, rules: np.ndarray, workspace: RuleWorkspace) -> tuple[np.uint64, np.uint64]:
    """Return a lead that makes a win certain when at most one move of the decomposed hand can be beaten.

    Returns:
        Main group and kickers; 0, 0 if one of the moves is not legal.
    """
    best, best_index = np.int64(_NEVER), _ZERO
    for index in range(count):
        main = workspace.scratch.memory[slots.MAINS + index]
        if not is_legal_action(workspace.mask, main):
            return U0, U0
        score = np.int64(tables.SEGMENT_CARDS[tables.MAIN_SEGMENT[main]])
        if is_bomb(main, rules):
            score -= 50
        if percent_beaten(workspace, main) > 0:
            score -= 100
        if score > best:
            best, best_index = score, np.int64(index)
    return workspace.scratch.memory[slots.MAINS + best_index], workspace.scratch.memory[slots.KICKERS + best_index]


@part_kernel
def _lead_score(workspace: RuleWorkspace, main: np.uint64, rules: np.ndarray, w: np.ndarray) -> int:
    """Return the score of leading a move: its cost plus weighted terms for its category, length and strength."""
    about, segment, beaten = workspace.about, tables.MAIN_SEGMENT[main], percent_beaten(workspace, main)
    cards, score = tables.SEGMENT_CARDS[segment], price_of_main(main, workspace)
    score += w[of.LEAD_CARD] * np.int64(cards) - w[of.LEAD_HOLD] * beaten // 100
    if segment == slots.SOLO:
        score += w[of.LEAD_SOLO]
    elif segment == slots.PAIR:
        score += w[of.LEAD_PAIR]
    elif tables.SEGMENT_COPIES[segment] == U3:
        score += w[of.LEAD_TRIO]
    if is_bomb(main, rules):
        score -= 1000
    if cards <= U2 and cards == about[slots.A_FEWEST] and beaten > 0:
        # The enemy could go out with it: lead something else, or else the highest.
        score -= 10 * w[of.LEAD_DANGER] + 20 * beaten
    if cards <= U2 and cards == about[slots.A_PARTNER_CARDS] and cards < about[slots.A_FEWEST]:
        score += w[of.TEAM] + 3 * beaten
    return score


@part_kernel
def _lead_to_partner(hand: np.uint64, workspace: RuleWorkspace) -> np.uint64:
    """Return the lowest solo if the partner acts next and likely beats it with its last card, else 0."""
    about = workspace.about
    if about[slots.A_PARTNER_CARDS] != U1 or about[slots.A_NEXT_ENEMY] != U0:
        return U0
    main = tables.SEGMENT_BASE[slots.SOLO] + words.lowest_bit(hand & PLANE)
    return main if percent_beaten(workspace, main) >= _LIKELY else U0


@part_kernel
def _choose_lead(
    row: np.ndarray, rules: np.ndarray, workspace: RuleWorkspace, w: np.ndarray
) -> tuple[np.uint64, np.uint64]:
    """Choose the move to lead, as a main group and its kickers."""
    hand = workspace.about[slots.A_HAND]
    _, sure = split_hand(hand, workspace)
    if sure < 2 * LOSER:
        main, kickers = _find_sure_win(write_split(True, workspace), rules, workspace)
        if main != U0:
            return main, kickers
    main = _lead_to_partner(hand, workspace)
    if main != U0:
        return main, U0
    kickers = U0
    best = np.int64(_NEVER)
    for index in range(write_split(False, workspace)):
        candidate = workspace.scratch.memory[slots.MAINS + index]
        if not is_legal_action(workspace.mask, candidate):
            continue
        score = _lead_score(workspace, candidate, rules, w)
        if score > best:
            best, main, kickers = score, candidate, workspace.scratch.memory[slots.KICKERS + index]
    if main == U0:
        main = nth_legal(workspace.mask, U0)
        kickers = lowest_kickers(row, hand, main, rules)
    elif tables.MAIN_SEGMENT[main] == slots.SOLO and workspace.about[slots.A_FEWEST] == U1:
        main = tables.SEGMENT_BASE[slots.SOLO] + _highest_rank(hand)
    return main, kickers


@part_kernel
def _highest_rank(hand: np.uint64) -> np.uint64:
    rank = np.uint64(14)
    while (hand >> rank) & U1 == U0:
        rank -= U1
    return rank


@part_kernel
def _least_gain_needed(row: np.ndarray, rules: np.ndarray, workspace: RuleWorkspace, w: np.ndarray, bomb: bool) -> int:
    """Return by how much a reply must lower the hand's cost to be worth playing, in hundredths of a trick."""
    about = workspace.about
    seat, owner = about[slots.A_SEAT], row[at.OWNER]
    if not is_enemy(row, seat, owner):
        target = row[at.TARGET]
        weak = np.int64(0) if target == at.BOMBS_ONLY else percent_beaten(workspace, target)
        need = w[of.PARTNER_NEED] - w[of.PARTNER_WEAK] * weak // 100
        if about[slots.A_NEXT_ENEMY] != U0:
            need -= w[of.PARTNER_UP] * weak // 100
        return need + (1000 if bomb else 0)
    size = np.int64(hand_size(row, owner))
    need = w[of.BOMB_NEED] if bomb else w[of.FOLLOW_NEED]
    urgent = w[of.BOMB_URGENT] if bomb else w[of.FOLLOW_URGENT]
    if size == 1:
        return -10000
    if size < 10:
        need -= urgent * (10 - size) // 4
    following = next_seat(seat, rules)
    if following != owner and not is_enemy(row, seat, following):
        need += w[of.HELPER]
    return need


@part_kernel
def _must_block(row: np.ndarray, workspace: RuleWorkspace, main: np.uint64) -> bool:
    """Return whether a given solo or pair makes it harder for an enemy to go out in this trick."""
    target, about = row[at.TARGET], workspace.about
    if target == at.BOMBS_ONLY or tables.MAIN_SEGMENT[main] != tables.MAIN_SEGMENT[target]:
        return False
    cards = tables.SEGMENT_CARDS[tables.MAIN_SEGMENT[main]]
    threat = percent_beaten(workspace, target)
    if cards > U2 or threat == 0:
        return False
    if is_enemy(row, about[slots.A_SEAT], row[at.OWNER]):
        return about[slots.A_FEWEST] == cards
    # The partner's own card may do; spend a higher one only where it is much safer.
    return about[slots.A_NEXT_ENEMY] == cards and threat - percent_beaten(workspace, main) >= _SAFER


@part_kernel
def _reply_score(
    row: np.ndarray, rules: np.ndarray, workspace: RuleWorkspace, w: np.ndarray, main: np.uint64, gain: int
) -> int:
    """Return a reply's score, which must be positive to play it: cost saved plus bonuses less the saving required."""
    beaten = percent_beaten(workspace, main)
    score = gain + w[of.FOLLOW_HOLD] * (100 - beaten) // 100
    score -= _least_gain_needed(row, rules, workspace, w, is_bomb(main, rules))
    if _must_block(row, workspace, main):
        score += (_BLOCK if tables.SEGMENT_CARDS[tables.MAIN_SEGMENT[main]] == U1 else w[of.LEAD_DANGER]) - 20 * beaten
    return score


@part_kernel
def _choose_reply(
    row: np.ndarray, rules: np.ndarray, workspace: RuleWorkspace, w: np.ndarray
) -> tuple[np.uint64, np.uint64]:
    """Choose the reply with the highest positive score, or a pass if no reply has one."""
    hand = workspace.about[slots.A_HAND]
    before = price_of_hand(hand, workspace)
    best, main, kickers = np.int64(0), U0, U0
    for word in range(tables.MASK_WORDS):
        bits = workspace.mask[word]
        while bits != U0:
            candidate = np.uint64(word) * np.uint64(64) + words.lowest_bit(bits)
            bits &= bits - U1
            if candidate == U0:
                continue
            riders = choose_kickers(row, hand, candidate, rules, workspace)
            rest = words.remove_hand(words.remove_hand(hand, body_cards(candidate)), riders)
            score = _reply_score(row, rules, workspace, w, candidate, before - price_of_hand(rest, workspace))
            if percent_beaten(workspace, candidate) == 0 and losers_and_controls(rest, workspace)[0] < 2:
                score += _WIN
            if score > best:
                best, main, kickers = score, candidate, riders
    return main, kickers


@part_kernel
def _answer_auction(row: np.ndarray, rules: np.ndarray, workspace: RuleWorkspace, value: int) -> np.uint64:
    """Return the bid or the answer to showing or doubling for a hand that costs ``value`` to play out.

    A hand that would bid 1 calls, one that would bid 2 robs once, and one that would bid 3 robs for any stake.
    """
    if row[at.STAGE] == at.STAGE_SHOW:
        return tables.DOUBLE_ID + (U1 if value <= _SHOW else U0)
    if row[at.STAGE] == at.STAGE_DOUBLE:
        limit = _DOUBLE_LANDLORD if row[at.SEAT] == row[at.LANDLORD] else _DOUBLE_PEASANT
        return tables.DOUBLE_ID + (U1 if value <= limit else U0)
    bid = U0
    if value <= _BID_ONE:
        bid = U3 if value <= _BID_THREE else (U2 if value <= _BID_TWO else U1)
    if rules[R_BIDDING] == BIDDING_ROBBING:
        wanted = U1 if is_legal_action(workspace.mask, tables.BID_ID + U1) else U2
        enough = bid >= (U3 if get_bid(row, at.ROBS) > U0 else wanted)
        return tables.BID_ID + (wanted if enough else U0)
    return tables.BID_ID + (bid if is_legal_action(workspace.mask, tables.BID_ID + bid) else U0)


@pure_kernel
def rules_move(
    row: np.ndarray, rules: np.ndarray, workspace: RuleWorkspace, w: np.ndarray
) -> tuple[np.uint64, np.uint64]:
    """Return the rule agent's bid, answer or complete move for the seat at the start of its decision.

    Args:
        row: A view's row or a full row; both give the same decision.
        rules: The rules array.
        workspace: Memory (:func:`~ddz_agents.rules.workspace.new_rule_workspace`).
        w: The weights (``WEIGHTS``).

    Returns:
        Action id of the main group, bid or answer to doubling, and the kickers as a hand.
    """
    write_legal_mask(row, rules, workspace.mask)
    if row[at.STAGE] == at.STAGE_PLAY and workspace.mask[0] & U1 and count_legal(workspace.mask) == U1:
        return U0, U0  # nothing but pass
    read_public_state(row, rules, workspace)
    set_prices(workspace.about[slots.A_POOL], workspace.about[slots.A_ENEMY_CARDS], rules, w, workspace)
    hand = workspace.about[slots.A_HAND]
    if row[at.STAGE] != at.STAGE_PLAY:
        return _answer_auction(row, rules, workspace, price_of_hand(hand, workspace)), U0
    main = finishing_action(hand, workspace.mask)
    if main != U0:
        return main, words.remove_hand(hand, body_cards(main))
    if row[at.TARGET] == U0:
        return _choose_lead(row, rules, workspace, w)
    return _choose_reply(row, rules, workspace, w)


@part_kernel
def next_action(
    row: np.ndarray, rules: np.ndarray, workspace: RuleWorkspace, w: np.ndarray, plan: np.ndarray
) -> np.uint64:
    """Return the rule agent's next action: a main group, a kicker, a bid or an answer to doubling.

    Args:
        row: A view's row or a full row, not over.
        rules: The rules array.
        workspace: Memory (:func:`~ddz_agents.rules.workspace.new_rule_workspace`).
        w: The weights (``WEIGHTS``).
        plan: Main group and kickers last planned in this game, shape ``[2]``, uint64; changed in place.  If the game
            took another main group, the kickers are those that the agent would give that group.

    Returns:
        Action id of the main group, bid, answer to doubling or next kicker of the plan; 0 if no kicker of it is left.
        It need not be legal where an earlier kicker was not of the plan.
    """
    if row[at.STAGE] != at.STAGE_KICKER:
        plan[0], plan[1] = rules_move(row, rules, workspace, w)
        return plan[0]
    if plan[0] != row[at.PENDING]:
        read_public_state(row, rules, workspace)
        set_prices(workspace.about[slots.A_POOL], workspace.about[slots.A_ENEMY_CARDS], rules, w, workspace)
        plan[0] = row[at.PENDING]
        plan[1] = choose_kickers(row, workspace.about[slots.A_HAND], row[at.PENDING], rules, workspace)
    ranks = words.remove_hand(plan[1], row[at.CHOSEN]) & PLANE
    return tables.KICKER_ID + words.lowest_bit(ranks) if ranks != U0 else U0
