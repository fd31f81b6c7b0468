"""Intervals cover what they say, and sequential ones keep their error: by simulation, with fixed seeds."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from ddz_training.measure import statistics
from ddz_training.measure.errors import InvalidArenaError

Sample = NDArray[np.float64]


def deals(rng: np.random.Generator, count: int, strong: float = 0.8, weak: float = 0.3) -> Sample:
    """Wins of an agent in two games of each deal, ``[count, 2]``: good cards help the landlord, each agent once."""
    landlord_wins = np.where(rng.random((count, 1)) < 0.5, strong, weak)
    won = rng.random((count, 2)) < landlord_wins
    return np.stack([won[:, 0], ~won[:, 1]], axis=1).astype(np.float64)


def shares(rng: np.random.Generator, *chances: float) -> Sample:
    """Shares of the two games of 100 deals that were won."""
    return deals(rng, 100, *chances).mean(axis=1)


def lopsided(rng: np.random.Generator) -> Sample:
    """Shares of the two games of 20 deals, of which one side wins 95 of 100."""
    return (rng.random((20, 2)) < 0.95).mean(axis=1)


INTERVALS: dict[str, tuple[Callable[[np.random.Generator], statistics.Interval], float]] = {
    "wilson": (lambda rng: statistics.wilson_interval(rng.binomial(100, 0.65), 100), 0.65),
    "normal": (lambda rng: statistics.normal_interval(list(shares(rng))), 0.5),
    "share": (lambda rng: statistics.share_interval(list(shares(rng))), 0.5),
    "share, lopsided": (lambda rng: statistics.share_interval(list(lopsided(rng))), 0.95),
    "clustered": (lambda rng: statistics.clustered_interval(deals(rng, 100).tolist()), 0.5),
    "paired": (
        lambda rng: statistics.paired_difference(*(dict(enumerate(shares(rng, *one))) for one in ((0.9, 0.5), ()))),
        0.0,
    ),
}


@pytest.mark.parametrize("kind", INTERVALS)
def test_intervals_hold_the_truth_in_about_95_of_100_matches(kind: str) -> None:
    make, truth = INTERVALS[kind]
    rng = np.random.default_rng(1)
    intervals = [make(rng) for _ in range(600)]
    assert np.mean([one.low <= truth <= one.high for one in intervals]) == pytest.approx(0.95, abs=0.025)


def test_a_share_that_never_varies_has_an_interval_unless_the_deals_decide_alone() -> None:
    assert statistics.share_interval([1.0] * 10).low == statistics.wilson_interval(20, 20).low
    assert statistics.share_interval([0.0] * 10).high == statistics.wilson_interval(0, 20).high
    assert statistics.share_interval([0.5] * 10).half_width == 0.0
    one_sided = statistics.share_interval([1.0] * 15 + [0.0] * 5)
    assert one_sided.ends == pytest.approx(statistics.wilson_interval(15, 20).ends)
    assert math.isnan(statistics.share_interval([1.0]).low)


def test_a_paired_difference_takes_the_deals_that_both_have_played() -> None:
    luck = np.random.default_rng(0).random(200) * 0.8
    own, other = dict(enumerate(luck + 0.1)), {deal + 50: value for deal, value in enumerate(luck[50:])}
    difference = statistics.paired_difference(own, other)
    assert difference.count == 150
    assert (difference.low, difference.high) == pytest.approx((0.1, 0.1))
    assert statistics.paired_difference({1: 1.0}, {2: 1.0}).count == 0


def test_a_bootstrap_draws_whole_clusters_and_agrees_with_the_formula() -> None:
    clusters = [*deals(np.random.default_rng(3), 300).tolist(), *([1.0] for _ in range(100))]
    sums = statistics.bootstrap_sums(np.array([(sum(one), len(one), 1) for one in clusters]), 4000)
    assert sums.shape == (4000, 3)
    assert (sums[:, 2] == 400).all()
    known, low_high = statistics.clustered_interval(clusters), np.quantile(sums[:, 0] / sums[:, 1], [0.025, 0.975])
    assert (known.low, known.high) == pytest.approx(tuple(low_high), abs=0.004)
    assert math.isnan(statistics.clustered_interval([[1.0, 0.0]]).low)
    assert math.isnan(statistics.clustered_interval([]).mean)


def test_a_sequence_misses_at_no_time_while_a_fixed_interval_often_does() -> None:
    matches = np.random.default_rng(2).integers(0, 2, (1000, 300)).astype(np.float64)  # as uncertain as can be
    # The sequence is the intersection of all intervals so far: one look at the end is a look after every deal.
    assert np.mean([statistics.is_decided(list(match)) for match in matches]) <= 0.05
    assert np.mean([statistics.is_decided(list(match), 0.4) for match in matches]) <= 0.4
    counts = np.arange(1, 301)
    means = matches.cumsum(axis=1) / counts
    naive = (abs(means - 0.5) > 1.96 * np.sqrt(means * (1 - means) / counts))[:, 19:]
    assert naive[:, -1].mean() < 0.08  # looked at once
    assert naive.any(axis=1).mean() > 0.2


def test_a_sequence_is_narrow_enough_to_decide() -> None:
    rng = np.random.default_rng(4)
    strong = [rng.choice([0.0, 0.5, 1.0], 600, p=[0.1, 0.5, 0.4]) for _ in range(50)]
    assert all(statistics.is_decided(list(match)) for match in strong)  # 65 %
    intervals = [statistics.confidence_sequence(list(match)) for match in strong]
    assert np.mean([interval.low <= 0.65 <= interval.high for interval in intervals]) >= 0.95
    fixed = [statistics.normal_interval(list(match)) for match in strong]
    ratios = [wide.half_width / narrow.half_width for wide, narrow in zip(intervals, fixed, strict=True)]
    assert 1.2 < np.mean(ratios) < 2.5  # the page says about twice


@pytest.mark.parametrize(("values", "error"), [([1.5], 0.05), ([-0.1], 0.05), ([math.nan], 0.05), ([0.5], 0.0)])
def test_values_that_a_sequence_does_not_hold_for_are_refused(values: list[float], error: float) -> None:
    with pytest.raises(InvalidArenaError):
        statistics.confidence_sequence(values, error)
