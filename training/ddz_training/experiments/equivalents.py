"""Monte Carlo equivalents (thesis, chapter 5): of all agents, of what an agent knows, and where the answer is known.

The equivalent of an agent is the number of iterations with which a search is its equal.  Searches for it are tried on
searches, and on simulated games with a known curve.  The validation of the thesis, tables 5.1 and 5.2, looks between 1
and twice the answer, so that its first step is the answer; here the bounds are drawn from [m/8, m] and [m, 8m].
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from statistics import correlation, fmean, stdev
from typing import Annotated, Any, Literal, NamedTuple, get_args

import numpy as np

from ddz_agents.neural.blind import Input
from ddz_agents.rules.agent import Rule
from ddz_env import Rules
from ddz_env.core.options import Range
from ddz_env.playing.generators import published_generator
from ddz_training.experiments import experiment as ex
from ddz_training.experiments.experiment import Experiment, Result, Saved, Table, chosen, grouped
from ddz_training.measure import equivalent as finding
from ddz_training.measure.duplicate import DealPlayer
from ddz_training.measure.equivalent import SEARCH, THESIS_SEARCH, Bounds, Ladder, as_text, of_text, playing
from ddz_training.measure.statistics import Interval, normal_interval, wilson_interval, wins_by_deal
from ddz_training.measure.store import Key

LADDERS = (SEARCH, "rollout:particles=0")
"""The search that equivalents are counted in, and the one where that search is never the agent's equal."""
THESIS_RULES = "half-deck-open"
"""The thesis's game, in which the search is the thesis's too."""

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
    **{f"policy without {name}": (f"policy-without:input={name}", "policy") for name in get_args(Input)},
}
"""An agent without something that it knows, and the agent with it, by name."""

THESIS_KNOWLEDGE = {"pass": "1,217 → 1,192", "bombs": "1,217 → 1,221", "control": "1,217 → 1,066"}
"""Table 5.4."""


class EquivalentsOptions(ex.ChosenOptions):
    """Whose equivalents are found, and how exactly.

    Attributes:
        only: Only this agent; may be repeated.
        rules: The rules.
        deals: Duplicate deals against the search, at most; two games each.
        precision: A search for an equivalent ends when its interval reaches no farther than a factor of this.
        most: The most iterations that are tried.
        rung_deals: Duplicate deals against the rule agent, or against the agent that knows everything.
    """

    rules: str = "half-deck"
    deals: Annotated[int, Range(1)] = 2000
    precision: Annotated[float, Range(1, above=True)] = 1.25
    most: Annotated[int, Range(1)] = 1_000_000
    rung_deals: Annotated[int, Range(2)] = 200


class EquivalentResult(Result):
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
    def found(self) -> finding.Found:
        """The equivalent, and what was played."""
        tallies = of_text(self.played)
        deals = sum(tally.deals for tally in tallies.values())
        return finding.Found(Interval(self.iterations, self.low, self.high, deals), tallies, self.beyond)


_ALL = {name: (agent, "rules") for name, agent in AGENTS.items()} | dict(KNOWLEDGE)
"""Specification, and the agent that is compared with besides, by name."""


def find_equivalents(options: EquivalentsOptions, name: str, preset: str) -> list[EquivalentResult]:
    """Monte Carlo equivalents of agents, and of agents without a part of their knowledge."""
    found = []
    first, second = LADDERS
    for search in (THESIS_SEARCH if preset == THESIS_RULES else first, second):
        found.append(_find(options, name, preset, search))
        if found[-1].beyond <= 0:
            break
    return found


def _find(options: EquivalentsOptions, name: str, preset: str, search: str) -> EquivalentResult:
    """Find one equivalent, and play against the agent that the agent is compared with."""
    (agent, against), rules = _ALL[name], Rules.preset(preset)
    wanted = finding.SequentialOptions(deals=options.deals, precision=options.precision, most=options.most)
    with playing(Ladder(agent, search, rules, options.seed, published_generator)) as play:
        found = finding.sequential_search(play, wanted)
    value, tallies, share = found.iterations, as_text(found.tallies), _share(agent, against, rules, options)
    equivalent = value.mean, value.low, value.high, found.beyond, tallies
    return EquivalentResult(name, agent, preset, search, *equivalent, against, share.mean, share.half_width)


def _share(agent: str, against: str, rules: Rules, options: EquivalentsOptions) -> Interval:
    """The agent's share of the games against the one that it is compared with."""
    if agent == against:
        return Interval(0.5, 0.5, 0.5, 0)
    with closing(DealPlayer(rules, options.seed, False, make_generator=published_generator)) as player:
        deals = range(options.rung_deals)
        games = [game for deal in deals for game in player.play(deal, (agent, against), ("a", "b"))]
    return normal_interval([*wins_by_deal(games, "a").values()])


def _of(
    saved: Saved[EquivalentResult], names: Iterable[str], second: bool = False
) -> dict[tuple[str, str], EquivalentResult]:
    """Results of the first or the second search by rules and name."""
    wanted = (result for result in saved.results if result.name in set(names))
    own = (result for result in wanted if (result.search == LADDERS[1]) == second)
    return {(result.rules, result.name): result for result in own}


def _wins_text(result: EquivalentResult) -> str:
    return f"{100 * result.wins:.1f} ±{100 * result.margin:.1f}"


def equivalents_table(saved: Saved[EquivalentResult]) -> Table:
    """Table 5.3's form: the agents by their rank against the rule agent, with their equivalents."""
    first, second = _of(saved, AGENTS), _of(saved, AGENTS, second=True)
    lines = []
    for rules, own in grouped(first.values(), "rules").items():
        for rank, one in enumerate(sorted(own, key=lambda result: -result.wins), 1):
            share = "–" if one.agent == one.against else _wins_text(one)
            other = second[rules, one.name].found.text() if (rules, one.name) in second else ""
            found = one.found
            lines.append((rules, one.name, str(rank), share, found.text(), other, str(found.iterations.count)))
    header = ("rules", "agent", "rank", "wins % v `rules`", f"`{LADDERS[0]}`", f"`{LADDERS[1]}`", "deals")
    note = (
        "Equivalents with 95 % intervals; deals: against the first search, two games each. "
        f"In `{THESIS_RULES}` the search is `{THESIS_SEARCH}`. {_correlation(first)}{_how(saved)}"
    )
    return Table("Monte Carlo equivalents", header, lines, note)


def _correlation(results: Mapping[tuple[str, str], EquivalentResult]) -> str:
    """How well the order by equivalents is that by wins against the rule agent."""
    found = [result for (rules, _), result in results.items() if rules == "half-deck"]
    if len(found) < 3:
        return ""
    wins, heights = (_ranks(values) for values in ([one.wins for one in found], [_height(one) for one in found]))
    return (
        f"Half-deck: the two orders correlate with {correlation(wins, heights):.2f} (Spearman, {len(found)} agents). "
    )


def _height(result: EquivalentResult) -> float:
    """The equivalent; beyond all that was tried, by the wins at the edge."""
    if result.beyond <= 0:
        return result.iterations
    edge, tally = max(result.found.tallies.items())
    return edge * (1 + finding.wins(tally).mean)


def _ranks(values: Sequence[float]) -> list[float]:
    """Ranks from 0, equal values sharing theirs."""
    return [
        sum(other < value for other in values) + (sum(other == value for other in values) - 1) / 2 for value in values
    ]


def _how(saved: Saved[Any]) -> str:
    return f"At most {saved.settings['deals']} duplicate deals each; {saved.name}."


def knowledge_table(saved: Saved[EquivalentResult]) -> Table:
    """Table 5.4's form: the equivalent without a piece of knowledge, and the change."""
    found = _of(saved, [*AGENTS, *KNOWLEDGE])
    lines = []
    for (rules, name), result in found.items():
        if name in KNOWLEDGE:
            full = found.get((rules, KNOWLEDGE[name][1]))
            what = name.partition(" without ")[2]
            known = full is not None and not (full.beyond or result.beyond)
            factor = change(full, result).both(".2f", 1) if full and known else "–"
            whole = full.found.text() if full else "–"
            cells = whole, result.found.text(), factor, _wins_text(result), THESIS_KNOWLEDGE.get(what, "–")
            lines.append((result.against, RULE_NAMES.get(what, f"`{what}`"), *cells))
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
    "equivalents",
    find_equivalents,
    "equivalents",
    lambda options: [(name, options.rules) for name in chosen("agent", options.only, _ALL)],
    {"equivalents": equivalents_table, "equivalent-knowledge": knowledge_table},
    key=("name", "rules"),
    whole=True,
    settings=("seed", "deals", "precision", "most", "rung_deals"),
    agents=("policy",),
    source="Peking University thesis 2020, sections 5.3 and 5.4",
)


# --- Searches whose answer is known -----------------------------------------------------------------------------------

Method = Literal["sequential", "binary"]

THESIS_KNOWN = {500: "485 ± 40", 1000: "1,020 ± 100", 2000: "1,980 ± 120"}
"""Table 5.1: the mean and standard deviation of ten searches."""

_FACTOR = 8


class KnownOptions(ex.ParallelOptions):
    """Which searches are recovered how often.

    Attributes:
        known: Iterations of the search whose equivalent is looked for; may be repeated, 500 and 1,000 by default.
        rules: The rules.
        method: How it is looked for: by the sequential test or the thesis's binary search.
        repetitions: Searches for each.
        deals: Duplicate deals of the sequential test, at most; two games each.
        step_deals: Duplicate deals of each step of the binary search.
    """

    known: tuple[int, ...] | None = None
    rules: str = THESIS_RULES
    method: Method = "sequential"
    repetitions: Annotated[int, Range(1)] = 20
    deals: Annotated[int, Range(1)] = 2000
    step_deals: Annotated[int, Range(1)] = finding.STEP_DEALS


class KnownResult(Result):
    """A search for an equivalent that is known.

    Attributes:
        known: It.
        rules: Name of the rules.
        method: ``sequential`` or ``binary``.
        budget: Deals that were allowed: in all, or in each step of the binary search.
        repetition: Number of the search.
        lower: The lower bound that was given.
        upper: The upper bound.
        iterations: What was found.
        low: The lower end of its 95 % interval.
        high: The upper end.
        deals: Duplicate deals that were played.
    """

    known: int
    rules: str
    method: str
    budget: int
    repetition: int
    lower: int
    upper: int
    iterations: Annotated[float, ".1f"]
    low: Annotated[float, ".1f"]
    high: Annotated[float, ".1f"]
    deals: int


def draw_bounds(known: int, rng: np.random.Generator) -> Bounds:
    """Bounds from [m/8, m] and [m, 8m]."""
    lower = int(rng.integers(max(1, known // _FACTOR), known + 1))
    return Bounds(lower, int(rng.integers(known, _FACTOR * known + 1)))


def _search(method: str, play: finding.Play, bounds: Bounds, options: KnownOptions | SimulatedOptions) -> finding.Found:
    if method == "binary":
        return finding.binary_search(play, bounds, options.step_deals)
    return finding.sequential_search(play, finding.SequentialOptions(deals=options.deals), bounds)


def recover(
    options: KnownOptions, known: int, rules: str, method: str, budget: int, repetition: int
) -> list[KnownResult]:
    """Recover the iterations of searches that have known ones, from games against other numbers of iterations."""
    key = [options.seed, known, repetition]
    bounds = draw_bounds(known, np.random.default_rng(key))
    seed = int(np.random.SeedSequence(key).generate_state(1)[0])  # other deals for each search
    target, preset = f"{THESIS_SEARCH},iterations={known}", Rules.preset(rules)
    with playing(Ladder(target, THESIS_SEARCH, preset, seed, published_generator)) as play:
        value = _search(method, play, bounds, options).iterations
    low, high, deals = value.low, value.high, value.count
    return [KnownResult(known, rules, method, budget, repetition, *bounds, value.mean, low, high, deals)]


def _recoveries(options: KnownOptions) -> list[Key]:
    budget = options.step_deals if options.method == "binary" else options.deals
    sizes = options.known or (500, 1000)
    what = options.rules, options.method, budget
    return [(known, *what, number) for known in sizes for number in range(options.repetitions)]


def recovered(results: Sequence[KnownResult]) -> tuple[float, float]:
    """The mean and the standard deviation of the ratio of what was found to the truth, both of its logarithm.

    Example:
        >>> mean, spread = recovered([KnownResult(4, "", "", 1, 0, 1, 9, found, 0, 0, 1) for found in (2.0, 8.0)])
        >>> round(mean, 3), round(spread, 3)
        (1.0, 0.98)
    """
    logs = [math.log(result.iterations / result.known) for result in results]
    return math.exp(fmean(logs)), stdev(logs) if len(logs) > 1 else math.nan


def known_table(saved: Saved[KnownResult]) -> Table:
    """Tables 5.1 and 5.2: what was recovered."""
    lines = []
    by_search = grouped(saved.results, "known", "rules", "method", "budget")
    for (known, rules, method, budget), results in sorted(by_search.items()):
        ratio, spread = recovered(results)
        bounds = [fmean(bounds) for bounds in zip(*((one.lower, one.upper) for one in results), strict=True)]
        cells = (
            f"{budget} a step" if method == "binary" else f"{budget} in all",
            str(len(results)),
            f"{bounds[0]:,.0f}, {bounds[1]:,.0f}",
            f"{known * ratio:,.0f} ± {known * ratio * spread:,.0f}",
            f"{ratio:.2f} ± {ratio * spread:.2f}",
            f"{ratio * spread / math.sqrt(len(results)):.2f}",
            f"{sum(one.low <= known <= one.high for one in results)} of {len(results)}",
            f"{2 * fmean(one.deals for one in results):,.0f}",
        )
        lines.append((f"{known:,}", rules, method, *cells, THESIS_KNOWN.get(known, "–")))
    header = ("iterations", "rules", "method", "deals", "searches", "mean bounds", "found", "ratio")
    note = (
        "Found and ratio: geometric mean and standard deviation over the searches; covered: 95 % "
        f"intervals that hold the truth; games: of one search, on average. {saved.name}."
    )
    return Table("Known iterations recovered", (*header, "standard error", "covered", "games", "thesis"), lines, note)


EQUIVALENT_KNOWN = Experiment(
    "equivalent-known",
    recover,
    "searches",
    _recoveries,
    {"equivalent-known": known_table},
    whole=True,
    source="Peking University thesis 2020, section 5.1.3",
)


# --- Simulated games with a known win curve ---------------------------------------------------------------------------

_BATCH = 50


class Curve(NamedTuple):
    """How strength grows with iterations.

    Attributes:
        slope: What doubling the iterations adds to the log-odds of a decisive deal, near the equivalent.
        bend: By how much that falls with each octave: strength levels off.
        decisive: The share of deals that are decisive.
    """

    slope: float
    bend: float
    decisive: float

    def world(self, truth: float, rng: np.random.Generator) -> finding.Play:
        """What plays simulated deals of an agent whose equivalent is ``truth``."""

        def play(budgets: object) -> list[int]:
            octaves = np.log2(np.asarray(budgets, np.float64) / truth)
            odds = np.exp(self.slope * octaves - self.bend * octaves * np.abs(octaves) / 2)
            decisive = rng.random(len(octaves)) < self.decisive
            signs = np.where(rng.random(len(octaves)) * (1 + odds) < 1, 1, -1)
            found: list[int] = np.where(decisive, signs, 0).tolist()
            return found

        return play


CURVES = {
    "steep": Curve(0.65, 0.0, 0.3),
    "usual": Curve(0.55, 0.0, 0.2),
    "flat": Curve(0.3, 0.0, 0.2),
    "levelling off": Curve(0.55, 0.1, 0.2),
}
"""Half-deck games between `isuct` with 125 and 500 iterations have a slope of 0.65 and 30 % decisive deals, those with
500 and 2,000 a slope of 0.57 and 15 % (300 and 200 deals)."""


class SimulatedOptions(ex.ParallelOptions):
    """How many searches are simulated.

    Attributes:
        known: The equivalent that is to be found.
        searches: Searches for each method, shared by the curves.
        deals: Duplicate deals of the sequential test, at most.
        step_deals: Duplicate deals of each step of the binary search.
    """

    known: Annotated[int, Range(8)] = 500
    searches: Annotated[int, Range(1)] = 10_000
    deals: Annotated[int, Range(1)] = 2000
    step_deals: Annotated[int, Range(1)] = finding.STEP_DEALS


class SimulatedResult(Result):
    """Some simulated searches.

    Attributes:
        curve: Name of the curve.
        method: ``sequential`` or ``binary``.
        batch: Number of the batch.
        searches: Searches in it.
        covered: Those whose 95 % interval holds the truth.
        ratio: Mean logarithm of what was found over the truth.
        square: Mean square of this logarithm.
        deals: Mean number of deals.
    """

    curve: str
    method: str
    batch: int
    searches: int
    covered: int
    ratio: Annotated[float, ".5f"]
    square: Annotated[float, ".5f"]
    deals: Annotated[float, ".1f"]


def simulate(options: SimulatedOptions, curve: str, method: str, batch: int) -> list[SimulatedResult]:
    """Simulated searches for Monte Carlo equivalents with a known answer: coverage, error and games."""
    rng = np.random.default_rng([options.seed, [*CURVES].index(curve), method == "binary", batch])
    found = []
    for _ in range(_BATCH):
        bounds, play = draw_bounds(options.known, rng), CURVES[curve].world(options.known, rng)
        found.append(_search(method, play, bounds, options).iterations)
    logs = [math.log(value.mean / options.known) for value in found]
    covered = sum(value.low <= options.known <= value.high for value in found)
    means = fmean(logs), fmean(log * log for log in logs), fmean(value.count for value in found)
    return [SimulatedResult(curve, method, batch, len(found), covered, *means)]


def _batches(options: SimulatedOptions) -> list[Key]:
    batches = range(math.ceil(options.searches / len(CURVES) / _BATCH))
    return [(curve, method, batch) for batch in batches for method in get_args(Method) for curve in CURVES]


def simulated_table(saved: Saved[SimulatedResult]) -> Table:
    """Coverage, error and games by curve and method."""
    lines = []
    for curve in (*CURVES, "all"):
        own = [result for result in saved.results if curve in (result.curve, "all")]
        for method, batches in grouped(own, "method", order=get_args(Method)).items():
            covered = wilson_interval(sum(b.covered for b in batches), sum(b.searches for b in batches))
            ratio, square = fmean(b.ratio for b in batches), fmean(b.square for b in batches)
            error, games = f"{100 * math.expm1(math.sqrt(square)):.0f} %", f"{2 * fmean(b.deals for b in batches):,.0f}"
            lines.append((curve, method, f"{covered.count:,}", covered.both(), f"{math.exp(ratio):.3f}", error, games))
    header = ("curve", "method", "searches", "covered %", "mean ratio", "typical error", "games")
    settings = saved.settings
    note = (
        f"Equivalent {settings['known']}, bounds drawn as above; at most {settings['deals']} deals, or "
        f"{settings['step_deals']} a step. Typical error: the root mean square of the logarithm of the ratio, as a "
        f"factor; {saved.name}."
    )
    return Table("Simulated searches", header, lines, note)


EQUIVALENT_SIMULATED = Experiment(
    "equivalent-simulated",
    simulate,
    "batches of 50 searches",
    _batches,
    {"equivalent-simulated": simulated_table},
    settings=("seed", "known", "deals", "step_deals"),
)
