"""Serial, processes and Ray: the same games in the three forms of shared work, as in table 3.1 of the thesis.

The thesis plays 10,000 games of gomoku on 16 cores.  Here a search plays duplicate deals of Dou Dizhu.  Starting (a
process, a cluster, compiled code) is timed apart from playing, and every form must end every game alike.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import socket
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Annotated, Any, NamedTuple

from ddz_env import Rules
from ddz_env.core.options import Range
from ddz_training.experiments import experiment as ex
from ddz_training.experiments.experiment import Experiment, ParallelOptions, Result, Saved, Table, grouped
from ddz_training.measure.duplicate import DealPlayer
from ddz_training.measure.errors import InvalidExperimentError
from ddz_training.measure.keeper import check_agents
from ddz_training.measure.ray_cluster import on_ray
from ddz_training.measure.workers import Share, Worker, executed_by, on_this_machine, workers

FORMS = ("serial", "processes", "ray")
OPPONENT = "rules"
_PAPER = {"serial": 136.38, "processes": 25.81, "ray": 29.95}
_WARM_UP_FROM = 10**9
"""Deals that only warm up; their games do not count."""


class FormResult(Result):
    """One run of all games in one form.

    Attributes:
        form: ``serial``, ``processes`` or ``ray``.
        repetition: Number of the run; the forms take turns.
        workers: Processes that played.
        games: Games that were played.
        start: Seconds until every worker had played its first deal.
        seconds: Seconds of all games after that.
        worked: Processor seconds that the workers spent on these games.
        spent: Processor seconds that every process of the run spent meanwhile: what sharing costs is in them, however
            busy the machine is (Linux; 0 elsewhere).
        digest: A hash of how every game ended.
    """

    form: str
    repetition: int
    workers: int
    games: int
    start: Annotated[float, ".2f"]
    seconds: Annotated[float, ".2f"]
    worked: Annotated[float, ".2f"]
    spent: Annotated[float, ".2f"]
    digest: str


class FormOptions(ParallelOptions):
    """What is played.

    Attributes:
        deals: Duplicate deals a run, two games each.
        repetitions: Runs of each form.
        iterations: Iterations of the search that plays against the rule agent.
    """

    deals: Annotated[int, Range(1)] = 100
    repetitions: Annotated[int, Range(1)] = 3
    iterations: Annotated[int, Range(1)] = 1000


class _Played(NamedTuple):
    """A deal, where it was played and what it took."""

    games: str
    process: tuple[str, int]
    worked: float


class _Player(Worker[int, _Played]):
    def __init__(self, seed: int, agent: str) -> None:
        self._player, self._pair = DealPlayer(Rules(), seed, timing=False), (agent, OPPONENT)

    def play(self, deal: int) -> _Played:
        start = time.process_time()
        games = str(self._player.play(deal, self._pair))
        return _Played(games, (socket.gethostname(), os.getpid()), time.process_time() - start)

    def close(self) -> None:
        self._player.close()


def run_form(options: FormOptions, form: str, repetition: int) -> list[FormResult]:
    """Play the same search games serially, in processes and on Ray, and compare the times and the results."""
    count = 1 if form == "serial" else options.processes
    make = functools.partial(_Player, options.seed, _agent(options))
    begun = time.perf_counter()
    with on_ray() if form == "ray" else executed_by(on_this_machine), workers(make, count) as share:
        _warm(share, count)
        start, before = time.perf_counter(), _processor_seconds()
        played = list(share(range(options.deals)))
        seconds, spent = time.perf_counter() - start, _processor_seconds() - before
    digest = hashlib.sha256("\n".join(deal.games for deal in played).encode()).hexdigest()[:16]
    times = start - begun, seconds, sum(deal.worked for deal in played), spent
    return [FormResult(form, repetition, count, 2 * options.deals, *times, digest)]


def _agent(options: FormOptions) -> str:
    return f"isuct:iterations={options.iterations}"


def _processor_seconds() -> float:
    """The processor seconds of this process and of all that it started, directly or not."""
    ticks, parents = dict[int, int](), dict[int, int]()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, IndexError, ValueError):
            fields = stat.read_text().rpartition(")")[2].split()
            parents[int(stat.parent.name)] = int(fields[1])
            ticks[int(stat.parent.name)] = int(fields[11]) + int(fields[12])
    own = {os.getpid()}
    while more := {process for process, parent in parents.items() if parent in own} - own:
        own |= more
    return sum(ticks.get(process, 0) for process in own) / os.sysconf("SC_CLK_TCK") if ticks else 0.0


def _warm(share: Share[int, _Played], count: int) -> None:
    """Play until every worker has played."""
    seen: set[tuple[str, int]] = set()
    deal = _WARM_UP_FROM
    while len(seen) < count:
        seen |= {played.process for played in share(range(deal, deal + 2 * count))}
        deal += 2 * count


def _runs(options: FormOptions) -> list[tuple[str, int]]:
    if options.processes < 2:
        raise InvalidExperimentError("processes=1 leaves nothing to share: compare 2 or more")
    check_agents((_agent(options), OPPONENT))
    return [(form, number) for number in range(options.repetitions) for form in FORMS]


class _InTurn(Experiment[FormOptions, FormResult]):
    """Does one run after the other on this machine, however other work is shared: the sharing itself is measured."""

    def run(self, *given: Any, **named: Any) -> Saved[FormResult]:
        with executed_by(lambda make, processes: on_this_machine(make, 1)):
            return super().run(*given, **named)


def forms_table(saved: Saved[FormResult]) -> Table:
    """Table 3.1 for our games."""
    lines = []
    for form, own in grouped(saved.results, "form").items():
        seconds = [result.seconds for result in own]
        others = (fmean(getattr(result, name) for result in own) for name in ("start", "worked", "spent"))
        counts = f"{own[0].workers}", f"{len(own)}", f"{own[0].games:,}"
        times = f"{fmean(seconds):.1f}", f"{min(seconds):.1f}–{max(seconds):.1f}", *(f"{other:.1f}" for other in others)
        lines.append((form, *counts, *times))
    header = ("form", "workers", "runs", "games", "mean s", "range, s", "start-up, s", "processor s of the games")
    alike = len({result.digest for result in saved.results}) == 1
    note = "Every run ended every game alike." if alike else "The runs did NOT end every game alike."
    title = "The same games in three forms"
    return Table(title, (*header, "of everything"), lines, f"{note} Computed from {saved.name}.")


def compare_forms(results: Sequence[FormResult]) -> Iterable[ex.Comparison]:
    """The thesis's ratios beside ours; a run of Ray beside the processes' run just before it."""
    by = {(result.form, result.repetition): result for result in results}
    for one, other in (("processes", "serial"), ("ray", "processes")):
        pairs = [(by[one, n], by[other, n]) for form, n in by if form == one and (other, n) in by]
        paper = f"{_PAPER[one] / _PAPER[other]:.2f}"
        if pairs:
            yield _ratio(f"time by {one} / time by {other}", paper, [a.seconds / b.seconds for a, b in pairs])
        if timed := [(a, b) for a, b in pairs if a.spent and b.spent]:
            what = f"processor time of everything, {one} / {other}"
            yield _ratio(what, "", [a.spent / b.spent for a, b in timed])


def _ratio(what: str, paper: str, ratios: Sequence[float]) -> ex.Comparison:
    span = f"median; {min(ratios):.2f}–{max(ratios):.2f} in {len(ratios)} pairs of runs"
    return ex.Comparison(what, paper, f"{median(ratios):.2f}", span)


PARALLEL_FORMS = _InTurn(
    "parallel-forms",
    run_form,
    "runs",
    _runs,
    {"parallel-forms": forms_table, "parallel-forms-paper": ex.compared("Table 3.1", compare_forms)},
    settings=("seed", "deals", "processes"),
    more=lambda options: {"agent": _agent(options)},
    source="Wang 2020 (thesis, in Chinese), table 3.1",
)
