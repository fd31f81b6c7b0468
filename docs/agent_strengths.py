"""How strong the named agents are against the rule agent, and how long they think: what ``ddz agents`` shows.

The figures are computed from committed results: the win rate from the one of three sources that has the most deals of
an agent, the time from the experiment ``agent-strength``, which measures all agents alike.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from statistics import median

import benchmark_tables
from ddz_papers.experiments.experiment import read_results_file
from ddz_papers.experiments.matches import TimedDealResult, win_interval
from ddz_papers.strengths.agent_strengths import OPPONENT, group_by_agent
from ddz_training.cli.tables import STRENGTHS_FILE as STRENGTHS_FILE
from ddz_training.cli.tables import Strength
from ddz_training.measure.benchmark.field import FIELD
from ddz_training.measure.statistics import Interval
from result_tables import RESULTS

_TIMES = "agent_strength.csv"
_FILES = ("policy_strength.csv", _TIMES)
_DIGITS = 4


def measured() -> dict[str, Strength]:
    """The strengths from committed results, by the agents' names, the strongest first."""
    timed = read_results_file(TimedDealResult, RESULTS / _TIMES).results
    times = {agent: median(line.ms for line in lines) for agent, lines in group_by_agent(timed).items()}
    times[OPPONENT] = median(line.opponent_ms for line in timed)
    strengths = {OPPONENT: Strength(Interval(0.5, 0.5, 0.5, 0), times[OPPONENT], _TIMES)}
    for name, wins, source in (*_of_experiments(), *_of_benchmark()):
        if name in times and (name not in strengths or wins.count > strengths[name].wins.count):
            mean, low, high = (round(end, _DIGITS) for end in wins.ends)
            strengths[name] = Strength(Interval(mean, low, high, wins.count), times[name], source)
    return dict(sorted(strengths.items(), key=lambda item: -item[1].wins.mean))


def _of_experiments() -> Iterator[tuple[str, Interval, str]]:
    for file in _FILES:
        for agent, lines in group_by_agent(read_results_file(TimedDealResult, RESULTS / file).results).items():
            yield agent, win_interval(lines), file


def _of_benchmark() -> Iterator[tuple[str, Interval, str]]:
    """The field's players that go by the name of an agent, whose options they write out."""
    own = {member.name for member in FIELD.values() if member.agent.partition(":")[0] == member.name}
    for results in benchmark_tables.committed(benchmark_tables.FOLDER):
        for line in results.summary():
            if line.opponent == OPPONENT and line.agent in own:
                yield line.agent, line.wins, f"benchmark/{results.path.name if results.path else ''}"


def document() -> str:
    """The strengths as the package has them."""
    lines = {
        name: [*dataclasses.astuple(strength.wins), float(f"{strength.ms:.3g}"), strength.source]
        for name, strength in measured().items()
    }
    rows = ",\n".join(f" {json.dumps(name)}: {json.dumps(line)}" for name, line in lines.items())
    return f"{{\n{rows}\n}}\n"
