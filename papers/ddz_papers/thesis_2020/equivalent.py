"""The Monte Carlo equivalent: the number of iterations at which a search plays as strongly as an agent.

What duplicate deals between the agent and a search say about it is in :mod:`ddz_papers.thesis_2020.curve`.

There are two ways to find it.  The thesis (Peking University 2020, section 5.1.2) plays a fixed number of games against
one number of iterations after the other: algorithm 4 halves an interval until the wins are equal or nothing is left of
it, algorithm 5 looks for an interval.  Here their games are duplicate deals.  As printed, algorithm 4 never ends on an
interval of two neighbours; its text excludes the middle from what is left, and so does :func:`binary_search`.

The sequential test uses all games so far, plays where a game is most informative, and ends as soon as the interval is
narrow.  It begins with few iterations, which are cheap, and never tries more than four times the most that it has
played so far.  The interval of either method is that of the curve through all its deals.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Annotated, NamedTuple

import numpy as np

from ddz_env import Rules
from ddz_env.playing.game import MakeGenerator
from ddz_env.playing.generators import make_agent_generator
from ddz_env.support.errors import InvalidAgentOptionError
from ddz_env.support.options import Options, Range
from ddz_papers.thesis_2020.curve import Bounds as Bounds
from ddz_papers.thesis_2020.curve import Posterior, Tally, posterior
from ddz_papers.thesis_2020.curve import Tallies as Tallies
from ddz_papers.thesis_2020.curve import tallies_from_text as tallies_from_text
from ddz_papers.thesis_2020.curve import tallies_to_text as tallies_to_text
from ddz_papers.thesis_2020.tendency import TendencyAgents
from ddz_training.measure.agent_pool import check_agents
from ddz_training.measure.duplicate import KEY, DealPlayer, GameResult, Match, list_seatings
from ddz_training.measure.errors import InvalidExperimentError
from ddz_training.measure.markdown import Table
from ddz_training.measure.provenance import rules_to_settings
from ddz_training.measure.statistics import Interval, share_interval
from ddz_training.measure.store import Key, OnProgress, ResultStore, ignore_progress
from ddz_training.measure.summaries import balanced_win_share
from ddz_training.measure.tendency_file import TENDENCIES

# --- Finding it -------------------------------------------------------------------------------------------------------

Play = Callable[[Sequence[int]], Sequence[int]]
"""Plays one deal against each of these numbers of iterations: 1 where the agent did better, -1 where it did worse, 0
where the deal says nothing."""

MAX_ITERATIONS = 1_000_000
"""The most iterations that are tried by default."""

STEP_DEALS = 500
"""Duplicate deals of a step of the binary search: the thesis's 1,000 games."""
FIRST_BOUNDS = Bounds(1, 100)
"""Where the thesis's algorithm 5 begins."""

_OFFSETS = np.linspace(-1, 1, 5)
"""Where to play, in octaves from the likeliest equivalent, which is most informative; the others show the slope."""
_LATTICE = 4
"""Points per octave at which to play."""
_GROWTH_LIMIT = 4
_UPPER_QUANTILE = 0.975


@dataclass(frozen=True)
class SequentialOptions(Options):
    """Options of the sequential search for a Monte Carlo equivalent: limits, precision and deals.

    Attributes:
        least: The fewest iterations that are tried.
        most: The most; an equivalent beyond is reported as such.
        first: The most in the first round.
        precision: The test ends when both ends of the interval are within this factor of the equivalent.
        deals: The most duplicate deals; two games each.
        block: Duplicate deals of a round; later rounds have more, up to a third of all before.
    """

    error = InvalidExperimentError

    least: Annotated[int, Range(1)] = 1
    most: Annotated[int, Range(1)] = MAX_ITERATIONS
    first: Annotated[int, Range(1)] = 64
    precision: Annotated[float, Range(1, above=True)] = 1.25
    deals: Annotated[int, Range(1)] = 2000
    block: Annotated[int, Range(5)] = 20

    def check(self) -> None:
        """Refuse a lower limit that is above the upper limit."""
        if self.least > self.most:
            raise self.error(f"least={self.least} must not be above most={self.most}")


@dataclass(frozen=True)
class Equivalent:
    """An agent's Monte Carlo equivalent: the iterations of an equally strong search, with the deals played.

    Attributes:
        iterations: The equivalent with its 95 % interval; its count is that of the deals.
        tallies: What was played.
        beyond: 1 where it is above all that was allowed, -1 where it is below, else 0.
    """

    iterations: Interval
    tallies: Tallies
    beyond: int = 0

    def text(self) -> str:
        """Format the equivalent number of iterations or, beyond the limits, the agent's win rate at the limit.

        Example:
            >>> Equivalent(Interval(1217.4, 980.0, 1510.0, 400), {}).text()
            '1,217 (980–1,510)'
            >>> Equivalent(Interval(4e6, 2e6, 9e6, 40), {1000: Tally(30, 10, 60)}, beyond=1).text()
            '> 1,000 (wins 60.0 %)'
        """
        if self.beyond:
            sign, edge = (">", max(self.tallies)) if self.beyond > 0 else ("<", min(self.tallies))
            return f"{sign} {edge:,} (wins {100 * win_interval(self.tallies[edge]).mean:.1f} %)"
        shown = [f"{value:,.0f}" if value >= 10 else f"{value:.1f}" for value in self.iterations.ends]
        return f"{shown[0]} ({shown[1]}–{shown[2]})"


def win_interval(tally: Tally) -> Interval:
    """Compute the agent's win rate over deals, counting an even deal as half a win."""
    values = [1.0] * tally.ahead + [0.0] * tally.behind + [0.5] * tally.even
    return share_interval(values)


class _TalliedPlay:
    """A function that plays deals, and tallies their outcomes by number of iterations."""

    def __init__(self, play: Play) -> None:
        self._play = play
        self.tallies: dict[int, Tally] = {}

    def __call__(self, budgets: Sequence[int]) -> int:
        """Play one deal for each given number of iterations; return how many more the agent won than lost."""
        signs = self._play(budgets)
        for iterations, sign in zip(budgets, signs, strict=True):
            ahead, behind, even = self.tallies.get(iterations, Tally())
            self.tallies[iterations] = Tally(ahead + (sign > 0), behind + (sign < 0), even + (sign == 0))
        return sum(signs)

    @property
    def deals(self) -> int:
        return sum(tally.deals for tally in self.tallies.values())

    def result(self, estimate: Posterior, at: float | None = None, beyond: int = 0) -> Equivalent:
        low, middle, high = (2 ** estimate.quantile(share) for share in (1 - _UPPER_QUANTILE, 0.5, _UPPER_QUANTILE))
        return Equivalent(Interval(middle if at is None else at, low, high, self.deals), dict(self.tallies), beyond)


def initial_bounds(
    play: Play, bounds: Bounds, deals: int, rng: np.random.Generator, most: int = MAX_ITERATIONS
) -> tuple[Bounds, Tallies]:
    """Double the bounds until a search at the upper bound is no worse than the agent (algorithm 5).

    Args:
        play: Plays deals.
        bounds: The first interval.
        deals: Duplicate deals for each upper end.
        rng: Moves both ends by up to a tenth, as the thesis does.
        most: Where to give up; algorithm 4 then returns it.

    Returns:
        The bounds, and what was played.
    """
    played, (lower, upper) = _TalliedPlay(play), bounds
    while played([upper] * deals) > 0 and upper < most:
        tenth = upper // 10 + 1
        lower, upper = upper - int(rng.integers(tenth)), min(2 * upper + int(rng.integers(tenth)), most)
    return Bounds(lower, upper), played.tallies


def binary_search(play: Play, bounds: Bounds, deals: int) -> Equivalent:
    """Halve the bounds by results of deals until agent and search are equal or no number is left (algorithm 4).

    Args:
        play: Plays deals.
        bounds: The interval; both ends belong to it.
        deals: Duplicate deals for each number of iterations; the thesis plays 1,000 games.

    Returns:
        What the algorithm returns, with the interval of the curve through its deals.
    """
    played, (lower, upper) = _TalliedPlay(play), bounds
    middle = (lower + upper) // 2
    while lower <= upper:
        middle = (lower + upper) // 2
        lead = played([middle] * deals)
        if lead == 0:
            break
        lower, upper = (middle + 1, upper) if lead > 0 else (lower, middle - 1)
    return played.result(posterior(played.tallies, bounds), at=middle)


def sequential_search(play: Play, options: SequentialOptions, bounds: Bounds | None = None) -> Equivalent:
    """Play the most informative deals until the interval is narrow enough or the deals are used up.

    Args:
        play: Plays deals.
        options: When to play what.
        bounds: Where the equivalent is likely; everywhere by default.

    Returns:
        The equivalent.
    """
    played, search_bounds = _TalliedPlay(play), bounds or Bounds(options.least, options.most)
    cap = min(options.most, max(options.first, options.least, bounds.lower if bounds else 0))
    while True:
        estimate = posterior(played.tallies, search_bounds, near=False)
        if played.deals >= options.deals or _beyond_limits(estimate, played, options):
            break
        if (
            played.tallies
            and _is_narrow(estimate, options)
            and _is_narrow(posterior(played.tallies, search_bounds), options)
        ):
            break
        block = min(max(options.block, played.deals // 3), options.deals - played.deals)
        budgets = _choose_budgets(estimate, block, options.least, cap)
        played(budgets)
        cap = min(options.most, max(cap, _GROWTH_LIMIT * max(budgets)))
    beyond = _beyond_limits(estimate, played, options)
    return played.result(estimate if beyond else posterior(played.tallies, search_bounds), beyond=beyond)


def _choose_budgets(estimate: Posterior, block: int, least: int, most: int) -> list[int]:
    """Choose the search's iterations for each deal of a round, around the most likely equal strength."""
    centre = round(estimate.quantile(0.5) * _LATTICE) / _LATTICE
    logs = centre + np.resize(_OFFSETS, block)
    return [int(iterations) for iterations in np.clip(np.rint(2.0**logs), least, most)]


def _is_narrow(estimate: Posterior, options: SequentialOptions) -> bool:
    return 2 ** (estimate.quantile(_UPPER_QUANTILE) - estimate.quantile(1 - _UPPER_QUANTILE)) <= options.precision**2


def _beyond_limits(estimate: Posterior, played: _TalliedPlay, options: SequentialOptions) -> int:
    """Return 1 or -1 if equal strength lies above or below all allowed numbers of iterations, else 0."""
    for sign, edge in ((1, options.most), (-1, options.least)):
        at_edge = played.tallies.get(edge, Tally()).deals
        outside = estimate.probability_above(edge) if sign > 0 else 1 - estimate.probability_above(edge)
        if at_edge >= options.block and outside >= _UPPER_QUANTILE:
            return sign
    return 0


# --- The games behind it ----------------------------------------------------------------------------------------------

DEFAULT_SEARCH = "isuct"
"""The default for the search whose iterations are counted."""

THESIS_SEARCH = "isuct:exploration=0.7071"
"""The thesis's search: equation 2-1 is Q/N + c sqrt(2 ln N / N') with c = 1.0 (section 5.1.3) on rewards of -1 and +1
(4.5.1), which is k = c / sqrt(2) of figure 2 on rewards of 0 and 1."""


class EquivalentSearch(NamedTuple):
    """The setup that compares an agent with a search: both players, the rules, and the deals.

    Attributes:
        agent: The agent's specification.
        search: The search's, without ``iterations``.
        rules: The rules.
        seed: Seed of deals and agents.
        make_generator: Makes the generator of a seat from its key.
        judges: Only deals that lean to neither side by their games are played; None for all deals.
    """

    agent: str
    search: str = DEFAULT_SEARCH
    rules: Rules = Rules.preset("half-deck")
    seed: int = 0
    make_generator: MakeGenerator = make_agent_generator
    judges: TendencyAgents | None = None

    def search_spec(self, iterations: int) -> str:
        """Return the specification of the search with a given number of iterations.

        Example:
            >>> EquivalentSearch("rules", "isuct:exploration=0.5").search_spec(800)
            'isuct:exploration=0.5,iterations=800'
        """
        return f"{self.search}{',' if ':' in self.search else ':'}iterations={iterations}"

    def match(self, deal: int, iterations: int) -> Match:
        """Return the match of a deal between the agent and the search with a given number of iterations.

        Example:
            >>> EquivalentSearch("rules").match(7, 800).names
            ('rules', '800 iterations')
        """
        return Match(deal, (self.agent, self.search_spec(iterations)), (self.agent, f"{iterations} iterations"))

    def check(self) -> None:
        """Refuse unknown agents, and a search whose number of iterations is fixed or cannot be set.

        Raises:
            UnknownAgentError: If one of them does not exist.
            InvalidAgentOptionError: If the search names its iterations already, or has none.
        """
        if "iterations=" in self.search:
            raise InvalidAgentOptionError(f"{self.search!r} must not name its iterations: these are what is looked for")
        judges = (*self.judges.top, *self.judges.bottom) if self.judges else ()
        check_agents([self.agent, self.search_spec(1), *judges], rules=self.rules)

    def deals(self) -> Generator[int, None, None]:
        """Yield the numbers of the deals to play, leaving out deals that favour a side (algorithm 1)."""
        if self.judges is None:
            yield from itertools.count()
            return
        with closing(self.judges.player()) as player:
            for deal in itertools.count():
                if self.judges.measure(player, deal).tendency == TENDENCIES[0]:
                    yield deal

    def settings(self) -> dict[str, object]:
        """Return the settings that determine a deal's outcome: agent, search, rules and seed."""
        judges = {"top": list(self.judges.top), "bottom": list(self.judges.bottom)} if self.judges else {}
        game = {"rules": rules_to_settings(self.rules), "seed": self.seed}
        return {"agent": self.agent, "search": self.search, **game, **judges}


class EquivalentPlayer(DealPlayer):
    """A deal player that saves memory by keeping the search tree of only one number of iterations.

    A tree of a million nodes is not kept beside another one.
    """

    def play(self, match: Match) -> list[GameResult]:
        """Close the agents that a match does not need, and play both games of the match's deal."""
        for spec in self.agents.specs - {*match.specs}:
            self.agents.release(spec)
        return super().play(match)


@contextmanager
def open_deal_player(
    measurement: EquivalentSearch,
    path: Path | None = None,
    processes: int = 1,
    on_progress: OnProgress = ignore_progress,
) -> Iterator[Play]:
    """Open a function that plays the next deals against the search with given numbers of iterations.

    Args:
        measurement: Who plays.
        path: Where the deals are saved; a file of an earlier run is resumed.  None keeps them in memory.
        processes: Worker processes; the results do not depend on them.
        on_progress: Called with how many deals are played, of how many that are known to be wanted.

    Yields:
        Plays deals for a search of an equivalent.

    Raises:
        SettingsMismatchError: If the file is of another agent, search or seed.
        WorkerDiedError: If a worker process died.
    """
    agents, games = [measurement.agent, measurement.search_spec(1)], len(list_seatings(measurement.rules))
    store = ResultStore(GameResult, path, measurement.settings(), KEY, per_key=games, agents=agents)
    start = functools.partial(
        EquivalentPlayer, measurement.rules, measurement.seed, timing=False, make_generator=measurement.make_generator
    )
    wanted: dict[Key, Match] = {}
    with store.open_with_workers(start, processes) as share, closing(measurement.deals()) as deals:

        def play(budgets: Sequence[int]) -> list[int]:
            matches = [
                measurement.match(*task) for task in zip(itertools.islice(deals, len(budgets)), budgets, strict=True)
            ]
            wanted.update({match.key: match for match in matches})
            store.run_missing(wanted, share, on_progress)
            return [_deal_sign(store.units[match.key]) for match in matches]

        yield play


def _deal_sign(games: Sequence[GameResult]) -> int:
    """Return 1 if the agent did better in a deal's games, -1 if it did worse, and 0 if they ended evenly."""
    share = fmean(balanced_win_share(game, "a") for game in games)
    return (share > 0.5) - (share < 0.5)


def equivalent_table(measurement: EquivalentSearch, equivalent: Equivalent) -> Table:
    """Make the table of deals that ``ddz study equivalent`` played, with one line per number of iterations."""
    lines = [
        (f"{many:,}", str(tally.deals), str(tally.ahead), str(tally.behind), win_interval(tally).percent())
        for many, tally in sorted(equivalent.tallies.items())
    ]
    header = ("iterations", "deals", "agent ahead", "search ahead", "agent wins %")
    if equivalent.beyond:
        note = f"The equivalent of {measurement.agent} is {equivalent.text()} iterations of {measurement.search}."
    else:
        iterations = f"{equivalent.text()} iterations (95 % interval)"
        note = f"{measurement.search} plays as strongly as {measurement.agent} with {iterations}."
    deals = f"{equivalent.iterations.count} duplicate deals"
    title = f"Monte Carlo equivalent · {deals} · {measurement.rules.name} rules · seed {measurement.seed}"
    return Table(title, header, lines, note)
