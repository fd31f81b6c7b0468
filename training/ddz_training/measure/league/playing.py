"""Plays a league: rounds of duplicate deals, each scheduled by the results of those before it."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable
from contextlib import ExitStack

from ddz_training.measure.league.schedule import next_round
from ddz_training.measure.league.store import LeagueStore, Pair, pairs_of
from ddz_training.measure.match.duplicate import DealPlayer, DealWorker, GameRecord, Match, check_agents
from ddz_training.measure.match.errors import InvalidArenaError
from ddz_training.measure.match.ordered_map import Share, workers
from ddz_training.measure.match.provenance import SameCode
from ddz_training.measure.match.results import OnProgress, no_progress
from ddz_training.measure.match.sequential import decided
from ddz_training.measure.match.statistics import balance, wins_by_deal

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


def by_pair(games: Iterable[GameRecord]) -> dict[Pair, list[GameRecord]]:
    """The games of each pair."""
    found: dict[Pair, list[GameRecord]] = {}
    for game in games:
        found.setdefault((game.a, game.b), []).append(game)
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
    player = functools.partial(
        DealPlayer, arena.rules, arena.seed, arena.timing, time_limit=arena.time_limit, on_fault=arena.on_fault
    )
    start = SameCode(functools.partial(DealWorker[list[GameRecord]], list, player), store.here)
    total, block = deals * len(pairs), min(block, deals)
    with ExitStack() as leave:
        share: Share[Match, list[GameRecord]] | None = None
        while True:
            missing, planned = store.missing(), sum(map(store.planned().get, pairs, itertools.repeat(0)))
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
