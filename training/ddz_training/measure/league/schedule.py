"""Who plays next: the pairs whose games narrow the ratings most.

A round goes, block by block, to the pair whose deals take most off the sum of the variances of all overall ratings
(A-optimal design; the variances are those of Fisher's information of the Bradley–Terry model at today's ratings).  Each
block counts as played before the next one is given away, so a round is spread.  Pairs that have never met come first.
A round depends on the results of complete rounds alone: neither the number of processes nor a kill changes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from ddz_training.measure.league.bradley_terry import fit, information
from ddz_training.measure.league.store import Pair

_RIDGE = 1e-6


def next_round(
    pairs: Sequence[Pair],
    tally: Mapping[Pair, tuple[int, float]],
    deals: int,
    block: int,
    games_per_deal: int,
) -> dict[Pair, int]:
    """How many deals each pair plays in the next round.

    Args:
        pairs: The pairs.
        tally: Games and wins of the pair's first agent, of pairs that have met.
        deals: Deals that are left for all pairs together.
        block: Deals that are given away at a time; a round has as many blocks as there are pairs.
        games_per_deal: Games of a deal.

    Example:
        >>> even, uneven = (100, 50.0), (100, 99.0)
        >>> tally = {("a", "b"): even, ("a", "z"): uneven, ("b", "z"): uneven}
        >>> next_round(list(tally), tally, 60, 20, 2)  # who always loses needs more games, and tells less in each
        {('a', 'z'): 40, ('b', 'z'): 20}
    """
    fresh = [pair for pair in pairs if pair not in tally]
    blocks = [min(block, deals - given) for given in range(0, min(deals, block * len(fresh or pairs)), block)]
    if fresh:
        return dict(zip(fresh, blocks, strict=False))
    place = {label: number for number, label in enumerate(sorted({label for pair in pairs for label in pair}))}
    design = np.zeros((len(pairs), len(place)))
    for row, (a, b) in enumerate(pairs):
        design[row, [place[a], place[b]]] = 1, -1
    played, won = np.array([tally[pair] for pair in pairs], dtype=np.float64).T
    gauge = np.ones((1, len(place)))
    (ratings,) = fit(design, played[None] + 1, won[None] + 0.5, gauge)
    expected = 1 / (1 + np.exp(-design @ ratings))
    variance = expected * (1 - expected)
    (known,) = information(design, (played * variance)[None]) + gauge.T @ gauge + _RIDGE * np.eye(len(place))
    covariance, chosen = np.linalg.inv(known), Counter[Pair]()
    for size in blocks:
        weights = size * games_per_deal * variance
        reach = design @ covariance
        gains = weights * (reach**2).sum(axis=1) / (1 + weights * (reach * design).sum(axis=1))
        best = int(gains.argmax())
        covariance -= (
            np.outer(reach[best], reach[best]) * weights[best] / (1 + weights[best] * reach[best] @ design[best])
        )
        chosen[pairs[best]] += size
    return {pair: chosen[pair] for pair in pairs if chosen[pair]}
