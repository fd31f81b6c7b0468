"""95 % intervals for win rates, scores, differences and other statistics of deals.

* A win rate in one role counts games, each a win or a loss: Wilson's interval (E. B. Wilson, "Probable inference, the
  law of succession, and statistical inference", JASA 22, 1927).  After an auction the games of one deal are not
  independent, and the interval is somewhat too narrow.
* Everything over both roles is *paired*: the games of one deal share their cards, so a deal is one observation, the
  mean over its games.  A win rate takes Wilson's interval with as many games as these means vary like
  (:func:`share_interval`), which also holds in short and in lopsided matches.  A score takes the normal interval on the
  means of the deals, as do scores in one role.  It has no width where every deal ended alike.
* A difference of two agents against one opponent is paired by deal, too (:func:`paired_difference`).
* What is not a mean, such as a rating, takes the percentiles of a bootstrap that draws whole deals
  (:func:`bootstrap_sums`; B. Efron, "Bootstrap methods: another look at the jackknife", Annals of Statistics 7, 1979;
  clusters: A. C. Davison and D. V. Hinkley, "Bootstrap Methods and their Application", 1997, section 3.8).
* These hold for a number of deals that was fixed beforehand; :func:`confidence_sequence` may be looked at after every
  deal.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean, stdev
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ddz_training.measure.errors import InvalidArenaError

Z95 = NormalDist().inv_cdf(0.975)
"""Two-sided 95 % quantile of the normal distribution, 1.96."""


@dataclass(frozen=True)
class Interval:
    """An estimate with the ends of its 95 % interval and the number of observations.

    Attributes:
        mean: The estimate; NaN without observations.
        low: Lower end; NaN where there are too few observations.
        high: Upper end.
        count: Observations.
    """

    mean: float
    low: float
    high: float
    count: int

    @property
    def ends(self) -> tuple[float, float, float]:
        """The estimate, the lower end and the upper end, as a tuple."""
        return self.mean, self.low, self.high

    @property
    def half_width(self) -> float:
        """Half the distance between the interval's ends, the number after ±."""
        return (self.high - self.low) / 2

    def text(self, form: str = ".1f", scale: float = 100) -> str:
        """Format the estimate, in per cent by default, or return a dash if there is no estimate.

        Example:
            >>> Interval(0.5, 0.42, 0.58, 10).text(), Interval(0.05, -0.02, 0.12, 10).text("+.1f")
            ('50.0', '+5.0')
        """
        return "–" if math.isnan(self.mean) else format(scale * self.mean, form)

    def range_text(self, form: str = ".1f", scale: float = 100, to: str = " to ") -> str:
        """Format both ends of the interval, or return a dash if there are too few observations.

        Example:
            >>> Interval(0.05, -0.02, 0.12, 10).range_text("+.1f")
            '-2.0 to +12.0'
        """
        return "–" if math.isnan(self.low) else to.join(format(scale * end, form) for end in (self.low, self.high))

    def text_with_range(self, form: str = ".1f", scale: float = 100, to: str = " to ") -> str:
        """Format the estimate, followed by both ends of its interval.

        Example:
            >>> Interval(0.5, 0.42, 0.58, 10).text_with_range(to="–")
            '50.0 (42.0–58.0)'
        """
        return "–" if math.isnan(self.mean) else f"{self.text(form, scale)} ({self.range_text(form, scale, to)})"

    def percent(self) -> str:
        """Format a rate and its interval in per cent, for a narrow column.

        Example:
            >>> Interval(0.625, 0.55, 0.69, 10).percent()
            '62.5 (55–69)'
            >>> Interval(1.0, 1.0, 1.0, 2).percent()  # too few for an interval
            '100.0 (–)'
        """
        if not self.half_width > 0:
            return self.text() if math.isnan(self.mean) else f"{self.text()} (–)"
        return f"{self.text()} ({self.range_text('.0f' if self.half_width > 0.02 else '.1f', to='–')})"

    def score(self) -> str:
        """Format a score as mean ± half width, with only the meaningful digits.

        Example:
            >>> Interval(0.25, 0.21, 0.29, 10).score(), Interval(0.25, 0.24, 0.26, 10).score()
            ('+0.25 ±0.04', '+0.250 ±0.010')
        """
        return self.plus_minus("+.3f" if 0 < self.half_width <= 0.02 else "+.2f")

    def elo(self) -> str:
        """Format an Elo rating with its interval, or as ``0`` for the anchor.

        Example:
            >>> Interval(-12.3, -40.0, -0.2, 400).elo(), Interval(0, 0, 0, 400).elo()
            ('-12 (-40 to +0)', '0')
        """
        return self.text_with_range("+.0f", 1).replace("-0", "+0") if self.half_width > 0 or self.mean else "0"

    def plus_minus(self, form: str = "+.2f") -> str:
        """Format the estimate as mean ± half width, or alone if it has no interval.

        Example:
            >>> Interval(0.25, 0.125, 0.375, 10).plus_minus()
            '+0.25 ±0.12'
        """
        estimate = self.text(form, 1)
        return f"{estimate} ±{self.half_width:{form.lstrip('+')}}" if self.half_width > 0 else estimate


def normal_interval(values: Sequence[float]) -> Interval:
    """Compute the mean of independent values, with a 95 % interval by the normal approximation.

    Example:
        >>> interval = normal_interval([1.0, 0.5, 0.5, 0.0])
        >>> round(interval.mean, 3), round(interval.half_width, 3)
        (0.5, 0.4)
    """
    if not values:
        return Interval(math.nan, math.nan, math.nan, 0)
    mean = fmean(values)
    if len(values) == 1:
        return Interval(mean, math.nan, math.nan, 1)
    margin = Z95 * stdev(values) / math.sqrt(len(values))
    return Interval(mean, mean - margin, mean + margin, len(values))


def share_interval(shares: Sequence[float], games: float = 2.0) -> Interval:
    """Compute an agent's mean share of the wins per deal, with a 95 % confidence interval.

    It is Wilson's interval for the *effective number of games*: as many independent games as have the variance of the
    shares' mean (E. L. Korn and B. I. Graubard, "Confidence intervals for proportions with small expected number of
    positive counts estimated from survey data", Survey Methodology 24, 1998).  A deal counts as one game at least, and
    as no more than its games if these are as different as two games can be: a share of losses ``q`` allows two games of
    a deal a correlation of ``-q / (1 - q)``.  The normal interval misses too often where one side wins nearly always.

    Args:
        shares: From 0 to 1, one per deal.
        games: Games per deal.

    Example:
        >>> share_interval([1.0] * 20).text_with_range(), share_interval([1.0, 0.5, 0.5, 0.0] * 50).text_with_range()
        ('100.0 (91.2 to 100.0)', '50.0 (45.1 to 54.9)')
    """
    count = len(shares)
    if count < 2:
        return normal_interval(shares)
    mean, variance = fmean(shares), stdev(shares) ** 2 / count
    rare = min(mean, 1.0 - mean)
    most = math.inf if rare == 0.5 else games * count * (1 - rare) / (1 - 2 * rare)
    effective = min(max(mean * (1 - mean) / variance if variance else math.inf, count), most)
    if math.isinf(effective):
        return Interval(mean, mean, mean, count)
    return dataclasses.replace(wilson_interval(mean * effective, effective), mean=mean, count=count)


def clustered_interval(clusters: Iterable[Sequence[float]]) -> Interval:
    """Compute the mean of clustered values, such as the games of a deal, with its 95 % interval.

    Every value counts alike.  Values of one cluster may depend on each other, clusters may not: the variance is that of
    the clusters' summed deviations from the mean.  With clusters of one size it is the normal interval of their means.

    Example:
        >>> interval = clustered_interval([[1, 1], [0, 1], [1, 0], [0, 0]])
        >>> round(interval.mean, 3), round(interval.half_width, 3), interval.count
        (0.5, 0.4, 8)
    """
    groups = [group for group in clusters if group]
    count = sum(len(group) for group in groups)
    mean = sum(map(sum, groups)) / count if count else math.nan
    if len(groups) < 2:
        return Interval(mean, math.nan, math.nan, count)
    squares = sum((sum(group) - mean * len(group)) ** 2 for group in groups)
    margin = Z95 * math.sqrt(squares * len(groups) / (len(groups) - 1)) / count
    return Interval(mean, mean - margin, mean + margin, count)


def paired_difference(first: Mapping[int, float], second: Mapping[int, float]) -> Interval:
    """Compute the mean difference between two agents' values on their shared deals, with a 95 % interval.

    Args:
        first: One value per deal, such as the share of games won (:func:`wins_by_deal`).
        second: The same for the other agent.

    Example:
        >>> paired_difference({1: 1.0, 2: 0.5, 3: 0.5}, {1: 0.5, 2: 0.5, 3: 0.0, 4: 0.0}).text_with_range("+.1f")
        '+33.3 (+0.7 to +66.0)'
    """
    return normal_interval([value - second[deal] for deal, value in first.items() if deal in second])


_MOST_WEIGHTS = 4_000_000
"""Draws that are in memory at a time; the draws do not depend on it."""


def bootstrap_sums(values: NDArray[np.float64], replicates: int) -> NDArray[np.float64]:
    """Compute the column sums of bootstrap resamples of clusters; equal calls give equal sums.

    Args:
        values: What is summed, one row per cluster: ``[clusters, columns]``.
        replicates: How often all clusters are drawn.

    Returns:
        Sums, ``[replicates, columns]``.
    """
    rng, clusters = np.random.default_rng(0), len(values)
    share, step = np.full(clusters, 1 / clusters), max(1, _MOST_WEIGHTS // clusters)
    pieces = [
        rng.multinomial(clusters, share, size=min(step, replicates - start)).astype(np.float64) @ values
        for start in range(0, replicates, step)
    ]
    return np.concatenate(pieces)


def percentile_interval(estimate: float, replicates: NDArray[np.float64], count: int) -> Interval:
    """Make an interval of the middle 95 % of replicates, without ends if there are fewer than two."""
    if len(replicates) < 2:
        return Interval(estimate, math.nan, math.nan, count)
    low, high = np.quantile(replicates, [0.025, 0.975])
    return Interval(estimate, float(low), float(high), count)


def clip_interval(interval: Interval, least: float, most: float) -> Interval:
    """Clip an interval to the range of possible values."""
    return dataclasses.replace(interval, low=max(interval.low, least), high=min(interval.high, most))


def wilson_interval(wins: float, games: float) -> Interval:
    """Compute a win rate from wins and games, with Wilson's 95 % interval.

    Example:
        >>> interval = wilson_interval(8, 10)
        >>> round(interval.low, 4), round(interval.high, 4)
        (0.4902, 0.9433)
    """
    if games == 0:
        return Interval(math.nan, math.nan, math.nan, 0)
    rate = wins / games
    square = Z95 * Z95 / games
    centre = (rate + square / 2) / (1 + square)
    margin = math.sqrt(rate * (1 - rate) * square + square * square / 4) / (1 + square)
    return Interval(rate, max(0.0, centre - margin), min(1.0, centre + margin), int(games))


class ConvergenceLine(NamedTuple):
    """Ten successive win rates, each over ten more sampled deals: a row of table 1 in the payoff paper.

    Attributes:
        first: The fewest worlds of the line.
        last: The most.
        highest: The highest of its win rates.
        lowest: The lowest.
        mean: Their mean.
    """

    first: int
    last: int
    highest: float
    lowest: float
    mean: float

    @property
    def spread(self) -> float:
        """The difference between the line's highest and lowest win rate."""
        return self.highest - self.lowest


def summarize_convergence(rates: Sequence[float]) -> list[ConvergenceLine]:
    """Summarize, ten win rates at a time, how the win rate converges as more sampled deals are counted.

    Args:
        rates: The win rates after 10, 20, 30 ... worlds.

    Example:
        >>> [(line.first, line.last, line.mean) for line in summarize_convergence([1.0] * 25)]
        [(10, 100, 1.0), (110, 200, 1.0)]
    """
    tens = ((first, rates[first : first + 10]) for first in range(0, len(rates) - 9, 10))
    return [ConvergenceLine(10 * (first + 1), 10 * (first + 10), max(ten), min(ten), fmean(ten)) for first, ten in tens]


_LARGEST_BET = 0.5


def confidence_sequence(values: Sequence[float], error: float = 0.05) -> Interval:
    """Compute the mean of values in 0..1, with an interval that is valid at every stopping time.

    An interval for a fixed number of deals misses more often than it says where a match ends at the first one that
    looks good.  A *confidence sequence* holds at all times together: with probability 95 % none of its intervals
    misses.  This is the predictable plug-in empirical Bernstein sequence (I. Waudby-Smith and A. Ramdas, "Estimating
    means of bounded random variables by betting", JRSS B 86, 2024, theorem 2 with equations 14 and 15).  It needs
    independent values between 0 and 1, as the share of games won on each deal, and no normal distribution: it holds
    from the first deal on.  The price: after the same deals it is about twice as wide as an interval for a number fixed
    beforehand.

    Args:
        values: In the order in which they came, each within 0..1.
        error: The probability that the interval ever misses, were one to look after each value.

    Returns:
        The values' mean, and what all intervals so far have in common.

    Raises:
        InvalidArenaError: If a value is not within 0..1, or ``error`` is not between 0 and 1.

    Example:
        >>> confidence_sequence([1.0, 0.5, 1.0, 1.0] * 25).text_with_range()
        '87.5 (78.1 to 96.8)'
    """
    samples = np.asarray(values, dtype=np.float64)
    if not np.all((samples >= 0) & (samples <= 1)):
        wrong = samples[~((samples >= 0) & (samples <= 1))][0]
        raise InvalidArenaError(f"a confidence sequence takes values within 0..1, not {wrong:g}")
    if not 0 < error < 1:
        raise InvalidArenaError(f"error={error} must be between 0 and 1")
    if not len(samples):
        return Interval(math.nan, 0.0, 1.0, 0)
    times = np.arange(1, len(samples) + 1)
    means = (0.5 + np.cumsum(samples)) / (times + 1)
    variances = (0.25 + np.cumsum((samples - means) ** 2)) / (times + 1)
    guess, spread = np.append(0.5, means[:-1]), np.append(0.25, variances[:-1])  # from the values before
    price = math.log(2 / error)
    bets = np.minimum(np.sqrt(2 * price / (spread * times * np.log1p(times))), _LARGEST_BET)
    staked = np.cumsum(bets)
    costs = np.cumsum((samples - guess) ** 2 * (-np.log1p(-bets) - bets))
    centres, margins = np.cumsum(bets * samples) / staked, (price + costs) / staked
    low, high = max(0.0, np.max(centres - margins)), min(1.0, np.min(centres + margins))
    return Interval(float(samples.mean()), float(low), float(high), len(samples))


def is_decided(values: Sequence[float], error: float = 0.05) -> bool:
    """Return whether the mean of ``values`` is not one half, with error at most ``error`` at any stopping time."""
    interval = confidence_sequence(values, error)
    return not interval.low <= 0.5 <= interval.high
