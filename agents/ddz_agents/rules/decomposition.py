"""Hand decomposition: the cheapest way to split a hand into moves.

Every way of taking chains, pair chains and planes out of the hand is tried depth first.  What is left can be *read* in
several ways: planes and quads with or without kickers, quads, trios and the rocket whole or broken.  The rest falls
into solos, pairs and trios, of which solos and pairs ride along as kickers where they can.  The price of a move is read
from a table, so one search answers two questions: with a price of one a move it counts the *fewest tricks to finish*,
with prices that fall with a move's strength it values the hand.

Nothing here allocates: a :class:`~ddz_agents.rules.scratch.Scratch` is made once and handed in.
"""

from __future__ import annotations

import numpy as np

from ddz_agents.rules import scratch as at
from ddz_agents.rules.scratch import RuleScratch, Scratch, is_plane, price_of
from ddz_env.core.engine import tables, words
from ddz_env.core.engine.compiling import inline_kernel, pure_kernel
from ddz_env.core.engine.legal import allowed
from ddz_env.core.engine.words import CHAIN_PLANE, JOKERS, U0, U1, U2, U3, U4, U15, U16, U32
from ddz_env.core.rules import R_TWO_JOKERS

LOSER, WINNER = 100, 1
"""Prices of moves that can be beaten and of others, where these are counted."""
MAX_DEPTH = 4
BUDGET = 2000
"""Readings tried a hand.  Longer chains come first, so that what is cut off hardly matters."""
MAX_READINGS = 512
"""Readings of one chain set that are tried (five quads have more)."""
_MODES = 3
"""A plane takes no kickers, solos or pairs (modes 0, 1, 2)."""
_QUAD_MODES = 5
"""A quad is a bomb, takes two solos or two pairs, or falls into a trio and a solo or into two pairs (modes 0 to 4)."""
_NOT_POSSIBLE = np.int64(1 << 40)
_ZERO = np.int64(0)
_BLACK = np.uint64(0x2000)


@inline_kernel
def _list_chains_of(plane: np.uint64, first: int, stop: int, rules: np.ndarray, memory: np.ndarray, found: int) -> int:
    """Append the chains of one category, the longest first."""
    segment, starts = first, words.run(plane, tables.SEGMENT_LENGTH[first])
    while starts != U0 and segment < stop:  # none is longer than the longest
        starts &= plane >> tables.SEGMENT_LENGTH[segment]
        segment += 1
    while segment > first:
        segment -= 1
        if allowed(segment, rules):
            length, copies = tables.SEGMENT_LENGTH[segment], tables.SEGMENT_COPIES[segment]
            starts = words.run(plane, length)
            while starts != U0 and found < at.MAX_CHAINS:
                rank = words.lowest(starts)
                memory[at.CHAIN + found] = (np.uint64(segment) << U4) | rank
                memory[at.CHAIN_CARDS + found] = words.spread(words.body_mask(rank, length), copies)
                starts &= starts - U1
                found += 1
    return found


@inline_kernel
def _list_chains(hand: np.uint64, rules: np.ndarray, memory: np.ndarray) -> int:
    """List every plane, pair chain and solo chain that the hand holds."""
    one, two, three = hand & CHAIN_PLANE, (hand >> U16) & CHAIN_PLANE, (hand >> U32) & CHAIN_PLANE
    if words.run(one, U2) == U0:
        return 0
    found = _ZERO
    if three != U0:
        found = _list_chains_of(three, at.PLANES, at.PLANES_END, rules, memory, found)
    if two != U0:
        found = _list_chains_of(two, at.PAIR_CHAIN, at.PAIR_CHAIN_END, rules, memory, found)
    return _list_chains_of(one, at.SOLO_CHAIN, at.SOLO_CHAIN_END, rules, memory, found)


@pure_kernel
def _lowest_bits(mask: np.uint64, count: np.uint64) -> np.uint64:
    """The lowest ``count`` bits of a mask."""
    taken = U0
    while count > U0 and mask != U0:
        bit = mask & (~mask + U1)
        taken |= bit
        mask ^= bit
        count -= U1
    return taken


@pure_kernel
def _load_body(
    segment: np.uint64, rank: np.uint64, solos: np.uint64, pairs: np.uint64, rules: np.ndarray
) -> tuple[np.uint64, np.uint64, np.uint64]:
    """The kickers of a plane or quad: the lowest pairs, or the lowest solos and then halves of the lowest pairs.

    Returns:
        The kickers as a hand, 0 if there are too few, and the solos and pairs left.
    """
    count, body = tables.SEGMENT_KICKER_COUNT[segment], words.body_mask(rank, tables.SEGMENT_LENGTH[segment])
    if tables.SEGMENT_KICKER_SIZE[segment] == U2:
        riders = _lowest_bits(pairs & ~body, count)
        return (words.spread(riders, U2) if words.popcount(riders) == count else U0), solos, pairs & ~riders
    free = solos & ~body
    if rules[R_TWO_JOKERS] == U0 and (free & JOKERS) == JOKERS:
        free &= ~(JOKERS ^ _BLACK)
    riders = _lowest_bits(free, count)
    missing = count - words.popcount(riders)
    split = _lowest_bits(pairs & ~body & ~riders, missing)
    if words.popcount(split) < missing:
        return U0, solos, pairs
    return riders | split, (solos & ~riders) | split, pairs & ~split  # the other halves of split pairs become solos


@inline_kernel
def _load_trio(
    rank: np.uint64, solos: np.uint64, pairs: np.uint64, rules: np.ndarray, scratch: Scratch
) -> tuple[int, np.uint64, np.uint64, np.uint64]:
    """Let a trio carry the dearer of the lowest solo and the lowest pair; nothing that is worth having.

    Returns:
        The segment, the kickers as a hand, and the solos and pairs left.
    """
    other = ~(U1 << rank)
    solo_gain, pair_gain = np.int64(0), np.int64(0)
    solo, pair = solos & other, pairs & other
    solo &= ~solo + U1
    pair &= ~pair + U1
    if solo != U0 and allowed(at.TRIO_SOLO, rules):
        solo_gain = price_of(scratch, at.SOLO, words.lowest(solo))
    if pair != U0 and allowed(at.TRIO_PAIR, rules):
        pair_gain = price_of(scratch, at.PAIR, words.lowest(pair))
    if solo_gain > 0 and solo_gain >= pair_gain:
        return at.TRIO_SOLO, solo, solos & ~solo, pairs
    if pair_gain > 0:
        return at.TRIO_PAIR, words.spread(pair, U2), solos, pairs & ~pair
    return at.TRIO, U0, solos, pairs


@inline_kernel
def _variants(planes: np.uint64, quads: np.uint64, trios: np.uint64, jokers: bool) -> int:
    """In how many ways the rest of a hand can be read: kickers of every body, quads and trios broken or not."""
    number = _MODES ** np.int64(planes) * _QUAD_MODES ** np.int64(quads)
    if jokers:
        number *= 2
    # A trio is worth breaking up only where other bodies carry its cards away.
    if trios >= U3 or (trios > U0 and number > 1):
        while trios > U0 and number <= MAX_READINGS // 2:
            number *= 2
            trios -= U1
    return number


@inline_kernel
def _put(scratch: Scratch, count: int, segment: int, rank: np.uint64, kickers: np.uint64, emit: bool) -> int:
    """Write a move of the answer, if it is to be written; how many there are then."""
    if emit:
        scratch.memory[at.MAINS + count] = tables.SEGMENT_BASE[segment] + rank
        scratch.memory[at.KICKERS + count] = kickers
    return count + 1


@inline_kernel
def _put_each(scratch: Scratch, total: int, count: int, segment: int, ranks: np.uint64, emit: bool) -> tuple[int, int]:
    """Write a move without kickers for each of some ranks; the price and the number of the moves so far."""
    while ranks != U0:
        rank = words.lowest(ranks)
        total += price_of(scratch, segment, rank)
        count = _put(scratch, count, segment, rank, U0, emit)
        ranks &= ranks - U1
    return total, count


@inline_kernel
def _read(
    hand: np.uint64, chains: int, variant: int, rules: np.ndarray, scratch: Scratch, emit: bool
) -> tuple[int, int]:
    """One reading of some chains and of what they leave.

    The number of the reading is made of digits, one a choice: the mode of each plane, the mode of each quad, whether
    the rocket is broken, and whether each trio is.

    Args:
        hand: The cards left.
        chains: How many chains are in ``TAKEN``.
        variant: Which reading, below :func:`_variants`.
        rules: The rules array.
        scratch: Prices and memory.
        emit: Whether to write the moves into ``scratch.memory``.

    Returns:
        The price (``_NOT_POSSIBLE`` if kickers are missing) and the number of moves.
    """
    memory, code, total, count, bodies = scratch.memory, variant, _ZERO, _ZERO, 0
    # Counts of three and four may lie anywhere in 3..2, pairs too; solos include the jokers.
    solos, pairs = words.exactly(hand, U1), words.exactly(hand, U2)
    trios, quads = words.exactly(hand, U3), words.exactly(hand, U4)
    breakable = trios
    for index in range(chains):
        chain = memory[at.TAKEN + index]
        if is_plane(chain >> U4):
            memory[at.BODY + bodies] = (np.uint64(at.LOADED[code % _MODES, chain >> U4]) << U4) | (chain & U15)
            code //= _MODES
            bodies += 1
        else:
            total, count = _put_each(scratch, total, count, np.int64(chain >> U4), U1 << (chain & U15), emit)
    while quads != U0:
        rank = words.lowest(quads)
        bit = U1 << rank
        quads ^= bit
        mode = code % _QUAD_MODES
        code //= _QUAD_MODES
        if mode == 3:
            trios |= bit
            solos |= bit
        elif mode == 4:  # two pairs of a rank: one is played, the other may ride along
            total, count = _put_each(scratch, total, count, at.PAIR, bit, emit)
            pairs |= bit
        else:
            memory[at.BODY + bodies] = (np.uint64(at.LOADED[mode, at.BOMB]) << U4) | rank
            bodies += 1
    if (hand & JOKERS) == JOKERS and allowed(at.ROCKET, rules):
        if code % 2 == 0:
            solos &= ~JOKERS
            total, count = _put_each(scratch, total, count, at.ROCKET, U1, emit)
        code //= 2
    while code > 0 and breakable != U0:
        bit = U1 << words.lowest(breakable)
        breakable ^= bit
        if code % 2 == 1:
            trios ^= bit
            solos |= bit
            pairs |= bit
        code //= 2
    for index in range(bodies):
        segment, rank, kickers = memory[at.BODY + index] >> U4, memory[at.BODY + index] & U15, U0
        if segment == U0:  # a plane of six never takes kickers
            return _NOT_POSSIBLE, _ZERO
        if tables.SEGMENT_KICKER_COUNT[segment] != U0:
            kickers, solos, pairs = _load_body(segment, rank, solos, pairs, rules)
            if kickers == U0 or not allowed(segment, rules):
                return _NOT_POSSIBLE, _ZERO
        total += price_of(scratch, at.PRICED_AS[segment], rank)
        count = _put(scratch, count, np.int64(segment), rank, kickers, emit)
    while trios != U0:
        rank = words.lowest(trios)
        trios &= trios - U1
        loaded, kickers, solos, pairs = _load_trio(rank, solos, pairs, rules, scratch)
        total += price_of(scratch, at.TRIO, rank)
        count = _put(scratch, count, loaded, rank, kickers, emit)
    total, count = _put_each(scratch, total, count, at.PAIR, pairs, emit)
    return _put_each(scratch, total, count, at.SOLO, solos, emit)


@pure_kernel
def _best_reading(hand: np.uint64, chains: int, rules: np.ndarray, scratch: Scratch) -> tuple[int, int, int]:
    """The cheapest reading of what the chains leave: its price, its number, and how many were tried."""
    planes = U0
    for index in range(chains):
        if is_plane(scratch.memory[at.TAKEN + index] >> U4):
            planes += U1
    jokers = (hand & JOKERS) == JOKERS and allowed(at.ROCKET, rules)
    number = _variants(planes, words.popcount(words.exactly(hand, U4)), words.popcount(words.exactly(hand, U3)), jokers)
    number = min(number, MAX_READINGS)
    best, chosen = _NOT_POSSIBLE, _ZERO
    for variant in range(number):
        price, _ = _read(hand, chains, variant, rules, scratch, at.PRICE_ONLY)
        if price < best:
            best, chosen = price, variant
    return best, chosen, number


@pure_kernel
def decompose(hand: np.uint64, rules: np.ndarray, scratch: Scratch, emit: bool) -> tuple[int, int]:
    """Split a hand into the cheapest set of moves.

    Args:
        hand: The hand.
        rules: The rules array.
        scratch: Prices and memory.
        emit: Whether to leave the moves in ``scratch.memory``.

    Returns:
        The price of the split and the number of moves written (0 unless ``emit``).
    """
    memory = scratch.memory
    found = _list_chains(hand, rules, memory)
    best, variant, readings = _best_reading(hand, _ZERO, rules, scratch)
    best_hand, best_depth, depth = hand, _ZERO, _ZERO
    memory[at.HANDS_LEFT], memory[at.PATH] = hand, U0
    while depth >= 0 and readings < BUDGET:
        index, left = np.int64(memory[at.PATH + depth]), memory[at.HANDS_LEFT + depth]
        while index < found and memory[at.CHAIN_CARDS + index] & ~left != U0:
            index += 1
        if index >= found:
            depth -= 1
            continue
        memory[at.PATH + depth] = np.uint64(index + 1)
        chain = memory[at.CHAIN + index]
        ranks = words.body_mask(chain & U15, tables.SEGMENT_LENGTH[chain >> U4])
        rest = words.remove(left, ranks, tables.SEGMENT_COPIES[chain >> U4])
        memory[at.TAKEN + depth] = chain
        depth += 1
        price, reading, tried = _best_reading(rest, depth, rules, scratch)
        readings += tried
        if price < best:
            best, variant, best_depth, best_hand = price, reading, depth, rest
            for taken in range(depth):
                memory[at.BEST + taken] = memory[at.TAKEN + taken]
        if depth == MAX_DEPTH:
            depth -= 1
        else:
            memory[at.HANDS_LEFT + depth] = rest
            memory[at.PATH + depth] = np.uint64(index)  # the same chain may occur twice
    count = _ZERO
    if emit:
        for index in range(best_depth):
            memory[at.TAKEN + index] = memory[at.BEST + index]
        _, count = _read(best_hand, best_depth, variant, rules, scratch, at.EMIT)
    return best, count


@inline_kernel
def price_of_hand(hand: np.uint64, rules: np.ndarray, mind: RuleScratch) -> int:
    """What a hand costs to play out, in hundredths of a trick; the prices must be set.

    The fewer tricks it still has to win, and the fewer of its moves can be beaten, the cheaper.  Controls and bombs
    enter through the prices of moves.
    """
    price, _ = decompose(hand, rules, mind.value, at.PRICE_ONLY)
    return price


@inline_kernel
def losers_and_controls(hand: np.uint64, rules: np.ndarray, mind: RuleScratch) -> tuple[int, int]:
    """The fewest moves that can be beaten into which a hand splits, and the moves of that split that cannot."""
    price, _ = decompose(hand, rules, mind.sure, at.PRICE_ONLY)
    return price // LOSER, price % LOSER
