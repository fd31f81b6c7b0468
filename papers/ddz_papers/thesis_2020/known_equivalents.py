"""Tests of the search for Monte Carlo equivalents on known answers: searches and simulated games.

To validate its algorithms, the thesis searches between 1 and twice the answer in table 5.1, as ``printed`` does, so
that the first step already tries the answer, and between the bounds of algorithm 5 in table 5.2, as ``doubling`` does.
For the other methods our bounds are drawn from [m/8, m] and [m, 8m].
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import Annotated, Literal, NamedTuple, get_args

import numpy as np

from ddz_env import Rules
from ddz_env.playing.generators import make_published_generator
from ddz_env.support.options import Range
from ddz_papers.experiments import experiment as ex
from ddz_papers.thesis_2020 import equivalent as finding
from ddz_papers.thesis_2020.equivalents import THESIS_RULES
from ddz_training.measure.markdown import Table
from ddz_training.measure.statistics import Interval, wilson_interval
from ddz_training.measure.store import Key

Method = Literal["sequential", "binary", "doubling", "printed"]
"""How an equivalent is found; ``doubling`` is the thesis's whole way, algorithm 5 and then algorithm 4, ``printed`` its
table 5.1, algorithm 4 between 1 and twice the answer."""

TABLE_5_1 = {500: "485 ± 40", 1000: "1,020 ± 100", 2000: "1,980 ± 120"}
TABLE_5_2 = {500: "505 ± 30", 1000: "1,020 ± 80", 2000: "1,960 ± 100"}
"""The mean and standard deviation of ten searches, by algorithm 4 alone and after algorithm 5."""
BOUNDS_5_2 = {500: ("398 ± 11", "861 ± 19"), 1000: ("824 ± 29", "1,743 ± 41"), 2000: ("1,667 ± 64", "3,642 ± 63")}
"""Table 5.2's bounds, which algorithm 5 found; the thesis says that all of them enclose the known iterations."""

_BOUND_FACTOR = 8


@dataclass(frozen=True)
class KnownOptions(ex.ParallelOptions):
    """Options of ``equivalent-known``: which known equivalents are looked for, how and how often; table 5.2 by default.

    Attributes:
        known: Iterations of the search whose equivalent is looked for; may be repeated.
        rules: The rules.
        method: How it is looked for, a :data:`Method`.
        repetitions: Searches for each.
        deals: Duplicate deals of the sequential test, at most; two games each.
        step_deals: Duplicate deals of each step of the other searches.
    """

    known: tuple[int, ...] = (500, 1000, 2000)
    rules: str = THESIS_RULES
    method: Method = "doubling"
    repetitions: ex.Count = 10
    deals: ex.Count = 2000
    step_deals: ex.Count = finding.STEP_DEALS


@dataclass(frozen=True)
class KnownResult:
    """The result of one search for the iterations of a UCT agent whose number of iterations is known.

    Attributes:
        known: The equivalent.
        rules: Name of the rules.
        method: A :data:`Method`.
        budget: Deals that were allowed: in all, or in each step.
        repetition: Number of the search.
        lower: The lower bound that was given or, by ``doubling``, found.
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
    iterations: float
    low: float
    high: float
    deals: int


def draw_bounds(known: int, rng: np.random.Generator) -> finding.Bounds:
    """Draw random bounds from [m/8, m] and [m, 8m], where m is the known number of iterations."""
    lower = int(rng.integers(max(1, known // _BOUND_FACTOR), known + 1))
    return finding.Bounds(lower, int(rng.integers(known, _BOUND_FACTOR * known + 1)))


def _find_equivalent(
    method: str, known: int, play: finding.Play, options: KnownOptions | SimulatedOptions, rng: np.random.Generator
) -> tuple[finding.Bounds, Interval]:
    """Search for a known Monte Carlo equivalent by one method, and return the bounds and the estimate."""
    if method == "doubling":
        bounds, played = finding.initial_bounds(play, finding.FIRST_BOUNDS, options.step_deals, rng)
    else:
        bounds, played = finding.Bounds(1, 2 * known) if method == "printed" else draw_bounds(known, rng), {}
    if method == "sequential":
        equivalent = finding.sequential_search(play, finding.SequentialOptions(deals=options.deals), bounds)
    else:
        equivalent = finding.binary_search(play, bounds, options.step_deals)
    before = sum(tally.deals for tally in played.values())
    return bounds, replace(equivalent.iterations, count=before + equivalent.iterations.count)


def recover_iterations(
    options: KnownOptions, known: int, rules: str, method: str, budget: int, repetition: int
) -> list[KnownResult]:
    """Estimate a search's known number of iterations from its games against other numbers of iterations."""
    key = [options.seed, known, repetition]
    rng = np.random.default_rng(key)
    seed = int(np.random.SeedSequence(key).generate_state(1)[0])  # other deals for each search
    target, preset = f"{finding.THESIS_SEARCH},iterations={known}", Rules.preset(rules)
    with finding.open_deal_player(
        finding.EquivalentSearch(target, finding.THESIS_SEARCH, preset, seed, make_published_generator)
    ) as play:
        bounds, value = _find_equivalent(method, known, play, options, rng)
    mean, low, high = (round(end, 1) for end in value.ends)
    return [KnownResult(known, rules, method, budget, repetition, *bounds, mean, low, high, value.count)]


def _list_searches(options: KnownOptions) -> list[Key]:
    budget = options.deals if options.method == "sequential" else options.step_deals
    setting = options.rules, options.method, budget
    return [(known, *setting, number) for known in options.known for number in range(options.repetitions)]


def recovery_ratio(results: Sequence[KnownResult]) -> tuple[float, float]:
    """Return the geometric mean of found over true iterations, and the standard deviation of the log ratio.

    Example:
        >>> mean, spread = recovery_ratio([KnownResult(4, "", "", 1, 0, 1, 9, found, 0, 0, 1) for found in (2.0, 8.0)])
        >>> round(mean, 3), round(spread, 3)
        (1.0, 0.98)
    """
    logs = [math.log(result.iterations / result.known) for result in results]
    return math.exp(fmean(logs)), stdev(logs) if len(logs) > 1 else math.nan


def known_table(saved: ex.SavedResults[KnownResult]) -> Table:
    """Make the table of known numbers of iterations that were recovered, like tables 5.1 and 5.2 of the thesis."""
    lines = []
    by_search = ex.group_by(saved.results, "known", "rules", "method", "budget")
    for (known, rules, method, budget), results in sorted(by_search.items()):
        ratio, spread = recovery_ratio(results)
        cells = (
            f"{budget} in all" if method == "sequential" else f"{budget} per step",
            f"{known * ratio:,.0f} ± {known * ratio * spread:,.0f}",
            f"{ratio:.2f} ± {ratio * spread:.2f}",
            f"{ratio * spread / math.sqrt(len(results)):.2f}",
            f"{sum(result.low <= known <= result.high for result in results)} of {len(results)}",
            f"{2 * fmean(result.deals for result in results):,.0f}",
        )
        thesis = TABLE_5_2 if method == "doubling" else TABLE_5_1
        lines.append((f"{known:,}", rules, method, *cells, thesis.get(known, "–")))
    header = ("iterations", "rules", "method", "deals", "found", "ratio", "standard error", "covered", "games")
    note = (
        "*Found* and *ratio* are the geometric mean and the standard deviation over the searches. *Covered* counts the "
        f"95 % intervals that contain the known number. *Games* are the mean of a search. Computed from {saved.name}."
    )
    return Table("Known iterations recovered", (*header, "thesis"), lines, note)


def bounds_table(saved: ex.SavedResults[KnownResult]) -> Table:
    """Make a table that compares the bounds that algorithm 5 found with those of the thesis's table 5.2."""
    lines = []
    doubled = [result for result in saved.results if result.method == "doubling"]
    for known, results in sorted(ex.group_by(doubled, "known").items()):
        thesis, ours = BOUNDS_5_2.get(known, ("–", "–")), list[str]()
        for ends in ([result.lower for result in results], [result.upper for result in results]):
            ours.append(f"{fmean(ends):,.0f} ± {stdev(ends) if len(ends) > 1 else math.nan:,.0f}")
        enclosing = sum(result.lower <= known <= result.upper for result in results)
        cells = (cell for pair in zip(thesis, ours, strict=True) for cell in pair)
        lines.append((f"{known:,}", *cells, "all", f"{enclosing} of {len(results)}"))
    bounds = (f"{end}, {whose}" for end in ("lower", "upper") for whose in ("thesis", "ours"))
    note = (
        "Bounds are the mean and the standard deviation over the searches. *Enclosed* counts the searches whose bounds "
        f"enclose the known number. Computed from {saved.name}."
    )
    header = ("iterations", *bounds, "enclosed, thesis", "enclosed, ours")
    return Table("Bounds of algorithm 5", header, lines, note)


EQUIVALENT_KNOWN = ex.Experiment(
    name="equivalent-known",
    source="Peking University thesis 2020, section 5.1.3",
    about="Recover the iterations of searches that have known ones, from games against other numbers of iterations.",
    options=KnownOptions,
    result=KnownResult,
    key=("known", "rules", "method", "budget", "repetition"),
    tasks=_list_searches,
    work=recover_iterations,
    changeable=("known", "rules", "method", "repetitions", "deals", "step_deals"),  # the last two are the budget
    unit="searches",
    tables={"equivalent-known": known_table, "equivalent-bounds": bounds_table},
    whole=True,
)


# --- Simulated games with a known win curve ---------------------------------------------------------------------------

_BATCH_SIZE = 50


class WinCurve(NamedTuple):
    """A simulated relation between the number of iterations and the chance of winning a deal.

    Attributes:
        slope: What doubling the iterations adds to the log-odds of a decisive deal, near the equivalent.
        bend: By how much that falls per octave, as strength levels off.
        decisive: The share of deals that are decisive.
    """

    slope: float
    bend: float
    decisive: float

    def simulated_play(self, truth: float, rng: np.random.Generator) -> finding.Play:
        """Make a function that simulates deals of an agent as strong as a search with ``truth`` iterations."""

        def play(budgets: object) -> list[int]:
            octaves = np.log2(np.asarray(budgets, np.float64) / truth)
            odds = np.exp(self.slope * octaves - self.bend * octaves * np.abs(octaves) / 2)
            decisive = rng.random(len(octaves)) < self.decisive
            signs = np.where(rng.random(len(octaves)) * (1 + odds) < 1, 1, -1)
            outcomes: list[int] = np.where(decisive, signs, 0).tolist()
            return outcomes

        return play


CURVES = {
    "steep": WinCurve(0.65, 0.0, 0.3),
    "usual": WinCurve(0.55, 0.0, 0.2),
    "flat": WinCurve(0.3, 0.0, 0.2),
    "levelling off": WinCurve(0.55, 0.1, 0.2),
}
"""Half-deck games between `isuct` with 125 and 500 iterations have a slope of 0.65 and 30 % decisive deals, those with
500 and 2,000 a slope of 0.57 and 15 % (300 and 200 deals)."""


@dataclass(frozen=True)
class SimulatedOptions(ex.ParallelOptions):
    """Options of ``equivalent-simulated``: how many searches are simulated.

    Attributes:
        known: The equivalent that is to be found.
        searches: Searches for each method, shared by the curves.
        deals: Duplicate deals of the sequential test, at most.
        step_deals: Duplicate deals of each step of the other searches.
    """

    known: Annotated[int, Range(8)] = 500
    searches: ex.Count = 10_000
    deals: ex.Count = 2000
    step_deals: ex.Count = finding.STEP_DEALS


@dataclass(frozen=True)
class SimulatedResult:
    """The coverage, errors and deals of a batch of simulated searches for a Monte Carlo equivalent.

    Attributes:
        curve: Name of the curve.
        method: A :data:`Method`.
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
    ratio: float
    square: float
    deals: float


def simulate_searches(options: SimulatedOptions, curve: str, method: str, batch: int) -> list[SimulatedResult]:
    """Simulate a batch of searches for a known Monte Carlo equivalent, and return their mean results."""
    rng = np.random.default_rng([options.seed, [*CURVES].index(curve), get_args(Method).index(method), batch])
    equivalents = []
    for _ in range(_BATCH_SIZE):
        equivalents.append(
            _find_equivalent(method, options.known, CURVES[curve].simulated_play(options.known, rng), options, rng)[1]
        )
    logs = [math.log(value.mean / options.known) for value in equivalents]
    covered = sum(value.low <= options.known <= value.high for value in equivalents)
    ratio, square = round(fmean(logs), 5), round(fmean(log * log for log in logs), 5)
    deals = round(fmean(value.count for value in equivalents), 1)
    return [SimulatedResult(curve, method, batch, len(equivalents), covered, ratio, square, deals)]


def _list_batches(options: SimulatedOptions) -> list[Key]:
    batches = range(math.ceil(options.searches / len(CURVES) / _BATCH_SIZE))
    return [(curve, method, batch) for batch in batches for method in get_args(Method) for curve in CURVES]


def simulated_table(saved: ex.SavedResults[SimulatedResult]) -> Table:
    """Make the table of interval coverage, estimation error and deals played, by curve and method."""
    settings, lines = saved.settings, []
    known = settings["known"]
    for curve in (*CURVES, "all"):
        results = [result for result in saved.results if curve in (result.curve, "all")]
        for method, batches in ex.group_by(results, "method", order=get_args(Method)).items():
            covered = wilson_interval(sum(b.covered for b in batches), sum(b.searches for b in batches))
            ratio, square = fmean(b.ratio for b in batches), fmean(b.square for b in batches)
            error, games = f"{100 * math.expm1(math.sqrt(square)):.0f} %", f"{2 * fmean(b.deals for b in batches):,.0f}"
            middle = known * math.exp(ratio)
            estimate = f"{middle:,.0f} ± {middle * math.sqrt(max(0.0, square - ratio**2)):,.0f}"
            cells = f"{covered.count:,}", covered.text_with_range(), estimate, f"{math.exp(ratio):.3f}", error, games
            lines.append((curve, method, *cells))
    header = ("curve", "method", "searches", "covered %", "found", "mean ratio", "typical error", "games")
    note = (
        f"The known number m is {known}. The bounds of *sequential* and *binary* are drawn from [m/8, m] and [m, 8m]. "
        f"A sequential search has at most {settings['deals']} deals, and the others have {settings['step_deals']} per "
        "step. The typical error is the root mean square of the logarithm of the ratio, as a factor. Computed from "
        f"{saved.name}."
    )
    return Table("Simulated searches", header, lines, note)


EQUIVALENT_SIMULATED = ex.Experiment(
    name="equivalent-simulated",
    about="Simulated searches for Monte Carlo equivalents with a known answer: coverage, error and games.",
    options=SimulatedOptions,
    result=SimulatedResult,
    key=("curve", "method", "batch"),
    tasks=_list_batches,
    work=simulate_searches,
    changeable=("searches",),
    unit="batches of 50 searches",
    tables={"equivalent-simulated": simulated_table},
)
