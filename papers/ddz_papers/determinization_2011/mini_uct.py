"""Section IV.C of the 2011 paper: information-set and determinized UCT against determinized UCT on Mini Dou Dizhu."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from ddz_agents.tree_search.agent import DeterminizedUctAgent, IsUctAgent
from ddz_env import State
from ddz_env.playing.agent import Agent
from ddz_env.playing.game import make_seat_generators, play_game
from ddz_env.playing.generators import make_published_generator
from ddz_env.support.options import Range
from ddz_papers.determinization_2011.mini_experiments import MINI, PAPER, list_mini_deals
from ddz_papers.experiments import experiment as ex
from ddz_training.measure.markdown import Table
from ddz_training.measure.plotting import Panel, Series, save_plot
from ddz_training.measure.statistics import Z95, Interval

PAPER_RATES = {"isuct": "67.2", "duct": "62.7"}
UCT_NAMES = {"isuct": "information-set UCT 4,000", "duct": "determinized UCT 20 × 200"}


@dataclass(frozen=True)
class UctResult:
    """The numbers of games that information-set and determinized UCT won as player 1 on one deal.

    Attributes:
        deal: Its number.
        isuct_wins: Games that information-set UCT won as player 1.
        duct_wins: Games that determinized UCT won.
    """

    deal: int
    isuct_wins: int
    duct_wins: int


@dataclass(frozen=True)
class UctOptions(ex.SeedOptions):
    """Options of the UCT experiment: the numbers of games and deals, and how the searches play.

    Attributes:
        seed: Seed of all agents.
        games: Games for each deal and agent; the paper played 10.
        deals: Deals that are played, spread evenly over all; the paper played all.
        exploration: Exploration constant of all agents.
        finish: Take finishing moves at once, as our agents do by default (the paper's do not).
    """

    games: ex.Count = 10
    deals: Annotated[int, Range(1, 8832)] = 8832
    exploration: Annotated[float, Range(0)] = 1.0
    finish: bool = False


def _search_options(options: UctOptions) -> dict[str, Any]:
    return {"exploration": options.exploration, "finish": options.finish}


def play_uct(options: UctOptions, number: int) -> list[UctResult]:
    """Play a deal's games with information-set and determinized UCT as player 1, and count the wins."""
    shared = _search_options(options)
    opponent = DeterminizedUctAgent(200, trees=20, **shared)
    agents: tuple[Agent, Agent] = IsUctAgent(4000, **shared), DeterminizedUctAgent(200, trees=20, **shared)
    return [
        UctResult(number, *(_count_wins(options, number, kind, [agent, opponent]) for kind, agent in enumerate(agents)))
    ]


def _count_wins(options: UctOptions, deal: int, kind: int, agents: Sequence[Agent]) -> int:
    """Count the games that player 1 wins; every game has its own random numbers."""
    won, deals = 0, list_mini_deals()
    for repetition in range(options.games):
        number = (repetition * len(deals) + deal) * 2 + kind
        rngs = make_seat_generators([options.seed, number], 2, make_published_generator)
        won += play_game(State(deals[deal].row.copy(), MINI), agents, rngs).winner == 0
    return won


def uct_rate(results: Sequence[UctResult], kind: str, games: int) -> Interval:
    """Estimate the probability that player 1 wins a randomly dealt game, with a 95 % interval.

    All deals are played, so only the agents' own randomness spreads the estimate: the variance is the sum over deals of
    the squared probability times that of the deal's mean, ``m (g - m) / (g² (g - 1))`` for ``m`` wins of ``g`` games
    (at most ``1 / (4 g)`` is assumed where one game was played).
    """
    deals = list_mini_deals()
    mass = sum(deals[result.deal].probability for result in results)
    mean = variance = 0.0
    for result in results:
        share, won = deals[result.deal].probability / mass, getattr(result, f"{kind}_wins")
        mean += share * won / games
        variance += share**2 * (won * (games - won) / (games**2 * (games - 1)) if games > 1 else 0.25)
    margin = Z95 * math.sqrt(variance)
    return Interval(mean, mean - margin, mean + margin, games * len(results))


def uct_rates(saved: ex.SavedResults[UctResult]) -> dict[str, Interval]:
    """Compute player 1's win rate for information-set UCT and for determinized UCT."""
    return {kind: uct_rate(saved.results, kind, saved.settings["games"]) for kind in PAPER_RATES}


def uct_table(saved: ex.SavedResults[UctResult]) -> Table:
    """Make a table that compares the paper's win rates of both searches as player 1 with ours."""
    lines = [
        ex.Comparison(
            f"{UCT_NAMES[kind]} as player 1, %",
            PAPER_RATES[kind],
            rate.text(),
            f"{rate.range_text()}; {rate.count:,} games",
        )
        for kind, rate in uct_rates(saved).items()
    ]
    return ex.make_comparison_table("UCT on Mini against determinized UCT 20 × 200", lines, ex.source_note(saved))


def plot_mini_uct(saved: ex.SavedResults[UctResult], path: Path) -> None:
    """Plot the win rates of information-set and determinized UCT as player 1 beside the paper's."""
    printed = [float(rate) for rate in PAPER_RATES.values()]
    bars = Series("", [*PAPER_RATES], [*uct_rates(saved).values()], "bars", printed)
    save_plot(path, Panel([bars], "", "player 1 wins, %", axes={"ylim": (0, 100)}), size=(5.5, 3.6))


MINI_UCT = ex.Experiment(
    name="mini-uct",
    source=f"{PAPER}, section IV.C",
    about="Information-set UCT and determinized UCT on all deals of Mini: 67.2 % and 62.7 %.",
    options=UctOptions,
    result=UctResult,
    key=("deal",),
    tasks=lambda options: [(8832 * number // options.deals,) for number in range(options.deals)],
    work=play_uct,
    changeable=("deals", "exploration", "finish"),
    more=lambda options: {name: value for name, value in _search_options(options).items() if value != 1},
    unit="deals",
    tables={"mini-uct-rates": uct_table},
    file="mini_uct_plain",
    plot=plot_mini_uct,
)
