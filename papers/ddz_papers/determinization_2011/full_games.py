"""The full-game experiments of Whitehouse, Powley and Cowling (2011): sections IV.A and IV.D and table 1.

The paper plays all its experiments on one set of 1,000 deals, chosen to reduce the variance as its reference [16]
describes, and publishes neither.  Ours are not selected in any way: the seed of a deal, for :meth:`ddz_env.State.new`
under the standard rules, is the upper half of the key of a numbered stream of SplitMix64.

The games of a deal are numbered.  Each seat's generator follows from the seed, the experiment, the line-up, the deal
and the number of the game, so a game does not depend on which others are played, on the number of processes or on where
a run was resumed.  Line-ups share nothing but the deals.  All play the first game of every deal before any plays its
second: a run that ends early is still balanced, and a file can be resumed for more games or more deals.
"""

from __future__ import annotations

import functools
import math
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from ddz_env import Rules, State
from ddz_env.core.engine.random import stream_state
from ddz_env.playing.game import make_seat_generators, play_game
from ddz_env.playing.generators import make_published_generator
from ddz_env.support.options import Range
from ddz_papers.experiments import experiment as ex
from ddz_training.measure.agent_pool import AgentPool, check_agents
from ddz_training.measure.deal_file import DealFile, read_deal_file
from ddz_training.measure.duplicate import describe_given_hands, new_deal
from ddz_training.measure.markdown import Table
from ddz_training.measure.plotting import Panel, Series, save_plot
from ddz_training.measure.statistics import Interval, clip_interval, clustered_interval

PAPER = "Whitehouse, Powley and Cowling 2011"
DEAL_COUNT = 1000
LIST_SEED = 2011
"""The seed of the seeds."""

DEAL_LIST = "deals_2011"
"""Name of the list in the settings of results."""


LANDLORD = 0


@functools.cache
def _read_deal_file(path: str, deals: int) -> DealFile:
    return read_deal_file(Path(path), Rules(), None, deals=deals)


@dataclass(frozen=True)
class DealListOptions(ex.SeedOptions):
    """Options that choose the deals of an experiment, from the list of 1,000 deals or from a deal file.

    Attributes:
        seed: Seed of all agents; the deals are always the same.
        deals: How many of the 1,000 deals, from the first.
        deal_file: A file or ``module:function`` of other deals, or numbers in the list, of which the first are played.
    """

    deals: Annotated[int, Range(1, DEAL_COUNT)] = DEAL_COUNT
    deal_file: str | None = None

    @property
    def _chosen_deals(self) -> DealFile | None:
        return None if self.deal_file is None else _read_deal_file(self.deal_file, self.deals)

    @property
    def numbers(self) -> Sequence[int]:
        """The numbers of the chosen deals, in the order in which they are played."""
        return range(self.deals) if self._chosen_deals is None else self._chosen_deals.select_numbers(self.deals)

    @property
    def list_settings(self) -> dict[str, str]:
        """The settings by which a results file identifies the list of deals."""
        return {"deals": DEAL_LIST, **describe_given_hands(self._chosen_deals.hands if self._chosen_deals else ())}

    def new_game(self, deal: int) -> State:
        """Return the initial state of a deal from the list, with seat 0 as the landlord."""
        if self._chosen_deals is not None and self._chosen_deals.hands:
            return new_deal(Rules(), LIST_SEED, deal, self._chosen_deals.hands)
        return State.new(seed=int(stream_state(np.uint64(LIST_SEED), np.uint64(deal))) >> 32)


@dataclass(frozen=True)
class FullOptions(DealListOptions, ex.ParallelOptions):
    """Options of a full-game experiment: the number of games, and the budgets of its three kinds of search.

    Attributes:
        games: Games for each deal and line-up; a file can be resumed with more.
        trees: Trees of determinized and of cheating UCT.
        tree_iterations: Iterations per tree; information-set UCT gets the total of all trees.
        finish: Whether agents and simulations take finishing moves at once, as our agents do by default; the paper's
            do not.
    """

    games: Annotated[int, Range(1, 2**32)] = 1
    trees: ex.Count = 40
    tree_iterations: ex.Count = 250
    finish: bool = False

    @property
    def determinized(self) -> str:
        """The agent specification of determinized UCT."""
        return self._with_finish(f"duct:trees={self.trees},iterations={self.tree_iterations}")

    @property
    def cheating(self) -> str:
        """The agent specification of UCT on the true game."""
        return self._with_finish(f"cheating-uct:trees={self.trees},iterations={self.tree_iterations}")

    def information_set(self, exploration: float = 1.0, iterations: int | None = None) -> str:
        """Return the agent specification of information-set UCT, with the given exploration and iterations.

        Example:
            >>> FullOptions().information_set(0.44, 500)
            'isuct:iterations=500,exploration=0.44,finish=false'
        """
        budget = self.trees * self.tree_iterations if iterations is None else iterations
        return self._with_finish(f"isuct:iterations={budget},exploration={exploration:g}")

    def _with_finish(self, agent: str) -> str:
        return agent if self.finish else f"{agent},finish=false"


@dataclass(frozen=True)
class LandlordOptions(FullOptions):
    """Options of an experiment that compares landlords against the same two peasants.

    Attributes:
        peasants: The peasants' search; the paper's is determinized.
    """

    peasants: Literal["determinized", "information-set"] = "determinized"

    @property
    def peasant(self) -> str:
        """The agent specification of both peasants."""
        return self.determinized if self.peasants == "determinized" else self.information_set()


Agents = tuple[str, ...]
"""Specifications for :func:`ddz_env.playing.registry.make_agent`, one per seat; seat 0 is the landlord."""


class Lineups(NamedTuple):
    """The line-ups of an experiment, each with an agent per seat, and the specifications of these agents.

    Attributes:
        lineups: Who plays, by the name in the results, which names the same agents throughout an experiment.
        agents: The agents by the part that they play, which a file must agree on before it is resumed.
    """

    lineups: Mapping[str, Agents]
    agents: Mapping[str, str]


@dataclass(frozen=True)
class GameResult:
    """The outcome of one game: the winning seat and the number of moves.

    Attributes:
        game: Its number among the line-up's games of the deal.
        deal: Number of the deal.
        lineup: Name of the line-up.
        winner: The seat that went out.
        moves: Moves, passes included.
    """

    game: int
    deal: int
    lineup: str
    winner: int
    moves: int

    @property
    def landlord_won(self) -> bool:
        """Whether the landlord went out first."""
        return self.winner == LANDLORD


def game_number(experiment: str, lineup: str, deal: int, game: int) -> int:
    """Return a number that no other game of any experiment has, as a seed for the seats' random generators.

    Names enter by their CRC-32, so that a line-up keeps its games when another joins the experiment.
    """
    return (zlib.crc32(f"{experiment}/{lineup}".encode()) << 64) | (deal << 32) | game


class GameWorker(AgentPool):
    """A worker that plays the games of line-ups in one process, reusing the agents from game to game."""

    def __init__(self, experiment: str, options: FullOptions) -> None:
        super().__init__()
        self._experiment, self._options = experiment, options

    def work(self, task: tuple[int, int, str, Agents]) -> list[GameResult]:
        """Play one game of a line-up, and return its outcome."""
        game, deal, lineup, specs = task
        number, state = game_number(self._experiment, lineup, deal, game), self._options.new_game(deal)
        agents = [self.get(spec, seat) for seat, spec in enumerate(specs)]
        play_game(
            state, agents, make_seat_generators([self._options.seed, number], len(agents), make_published_generator)
        )
        return [GameResult(game, deal, lineup, int(state.winner or 0), len(state.history))]


def win_rate(results: Iterable[GameResult], lineup: str, *, peasants: bool = False) -> Interval:
    """Compute a line-up's win rate as the landlord or as the peasants, with an interval clustered by deal."""
    deals = ex.group_by((result for result in results if result.lineup == lineup), "deal").values()
    return clip_interval(
        clustered_interval([[result.landlord_won != peasants for result in own] for own in deals]), 0.0, 1.0
    )


def win_rate_difference(results: Iterable[GameResult], lineup: str, base: str, *, peasants: bool = False) -> Interval:
    """Compute by how much one line-up's win rate exceeds another's, paired by deal and game."""
    deals: dict[int, list[float]] = {}
    for (deal, _), games in ex.group_by(results, "deal", "game").items():
        won = {result.lineup: result.landlord_won != peasants for result in games}
        if lineup in won and base in won:
            deals.setdefault(deal, []).append(won[lineup] - won[base])
    return clustered_interval(deals.values())


class RateRow(NamedTuple):
    """A line in a table of win rates: a line-up's win rate, or its difference from that of another line-up.

    Attributes:
        what: What is measured.
        paper: The paper's figure.
        lineup: Whose win rate it is.
        base: The line-up that it is compared with, deal by deal; none for the rate itself.
        peasants: Whether the peasants' wins count, not the landlord's.
    """

    what: str
    paper: str
    lineup: str
    base: str = ""
    peasants: bool = False

    def rate(self, results: Iterable[GameResult]) -> Interval:
        """Compute the win rate of this line's line-up from the results."""
        return win_rate(results, self.lineup, peasants=self.peasants)

    def comparison(self, results: Iterable[GameResult]) -> ex.Comparison:
        """Compute this line's figure from the results, and put it beside the paper's figure."""
        if self.base:
            gain = win_rate_difference(results, self.lineup, self.base, peasants=self.peasants)
            note = f"{gain.range_text('+.1f')}; paired by deal"
            return ex.Comparison(f"{self.what}, points", self.paper, gain.text("+.1f"), note)
        rate = self.rate(results)
        return ex.Comparison(f"{self.what}, %", self.paper, rate.text(), f"{rate.range_text()}; {rate.count:,} games")


def rate_table(title: str, rows: Sequence[RateRow], saved: ex.SavedResults[GameResult]) -> Table:
    """Make the table of the win rates of all line-ups that have been played, beside the paper's figures."""
    played = {result.lineup for result in saved.results}
    lines = [row.comparison(saved.results) for row in rows if {row.lineup, row.base or row.lineup} <= played]
    return ex.make_comparison_table(title, lines, games_note(saved))


def games_note(saved: ex.SavedResults[Any]) -> str:
    """Return the note under a table: the number of games, the results file, and the agents that played."""
    agents = ", ".join(f"`{spec}` ({part})" for part, spec in saved.settings.get("agents", {}).items())
    source = f"Computed from {len(saved.results):,} games in {saved.name}."
    return f"{source} The agents are {agents}." if agents else source


def make_lineup_experiment(
    name: str,
    section: str,
    about: str,
    options: type[FullOptions],
    make_lineups: Callable[[Any], Lineups],
    title: str,
    rows: Sequence[RateRow],
    plot: Callable[[ex.SavedResults[GameResult], Path], None],
) -> ex.Experiment[Any, GameResult]:
    """Make an experiment that plays line-ups and compares their win rates with the paper's.

    Args:
        name: Its name.
        section: Section of the paper.
        about: The help of its command.
        options: The class of its options.
        make_lineups: Makes its line-ups from its options.
        title: The title of its table.
        rows: The lines of its table.
        plot: Draws the results.
    """

    def games(chosen: Any) -> list[ex.Task]:
        lineups = make_lineups(chosen).lineups
        check_agents(spec for specs in lineups.values() for spec in specs)
        numbers = product(range(chosen.games), chosen.numbers, lineups.items())
        return [(game, deal, *lineup) for game, deal, lineup in numbers]

    return ex.Experiment(
        name=name,
        source=f"{PAPER}, {section}",
        about=about,
        options=options,
        result=GameResult,
        key=("game", "deal", "lineup"),
        tasks=games,
        worker=functools.partial(GameWorker, name),
        changeable=("deals", "deal_file", "games", "at", "trees", "tree_iterations", "finish", "peasants"),
        more=lambda chosen: {**chosen.list_settings, "agents": dict(make_lineups(chosen).agents)},
        unit="games",
        tables={f"full-{name}": functools.partial(rate_table, title, rows)},
        file=f"full_{name}",
        plot=plot,
    )


# --- Table 1: how much knowing the hidden cards is worth --------------------------------------------------------------

BASELINE = "nobody"
CHEATS = {BASELINE: (), "player 1": (0,), "player 2": (1,), "player 3": (2,), "players 2 & 3": (1, 2)}
"""Line-ups by name: the seats that search the true game while all others have determinized UCT."""

CHEATING_RATES = {
    "player 1": ("49.9", "43.0", "+6.9"),
    "player 2": ("65.6", "57.0", "+8.6"),
    "player 3": ("68.9", "57.0", "+11.9"),
    "players 2 & 3": ("78.0", "57.0", "+21.0"),
}
"""Table 1: win rates in percent with cheating and with determinized UCT, and the difference."""


def cheating_lineups(options: FullOptions) -> Lineups:
    """Make the line-ups of table 1, in which none, one or two of the three players cheat."""
    cheat, plain = options.cheating, options.determinized
    lineups = {name: tuple(cheat if seat in seats else plain for seat in range(3)) for name, seats in CHEATS.items()}
    return Lineups(lineups, {"cheating": cheat, "determinized": plain})


def cheating_rows(name: str) -> list[RateRow]:
    """Make the lines of table 1 for a line-up: the cheating side's win rate, the baseline's, and the difference."""
    cheating, determinized, gain = CHEATING_RATES[name]
    peasants = name != "player 1"
    return [
        RateRow(f"{name}, cheating", cheating, name, peasants=peasants),
        RateRow(f"{name}, determinized", determinized, BASELINE, peasants=peasants),
        RateRow(f"{name}, difference", gain, name, BASELINE, peasants),
    ]


def _make_bars(label: str, names: Sequence[str], rows: Sequence[RateRow], results: Sequence[GameResult]) -> Series:
    """Make the bars of a plot from measured win rates, with the paper's win rates beside them."""
    return Series(label, names, [row.rate(results) for row in rows], "bars", [float(row.paper) for row in rows])


def plot_cheating(saved: ex.SavedResults[GameResult], path: Path) -> None:
    """Plot table 1: the win rates of the cheating side beside those of the baseline."""
    cheating, determinized, _ = zip(*map(cheating_rows, CHEATING_RATES), strict=True)
    groups = {"determinized": determinized, "cheating": cheating}
    bars = [_make_bars(label, [*CHEATING_RATES], rows, saved.results) for label, rows in groups.items()]
    save_plot(path, Panel(bars, "", "their side wins, %", axes={"ylim": (0, 100)}), size=(7.0, 3.6))


CHEATING_UCT = make_lineup_experiment(
    "cheating",
    "section IV.A, table 1",
    "Table 1: who gains how much by seeing all cards.\n\nPlays 5 games per deal for each of `games`, of about 0.2 CPU "
    "seconds: 17 CPU minutes by default.  (The paper: 1 game.)",
    FullOptions,
    cheating_lineups,
    "Table 1: cheating over determinized UCT",
    [row for name in CHEATING_RATES for row in cheating_rows(name)],
    plot_cheating,
)


# --- Section IV.D: three searches as landlord, all at 10,000 iterations, against determinized UCT ---------------------

CHEATING, DETERMINIZED, INFORMATION_SET = "cheating", "determinized", "information-set"
LANDLORDS = (CHEATING, DETERMINIZED, INFORMATION_SET)
LANDLORD_RATES = [
    RateRow(f"{name} as landlord", paper, name) for name, paper in zip(LANDLORDS, ("54.0", "42.4", "42.0"), strict=True)
]


def landlord_lineups(options: LandlordOptions) -> Lineups:
    """Make the line-ups in which each of three searches is the landlord against determinized UCT."""
    agents = dict(zip(LANDLORDS, (options.cheating, options.determinized, options.information_set()), strict=True))
    peasant = options.peasant
    lineups = {name: (landlord, peasant, peasant) for name, landlord in agents.items()}
    return Lineups(lineups, {**agents, "peasants": peasant})


def plot_landlord_win_rates(saved: ex.SavedResults[GameResult], path: Path) -> None:
    """Plot the win rates of three searches as the landlord beside the paper's win rates."""
    bars = _make_bars("", [f"{name}\nUCT" for name in LANDLORDS], LANDLORD_RATES, saved.results)
    save_plot(path, Panel([bars], "", "landlord wins, %"), size=(5.5, 3.6))


LANDLORD_UCT = make_lineup_experiment(
    "landlord",
    "section IV.D",
    "Three searches as landlord: 54.0, 42.4 and 42.0 %.\n\nPlays 3 games per deal for each of `games`, of about 0.2 "
    "CPU seconds: 10 CPU minutes by default.  (The paper: 40.)",
    LandlordOptions,
    landlord_lineups,
    "The landlord against determinized UCT",
    [
        *LANDLORD_RATES,
        RateRow(f"{CHEATING} over {DETERMINIZED}", "+11.6", CHEATING, DETERMINIZED),
        RateRow(f"{INFORMATION_SET} over {DETERMINIZED}", "-0.4", INFORMATION_SET, DETERMINIZED),
    ],
    plot_landlord_win_rates,
)


# --- Section IV.D: how information-set UCT as landlord depends on its two parameters ----------------------------------


@dataclass(frozen=True)
class SweepOptions(LandlordOptions):
    """The options of an experiment that tries several values of a parameter.

    Attributes:
        at: Only this value; may be repeated.
    """

    at: tuple[float, ...] | None = None


def make_sweep(
    name: str,
    section: str,
    about: str,
    base: float,
    paper: Mapping[float, str],
    landlord: Callable[[SweepOptions, float], str],
) -> ex.Experiment[Any, GameResult]:
    """Make an experiment that compares the landlord's win rates for several values of a search parameter.

    Args:
        name: The parameter.
        section: Section of the paper.
        about: The help of the command.
        base: The value that the others are compared with.
        paper: What the paper says of each value, or the win rate in percent that it prints.
        landlord: The landlord's specification, from the options and a value.
    """
    values = {f"{value:g}": value for value in paper}
    rates = [RateRow(f"{name} {value:,g}", paper[value], label) for label, value in values.items()]
    gains = [RateRow(f"{row.what} over {base:,g}", "", row.lineup, f"{base:g}") for row in rates]

    def make_lineups(options: SweepOptions) -> Lineups:
        tried, peasant = (
            ex.check_names(name, [f"{value:g}" for value in options.at or ()], values),
            options.peasant,
        )
        lineups = {
            label: (landlord(options, value), peasant, peasant) for label, value in values.items() if label in tried
        }
        return Lineups(lineups, {"landlord at the base": landlord(options, base), "peasants": peasant})

    def plot(saved: ex.SavedResults[GameResult], path: Path) -> None:
        played = {result.lineup for result in saved.results}
        shown = [row for row in rates if row.lineup in played]
        positions = [values[row.lineup] for row in shown]
        printed = [float(row.paper) if row.paper[:1].isdigit() else math.nan for row in shown]
        series = Series("", positions, [row.rate(saved.results) for row in shown], paper=printed)
        ticks = {"xscale": "log", "xticks": positions, "xticklabels": [row.lineup for row in shown]}
        save_plot(path, Panel([series], name, "landlord wins, %", axes=ticks))

    rows = [*rates, *(row for row in gains if row.lineup != row.base)]
    title = f"The landlord, {name}"
    return make_lineup_experiment(name, f"section {section}", about, SweepOptions, make_lineups, title, rows, plot)


def with_trees(options: SweepOptions, trees: float) -> str:
    """Return the specification of determinized UCT with 10,000 iterations shared by the given number of trees."""
    return replace(options, trees=int(trees), tree_iterations=10_000 // int(trees)).determinized


_RISES: dict[float, str] = dict.fromkeys((500, 1000, 2000, 5000), "rises to 10,000")
_SAME: dict[float, str] = dict.fromkeys((20_000, 30_000), "no significant change")
_POOR: dict[float, str] = dict.fromkeys((0.1, 0.2, 0.44), "poor below 0.5")
_LITTLE: dict[float, str] = dict.fromkeys((1.5, 2.0, 3.0), "little change from 1")

ITERATIONS_SWEEP = make_sweep(
    "iterations",
    "IV.D",
    "Information-set UCT as landlord with 500 to 30,000 iterations: rises to 10,000 (40.8 %).\n\nPlays 7 games per "
    "deal for each of `games`, of 0.13 (500 iterations) to 0.4 CPU seconds (30,000): 26 CPU minutes by default.  (The "
    "paper: 5 games.)",
    10_000,
    {**_RISES, 10_000: "40.8", **_SAME},
    lambda options, iterations: options.information_set(0.44, int(iterations)),
)
EXPLORATION_SWEEP = make_sweep(
    "exploration",
    "IV.D",
    "Information-set UCT as landlord with exploration 0.1 to 3: poor below 0.5, best above 1.\n\nPlays 8 games per "
    "deal for each of `games`, of about 0.2 CPU seconds: 27 CPU minutes by default.  (The paper: 5.)",
    1.0,
    {**_POOR, 0.7: "", 1.0: "", **_LITTLE},
    lambda options, exploration: options.information_set(exploration),
)
TREES_SWEEP = make_sweep(
    "trees",
    "IV.A",
    "Determinized UCT as landlord with 1 to 500 trees that share 10,000 iterations: adequate with enough of both.\n\n"
    "Plays 7 games per deal for each of `games`, of about 0.2 CPU seconds: 23 CPU minutes by default.",
    40,
    {1: "", 5: "", 20: "", 40: "adequate", 80: "", 200: "", 500: ""},
    with_trees,
)
