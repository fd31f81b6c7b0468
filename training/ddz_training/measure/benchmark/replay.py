"""Games of a file, played again: every one must end as the file says."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Mapping
from contextlib import closing

import numpy as np

from ddz_training.measure.benchmark.errors import NotReproducedError
from ddz_training.measure.benchmark.field import check_member
from ddz_training.measure.benchmark.file import Pair, Results, deal_text
from ddz_training.measure.benchmark.play import task
from ddz_training.measure.match.duplicate import DealWorker, check_agents
from ddz_training.measure.match.ordered_map import ordered_map
from ddz_training.measure.match.provenance import Provenance, SameCode
from ddz_training.measure.match.results import OnProgress, no_progress

_SHOWN = 3


def replay(
    results: Results,
    sample: int | None,
    rng: np.random.Generator,
    *,
    processes: int = 1,
    on_progress: OnProgress = no_progress,
) -> int:
    """Play deals of a file again, drawn anew for each pair, and compare how every game ended.

    Args:
        results: What the file holds.
        sample: How many deals a pair; None for all of them.
        rng: Draws them.  Whoever submits a file must not know which.
        processes: Worker processes.
        on_progress: Told how many deals, times pairs, are done.

    Returns:
        How many deals, times pairs, ended as the file says.

    Raises:
        FrozenChangedError: If deals or players of the field are others here than those committed.
        AgentChangedError: If an agent reads other files here.
        UnknownAgentError: If an agent is not installed here.
        NotReproducedError: If a game ended otherwise.
    """
    contest = results.contest
    contest.deals.check()
    check_agents(contest.agents.values())
    here = Provenance.of(contest.agents.values())
    here.check_files(Provenance(files=results.files), results.path)
    for member in contest.members:
        check_member(member)
    said = _lines(results)
    count = results.deals if sample is None else min(sample, results.deals)
    chosen = [
        (pair, int(deal)) for pair in contest.pairs for deal in sorted(rng.choice(results.deals, count, replace=False))
    ]
    tasks = [task(contest, deal, *pair) for pair, deal in chosen]
    start = SameCode(functools.partial(DealWorker[str], deal_text, contest.player), here)
    different = []
    on_progress(0, len(tasks))
    with closing(ordered_map(start, tasks, processes)) as found:
        for number, ((pair, deal), line) in enumerate(zip(chosen, found, strict=True), 1):
            if line != said[pair][deal]:
                different.append(f"{pair[0]} v {pair[1]}: {line!r}, not {said[pair][deal]!r}")
            on_progress(number, len(tasks))
    if different:
        raise NotReproducedError(
            f"{len(different)} of {len(tasks)} deals ended otherwise than {results.path} says: "
            f"{'; '.join(different[:_SHOWN])} (deal, then score/moves of both games)"
        )
    return len(tasks)


def _lines(results: Results) -> Mapping[Pair, list[str]]:
    lines: dict[Pair, list[str]] = defaultdict(list)
    for first in range(0, len(results.records), 2):
        games = results.records[first : first + 2]
        lines[games[0].a, games[0].b].append(deal_text(games))
    return lines
