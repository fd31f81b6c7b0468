"""Hand decomposition: the cheapest way to split a hand into moves.

Every way of taking chains, pair chains and planes out of the hand is tried depth first; what is left falls into
solos, pairs, trios and quads, of which solos and pairs ride along as kickers where they can.  The price of a move is
read from a table, so one search answers two questions: with a price of one a move it counts the *fewest tricks to
finish*, with prices that fall with a move's strength it values the hand.

Nothing here allocates: a :class:`Scratch` is made once and handed in.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_env.engine import tables
from ddz_env.engine.compiling import inline_kernel, pure_kernel
from ddz_env.engine.legal import allowed
from ddz_env.engine.tables import ROCKET_ID, SEGMENT_BASE, SEGMENT_COPIES, SEGMENT_LENGTH
from ddz_env.engine.words import (
    CHAIN_PLANE,
    JOKERS,
    PLANE,
    U0,
    U1,
    U2,
    U3,
    U4,
    U16,
    body_mask,
    exactly,
    lowest,
    popcount,
    remove,
    run,
    spread,
)
from ddz_env.rules import R_TWO_JOKERS

# Segments as typed integers: Numba compiles a function anew for every literal that it is given.
SEGMENTS_END = np.int64(tables.N_SEGMENTS)
BOMB = np.int64(tables.SEG_BOMB)
PAIR = np.int64(tables.SEG_PAIR)
PAIR_CHAIN = np.int64(tables.SEG_PAIR_CHAIN)
PLANES = np.int64(tables.SEG_PLANE)
PLANE_PAIRS = np.int64(tables.SEG_PLANE_PAIRS)
PLANE_SOLOS = np.int64(tables.SEG_PLANE_SOLOS)
QUAD_PAIRS = np.int64(tables.SEG_QUAD_PAIRS)
QUAD_SOLOS = np.int64(tables.SEG_QUAD_SOLOS)
ROCKET = np.int64(tables.SEG_ROCKET)
SOLO = np.int64(tables.SEG_SOLO)
SOLO_CHAIN = np.int64(tables.SEG_SOLO_CHAIN)
TRIO = np.int64(tables.SEG_TRIO)
TRIO_PAIR = np.int64(tables.SEG_TRIO_PAIR)
TRIO_SOLO = np.int64(tables.SEG_TRIO_SOLO)
_U15 = np.uint64(15)
EMIT, PRICE_ONLY = np.bool_(True), np.bool_(False)
_ZERO = np.int64(0)

PRICES = 16
"""Prices a segment: one for each lowest rank."""
MAX_CHAINS = 136
MAX_DEPTH = 4
MAX_GROUPS = 20
MAX_READINGS = 512
"""Readings of one chain set that are tried (five quads have more)."""
BUDGET = 2000
"""Readings tried a hand.  Longer chains come first, so that what is cut off hardly matters."""

_NOT_POSSIBLE = 1 << 40
_BLACK = np.uint64(0x2000)
_MODES = 3
"""A plane takes no kickers, solos or pairs (modes 0, 1, 2)."""
_QUAD_MODES = 5
"""A quad is a bomb, takes two solos or two pairs, or falls into a trio and a solo or into two pairs (modes 0 to 4)."""

# Where things lie in ``Scratch.memory``.
_PATH = 0
"""Eight words: the index of the next chain to try at each depth."""
_HANDS = 8
"""Eight words: the hand left at each depth."""
_COSTS = 16
"""Eight words: the price of the chains taken at each depth."""
_TAKEN = 24
"""Eight words: the chains taken, as in ``_CHAIN``."""
_BEST = 32
"""Eight words: the chains of the best split so far."""
_BODY = 40
"""Eight words: bodies that take several kickers: ``segment << 6 | lowest rank << 2 | mode``."""
_SLOTS = 48
"""Eight words: how many kickers each of them takes."""
MAINS = 56
"""Twenty words: the moves of the answer, action ids."""
KICKERS = MAINS + MAX_GROUPS
"""Twenty words: their kickers, as hands."""
_CHAIN = KICKERS + MAX_GROUPS
"""Chains that the hand holds: ``segment << 4 | lowest rank``."""
_MEMORY_WORDS = _CHAIN + MAX_CHAINS


class Scratch(NamedTuple):
    """Prices, and the memory of the search.

    Attributes:
        price: Price of each main group without its kickers, shape ``[segments * 16]``, int64, by segment and lowest
            rank; the caller fills it (:func:`uniform_prices`).  Groups with kickers cost what their bodies cost
            alone, except quads with kickers, which are not bombs.
        memory: Shape ``[232]``, uint64.  The answer's moves stand at ``MAINS`` and ``KICKERS``.
    """

    price: npt.NDArray[np.int64]
    memory: npt.NDArray[np.uint64]


def new_scratch() -> Scratch:
    """Prices of one a move and fresh memory, for one thread."""
    return Scratch(np.ones(int(SEGMENTS_END) * PRICES, np.int64), np.zeros(_MEMORY_WORDS, np.uint64))


@pure_kernel
def uniform_prices(scratch: Scratch) -> None:
    """Price every move at one: the search then counts the fewest tricks to finish."""
    for index in range(SEGMENTS_END * PRICES):
        scratch.price[index] = 1


@inline_kernel
def price_of(scratch: Scratch, segment: int, rank: np.uint64) -> int:
    """The price of a main group."""
    return scratch.price[np.int64(segment) * PRICES + np.int64(rank)]


@pure_kernel
def _list_chains_of(plane: np.uint64, first: int, stop: int, rules: np.ndarray, memory: np.ndarray, found: int) -> int:
    """Append the chains of one category, the longest first."""
    segment = stop - 1
    while segment >= first:
        if allowed(segment, rules):
            starts = run(plane, SEGMENT_LENGTH[segment])
            while starts != U0 and found < MAX_CHAINS:
                memory[_CHAIN + found] = (np.uint64(segment) << U4) | lowest(starts)
                starts &= starts - U1
                found += 1
        segment -= 1
    return found


@pure_kernel
def _list_chains(hand: np.uint64, rules: np.ndarray, memory: np.ndarray) -> int:
    """List every plane, pair chain and solo chain that the hand holds."""
    one = hand & CHAIN_PLANE
    if run(one, U2) == U0:
        return 0
    two = (hand >> U16) & CHAIN_PLANE
    three = (hand >> (U2 * U16)) & CHAIN_PLANE
    found = _ZERO
    if three != U0:
        found = _list_chains_of(three, PLANES, PLANE_SOLOS, rules, memory, found)
    if two != U0:
        found = _list_chains_of(two, PAIR_CHAIN, PLANES, rules, memory, found)
    return _list_chains_of(one, SOLO_CHAIN, PAIR_CHAIN, rules, memory, found)


@inline_kernel
def _chain_cards(chain: np.uint64) -> np.uint64:
    segment = chain >> U4
    return spread(body_mask(chain & _U15, SEGMENT_LENGTH[segment]), SEGMENT_COPIES[segment])


@inline_kernel
def _take(hand: np.uint64, chain: np.uint64) -> np.uint64:
    """The hand without a chain."""
    segment = chain >> U4
    return remove(hand, body_mask(chain & _U15, SEGMENT_LENGTH[segment]), SEGMENT_COPIES[segment])


@inline_kernel
def _is_plane(segment: np.uint64) -> bool:
    return np.uint64(PLANES) <= segment < np.uint64(PLANE_SOLOS)


@inline_kernel
def _variants(planes: np.uint64, quads: np.uint64, trios: np.uint64, jokers: bool) -> int:
    """In how many ways the rest of a hand can be read: kickers of every body, quads and trios broken or not."""
    number = 1
    while planes > U0:
        number *= _MODES
        planes -= U1
    rest = quads
    while rest > U0:
        number *= _QUAD_MODES
        rest -= U1
    if jokers:
        number *= 2
    # A trio is worth breaking up only where other bodies carry its cards away.
    if trios >= U3 or (trios > U0 and number > 1):
        while trios > U0 and number <= MAX_READINGS // 2:
            number *= 2
            trios -= U1
    return number


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
def _solo_riders(
    solos: np.uint64, pairs: np.uint64, slots: np.uint64, rules: np.ndarray
) -> tuple[np.uint64, np.uint64]:
    """Solo kickers for one body: the lowest solos, then halves of the lowest pairs.

    Returns:
        Mask of the solos and mask of the pairs to split; both zero if there are too few.
    """
    if rules[R_TWO_JOKERS] == U0 and (solos & JOKERS) == JOKERS:
        solos &= ~(JOKERS ^ _BLACK)
    riders = _lowest_bits(solos, slots)
    missing = slots - popcount(riders)
    if missing == U0:
        return riders, U0
    split = _lowest_bits(pairs & ~riders, missing)
    if popcount(split) < missing:
        return U0, U0
    return riders, split


@inline_kernel
def _sum_prices(scratch: Scratch, segment: int, ranks: np.uint64) -> int:
    total = np.int64(0)
    while ranks != U0:
        total += price_of(scratch, segment, lowest(ranks))
        ranks &= ranks - U1
    return total


@inline_kernel
def _emit(scratch: Scratch, count: int, segment: int, rank: np.uint64, kickers: np.uint64) -> int:
    scratch.memory[MAINS + count] = SEGMENT_BASE[segment] + rank
    scratch.memory[KICKERS + count] = kickers
    return count + 1


@pure_kernel
def _emit_each(scratch: Scratch, count: int, segment: int, ranks: np.uint64) -> int:
    while ranks != U0:
        count = _emit(scratch, count, segment, lowest(ranks), U0)
        ranks &= ranks - U1
    return count


@pure_kernel
def _read_rest(
    hand: np.uint64, chains: int, variant: int, rules: np.ndarray, scratch: Scratch, emit: bool
) -> tuple[int, int]:
    """Price one reading of what the chains leave, planes' kickers included.

    Args:
        hand: The cards left.
        chains: How many chains stand in ``_TAKEN``.
        variant: Which reading, below :func:`_variants`.
        rules: The rules array.
        scratch: Prices and memory.
        emit: Whether to write the moves into ``scratch.memory``.

    Returns:
        The price (chains other than planes are priced by the caller) and the number of moves written.
    """
    total = np.int64(0)
    count = _ZERO
    # Counts of three and four may lie anywhere in 3..2, pairs too; solos include the jokers.
    solos, pairs = exactly(hand, U1), exactly(hand, U2)
    trios, quads = exactly(hand, U3), exactly(hand, U4)
    code = variant
    bodies = 0
    for index in range(chains):
        segment = scratch.memory[_TAKEN + index] >> U4
        rank = scratch.memory[_TAKEN + index] & _U15
        if not _is_plane(segment):
            if emit:
                count = _emit(scratch, count, np.int64(segment), rank, U0)
            continue
        mode = code % _MODES
        code //= _MODES
        scratch.memory[_BODY + bodies] = (scratch.memory[_TAKEN + index] << U2) | np.uint64(mode)
        scratch.memory[_SLOTS + bodies] = SEGMENT_LENGTH[segment]
        bodies += 1
    trios_first, rest = trios, quads
    while rest != U0:
        rank = lowest(rest)
        bit = U1 << rank
        rest ^= bit
        mode = code % _QUAD_MODES
        code //= _QUAD_MODES
        if mode == 3:
            trios |= bit
            solos |= bit
        elif mode == 4:
            # Two pairs of a rank: one is played, the other may ride along.
            total += price_of(scratch, PAIR, rank)
            pairs |= bit
            if emit:
                count = _emit(scratch, count, PAIR, rank, U0)
        else:
            scratch.memory[_BODY + bodies] = (((np.uint64(BOMB) << U4) | rank) << U2) | np.uint64(mode)
            scratch.memory[_SLOTS + bodies] = U2
            bodies += 1
    if (hand & JOKERS) == JOKERS and allowed(ROCKET, rules):
        if code % 2 == 0:
            solos &= ~JOKERS
            total += price_of(scratch, ROCKET, U0)
            if emit:
                scratch.memory[MAINS + count] = np.uint64(ROCKET_ID)
                scratch.memory[KICKERS + count] = U0
                count += 1
        code //= 2
    while code > 0 and trios_first != U0:
        bit = U1 << lowest(trios_first)
        trios_first ^= bit
        if code % 2 == 1:
            trios ^= bit
            solos |= bit
            pairs |= bit
        code //= 2
    for index in range(bodies):
        solos, pairs, price, kickers = _load_body(index, solos, pairs, rules, scratch)
        if price >= _NOT_POSSIBLE:
            return price, 0
        total += price
        if emit:
            count = _emit_body(index, kickers, scratch, count)
    while trios != U0:
        rank = lowest(trios)
        trios &= trios - U1
        solos, pairs, kickers = _load_trio(rank, solos, pairs, rules, scratch)
        total += price_of(scratch, TRIO, rank)
        if emit:
            segment_id = TRIO
            if kickers != U0:
                segment_id = TRIO_PAIR if kickers > PLANE else TRIO_SOLO
            count = _emit(scratch, count, segment_id, rank, kickers)
    total += _sum_prices(scratch, SOLO, solos) + _sum_prices(scratch, PAIR, pairs)
    if emit:
        count = _emit_each(scratch, count, PAIR, pairs)
        count = _emit_each(scratch, count, SOLO, solos)
    return total, count


@inline_kernel
def _kicker_segment(segment: np.uint64, pairs: bool) -> int:
    """The segment of a plane or quad with kickers."""
    if segment == np.uint64(BOMB):
        return QUAD_PAIRS if pairs else QUAD_SOLOS
    offset = np.int64(segment) - PLANES
    return (PLANE_PAIRS if pairs else PLANE_SOLOS) + offset


@inline_kernel
def _kickers_exist(segment: np.uint64, pairs: bool, rules: np.ndarray) -> bool:
    """Whether the rules let the body take such kickers (a plane of six never does)."""
    target = _kicker_segment(segment, pairs)
    if segment != np.uint64(BOMB):
        stop = SEGMENTS_END if pairs else PLANE_PAIRS
        if target >= stop or SEGMENT_LENGTH[target] != SEGMENT_LENGTH[segment]:
            return False
    return allowed(target, rules)


@pure_kernel
def _load_body(
    index: int, solos: np.uint64, pairs: np.uint64, rules: np.ndarray, scratch: Scratch
) -> tuple[np.uint64, np.uint64, int, np.uint64]:
    """Give one plane or quad the kickers that its mode asks for.

    Returns:
        The solos and pairs left, the price of the body, and the kickers as a hand.
    """
    word = scratch.memory[_BODY + index]
    segment, rank, mode = word >> np.uint64(6), (word >> U2) & _U15, word & U3
    slots = scratch.memory[_SLOTS + index]
    ranks = body_mask(rank, SEGMENT_LENGTH[segment])
    if mode == U0:
        return solos, pairs, price_of(scratch, np.int64(segment), rank), U0
    priced = np.int64(segment)
    if segment == np.uint64(BOMB):
        priced = QUAD_SOLOS  # no bomb any more
    impossible = np.int64(_NOT_POSSIBLE)
    if not _kickers_exist(segment, mode == U2, rules):
        return solos, pairs, impossible, U0
    if mode == U2:
        riders = _lowest_bits(pairs & ~ranks, slots)
        if popcount(riders) < slots:
            return solos, pairs, impossible, U0
        return solos, pairs & ~riders, price_of(scratch, priced, rank), spread(riders, U2)
    riders, split = _solo_riders(solos & ~ranks, pairs & ~ranks, slots, rules)
    if riders | split == U0:
        return solos, pairs, impossible, U0
    # The other halves of split pairs become solos.
    return (solos & ~riders) | split, pairs & ~split, price_of(scratch, priced, rank), riders | split


@inline_kernel
def _emit_body(index: int, kickers: np.uint64, scratch: Scratch, count: int) -> int:
    word = scratch.memory[_BODY + index]
    segment, rank, mode = word >> np.uint64(6), (word >> U2) & _U15, word & U3
    if mode == U0:
        return _emit(scratch, count, np.int64(segment), rank, U0)
    return _emit(scratch, count, _kicker_segment(segment, mode == U2), rank, kickers)


@inline_kernel
def _load_trio(
    rank: np.uint64, solos: np.uint64, pairs: np.uint64, rules: np.ndarray, scratch: Scratch
) -> tuple[np.uint64, np.uint64, np.uint64]:
    """Let a trio carry the dearer of the lowest solo and the lowest pair; nothing that is worth having."""
    other = ~(U1 << rank)
    solo_gain, pair_gain = np.int64(0), np.int64(0)
    solo, pair = solos & other, pairs & other
    solo &= ~solo + U1
    pair &= ~pair + U1
    if solo != U0 and allowed(TRIO_SOLO, rules):
        solo_gain = price_of(scratch, SOLO, lowest(solo))
    if pair != U0 and allowed(TRIO_PAIR, rules):
        pair_gain = price_of(scratch, PAIR, lowest(pair))
    if solo_gain > 0 and solo_gain >= pair_gain:
        return solos & ~solo, pairs, solo
    if pair_gain > 0:
        return solos, pairs & ~pair, spread(pair, U2)
    return solos, pairs, U0


@pure_kernel
def _best_reading(hand: np.uint64, chains: int, rules: np.ndarray, scratch: Scratch) -> tuple[int, int, int]:
    """The cheapest reading of what the chains leave: its price, its number, and how many were tried."""
    planes = U0
    for index in range(chains):
        if _is_plane(scratch.memory[_TAKEN + index] >> U4):
            planes += U1
    jokers = (hand & JOKERS) == JOKERS and allowed(ROCKET, rules)
    number = _variants(planes, popcount(exactly(hand, U4)), popcount(exactly(hand, U3)), jokers)
    best, chosen = np.int64(_NOT_POSSIBLE), _ZERO
    if number > MAX_READINGS:
        number = MAX_READINGS
    for variant in range(number):
        price, _ = _read_rest(hand, chains, variant, rules, scratch, PRICE_ONLY)
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
        emit: Whether to write the moves into ``scratch.memory``.

    Returns:
        The price of the split and the number of moves written (0 unless ``emit``).
    """
    memory = scratch.memory
    found = _list_chains(hand, rules, memory)
    best, variant, readings = _best_reading(hand, _ZERO, rules, scratch)
    best_depth = _ZERO
    best_hand = hand
    depth = _ZERO
    memory[_HANDS] = hand
    memory[_COSTS] = U0
    memory[_PATH] = U0
    while depth >= 0 and readings < BUDGET:
        index = np.int64(memory[_PATH + depth])
        if index >= found:
            depth -= 1
            continue
        memory[_PATH + depth] += U1
        candidate = memory[_CHAIN + index]
        if _chain_cards(candidate) & ~memory[_HANDS + depth] != U0:
            continue
        memory[_TAKEN + depth] = candidate
        rest = _take(memory[_HANDS + depth], candidate)
        cost = np.int64(memory[_COSTS + depth])
        segment = candidate >> U4
        if not _is_plane(segment):
            cost += price_of(scratch, np.int64(segment), candidate & _U15)
        depth += 1
        price, reading, tried = _best_reading(rest, depth, rules, scratch)
        readings += tried
        if cost + price < best:
            best, variant, best_depth, best_hand = cost + price, reading, depth, rest
            for taken in range(depth):
                memory[_BEST + taken] = memory[_TAKEN + taken]
        if depth == MAX_DEPTH:
            depth -= 1
        else:
            memory[_HANDS + depth] = rest
            memory[_COSTS + depth] = np.uint64(cost)
            memory[_PATH + depth] = np.uint64(index)  # the same chain may stand twice
    count = _ZERO
    if emit:
        for index in range(best_depth):
            memory[_TAKEN + index] = memory[_BEST + index]
        _, count = _read_rest(best_hand, best_depth, variant, rules, scratch, EMIT)
    return best, count
