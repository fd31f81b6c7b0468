"""The levels of play: how far apart they are.

The ratings of :data:`ddz_env.playing.registry.LEVELS` are these, added up from ``hard`` (the rule agent, 0) in both
directions.  The agents were chosen on the deals from 500,000 on.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from ddz_env.playing.registry import LEVELS
from ddz_training.experiments import experiment as ex
from ddz_training.experiments import matches
from ddz_training.measure.statistics import Interval

FIRST_DEAL = 6_000_000
ANCHOR, YARDSTICK = "rules", "random"
LADDER = (YARDSTICK, *(level.agent for level in LEVELS))
"""The agents of the levels, each stronger than the one before, above random play."""
_LEAST, _MOST = 0.001, 0.999
"""Rates beyond these have no rating."""


@dataclass(frozen=True)
class LevelOptions(ex.ParallelOptions):
    """What is played.

    Attributes:
        seed: Seed of deals and agents.
        deals: Duplicate deals of every pair.
        slow: Duplicate deals of a pair with the strongest level, which searches.
    """

    deals: ex.Count = 1000
    slow: ex.Count = 200


def neighbours(options: LevelOptions) -> dict[matches.Pair, int]:
    """Who plays how many deals."""
    pairs = {(stronger, weaker): options.deals for weaker, stronger in pairwise(LADDER)}
    return pairs | {(LADDER[-1], LADDER[-2]): options.slow}


def level_rates(results: Sequence[matches.MatchResult]) -> Mapping[matches.Pair, Interval]:
    """The win rate of every pair's stronger agent over both sides, with its 95 % interval over deals."""
    return {pair: matches.win_interval(own) for pair, own in ex.grouped(results, "agent", "opponent").items()}


def ratings(results: Sequence[matches.MatchResult]) -> dict[str, float]:
    """The rating of every level by its name; the rule agent's is 0."""
    found = level_rates(results)
    means = (found[stronger, weaker].mean for weaker, stronger in pairwise(LADDER[1:]))
    odds = (rate / (1 - rate) for rate in (min(max(mean, _LEAST), _MOST) for mean in means))
    ladder = dict(zip(LADDER[1:], accumulate((400 * math.log10(one) for one in odds), initial=0.0), strict=True))
    return {level.name: ladder[level.agent] - ladder[ANCHOR] for level in LEVELS}


def levels_table(saved: ex.Saved[matches.MatchResult]) -> ex.Table:
    """The levels, their ratings, and what each wins against the one below it."""
    found, rated = level_rates(saved.results), ratings(saved.results)
    lines = []
    for level, below in zip(LEVELS, LADDER, strict=False):
        rate = found[level.agent, below]
        cells = (level.name, f"`{level.agent}`", f"{rated[level.name]:+.0f}", f"`{below}`", f"{rate.count:,}")
        lines.append((*cells, rate.both(to="–")))
    note = f"Ratings are added up from the win rates between neighbours; `{ANCHOR}` is 0. {saved.name}."
    return ex.Table("Levels of play", ("level", "agent", "Elo", "against", "deals", "win %"), lines, note)


LEVELS_OF_PLAY = ex.Experiment(
    name="levels",
    about="How far apart the levels easy, medium, hard and master are, by duplicate deals between neighbours.",
    options=LevelOptions,
    result=matches.MatchResult,
    key=matches.KEY,
    tasks=lambda options: matches.match_tasks(neighbours(options), FIRST_DEAL),
    worker=functools.partial(matches.MatchWorker, matches.who_won, "standard", "thread"),
    agents=lambda options: matches.agents_of(neighbours(options)),
    unit="duplicate deals",
    tables={"levels": levels_table},
)
