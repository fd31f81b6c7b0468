"""How far the levels of play stand apart, on duplicate deals between neighbours."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Annotated, Any

from ddz_env.core.options import Range
from ddz_env.playing.registry import LEVELS
from ddz_training.experiments import matches as play
from ddz_training.experiments.experiment import Experiment, ParallelOptions, Saved, Table, grouped
from ddz_training.experiments.matches import MatchResult, Pair, win_interval
from ddz_training.measure.statistics import Interval
from ddz_training.measure.store import Key

FIRST_OF_LEVELS = 6_000_000
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


def pairs() -> list[Pair]:
    """Who plays whom, the stronger agent first: neighbours, and the weakest level with ``random``."""
    ladder = [YARDSTICK, *(level.agent for level in LEVELS)]
    return [(stronger, weaker) for weaker, stronger in pairwise(ladder)]


def _neighbours(options: LevelOptions) -> Mapping[Key, Any]:
    strongest = LEVELS[-1].agent
    deals = {pair: options.slow if strongest in pair else options.deals for pair in pairs()}
    return play.matches(deals, FIRST_OF_LEVELS)


def rates(results: Sequence[MatchResult]) -> Mapping[Pair, Interval]:
    """The win rate of every pair's stronger agent over both sides, with its 95 % interval over deals."""
    return {pair: win_interval(own) for pair, own in grouped(results, "agent", "opponent").items()}


def elo(rate: float) -> float:
    """The difference of two ratings, from the win rate of one over the other."""
    rate = min(max(rate, _LEAST), _MOST)
    return 400 * math.log10(rate / (1 - rate))


def ratings(results: Sequence[MatchResult]) -> dict[str, float]:
    """The rating of every level by its name; the rule agent's is 0."""
    found = rates(results)
    steps = (elo(found[stronger.agent, weaker.agent].mean) for weaker, stronger in pairwise(LEVELS))
    ladder = dict(zip((level.agent for level in LEVELS), accumulate(steps, initial=0.0), strict=True))
    return {level.name: ladder[level.agent] - ladder[ANCHOR] for level in LEVELS}


def levels_table(saved: Saved[MatchResult]) -> Table:
    """The levels, their ratings, and what each wins against the one below it."""
    found, rated = rates(saved.results), ratings(saved.results)
    lines = []
    for level, (agent, below) in zip(LEVELS, pairs(), strict=True):
        rate = found[agent, below]
        cells = (level.name, f"`{agent}`", f"{rated[level.name]:+.0f}", f"`{below}`", f"{rate.count:,}")
        lines.append((*cells, rate.both(to="–")))
    note = f"Ratings are added up from the win rates between neighbours; `{ANCHOR}` is 0. {saved.name}."
    return Table("Levels of play", ("level", "agent", "Elo", "against", "deals", "win %"), lines, note)


LEVELS_OF_PLAY = Experiment(
    name="levels",
    about="""How far the levels easy, medium, hard and master stand apart, by duplicate deals between neighbours.""",
    unit="duplicate deals",
    options=LevelOptions,
    result=MatchResult,
    tasks=_neighbours,
    worker=play.deal_worker(functools.partial(play.match_line, MatchResult)),
    agents=play.match_agents,
    tables={"levels": levels_table},
)
"""The ratings of :data:`ddz_env.playing.registry.LEVELS` are these, added up from ``hard`` (the rule agent, 0) in both
directions."""
