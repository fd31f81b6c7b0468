"""The rule agent's prices and its cheapest splits once more, slow and obvious: the oracle of its compiled search.

Every multiset of up to four chains is taken out of the hand, and what is left is read in every way; hands are small
enough for the search's limits not to count.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from ddz_agents.rules import weights as of
from ddz_agents.rules.weights import WEIGHTS
from ddz_env.core.actions import MAIN_GROUPS, MainGroup
from ddz_env.core.cards import BLACK_JOKER, NUM_RANKS, RED_JOKER
from ddz_env.core.rules import Rules
from tests.oracles.reference import Hand, category_of, holds, without

_GROUPS = {(category_of((group.id, ())), group.rank, group.length): group for group in MAIN_GROUPS}
_CHAINS = [group for (name, *_), group in _GROUPS.items() if name in ("plane", "pair chain", "solo chain")]
_STEPS = {
    "pair": of.STEP_PAIR,
    "trio": of.STEP_TRIO,
    "solo chain": of.STEP_CHAIN,
    "pair chain": of.STEP_PAIR_CHAIN,
    "plane": of.STEP_PLANE,
}
_TERMS = {
    "solo": (of.BASE_SOLO, of.SLOPE_SOLO),
    "pair": (of.BASE_PAIR, of.SLOPE_PAIR),
    "trio": (of.BASE_TRIO, of.SLOPE_TRIO),
}


class Prices:
    """What main groups cost against unseen cards of which no other hand holds more than ``most``."""

    def __init__(self, pool: Hand, most: int, sure: bool) -> None:
        self.pool, self.most, self.sure = pool, most, sure

    def beaten(self, group: MainGroup) -> int:
        """How easily a group without kickers is beaten, in per cent."""
        name, weights = category_of((group.id, ())), WEIGHTS.tolist()
        if name == "solo":
            return -(-100 * sum(self.pool[group.rank + 1 :]) // max(sum(self.pool), 1))
        if name == "rocket" or group.cards > self.most:
            return 0
        alike = [other for other in MAIN_GROUPS if other.segment == group.segment and other.rank > group.rank]
        step = weights[_STEPS[name]] if name in _STEPS else 10
        return min(100, step * sum(holds(self.pool, other.need) for other in alike))

    def of(self, name: str, rank: int, length: int = 1) -> int:
        """The price of a group: for its strength, or for whether it can be beaten."""
        weights, beaten = WEIGHTS.tolist(), self.beaten(_GROUPS[name, rank, length])
        if self.sure:
            return 100 if beaten else 1
        control = 0 if beaten else weights[of.CONTROL]
        if name in ("bomb", "quad+2 solos", "rocket"):
            base = weights[{"bomb": of.BOMB, "quad+2 solos": of.QUAD, "rocket": of.ROCKET}[name]]
            return int(base + 20 * beaten // 100 + control)
        base, slope = _TERMS.get(name, (of.BASE_CHAIN, of.SLOPE_CHAIN))
        return int(weights[base] + weights[slope] * beaten // 100 + control)


def _chain_sets(hand: Hand, chains: list[MainGroup], most: int = 4) -> Iterator[tuple[list[MainGroup], Hand]]:
    """Every multiset of chains that a hand holds, and what it leaves."""
    yield [], hand
    for index, chain in enumerate(chains if most else ()):
        if holds(hand, chain.need):
            for others, left in _chain_sets(without(hand, chain.need), chains[index:], most - 1):
                yield [chain, *others], left


def _loaded(ranks: range, size: int, count: int, solos: set[int], pairs: set[int], rules: Rules) -> bool:
    """Let a plane or a quad take the lowest kickers; whether there are enough."""
    if size == 2:
        riders = sorted(pairs - set(ranks))[:count]
        pairs.difference_update(riders)
        return len(riders) == count
    free = solos - set(ranks)
    if not rules.two_jokers and {BLACK_JOKER, RED_JOKER} <= free:
        free.remove(RED_JOKER)
    riders = sorted(free)[:count]
    halves = sorted(pairs - set(ranks) - set(riders))[: count - len(riders)]
    solos.difference_update(riders)
    solos.update(halves)
    pairs.difference_update(halves)
    return len(riders) + len(halves) == count


def _readings(left: Hand, planes: list[MainGroup], prices: Prices, rules: Rules) -> Iterator[int]:
    """The price of each way to read the cards that remain without the chains; planes are part of it."""
    solos, pairs, trios, quads = ([rank for rank in range(NUM_RANKS) if left[rank] == n] for n in (1, 2, 3, 4))
    rocket = [True, False] if left[BLACK_JOKER] and left[RED_JOKER] else [False]
    ways = 3 ** len(planes) * 5 ** len(quads) * len(rocket)
    may_break = trios if len(trios) >= 3 or ways > 1 else []
    broken_sets = [set(s) for n in range(len(may_break) + 1) for s in itertools.combinations(may_break, n)]
    quad_modes = itertools.product(("bomb", "solos", "pairs", "trio", "two pairs"), repeat=len(quads))
    plane_modes = itertools.product((0, 1, 2), repeat=len(planes))
    for modes, sizes, whole, broken in itertools.product(quad_modes, plane_modes, rocket, broken_sets):
        of_quads = dict(zip(quads, modes, strict=True))
        as_trio, as_pairs = ({q for q in quads if of_quads[q] == mode} for mode in ("trio", "two pairs"))
        one = (set(solos) | broken | as_trio) - ({BLACK_JOKER, RED_JOKER} if whole else set())
        two, three = set(pairs) | broken | as_pairs, (set(trios) - broken) | as_trio
        price = prices.of("rocket", BLACK_JOKER) if whole else 0
        price += sum(prices.of("pair", rank) for rank in as_pairs)
        bodies = [(range(p.rank, p.rank + p.length), size, p.length) for p, size in zip(planes, sizes, strict=True)]
        for rank, mode in of_quads.items():
            if mode in ("bomb", "solos", "pairs"):
                price += prices.of("bomb" if mode == "bomb" else "quad+2 solos", rank)
                bodies.append((range(rank, rank + 1), {"bomb": 0, "solos": 1, "pairs": 2}[mode], 2))
        if all(_loaded(ranks, size, count, one, two, rules) for ranks, size, count in bodies if size):
            yield price + _price_of_rest(three, one, two, prices)


def _price_of_rest(trios: set[int], solos: set[int], pairs: set[int], prices: Prices) -> int:
    """What trios, each with the dearer of the lowest solo and the lowest pair, and the rest cost."""
    total = sum(prices.of("trio", rank) for rank in trios)
    for rank in sorted(trios):
        solo, pair = min(solos - {rank}, default=None), min(pairs - {rank}, default=None)
        of_solo = 0 if solo is None else prices.of("solo", solo)
        of_pair = 0 if pair is None else prices.of("pair", pair)
        if of_solo > 0 and of_solo >= of_pair:
            solos.discard(solo)
        elif of_pair > 0:
            pairs.discard(pair)
    return total + sum(prices.of("solo", rank) for rank in solos) + sum(prices.of("pair", rank) for rank in pairs)


def cheapest(hand: Hand, prices: Prices, rules: Rules) -> int:
    """The price of the cheapest split of a hand."""
    best = []
    chains = sorted(
        _CHAINS, key=lambda chain: (-max(chain.need), -chain.length, chain.rank)
    )  # as the search tries them
    for taken, left in _chain_sets(hand, chains):
        price = sum(prices.of(category_of((chain.id, ())), chain.rank, chain.length) for chain in taken)
        planes = [chain for chain in taken if max(chain.need) == 3]
        best += [price + more for more in _readings(left, planes, prices, rules)]
    return min(best)
