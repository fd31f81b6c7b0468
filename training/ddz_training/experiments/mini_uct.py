"""Information-set UCT and determinized UCT on all 8,832 deals of Mini (Whitehouse et al. 2011, section IV.C).

Player 2 is determinized UCT with 20 trees of 200 iterations.  Player 1 is information-set UCT with 4,000 iterations
(67.2 % in the paper) or the same as player 2 (62.7 %); every deal is played 10 times.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from ddz_agents.tree_search.agent import DeterminizedUctAgent, IsUctAgent
from ddz_env import State
from ddz_env.core.options import Range
from ddz_env.playing.agent import Agent
from ddz_env.playing.game import play_game, seat_generators
from ddz_env.playing.generators import published_generator
from ddz_training.experiments.experiment import (
    Comparison,
    Experiment,
    Saved,
    SeedOptions,
    comparison_table,
    kept,
    read_saved,
)
from ddz_training.experiments.mini_deals import MINI, MiniDeal, mini_deals
from ddz_training.measure.markdown import markdown_table
from ddz_training.measure.match.ordered_map import Worker
from ddz_training.measure.match.results import OnProgress, ResultStore, no_progress
from ddz_training.measure.match.statistics import Z95, Interval
from ddz_training.measure.plotting import BLUE, finish_figure, new_axes, percentages

PAPER_GAMES = 10
PLAYERS_1 = ("isuct", "duct")
PAPER_RATES = {"isuct": "67.2", "duct": "62.7"}


FILES = {
    "mini_uct.csv": "taken at once, in simulations and by the agent",
    "mini_uct_plain.csv": "not taken at once (`--no-finish`): the paper to the letter",
}
"""The files that the page compares, and what they differ in."""


@dataclass(frozen=True)
class DealResult:
    """One deal.

    Attributes:
        deal: Its number.
        isuct_wins: Games that information-set UCT won as player 1.
        duct_wins: Games that determinized UCT won.
    """

    deal: int
    isuct_wins: int
    duct_wins: int


@dataclass(frozen=True)
class UctOptions(SeedOptions):
    """What may differ from our default searches.

    Attributes:
        seed: Seed of all agents.
        games: Games for each deal and agent; the paper played 10.
        exploration: Exploration constant of all agents.
        finish: Take finishing moves at once (the paper does not).
    """

    games: Annotated[int, Range(1)] = PAPER_GAMES
    exploration: Annotated[float, Range(0)] = 1.0
    finish: bool = True

    def settings(self) -> dict[str, Any]:
        """What a file must agree on; what the searches have by default is not named."""
        searches = {"exploration": 1.0, "finish": True}
        return {
            name: value
            for name, value in dataclasses.asdict(self).items()
            if name not in searches or value != searches[name]
        }

    def agent(self, kind: str) -> Agent:
        """Information-set UCT or determinized UCT with 4,000 iterations a decision."""
        if kind == "isuct":
            return IsUctAgent(4000, exploration=self.exploration, finish=self.finish)
        return DeterminizedUctAgent(200, trees=20, exploration=self.exploration, finish=self.finish)


class _UctGames(Worker[MiniDeal, list[DealResult]]):
    """Plays all games of one deal at a time."""

    def __init__(self, options: UctOptions) -> None:
        self._options = options
        self._contenders = [options.agent(kind) for kind in PLAYERS_1]
        self._opponent = options.agent("duct")

    def play(self, deal: MiniDeal) -> list[DealResult]:
        return [DealResult(deal.number, self._wins(deal, 0), self._wins(deal, 1))]

    def _wins(self, deal: MiniDeal, kind: int) -> int:
        """Games that player 1 wins.  Numbers of games never repeat over deals, repetitions and kinds."""
        won, agents = 0, [self._contenders[kind], self._opponent]
        for repetition in range(self._options.games):
            number = (repetition * len(mini_deals()) + deal.number) * len(PLAYERS_1) + kind
            rngs = seat_generators([self._options.seed, number], 2, published_generator)
            won += play_game(State(deal.row.copy(), MINI), agents, rngs).winner == 0
        return won


def run_mini_uct(
    options: UctOptions,
    path: Path | None = None,
    on_progress: OnProgress = no_progress,
    deals: Sequence[MiniDeal] | None = None,
) -> Saved[DealResult]:
    """Play every deal ``games`` times with each kind of player 1.

    Args:
        options: Games, seed, exploration and finishing moves; a game's generators follow from seed, deal, repetition
            and kind.
        path: Where to save, one line a deal; a file of an earlier run is resumed.
        on_progress: Told how many deals are done.
        deals: The deals; all of Mini's if None.
    """
    store = ResultStore(DealResult, path, {"experiment": "mini-uct", **options.settings()}, ("deal",))
    tasks = {(deal.number,): deal for deal in (mini_deals() if deals is None else deals)}
    return kept(store, store.fill(tasks, functools.partial(_UctGames, options), 1, on_progress))


def win_rate(results: Sequence[DealResult], kind: str, games: int) -> Interval:
    """The probability that player 1 wins a randomly dealt game, with a 95 % interval.

    All deals are played, so only the agents' own randomness spreads the estimate: the variance is the sum over deals of
    the squared probability times that of the deal's mean, ``m (g - m) / (g² (g - 1))`` for ``m`` wins of ``g`` games
    (at most ``1 / (4 g)`` is assumed where one game was played).
    """
    deals = mini_deals()
    mass = sum(deals[result.deal].probability for result in results)
    mean = variance = 0.0
    for result in results:
        share, won = deals[result.deal].probability / mass, getattr(result, f"{kind}_wins")
        mean += share * won / games
        variance += share**2 * (won * (games - won) / (games**2 * (games - 1)) if games > 1 else 0.25)
    margin = Z95 * math.sqrt(variance)
    return Interval(mean, mean - margin, mean + margin, games * len(results))


def rate_cells(saved: Saved[DealResult]) -> tuple[str, ...]:
    """Both kinds' win rates with their intervals, in per cent."""
    return tuple(win_rate(saved.results, kind, saved.settings["games"]).both() for kind in PLAYERS_1)


def compare_mini_uct(saved: Saved[DealResult]) -> list[Comparison]:
    """The paper's figures beside ours."""
    lines = []
    for kind, name in zip(PLAYERS_1, ("information-set UCT 4,000", "determinized UCT 20 × 200"), strict=True):
        rate = win_rate(saved.results, kind, saved.settings["games"])
        note = f"{rate.span()}; {rate.count:,} games"
        lines.append(Comparison(f"{name} as player 1, %", PAPER_RATES[kind], rate.text(), note))
    return lines


def _page_table(folder: Path) -> str:
    """Player 1's win rate on Mini as our searches are and as the paper's are."""
    lines = []
    for name, what in FILES.items():
        saved = read_saved(DealResult, folder / name)
        games = saved.settings["games"] * len(saved.results)
        lines.append((what, f"`{name}`", f"{games:,}", *rate_cells(saved)))
    header = ("finishing moves", "file", "games each", "information-set %", "determinized %")
    return markdown_table(header, [*lines, ("paper", "", "", *PAPER_RATES.values())])


def plot_mini_uct(saved: Saved[DealResult], path: Path) -> None:
    """Both kinds of player 1 beside the paper."""
    figure, axes = new_axes(5.5)
    rates = [win_rate(saved.results, kind, saved.settings["games"]) for kind in PLAYERS_1]
    heights, errors = percentages(rates)
    drawn = axes.bar(PLAYERS_1, heights, width=0.5, yerr=errors, color=BLUE)
    axes.bar_label(drawn, fmt="%.1f", padding=2)
    axes.plot(PLAYERS_1, [float(PAPER_RATES[k]) for k in PLAYERS_1], "k+", markersize=12, label="paper")
    axes.set_ylim(0, 100)
    finish_figure(figure, axes, path, "", "player 1 wins, %")


UCT = Experiment(
    name="mini-uct",
    source="Whitehouse, Powley and Cowling 2011, section IV.C",
    about="Information-set UCT and determinized UCT on all deals of Mini: 67.2 % and 62.7 %.",
    unit="deals",
    options=UctOptions,
    result=DealResult,
    run=run_mini_uct,
    tables={
        "mini-uct-rates": lambda saved: comparison_table(
            "UCT on Mini against determinized UCT 20 × 200", compare_mini_uct(saved), f"Computed from {saved.name}."
        )
    },
    file="mini_uct",
    plot=plot_mini_uct,
    pages={"mini-uct": _page_table},
)
