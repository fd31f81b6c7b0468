"""Hand decomposition, which finds the cheapest way to split a hand into moves.

Every way of taking chains, pair chains and planes out of the hand is tried depth first.  What is left can be *read* in
several ways: planes and quads with or without kickers, quads, trios and the rocket whole or broken.  The rest falls
into solos, pairs and trios, of which solos and pairs ride along as kickers where they can.

A move has two prices (:mod:`ddz_agents.rules.prices`): one that falls with its strength *values* the hand, and one that
counts the moves that can be beaten.  Both cheapest splits are found in one walk, as the order of chains and readings
does not depend on prices; only what a trio carries does.  A hand that was split before at the same prices is looked up.

Nothing here allocates: a :class:`~ddz_agents.rules.workspace.RuleWorkspace` is made once and handed in.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ddz_agents.rules import prices
from ddz_agents.rules import workspace as at
from ddz_agents.rules.workspace import HandWorkspace, RuleWorkspace, is_plane
from ddz_env.core.engine import tables, words
from ddz_env.core.engine.words import CHAIN_PLANE, JOKERS, U0, U1, U2, U3, U4, U15, U16, U32
from ddz_env.support.compiling import inline_kernel, part_kernel, pure_kernel

MAX_DEPTH = 4
BUDGET = 2000
"""The most readings tried per hand.  Longer chains come first, so that what is cut off hardly matters."""
MAX_READINGS = 512
"""Readings of one chain set that are tried (five quads have more)."""
_MODES = 3
"""A plane takes no kickers, solos or pairs (modes 0, 1, 2)."""
_QUAD_MODES = 5
"""A quad is a bomb, takes two solos or two pairs, or falls into a trio and a solo or into two pairs (modes 0 to 4)."""
_LAST_MODE, _LAST_QUAD_MODE = np.uint64(_MODES - 1), np.uint64(_QUAD_MODES - 1)
_AS_TRIO, _AS_PAIRS = np.uint64(3), np.uint64(4)
_MODE, _MODE_BITS = np.uint64(7), U3
"""A mode takes three bits."""
_DEAREST = np.int64(1 << 40)
_ZERO = np.int64(0)
_BLACK = np.uint64(0x2000)
_GOLD, _SLOT = np.uint64(0x9E3779B97F4A7C15), np.uint64(40)


@inline_kernel
def _is_allowed(segment: int, scratch: HandWorkspace) -> bool:
    """Return whether the rules allow main groups of a given category and length."""
    return ((scratch.memory[at.ALLOWED] >> np.uint64(segment)) & U1) == U1


# --- Chains -----------------------------------------------------------------------------------------------------------


@inline_kernel
def _list_chains_of(plane: np.uint64, first: int, stop: int, scratch: HandWorkspace, count: int) -> int:
    """Append a hand's chains of one category to the list of chains with their costs, the longest chains first."""
    memory = scratch.memory
    segment, starts = first, words.run_starts(plane, tables.SEGMENT_LENGTH[first])
    while starts != U0 and segment < stop:  # none is longer than the longest
        starts &= plane >> tables.SEGMENT_LENGTH[segment]
        segment += 1
    while segment > first:
        segment -= 1
        if _is_allowed(segment, scratch):
            length, copies = tables.SEGMENT_LENGTH[segment], tables.SEGMENT_COPIES[segment]
            starts, unseen = words.run_starts(plane, length), prices.find_unseen_groups(segment, scratch)
            while starts != U0 and count < at.MAX_CHAINS:
                rank = words.lowest_bit(starts)
                memory[at.CHAIN + count] = (np.uint64(segment) << U4) | rank
                memory[at.CHAIN_CARDS + count] = words.cards_of_ranks(words.body_mask(rank, length), copies)
                memory[at.CHAIN_PRICE + count] = np.uint64(prices.price_among_groups(segment, rank, unseen, scratch))
                starts &= starts - U1
                count += 1
    return count


@part_kernel
def _list_chains(hand: np.uint64, scratch: HandWorkspace) -> int:
    """List every plane, pair chain and solo chain that a hand holds, and return their number."""
    singles, pairs, trios = hand & CHAIN_PLANE, (hand >> U16) & CHAIN_PLANE, (hand >> U32) & CHAIN_PLANE
    if words.run_starts(singles, U2) == U0:
        return 0
    count = _ZERO
    if trios != U0:
        count = _list_chains_of(trios, at.PLANES, at.PLANES_END, scratch, count)
    if pairs != U0:
        count = _list_chains_of(pairs, at.PAIR_CHAIN, at.PAIR_CHAIN_END, scratch, count)
    return _list_chains_of(singles, at.SOLO_CHAIN, at.SOLO_CHAIN_END, scratch, count)


# --- Readings of what chains leave ------------------------------------------------------------------------------------


@pure_kernel
def _lowest_bits(mask: np.uint64, count: np.uint64) -> np.uint64:
    """Return the lowest ``count`` set bits of a mask."""
    taken = U0
    while count > U0 and mask != U0:
        bit = mask & (~mask + U1)
        taken |= bit
        mask ^= bit
        count -= U1
    return taken


@part_kernel
def _pick_body_kickers(
    segment: np.uint64, rank: np.uint64, solos: np.uint64, pairs: np.uint64, scratch: HandWorkspace
) -> tuple[np.uint64, np.uint64, np.uint64]:
    """Pick a plane's or quad's kickers: the lowest pairs, or the lowest solos and then halves of pairs.

    Returns:
        The kickers as a hand, 0 if there are too few, and the solos and pairs left.
    """
    count, body = tables.SEGMENT_KICKER_COUNT[segment], words.body_mask(rank, tables.SEGMENT_LENGTH[segment])
    if tables.SEGMENT_KICKER_SIZE[segment] == U2:
        riders = _lowest_bits(pairs & ~body, count)
        return (words.cards_of_ranks(riders, U2) if words.popcount(riders) == count else U0), solos, pairs & ~riders
    free = solos & ~body
    if scratch.memory[at.TWO_JOKERS] == U0 and (free & JOKERS) == JOKERS:
        free &= ~(JOKERS ^ _BLACK)
    riders = _lowest_bits(free, count)
    missing = count - words.popcount(riders)
    split = _lowest_bits(pairs & ~body & ~riders, missing)
    if words.popcount(split) < missing:
        return U0, solos, pairs
    return riders | split, (solos & ~riders) | split, pairs & ~split  # the other halves of split pairs become solos


@part_kernel
def _list_bodies(
    chains: int, quads: np.uint64, modes: np.uint64, scratch: HandWorkspace
) -> tuple[int, np.uint64, np.uint64]:
    """List the planes and quads of a decomposition at ``BODY``, each as the category that its kickers give it.

    Args:
        chains: How many chains are in ``TAKEN``; the planes among them are listed.
        quads: The ranks of which there are four.
        modes: The mode of each plane and then of each quad, three bits each.
        scratch: The memory.

    Returns:
        How many are listed, the ranks of the quads that are read as a trio and a solo, and of those read as two pairs.
    """
    memory, bodies, as_trio, as_pairs = scratch.memory, _ZERO, U0, U0
    for index in range(chains):
        chain = memory[at.TAKEN + index]
        if is_plane(chain >> U4):
            segment = np.uint64(at.SEGMENT_WITH_KICKERS[modes & _MODE, chain >> U4])
            memory[at.BODY + bodies] = (segment << U4) | (chain & U15)
            modes >>= _MODE_BITS
            bodies += 1
    while quads != U0:
        rank, mode = words.lowest_bit(quads), modes & _MODE
        quads &= quads - U1
        modes >>= _MODE_BITS
        if mode == _AS_TRIO:
            as_trio |= U1 << rank
        elif mode == _AS_PAIRS:
            as_pairs |= U1 << rank
        else:
            memory[at.BODY + bodies] = (np.uint64(at.SEGMENT_WITH_KICKERS[mode, at.BOMB]) << U4) | rank
            bodies += 1
    return bodies, as_trio, as_pairs


@part_kernel
def _attach_kickers(
    bodies: int, solos: np.uint64, pairs: np.uint64, scratch: HandWorkspace
) -> tuple[bool, int, np.uint64, np.uint64]:
    """Choose kickers for the planes and quads of a decomposition, and write them at ``BODY_KICKERS``.

    Returns:
        Whether all have their kickers; the prices of the quads, and the solos and pairs left.
    """
    memory, price = scratch.memory, _ZERO
    for index in range(bodies):
        segment, rank, kickers = memory[at.BODY + index] >> U4, memory[at.BODY + index] & U15, U0
        if segment == U0:  # a plane of six never takes kickers
            return False, price, solos, pairs
        if tables.SEGMENT_KICKER_COUNT[segment] != U0:
            kickers, solos, pairs = _pick_body_kickers(segment, rank, solos, pairs, scratch)
            if kickers == U0 or not _is_allowed(segment, scratch):
                return False, price, solos, pairs
        if tables.SEGMENT_COPIES[segment] == U4:
            price += prices.price_of_quad(np.int64(segment), rank, scratch)
        memory[at.BODY_KICKERS + index] = kickers
    return True, price, solos, pairs


class Reading(NamedTuple):
    """One way to divide the cards that remain after some chains have been taken out of a hand.

    Attributes:
        broken: The trios that are broken up into a solo and a pair each, by rank.
        rocket: Whether the rocket is whole.
        modes: The modes of the planes and then of the quads, three bits each.
    """

    broken: np.uint64
    rocket: bool
    modes: np.uint64


class Pieces(NamedTuple):
    """The moves of one decomposition, without the chains that were taken out of the hand first.

    Attributes:
        possible: Whether all planes and quads have their kickers.
        price: The prices of everything but trios, solos and pairs.
        bodies: How many planes and quads there are at ``BODY`` and ``BODY_KICKERS``.
        quads_as_pairs: The quads of which one pair is played and the other is among the pairs.
        trios: The trios, by rank.
        solos: The solos left, by rank.
        pairs: The pairs left, by rank.
    """

    possible: bool
    price: int
    bodies: int
    quads_as_pairs: np.uint64
    trios: np.uint64
    solos: np.uint64
    pairs: np.uint64


@inline_kernel
def _split_by_reading(hand: np.uint64, chains: int, reading: Reading, scratch: HandWorkspace) -> Pieces:
    """Divide the cards left after taking out chains into moves, as a :class:`Reading` prescribes.

    Args:
        hand: The cards left.
        chains: How many chains are in ``TAKEN``.
        reading: The reading.
        scratch: Prices and memory.
    """
    # Counts of three and four may lie anywhere in 3..2, pairs too; solos include the jokers.
    solos, pairs = words.ranks_with_count(hand, U1) | reading.broken, words.ranks_with_count(hand, U2) | reading.broken
    trios, quads = words.ranks_with_count(hand, U3) ^ reading.broken, words.ranks_with_count(hand, U4)
    price, bodies, as_pairs, possible = np.int64(scratch.memory[at.SPENT + chains]), _ZERO, U0, True
    if quads != U0 or scratch.memory[at.PLANES_TAKEN + chains] != U0:
        bodies, as_trio, as_pairs = _list_bodies(chains, quads, reading.modes, scratch)
        solos, pairs, trios = solos | as_trio, pairs | as_pairs, trios | as_trio
        price += prices.sum_prices(as_pairs, at.PAIRS, scratch)
    if reading.rocket:
        solos &= ~JOKERS
        price += scratch.prices[at.ROCKET_PRICE]
    if bodies > 0:
        possible, of_quads, solos, pairs = _attach_kickers(bodies, solos, pairs, scratch)
        price += of_quads
    return Pieces(possible, price, bodies, as_pairs, trios, solos, pairs)


# --- What trios carry -------------------------------------------------------------------------------------------------


@inline_kernel
def _unpack_part(price: int, sure: bool) -> int:
    """Return one of the two numbers that a packed cost holds: the beatable-move count or the cost to play."""
    return prices.unpack_losers(price) if sure else prices.unpack_price(price)


@inline_kernel
def _choose_trio_kicker(
    rank: np.uint64, solos: np.uint64, pairs: np.uint64, sure: bool, scratch: HandWorkspace
) -> tuple[np.uint64, np.uint64, int]:
    """Choose a trio's kicker: the costlier of the lowest solo and lowest pair, or none if neither costs anything.

    Args:
        rank: The trio's rank.
        solos: The ranks of the solos left.
        pairs: Those of the pairs left.
        sure: Which price says what is dear.
        scratch: Prices and memory.

    Returns:
        The solo, the pair (as bits of ranks, at most one of both), and the price that need not be paid.
    """
    other = ~(U1 << rank)
    solo, pair = solos & other, pairs & other
    solo &= ~solo + U1
    pair &= ~pair + U1
    solo_price, pair_price = _ZERO, _ZERO
    if solo != U0 and _is_allowed(at.TRIO_SOLO, scratch):
        solo_price = prices.price_of_rank(words.lowest_bit(solo), at.SOLOS, scratch)
    if pair != U0 and _is_allowed(at.TRIO_PAIR, scratch):
        pair_price = prices.price_of_rank(words.lowest_bit(pair), at.PAIRS, scratch)
    solo_gain, pair_gain = _unpack_part(solo_price, sure), _unpack_part(pair_price, sure)
    if solo_gain > 0 and solo_gain >= pair_gain:
        return solo, U0, solo_price
    if pair_gain > 0:
        return U0, pair, pair_price
    return U0, U0, _ZERO


@inline_kernel
def _price_trio_kickers(pieces: Pieces, sure: bool, scratch: HandWorkspace) -> int:
    """Return the total cost of the solos and pairs that are played as kickers of trios."""
    trios, solos, pairs, price = pieces.trios, pieces.solos, pieces.pairs, _ZERO
    while trios != U0:
        solo, pair, carried = _choose_trio_kicker(words.lowest_bit(trios), solos, pairs, sure, scratch)
        solos, pairs, price = solos & ~solo, pairs & ~pair, price + carried
        trios &= trios - U1
    return price


@part_kernel
def _price_trios(trios: np.uint64, scratch: HandWorkspace) -> int:
    """Return the total cost of trios, which is the same with or without a kicker."""
    price = _ZERO
    while trios != U0:
        price += scratch.prices[at.TRIO_PRICE + np.int64(words.lowest_bit(trios))]
        trios &= trios - U1
    return price


@part_kernel
def _count_readings(planes: np.uint64, quads: np.uint64, trios: np.uint64, rocket: bool) -> tuple[int, np.uint64]:
    """Count the ways to divide the cards left after taking out chains, and find the trios that may be broken up."""
    number = 2 if rocket else 1
    if (planes | quads) != U0:
        number *= _MODES ** np.int64(planes) * _QUAD_MODES ** np.int64(words.popcount(quads))
    breakable = U0
    # A trio is worth breaking up only where other bodies carry its cards away.
    if words.popcount(trios) >= U3 or number > 1:
        while trios != U0 and number <= MAX_READINGS // 2:
            number *= 2
            breakable |= trios & (~trios + U1)
            trios &= trios - U1
    return min(number, MAX_READINGS), breakable


@part_kernel
def _next_modes(modes: np.uint64, planes: np.uint64, quads: np.uint64) -> np.uint64:
    """Return the next combination of kicker kinds for planes and quads, or zero after the last one."""
    mode = U0  # where the mode's bits begin
    for body in range(planes + words.popcount(quads)):
        if (modes >> mode) & _MODE < (_LAST_MODE if body < planes else _LAST_QUAD_MODE):
            return modes + (U1 << mode)
        modes &= ~(_MODE << mode)
        mode += _MODE_BITS
    return U0


@part_kernel
def _next_reading(
    reading: Reading, planes: np.uint64, quads: np.uint64, has_rocket: bool, breakable: np.uint64
) -> Reading:
    """Return the next decomposition to try: other kicker kinds first, then a broken rocket, then broken trios."""
    broken, rocket, modes = reading.broken, reading.rocket, _next_modes(reading.modes, planes, quads)
    if modes == U0:
        if not rocket:
            broken = (broken - breakable) & breakable  # the next larger subset
        rocket = has_rocket and not rocket
    return Reading(broken, rocket, modes)


@inline_kernel
def _store_if_cheapest(best: int, hand: np.uint64, chains: int, reading: Reading, memory: np.ndarray) -> None:
    """Store the current decomposition of a hand as the cheapest so far."""
    memory[best], memory[best + 1] = hand, np.uint64(chains)
    memory[best + 2], memory[best + 3], memory[best + 4] = reading.broken, np.uint64(reading.rocket), reading.modes
    for index in range(chains):
        memory[best + 5 + index] = memory[at.TAKEN + index]


@part_kernel
def _try_readings(hand: np.uint64, chains: int, price: int, sure: int, scratch: HandWorkspace) -> tuple[int, int, int]:
    """Try all ways to divide the cards that remain after some chains have been taken out of a hand.

    Args:
        hand: The cards left.
        chains: How many chains are in ``TAKEN``.
        price: The lowest price of a split so far.
        sure: The lowest value of the other price so far.
        scratch: Prices and memory; cheaper splits are kept there.

    Returns:
        Both cheapest prices then, and how many readings were tried.
    """
    memory = scratch.memory
    planes, quads = memory[at.PLANES_TAKEN + chains], words.ranks_with_count(hand, U4)
    rocket = (hand & JOKERS) == JOKERS and _is_allowed(at.ROCKET, scratch)
    number, breakable = _count_readings(planes, quads, words.ranks_with_count(hand, U3), rocket)
    reading = Reading(U0, rocket, U0)
    for _ in range(number):
        pieces = _split_by_reading(hand, chains, reading, scratch)
        if pieces.possible:
            spent = pieces.price + prices.sum_prices(pieces.solos, at.SOLOS, scratch)
            spent += prices.sum_prices(pieces.pairs, at.PAIRS, scratch) + _price_trios(pieces.trios, scratch)
            by_price, by_sure = prices.unpack_price(spent), prices.unpack_losers(spent)
            trios = words.popcount(pieces.trios)
            # A trio carries away no more than the dearest solo or pair: most readings are too dear in any case.
            if trios != U0 and by_price - np.int64(trios) * scratch.prices[at.DEAREST] < price:
                by_price = prices.unpack_price(spent - _price_trio_kickers(pieces, False, scratch))
            if trios != U0 and by_sure - np.int64(trios) * prices.LOSER < sure:
                by_sure = prices.unpack_losers(spent - _price_trio_kickers(pieces, True, scratch))
            if by_price < price:
                price = by_price
                _store_if_cheapest(at.BEST_PRICE, hand, chains, reading, memory)
            if by_sure < sure:
                sure = by_sure
                _store_if_cheapest(at.BEST_SURE, hand, chains, reading, memory)
        reading = _next_reading(reading, planes, quads, rocket, breakable)
    return price, sure, number


# --- The search -------------------------------------------------------------------------------------------------------


@pure_kernel
def split_hand(hand: np.uint64, workspace: RuleWorkspace) -> tuple[int, int]:
    """Find a hand's two cheapest decompositions, by cost and by beatable moves, and return their costs.

    Args:
        hand: The hand.
        workspace: Prices (:func:`~ddz_agents.rules.prices.set_prices`) and memory.

    Returns:
        The price of the first, in hundredths of a trick; and 100 for each move of the second that can be beaten plus 1
        for each other one, where the first number is as small as possible.
    """
    scratch = workspace.scratch
    memory = scratch.memory
    count = _list_chains(hand, scratch)
    price, sure, readings, depth, rest = _DEAREST, _DEAREST, _ZERO, _ZERO, hand
    memory[at.PATH], memory[at.SPENT], memory[at.PLANES_TAKEN] = U0, U0, U0
    while True:
        price, sure, tried = _try_readings(rest, depth, price, sure, scratch)
        readings += tried
        memory[at.HANDS_LEFT + depth] = rest
        if depth == MAX_DEPTH:
            depth -= 1
        depth, index = _next_chain(depth, count, memory)
        if depth < 0 or readings >= BUDGET:
            break
        rest = _take_chain(depth, index, memory)
        depth += 1
    return price, sure


@part_kernel
def _next_chain(depth: int, count: int, memory: np.ndarray) -> tuple[int, int]:
    """Find the deepest search level with a chain left to take, or -1, and the index of that chain."""
    while depth >= 0:
        index, taken = np.int64(memory[at.PATH + depth]), ~memory[at.HANDS_LEFT + depth]
        while index < count:
            if memory[at.CHAIN_CARDS + index] & taken == U0:
                return depth, index
            index += 1
        depth -= 1
    return depth, _ZERO


@part_kernel
def _take_chain(depth: int, index: int, memory: np.ndarray) -> np.uint64:
    """Take a chain at one depth of the search, and return the hand that it leaves."""
    chain, left = memory[at.CHAIN + index], memory[at.HANDS_LEFT + depth]
    segment = chain >> U4
    memory[at.TAKEN + depth] = chain
    memory[at.SPENT + depth + 1] = memory[at.SPENT + depth] + memory[at.CHAIN_PRICE + index]
    memory[at.PLANES_TAKEN + depth + 1] = memory[at.PLANES_TAKEN + depth] + np.uint64(is_plane(segment))
    memory[at.PATH + depth], memory[at.PATH + depth + 1] = np.uint64(index + 1), np.uint64(index)  # it may occur twice
    ranks = words.body_mask(chain & U15, tables.SEGMENT_LENGTH[segment])
    return words.remove_cards(left, ranks, tables.SEGMENT_COPIES[segment])


# --- The answer -------------------------------------------------------------------------------------------------------


@inline_kernel
def _write_move(memory: np.ndarray, count: int, segment: int, rank: np.uint64, kickers: np.uint64) -> int:
    """Write one move of the decomposition, and return the new number of moves."""
    memory[at.MAINS + count] = tables.SEGMENT_BASE[segment] + rank
    memory[at.KICKERS + count] = kickers
    return count + 1


@inline_kernel
def _write_moves(memory: np.ndarray, count: int, segment: int, ranks: np.uint64) -> int:
    """Write a move without kickers for each given rank, and return the new number of moves."""
    while ranks != U0:
        count = _write_move(memory, count, segment, words.lowest_bit(ranks), U0)
        ranks &= ranks - U1
    return count


@part_kernel
def _write_pieces(pieces: Pieces, sure: bool, scratch: HandWorkspace, count: int) -> int:
    """Write the moves of a decomposition except chains and the rocket, and return the new number of moves."""
    memory, trios, solos, pairs = scratch.memory, pieces.trios, pieces.solos, pieces.pairs
    for index in range(pieces.bodies):
        body = memory[at.BODY + index]
        count = _write_move(memory, count, np.int64(body >> U4), body & U15, memory[at.BODY_KICKERS + index])
    while trios != U0:
        rank = words.lowest_bit(trios)
        trios &= trios - U1
        solo, pair, _ = _choose_trio_kicker(rank, solos, pairs, sure, scratch)
        solos, pairs = solos & ~solo, pairs & ~pair
        segment = at.TRIO_SOLO if solo != U0 else at.TRIO_PAIR if pair != U0 else at.TRIO
        count = _write_move(memory, count, segment, rank, solo | words.cards_of_ranks(pair, U2))
    count = _write_moves(memory, count, at.PAIR, pairs)
    return _write_moves(memory, count, at.SOLO, solos)


@pure_kernel
def write_split(sure: bool, workspace: RuleWorkspace) -> int:
    """Write the cheapest decomposition that :func:`split_hand` found last into ``workspace.scratch.memory``.

    Args:
        sure: Whether the one with the fewest moves that can be beaten.
        workspace: Prices and memory.

    Returns:
        How many moves there are.
    """
    scratch = workspace.scratch
    memory, best = scratch.memory, at.BEST_SURE if sure else at.BEST_PRICE
    chains, reading = np.int64(memory[best + 1]), Reading(memory[best + 2], memory[best + 3] != U0, memory[best + 4])
    planes, count = U0, _ZERO
    for index in range(chains):
        chain = memory[best + 5 + index]
        memory[at.TAKEN + index] = chain
        if is_plane(chain >> U4):  # it may take kickers, so it is among the pieces
            planes += U1
        else:
            count = _write_move(memory, count, np.int64(chain >> U4), chain & U15, U0)
    memory[at.PLANES_TAKEN + chains] = planes
    pieces = _split_by_reading(memory[best], chains, reading, scratch)
    count = _write_moves(memory, count, at.PAIR, pieces.quads_as_pairs)
    if reading.rocket:
        count = _write_move(memory, count, at.ROCKET, U0, U0)
    return _write_pieces(pieces, sure, scratch, count)


@pure_kernel
def hand_price_and_losers(hand: np.uint64, workspace: RuleWorkspace) -> tuple[int, int]:
    """Return the two results of :func:`split_hand`, from a cache that is valid until move costs change."""
    slot = workspace.splits[np.int64((hand * _GOLD) >> _SLOT) & (workspace.splits.shape[0] - 1)]
    if slot[0] != hand or slot[1] != workspace.scratch.memory[at.TIMES]:
        price, sure = split_hand(hand, workspace)
        slot[0], slot[1], slot[2] = hand, workspace.scratch.memory[at.TIMES], np.uint64(price + (sure << 32))
    both = np.int64(slot[2])
    return prices.unpack_price(both), prices.unpack_losers(both)


@part_kernel
def price_of_hand(hand: np.uint64, workspace: RuleWorkspace) -> int:
    """Return what a hand costs to play out, in hundredths of a trick, once the move costs are set.

    The fewer tricks it still has to win, and the fewer of its moves can be beaten, the cheaper.  Controls and bombs
    enter through the prices of moves.
    """
    return hand_price_and_losers(hand, workspace)[0]


@part_kernel
def losers_and_controls(hand: np.uint64, workspace: RuleWorkspace) -> tuple[int, int]:
    """Return the fewest beatable moves in a decomposition of a hand, and how many of its moves are unbeatable."""
    sure = hand_price_and_losers(hand, workspace)[1]
    return sure // prices.LOSER, sure % prices.LOSER
