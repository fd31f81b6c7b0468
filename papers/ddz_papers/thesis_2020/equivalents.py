"""Monte Carlo equivalents of agents with all or part of their knowledge (thesis, sections 5.3 and 5.4).

The equivalent of an agent is the number of iterations with which a search is its equal.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Annotated, Any, get_args

from ddz_agents.neural.ablation import InputName
from ddz_agents.rules.agent import Rule
from ddz_env import Rules
from ddz_env.playing.generators import make_published_generator
from ddz_env.support.options import Range
from ddz_papers.experiments import experiment as ex
from ddz_papers.thesis_2020 import equivalent as finding
from ddz_training.measure.duplicate import DealPlayer, Match
from ddz_training.measure.markdown import Table
from ddz_training.measure.statistics import Interval, share_interval
from ddz_training.measure.summaries import wins_by_deal

SEARCHES = (finding.DEFAULT_SEARCH, "rollout:particles=0")
"""The search whose iterations are counted, and the one to use where that search never equals the agent."""
THESIS_RULES = "half-deck-open"
"""The thesis's game; in it the search is the thesis's, too."""

AGENTS: Mapping[str, str] = {
    **{name: name for name in ("random", "rlcard-rule", "rules", "policy")},
    "rollout 100": "rollout:iterations=100,particles=0",
    "duct 10 × 100": "duct:iterations=100,trees=10",
    "expectiminimax, depth 2": "expectiminimax:depth=2",
    "isuct 10,000": "isuct",
    "random-staged": "random-staged",
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
    **{f"policy without {name}": (f"policy-without:input={name}", "policy") for name in get_args(InputName)},
}
"""By name: an agent without a piece of its knowledge, and the whole agent."""

THESIS_KNOWLEDGE = {"pass": "1,217 → 1,192", "bombs": "1,217 → 1,221", "control": "1,217 → 1,066"}
"""Table 5.4."""


@dataclass(frozen=True)
class EquivalentsOptions(ex.ChosenOptions):
    """Options of ``equivalents``: the agents whose equivalents are found, and the precision.

    Attributes:
        only: Only this agent; may be repeated.
        rules: The rules; the thesis's game by default.
        deals: Duplicate deals against the search, at most; two games each.
        precision: A search for an equivalent ends when its interval is within this factor of it.
        most: The most iterations that are tried.
        rung_deals: Duplicate deals against the rule agent, or against the agent that knows everything.
    """

    rules: str = THESIS_RULES
    deals: ex.Count = 2000
    precision: Annotated[float, Range(1, above=True)] = 1.25
    most: ex.Count = 1_000_000
    rung_deals: Annotated[int, Range(2)] = 200


@dataclass(frozen=True)
class EquivalentResult:
    """An agent's Monte Carlo equivalent in one search, and the agent's win rate against a second agent.

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
        against: The agent that it also plays against.
        wins: Its share of the games against that one, on duplicate deals.
        margin: Half the width of the 95 % interval of this share.
    """

    name: str
    agent: str
    rules: str
    search: str
    iterations: float
    low: float
    high: float
    beyond: int
    played: tuple[str, ...]
    against: str
    wins: float
    margin: float

    @property
    def equivalent(self) -> finding.Equivalent:
        """The Monte Carlo equivalent, with the tallies of the deals from which it was estimated."""
        tallies = finding.tallies_from_text(self.played)
        deals = sum(tally.deals for tally in tallies.values())
        return finding.Equivalent(Interval(self.iterations, self.low, self.high, deals), tallies, self.beyond)


_AGENTS_AND_OPPONENTS = {name: (agent, "rules") for name, agent in AGENTS.items()} | dict(KNOWLEDGE)
"""By name: the agent's specification, and the agent that it also plays against."""


def find_equivalents(options: EquivalentsOptions, name: str, preset: str) -> list[EquivalentResult]:
    """Find an agent's Monte Carlo equivalent in the first search, and in the second if the first is too weak."""
    results = []
    first, second = SEARCHES
    for search in (finding.THESIS_SEARCH if preset == THESIS_RULES else first, second):
        results.append(_find_in_search(options, name, preset, search))
        if results[-1].beyond <= 0:
            break
    return results


def _find_in_search(options: EquivalentsOptions, name: str, preset: str, search: str) -> EquivalentResult:
    """Find an agent's Monte Carlo equivalent in one search, and the agent's win rate against a second agent."""
    (agent, against), rules = _AGENTS_AND_OPPONENTS[name], Rules.preset(preset)
    limits = finding.SequentialOptions(deals=options.deals, precision=options.precision, most=options.most)
    with finding.open_deal_player(
        finding.EquivalentSearch(agent, search, rules, options.seed, make_published_generator)
    ) as play:
        equivalent = finding.sequential_search(play, limits)
    tallies, share = finding.tallies_to_text(equivalent.tallies), _play_against(agent, against, rules, options)
    mean, low, high = (round(end, 1) for end in equivalent.iterations.ends)
    result = EquivalentResult(name, agent, preset, search, mean, low, high, equivalent.beyond, tallies, against, 0, 0)
    return replace(result, wins=round(share.mean, 4), margin=round(share.half_width, 4))


def _play_against(agent: str, against: str, rules: Rules, options: EquivalentsOptions) -> Interval:
    """Estimate an agent's win rate against a second agent on duplicate deals."""
    if agent == against:
        return Interval(0.5, 0.5, 0.5, 0)
    with closing(DealPlayer(rules, options.seed, False, make_generator=make_published_generator)) as player:
        deals = range(options.rung_deals)
        games = [game for deal in deals for game in player.play(Match(deal, (agent, against), ("a", "b")))]
    return share_interval([*wins_by_deal(games, "a").values()])


def _group_by_name(
    saved: ex.SavedResults[EquivalentResult], names: Iterable[str], second: bool = False
) -> dict[tuple[str, str], EquivalentResult]:
    """Select the results of the first or the second search, keyed by rules and agent name."""
    named = (result for result in saved.results if result.name in set(names))
    of_search = (result for result in named if (result.search == SEARCHES[1]) == second)
    return {(result.rules, result.name): result for result in of_search}


def _wins_text(result: EquivalentResult) -> str:
    return f"{100 * result.wins:.1f} ±{100 * result.margin:.1f}"


def equivalents_table(saved: ex.SavedResults[EquivalentResult]) -> Table:
    """Make the table of Monte Carlo equivalents, ranked by win rate against the rule agent, like table 5.3."""
    first, second = _group_by_name(saved, AGENTS), _group_by_name(saved, AGENTS, second=True)
    lines = []
    for rules, of_rules in ex.group_by(first.values(), "rules").items():
        for rank, result in enumerate(sorted(of_rules, key=lambda result: -result.wins), 1):
            share = "–" if result.agent == result.against else _wins_text(result)
            other = second[rules, result.name].equivalent.text() if (rules, result.name) in second else ""
            equivalent = result.equivalent
            lines.append(
                (rules, result.name, str(rank), share, equivalent.text(), other, str(equivalent.iterations.count))
            )
    header = ("rules", "agent", "rank", "wins % v `rules`", f"`{SEARCHES[0]}`", f"`{SEARCHES[1]}`", "deals")
    note = (
        "Equivalents have 95 % intervals. "
        f"In `{THESIS_RULES}` the search is `{finding.THESIS_SEARCH}`. {_deals_note(saved)}"
    )
    return Table("Monte Carlo equivalents", header, lines, note)


def _deals_note(saved: ex.SavedResults[Any]) -> str:
    return f"Each has at most {saved.settings['deals']} duplicate deals. Computed from {saved.name}."


def knowledge_table(saved: ex.SavedResults[EquivalentResult]) -> Table:
    """Make the table of Monte Carlo equivalents with and without a piece of knowledge, like table 5.4."""
    results = _group_by_name(saved, [*AGENTS, *KNOWLEDGE])
    lines = []
    for (rules, name), result in results.items():
        if name in KNOWLEDGE:
            full = results.get((rules, KNOWLEDGE[name][1]))
            knowledge = name.partition(" without ")[2]
            comparable = full is not None and not (full.beyond or result.beyond)
            factor = relative_change(full, result).text_with_range(".2f", 1) if full and comparable else "–"
            whole_text = full.equivalent.text() if full else "–"
            cells = (
                whole_text,
                result.equivalent.text(),
                factor,
                _wins_text(result),
                THESIS_KNOWLEDGE.get(knowledge, "–"),
            )
            lines.append((result.against, RULE_NAMES.get(knowledge, f"`{knowledge}`"), *cells))
    header = ("agent", "without", "with it", "without it", "factor", "wins % v the whole", "thesis")
    note = (
        "The factor is the equivalent without the piece divided by that with it, with its 95 % interval. The wins are "
        f"those of the agent without it on duplicate deals against the whole one. {_deals_note(saved)}"
    )
    return Table("Value of knowledge", header, lines, note)


def relative_change(full: EquivalentResult, without: EquivalentResult) -> Interval:
    """Divide a reduced agent's Monte Carlo equivalent by the whole agent's, with a 95 % interval.

    Example:
        >>> one = EquivalentResult("a", "a", "half-deck", "isuct", 800, 400, 1600, 0, (), "a", 0.5, 0)
        >>> relative_change(one, one).text_with_range(".2f", 1)
        '1.00 (0.38 to 2.67)'
    """
    centre = math.log(without.iterations / full.iterations)
    down = math.hypot(math.log(without.iterations / without.low), math.log(full.high / full.iterations))
    up = math.hypot(math.log(without.high / without.iterations), math.log(full.iterations / full.low))
    return Interval(math.exp(centre), math.exp(centre - down), math.exp(centre + up), 0)


EQUIVALENTS = ex.Experiment(
    name="equivalents",
    source="Peking University thesis 2020, section 5.3, table 5.3",
    about="Monte Carlo equivalents of agents.\n\nHours with the default deals; with 200 deals and at most 10,000 "
    "iterations some minutes for each agent.",
    options=EquivalentsOptions,
    result=EquivalentResult,
    key=("name", "rules"),
    tasks=lambda options: [(name, options.rules) for name in ex.check_names("agent", options.only, AGENTS)],
    work=find_equivalents,
    changeable=("rules",),
    agents=lambda options: ["policy"],
    unit="equivalents",
    tables={"equivalents": equivalents_table},
    whole=True,
)

_WHOLE_AGENTS = dict.fromkeys(whole for _, whole in KNOWLEDGE.values())

EQUIVALENT_KNOWLEDGE = replace(
    EQUIVALENTS,
    name="equivalent-knowledge",
    source="Peking University thesis 2020, section 5.4, table 5.4",
    about="Monte Carlo equivalents of agents without a part of their knowledge, beside those of the whole agents.",
    tasks=lambda options: [
        (name, options.rules) for name in ex.check_names("agent", options.only, (*_WHOLE_AGENTS, *KNOWLEDGE))
    ],
    more=lambda options: {"experiment": EQUIVALENTS.name},
    tables={"equivalent-knowledge": knowledge_table},
    file="equivalents",
)
"""Its results are in the file of ``equivalents``, as both share the whole agents."""
