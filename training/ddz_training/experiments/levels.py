"""How far the levels of play stand apart: duplicate deals between neighbours, and of the weakest against ``random``.

The ratings of :data:`ddz_env.playing.registry.LEVELS` are these, added up from ``hard`` (the rule agent, 0) in both
directions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated

from ddz_env import Rules
from ddz_env.core.options import Range
from ddz_env.playing.registry import LEVELS
from ddz_training.experiments.experiment import Experiment, ParallelOptions, Saved, Table
from ddz_training.experiments.matches import play_matches
from ddz_training.measure.match.duplicate import GameRecord, Match
from ddz_training.measure.match.results import OnProgress, no_progress
from ddz_training.measure.match.statistics import Interval, normal_interval, within, won_by_side

FIRST_DEAL = 6_000_000
"""The agents were chosen on the deals from 500,000 on."""
ANCHOR, YARDSTICK = "rules", "random"
_LEAST, _MOST = 0.001, 0.999
"""Rates beyond these have no rating."""


@dataclass(frozen=True)
class LevelOptions(ParallelOptions):
    """What is played.

    Attributes:
        seed: Seed of deals and agents.
        deals: Duplicate deals of every pair.
        slow: Duplicate deals of a pair with the strongest level, which searches.
    """

    deals: Annotated[int, Range(1)] = 1000
    slow: Annotated[int, Range(1)] = 200


@dataclass(frozen=True)
class LevelResult:
    """A duplicate deal.

    Attributes:
        agent: Specification of the stronger agent.
        opponent: Specification of the weaker one.
        deal: Number of the deal.
        landlord: Whether the agent won as landlord, 0 or 1.
        peasants: Whether it won as peasants.
    """

    agent: str
    opponent: str
    deal: int
    landlord: int
    peasants: int


def pairs() -> list[tuple[str, str]]:
    """Who plays whom, the stronger agent first: neighbours, and the weakest level with ``random``."""
    ladder = [YARDSTICK, *(level.agent for level in LEVELS)]
    return [(stronger, weaker) for weaker, stronger in pairwise(ladder)]


def run_levels(
    options: LevelOptions, path: Path | None = None, on_progress: OnProgress = no_progress
) -> Saved[LevelResult]:
    """Play the neighbours.

    Args:
        options: How many deals.
        path: Where to save, one line a deal; a file of an earlier run is resumed.
        on_progress: Told how many deals are done.

    Raises:
        SettingsMismatchError: If the file was written with another seed.
    """
    tasks = {
        (*pair, deal): Match(pair, deal, pair)
        for pair in pairs()
        for deal in range(FIRST_DEAL, FIRST_DEAL + (options.slow if LEVELS[-1].agent in pair else options.deals))
    }
    settings = {"experiment": "levels", "seed": options.seed}
    return play_matches(LevelResult, _line, Rules(), tasks, settings, options.processes, path, on_progress)


def _line(records: Sequence[GameRecord]) -> list[LevelResult]:
    first, _, wins = won_by_side(records)
    return [LevelResult(first.a, first.b, first.deal, *wins)]


def rates(results: Sequence[LevelResult]) -> Mapping[tuple[str, str], Interval]:
    """The win rate of every pair's stronger agent over both sides, with its 95 % interval over deals."""
    played: dict[tuple[str, str], list[float]] = {}
    for result in results:
        played.setdefault((result.agent, result.opponent), []).append((result.landlord + result.peasants) / 2)
    return {pair: within(normal_interval(wins), 0.0, 1.0) for pair, wins in played.items()}


def elo(rate: float) -> float:
    """The difference of two ratings, from the win rate of one over the other."""
    rate = min(max(rate, _LEAST), _MOST)
    return 400 * math.log10(rate / (1 - rate))


def ratings(results: Sequence[LevelResult]) -> dict[str, float]:
    """The rating of every level by its name; the rule agent's is 0."""
    found = rates(results)
    total, ladder = 0.0, {LEVELS[0].name: 0.0}
    for weaker, stronger in pairwise(LEVELS):
        total += elo(found[stronger.agent, weaker.agent].mean)
        ladder[stronger.name] = total
    anchor = next(ladder[level.name] for level in LEVELS if level.agent == ANCHOR)
    return {name: rating - anchor for name, rating in ladder.items()}


def levels_table(saved: Saved[LevelResult]) -> Table:
    """The levels, their ratings, and what each wins against the one below it."""
    found, rated = rates(saved.results), ratings(saved.results)
    below = dict(pairs())
    lines = []
    for level in LEVELS:
        rate = found[level.agent, below[level.agent]]
        number = sum(result.agent == level.agent for result in saved.results)
        cells = (level.name, f"`{level.agent}`", f"{rated[level.name]:+.0f}", f"`{below[level.agent]}`", f"{number:,}")
        lines.append((*cells, rate.both(to="–")))
    note = f"Ratings are added up from the win rates between neighbours; `{ANCHOR}` is 0. {saved.name}."
    return Table("Levels of play", ("level", "agent", "Elo", "against", "deals", "win %"), lines, note)


LEVELS_OF_PLAY = Experiment(
    name="levels",
    source="own",
    about="""How far the levels easy, medium, hard and master stand apart, by duplicate deals between neighbours.""",
    unit="duplicate deals",
    options=LevelOptions,
    result=LevelResult,
    run=run_levels,
    tables={"levels": levels_table},
    file="levels",
)
