"""Plays a league: rounds of duplicate deals, each scheduled by the results of those before it.

The pairs play next whose games narrow the ratings most.  A round goes, block by block, to the pair whose deals take
most off the sum of the variances of all overall ratings (A-optimal design; the variances are those of Fisher's
information of the Bradley–Terry model at today's ratings).  Each block counts as played before the next one is given
away, so a round is spread.  Pairs that have never met come first.  A round depends on the results of complete rounds
alone: neither the number of processes nor a kill changes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack

import numpy as np

from ddz_training.measure.league.bradley_terry import fit, information
from ddz_training.measure.league.store import LeagueStore, Pair, pairs_of
from ddz_training.measure.match.duplicate import GameRecord, Match, check_agents
from ddz_training.measure.match.errors import InvalidArenaError
from ddz_training.measure.match.ordered_map import Share, workers
from ddz_training.measure.match.provenance import SameCode
from ddz_training.measure.match.results import OnProgress, no_progress
from ddz_training.measure.match.statistics import balance, by_pair, decided, wins_by_deal

ERROR = 0.05
"""The probability that a league calls any of its pairs decided wrongly, were one to look after every deal."""


def decided_pairs(games: Iterable[GameRecord], error: float = ERROR) -> set[Pair]:
    """The pairs of which it is known who is better: the stronger first.

    Each pair has its own confidence sequence, with an equal part of the error (Bonferroni).
    """
    shares = {pair: wins_by_deal(played, pair[0], value=balance) for pair, played in by_pair(games).items()}
    pairs = len(pairs_of({label for pair in shares for label in pair}))
    found = set()
    for (a, b), by_deal in shares.items():
        in_order = [by_deal[deal] for deal in sorted(by_deal)]
        if decided(in_order, error / pairs):
            found.add((a, b) if sum(in_order) > len(in_order) / 2 else (b, a))
    return found


def play_league(
    store: LeagueStore,
    deals: int,
    *,
    block: int = 25,
    processes: int = 1,
    until_decided: bool = False,
    on_progress: OnProgress = no_progress,
) -> None:
    """Play rounds until the deals are used up.

    Args:
        store: Agents, rules and seed, and where the games go.
        deals: Deals a pair, on average over the pairs of these agents; those of the file count.  Pairs that have never
            met play a block in any case.
        block: Deals that are scheduled at a time.
        processes: Worker processes; results do not depend on them.
        until_decided: Whether to end after the round in which the last pair was decided (:func:`decided_pairs`).
        on_progress: Told how many deals (times pairs) are done.

    Raises:
        InvalidArenaError: If a number is out of range.
        OtherCodeError: If the file was written by other code and that is not allowed.
        WorkerDiedError: If a worker process died.
        AgentFailedError: If an agent fails and ``on_fault`` is ``stop``, or if it cannot be made at all.
        KeyboardInterrupt: If the user interrupts; what has been reported is saved.
    """
    for name, value in (("deals", deals), ("block", block), ("processes", processes)):
        if value < 1:
            raise InvalidArenaError(f"{name}={value} must be at least 1")
    arena, pairs = store.arena, pairs_of(store.arena.labels)
    start = SameCode(arena.worker, store.here)
    total, block = deals * len(pairs), min(block, deals)
    with ExitStack() as leave:
        share: Share[Match, list[GameRecord]] | None = None
        while True:
            missing, planned = store.missing(), sum(map(store.planned().__getitem__, pairs))
            done, fresh = planned - len(missing), sum(pair not in store.tally for pair in pairs)
            left = max(total - planned, 0 if missing else fresh * block)
            on_progress(done, planned + left)
            if not missing and (left == 0 or (until_decided and _all_decided(store, pairs))):
                return
            if share is None:
                check_agents(arena.agents, arena.time_limit)
                store.sign()
                share = leave.enter_context(workers(start, min(processes, len(missing) + left)))
            if not missing:
                store.plan(next_round(pairs, store.tally, left, block, arena.games_per_deal))
                continue
            for number, games in enumerate(share(missing, in_order=False), done + 1):
                store.add(games)
                on_progress(number, planned + left)


def _all_decided(store: LeagueStore, pairs: Iterable[Pair]) -> bool:
    known = decided_pairs(store.games())
    return all((a, b) in known or (b, a) in known for a, b in pairs)


_RIDGE = 1e-6


def next_round(
    pairs: Sequence[Pair], tally: Mapping[Pair, tuple[int, float]], deals: int, block: int, games_per_deal: int
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
