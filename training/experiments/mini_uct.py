"""Information-set UCT and determinized UCT on all 8,832 deals of Mini (Whitehouse et al. 2011, section IV.C).

Player 2 is determinized UCT with 20 trees of 200 iterations.  Player 1 is information-set UCT with 4,000 iterations
(67.2 % in the paper) or the same as player 2 (62.7 %); every deal is played 10 times.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from agents.mcts.agent import DeterminizedUctAgent, IsUctAgent
from ddz_env import State
from ddz_env.agent import Agent
from ddz_env.playing import play_game, seat_generators
from training.arena.statistics import Z95, Interval
from training.experiments.comparison import Comparison, OnProgress, no_progress
from training.experiments.mini_deals import MINI, MiniDeal, mini_deals
from training.experiments.result_table import ResultTable

COLUMNS = ("deal", "isuct_wins", "duct_wins")
PAPER_GAMES = 10
PLAYERS_1 = ("isuct", "duct")
PAPER_RATES = {"isuct": "67.2", "duct": "62.7"}


@dataclass(frozen=True)
class DealResult:
    """One deal.

    Attributes:
        deal: Its number.
        wins: Games that each kind of player 1 won, in the order of ``PLAYERS_1``.
    """

    deal: int
    wins: tuple[int, int]


@dataclass(frozen=True)
class Variant:
    """What may differ from our searches as they are.

    Attributes:
        exploration: The exploration constant of all agents.
        finish: Take finishing moves at once; without it the searches are the paper's to the letter.
    """

    exploration: float = 1.0
    finish: bool = True

    def settings(self) -> dict[str, Any]:
        """What differs from the default, for the file's settings."""
        return {name: value for name, value in asdict(self).items() if value != getattr(_DEFAULT, name)}

    def agent(self, kind: str) -> Agent:
        """Information-set UCT or determinized UCT with 4,000 iterations a decision."""
        if kind == "isuct":
            return IsUctAgent(4000, exploration=self.exploration, finish=self.finish)
        return DeterminizedUctAgent(200, trees=20, exploration=self.exploration, finish=self.finish)


_DEFAULT = Variant()


def run_mini_uct(
    path: Path | None = None,
    on_progress: OnProgress = no_progress,
    games: int = PAPER_GAMES,
    seed: int = 0,
    deals: Sequence[MiniDeal] | None = None,
    variant: Variant = _DEFAULT,
) -> list[DealResult]:
    """Play every deal ``games`` times with each kind of player 1.

    Args:
        path: Where to save, one line a deal; a file of an earlier run is gone on with.
        on_progress: Told how many deals are done.
        games: Games a deal and kind.
        seed: Seed of all agents; a game's generators follow from seed, deal, repetition and kind.
        deals: The deals; all of Mini's if None.
        variant: Exploration and finishing moves of all agents.
    """
    deals = mini_deals() if deals is None else deals
    table = ResultTable(path, {"experiment": "mini-uct", "games": games, "seed": seed} | variant.settings(), COLUMNS)
    done = table.keys("deal")
    contenders = [variant.agent(kind) for kind in PLAYERS_1]
    opponent = variant.agent("duct")
    for number, deal in enumerate(deals):
        on_progress(number, len(deals))
        if (str(deal.number),) not in done:
            table.add(
                deal.number, *(_wins(agent, opponent, deal, games, seed, i) for i, agent in enumerate(contenders))
            )
    on_progress(len(deals), len(deals))
    return deal_results(table.rows)


def deal_results(rows: Iterable[Mapping[str, str]]) -> list[DealResult]:
    """The lines of a results file."""
    return [DealResult(int(row["deal"]), (int(row["isuct_wins"]), int(row["duct_wins"]))) for row in rows]


def _wins(agent: Agent, opponent: Agent, deal: MiniDeal, games: int, seed: int, kind: int) -> int:
    """Games that player 1 wins.  Numbers of games never repeat over deals, repetitions and kinds."""
    won = 0
    for repetition in range(games):
        number = (repetition * len(mini_deals()) + deal.number) * len(PLAYERS_1) + kind
        final = play_game(State(deal.row.copy(), MINI), [agent, opponent], seat_generators([seed, number], 2))
        won += final.winner == 0
    return won


def win_rate(results: Sequence[DealResult], kind: str, games: int) -> Interval:
    """The probability that player 1 wins a randomly dealt game, with a 95 % interval.

    All deals are played, so only the agents' own randomness spreads the estimate: the variance is the sum over deals of
    the squared probability times that of the deal's mean, ``m (g - m) / (g² (g - 1))`` for ``m`` wins of ``g`` games
    (at most ``1 / (4 g)`` is assumed where one game was played).
    """
    deals, index = mini_deals(), PLAYERS_1.index(kind)
    mass = sum(deals[result.deal].probability for result in results)
    mean = variance = 0.0
    for result in results:
        share, won = deals[result.deal].probability / mass, result.wins[index]
        mean += share * won / games
        variance += share**2 * (won * (games - won) / (games**2 * (games - 1)) if games > 1 else 0.25)
    margin = Z95 * math.sqrt(variance)
    return Interval(mean, mean - margin, mean + margin, games * len(results))


def rate_cells(results: Sequence[DealResult], games: int) -> tuple[str, ...]:
    """Both kinds' win rates with their intervals, in per cent."""
    rates = (win_rate(results, kind, games) for kind in PLAYERS_1)
    return tuple(f"{100 * rate.mean:.1f} ({100 * rate.low:.1f} to {100 * rate.high:.1f})" for rate in rates)


def compare_mini_uct(results: Sequence[DealResult], games: int) -> list[Comparison]:
    """The paper's figures beside ours."""
    lines = []
    for kind, name in zip(PLAYERS_1, ("information-set UCT 4,000", "determinized UCT 20 × 200"), strict=True):
        rate = win_rate(results, kind, games)
        note = f"{100 * rate.low:.1f} to {100 * rate.high:.1f}; {rate.count:,} games"
        lines.append(Comparison(f"{name} as player 1, %", PAPER_RATES[kind], f"{100 * rate.mean:.1f}", note))
    return lines
