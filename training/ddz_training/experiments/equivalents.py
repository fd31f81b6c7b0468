"""The Monte Carlo equivalent of every agent, and the value of what an agent knows (thesis, tables 5.3 and 5.4)."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args

from ddz_agents.neural.blind import Input
from ddz_agents.rules.agent import Rule
from ddz_env import Rules
from ddz_env.core.options import Range
from ddz_env.playing.generators import published_generator
from ddz_training.experiments.experiment import Experiment, ParallelOptions, Saved, Table, check_known, kept
from ddz_training.measure.equivalent import (
    Found,
    Ladder,
    SequentialOptions,
    Tallies,
    as_text,
    here,
    of_text,
    sequential_search,
    wins,
)
from ddz_training.measure.match.duplicate import DealPlayer
from ddz_training.measure.match.results import OnProgress, ResultStore, no_progress
from ddz_training.measure.match.statistics import Interval, normal_interval, wins_by_deal

LADDERS = ("isuct", "rollout:particles=0")
"""The search that equivalents are counted in, and the one where that search is never the agent's equal."""

AGENTS: Mapping[str, str] = {
    "random": "random",
    "rlcard-rule": "rlcard-rule",
    "rules": "rules",
    "policy": "policy",
    "rollout 100": "rollout:iterations=100,particles=0",
    "duct 10 × 100": "duct:iterations=100,trees=10",
    "expectiminimax, depth 2": "expectiminimax:depth=2",
    "isuct 10,000": "isuct",
    "random-staged": "random-staged",
    "isuct-moves 1,000": "isuct-moves:iterations=1000",
    "isuct-redetermined 1,000": "isuct-redetermined:iterations=1000",
    "cheating-alpha-beta, depth 2": "cheating-alpha-beta:depth=2",
    "cheating-uct 10 × 100": "cheating-uct:iterations=100,trees=10",
    "neural-ismcts 100": "neural-ismcts:iterations=100",
    "determinized-solver": "determinized-solver",
}
"""Agents by name, without those of Mini Dou Dizhu or of the auction, and without programs that must be installed."""

RULE_NAMES: Mapping[str, str] = {
    "pass": "do not pass lightly (不要轻易过牌)",
    "bombs": "keep bombs (尽量留炸弹)",
    "control": "control at key moments (关键时刻控场)",
}
KNOWLEDGE: Mapping[str, tuple[str, str]] = {
    **{f"rules without {rule}": (f"rules-without:rule={rule}", "rules") for rule in get_args(Rule)},
    **{f"policy without {name}": (f"policy-without:input={name}", "policy") for name in get_args(Input)},
}
"""An agent without something that it knows, and the agent with it, by name."""

THESIS_KNOWLEDGE = {"pass": "1,217 → 1,192", "bombs": "1,217 → 1,221", "control": "1,217 → 1,066"}
"""Table 5.4."""

Part = Literal["agents", "knowledge"]


@dataclass(frozen=True)
class EquivalentsOptions(ParallelOptions):
    """Whose equivalents are found, and how exactly.

    Attributes:
        only: Only this agent; may be repeated.
        rules: The rules.
        deals: Duplicate deals against the search, at most; two games each.
        precision: A search for an equivalent ends when its interval reaches no farther than a factor of this.
        most: The most iterations that are tried.
        rung_deals: Duplicate deals against the rule agent, or against the agent that knows everything.
    """

    only: tuple[str, ...] | None = None
    rules: str = "half-deck"
    deals: Annotated[int, Range(1)] = 2000
    precision: Annotated[float, Range(1, above=True)] = 1.25
    most: Annotated[int, Range(1)] = 1_000_000
    rung_deals: Annotated[int, Range(2)] = 200


@dataclass(frozen=True)
class EquivalentResult:
    """An agent's equivalent.

    Attributes:
        name: The agent's name.
        agent: Its specification.
        rules: Name of the rules.
        search: The search whose iterations are counted.
        iterations: The equivalent.
        low: The lower end of its 95 % interval.
        high: The upper end.
        beyond: 1 where it is above all that was tried, -1 where it is below, else 0.
        played: ``iterations:ahead/behind/even`` for each budget, deals as the agent sees them.
        against: The agent that it is compared with besides.
        wins: Its share of the games against that one, on duplicate deals.
        margin: Half the width of the 95 % interval of this share.
    """

    name: str
    agent: str
    rules: str
    search: str
    iterations: Annotated[float, ".1f"]
    low: Annotated[float, ".1f"]
    high: Annotated[float, ".1f"]
    beyond: int
    played: tuple[str, ...]
    against: str
    wins: Annotated[float, ".4f"]
    margin: Annotated[float, ".4f"]

    @property
    def tallies(self) -> Tallies:
        """What was played."""
        return of_text(self.played)

    @property
    def found(self) -> Found:
        """The equivalent."""
        deals = sum(tally.deals for tally in self.tallies.values())
        return Found(Interval(self.iterations, self.low, self.high, deals), self.tallies, self.beyond)


class Task(NamedTuple):
    """An equivalent to be found.

    Attributes:
        name: The agent's name.
        agent: Its specification.
        search: The search whose iterations are counted.
        against: The agent that it is compared with besides.
    """

    name: str
    agent: str
    search: str
    against: str


class EquivalentWorker:
    """Finds equivalents in one process.

    Args:
        options: How.
    """

    def __init__(self, options: EquivalentsOptions) -> None:
        self._options = options

    def play(self, task: Task) -> list[EquivalentResult]:
        """Find one, and play against the agent that it is compared with."""
        options, rules = self._options, Rules.preset(self._options.rules)
        wanted = SequentialOptions(deals=options.deals, precision=options.precision, most=options.most)
        with here(Ladder(task.agent, task.search, rules, options.seed, published_generator)) as play:
            found = sequential_search(play, wanted)
        share = _share(task, rules, options)
        return [
            EquivalentResult(
                task.name,
                task.agent,
                options.rules,
                task.search,
                found.iterations.mean,
                found.iterations.low,
                found.iterations.high,
                found.beyond,
                as_text(found.tallies),
                task.against,
                share.mean,
                share.half_width,
            )
        ]

    def close(self) -> None:
        """Nothing is kept from one task to the next."""


def _share(task: Task, rules: Rules, options: EquivalentsOptions) -> Interval:
    """The agent's share of the games against the one that it is compared with."""
    if task.agent == task.against:
        return Interval(0.5, 0.5, 0.5, 0)
    player = DealPlayer(rules, options.seed, False, make_generator=published_generator)
    try:
        games = [player.play(deal, (task.agent, task.against), ("a", "b")) for deal in range(options.rung_deals)]
    finally:
        player.close()
    return normal_interval([*wins_by_deal([game for deal in games for game in deal], "a").values()])


def run_equivalents(
    options: EquivalentsOptions, path: Path | None = None, on_progress: OnProgress = no_progress
) -> Saved[EquivalentResult]:
    """Find the equivalents of agents, and in a second search of those that the first one never equals.

    Args:
        options: Whose, and how exactly.
        path: Where to save, one line an equivalent; a file of an earlier run is resumed.
        on_progress: Told how many are found.

    Raises:
        InvalidExperimentError: If there is no such agent.
    """
    known = {name: (agent, "rules") for name, agent in AGENTS.items()} | dict(KNOWLEDGE)
    names = options.only or tuple(known)
    check_known("agent", names, known)
    settings = {"experiment": "equivalents", **options.as_dict()}
    for free in ("only", "rules", "processes"):
        del settings[free]
    key = ("name", "rules", "search")
    store = ResultStore(EquivalentResult, path, settings, key, agents=["policy"])
    start = functools.partial(EquivalentWorker, options)
    results: list[EquivalentResult] = []
    for search in LADDERS:
        tasks = {
            (name, options.rules, search): Task(name, known[name][0], search, known[name][1])
            for name in names
            if search == LADDERS[0] or any(result.name == name and result.beyond > 0 for result in results)
        }
        results += store.fill(tasks, start, options.processes, on_progress)
    return kept(store, store.results)


def _of(saved: Saved[EquivalentResult], names: Iterable[str], search: str) -> dict[tuple[str, str], EquivalentResult]:
    """Results by rules and name."""
    wanted = set(names)
    return {
        (result.rules, result.name): result
        for result in saved.results
        if result.search == search and result.name in wanted
    }


def equivalents_table(saved: Saved[EquivalentResult]) -> Table:
    """Table 5.3's form: the agents by their rank against the rule agent, with their equivalents."""
    first, second = (_of(saved, AGENTS, search) for search in LADDERS)
    lines = []
    for rules in dict.fromkeys(rules for rules, _ in first):
        ranked = sorted(((key, result) for key, result in first.items() if key[0] == rules), key=lambda i: -i[1].wins)
        for rank, (key, result) in enumerate(ranked, 1):
            wins_text = "–" if result.agent == result.against else f"{100 * result.wins:.1f} ±{100 * result.margin:.1f}"
            other = second[key].found.text() if key in second else ""
            lines.append(
                (
                    rules,
                    result.name,
                    str(rank),
                    wins_text,
                    result.found.text(),
                    other,
                    str(result.found.iterations.count),
                )
            )
    header = ("rules", "agent", "rank", "wins % v `rules`", f"`{LADDERS[0]}`", f"`{LADDERS[1]}`", "deals")
    note = (
        "Equivalents with 95 % intervals; deals: against the first search, two games each. "
        f"{_correlation(first)}{_how(saved)}"
    )
    return Table("Monte Carlo equivalents", header, lines, note)


def _correlation(results: Mapping[tuple[str, str], EquivalentResult]) -> str:
    """How well the order by equivalents is that by wins against the rule agent."""
    found = [result for (rules, _), result in results.items() if rules == "half-deck"]
    if len(found) < 3:
        return ""
    ranks = [_ranks([result.wins for result in found]), _ranks([_height(result) for result in found])]
    mean = (len(found) - 1) / 2
    both = sum((a - mean) * (b - mean) for a, b in zip(*ranks, strict=True))
    norm = math.prod(sum((rank - mean) ** 2 for rank in column) for column in ranks) ** 0.5
    return f"Half-deck: the two orders correlate with {both / norm:.2f} (Spearman, {len(found)} agents). "


def _height(result: EquivalentResult) -> float:
    """The equivalent; beyond all that was tried, by the wins at the edge."""
    if result.beyond <= 0:
        return result.iterations
    edge = max(result.tallies)
    return edge * (1 + wins(result.tallies[edge]).mean)


def _ranks(values: Sequence[float]) -> list[float]:
    """Ranks from 0, equal values sharing theirs."""
    return [
        sum(other < value for other in values) + (sum(other == value for other in values) - 1) / 2 for value in values
    ]


def _how(saved: Saved[Any]) -> str:
    return f"At most {saved.settings['deals']} duplicate deals each; {saved.name}."


def knowledge_table(saved: Saved[EquivalentResult]) -> Table:
    """Table 5.4's form: the equivalent without a piece of knowledge, and the change."""
    found = _of(saved, [*AGENTS, *KNOWLEDGE], LADDERS[0])
    lines = []
    for (rules, name), result in found.items():
        if name not in KNOWLEDGE:
            continue
        full = found.get((rules, KNOWLEDGE[name][1]))
        what = name.partition(" without ")[2]
        lines.append(
            (
                result.against,
                RULE_NAMES.get(what, f"`{what}`"),
                full.found.text() if full else "–",
                result.found.text(),
                change(full, result).both(".2f", 1) if full and not (full.beyond or result.beyond) else "–",
                f"{100 * result.wins:.1f} ±{100 * result.margin:.1f}",
                THESIS_KNOWLEDGE.get(what, "–"),
            )
        )
    header = ("agent", "without", "with it", "without it", "factor", "wins % v the whole", "thesis")
    note = (
        "Factor: the equivalent without it divided by that with it, with its 95 % interval. Wins: duplicate deals of "
        f"the agent without it against the whole one. {_how(saved)}"
    )
    return Table("Value of knowledge", header, lines, note)


def change(full: EquivalentResult, without: EquivalentResult) -> Interval:
    """The equivalent without something divided by that with it; both errors added on the logarithmic scale.

    Example:
        >>> one = EquivalentResult("a", "a", "half-deck", "isuct", 800, 400, 1600, 0, (), "a", 0.5, 0)
        >>> change(one, one).both(".2f", 1)
        '1.00 (0.38 to 2.67)'
    """
    centre = math.log(without.iterations / full.iterations)
    down = math.hypot(math.log(without.iterations / without.low), math.log(full.high / full.iterations))
    up = math.hypot(math.log(without.high / without.iterations), math.log(full.iterations / full.low))
    return Interval(math.exp(centre), math.exp(centre - down), math.exp(centre + up), 0)


EQUIVALENTS = Experiment(
    name="equivalents",
    source="Peking University thesis 2020, sections 5.3 and 5.4",
    about="Monte Carlo equivalents of agents, and of agents without a part of their knowledge.",
    unit="equivalents",
    options=EquivalentsOptions,
    result=EquivalentResult,
    run=run_equivalents,
    tables={"equivalents": equivalents_table, "equivalent-knowledge": knowledge_table},
    file="equivalents",
)
