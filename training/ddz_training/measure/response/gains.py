"""What a response wins against an agent over what the agent itself wins there, on the same duplicate deals.

The agent's own rate is that against itself: on every deal it is the landlord against its own peasants, once for each
game of the deal.  A response that is no better than the agent gains nothing, however easy the deals are for one side.
Over both sides the agent's own rate is one half on every deal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from ddz_training.measure.match.duplicate import SIDES, GameRecord
from ddz_training.measure.match.statistics import (
    Interval,
    normal_interval,
    paired_difference,
    wilson_interval,
    within,
    won_by_side,
)

BOTH = "either"
"""The side of a response that was trained for both, as in :class:`ddz_training.learn.ppo.config.SelfPlayConfig`."""


@dataclass(frozen=True)
class Gain:
    """What a response wins on one side, or over both.

    Attributes:
        side: ``landlord``, ``peasants`` or ``either``.
        response: The response's win rate: Wilson's interval on one side, paired by deal over both.
        own: The agent's own, paired by deal.
        gain: The first less the second, paired by deal.
    """

    side: str
    response: Interval
    own: Interval
    gain: Interval


def sides_of(learner_side: str) -> tuple[str, ...]:
    """The sides that a response is measured on, the one that it is chosen by first.

    Example:
        >>> sides_of("either"), sides_of("peasants")
        (('either', 'landlord', 'peasants'), ('peasants',))
    """
    return (BOTH, *SIDES) if learner_side == BOTH else (learner_side,)


def measure_gains(
    response: Sequence[GameRecord], own: Sequence[GameRecord], learner_side: str = BOTH
) -> tuple[Gain, ...]:
    """What a response gains, for each side of :func:`sides_of`.

    Args:
        response: The games of the response (A) and the agent (B) on complete deals with a fixed landlord.
        own: The games of the agent and itself on the same deals.
        learner_side: The side that the response was trained for.
    """
    won = {deal: won_by_side(games)[2] for deal, games in _by_deal(response).items()}
    landlord = {
        deal: fmean(record.winner == SIDES[0] for record in games)
        for deal, games in _by_deal(own).items()
        if deal in won
    }
    return tuple(_gain(side, won, landlord) for side in sides_of(learner_side))


def _gain(side: str, won: dict[int, tuple[int, int]], landlord: dict[int, float]) -> Gain:
    """The gain on one side, from what the response won on each deal and what the agent's own landlord did."""
    places = {SIDES[0]: (0,), SIDES[1]: (1,), BOTH: (0, 1)}[side]
    rates = {deal: fmean(won[deal][place] for place in places) for deal in landlord}
    owns = {deal: fmean((rate, 1 - rate)[place] for place in places) for deal, rate in landlord.items()}
    paired = within(normal_interval([*rates.values()]), 0.0, 1.0)
    return Gain(
        side,
        paired if side == BOTH else wilson_interval(sum(rates.values()), len(rates)),
        within(normal_interval([*owns.values()]), 0.0, 1.0),
        paired_difference(rates, owns),
    )


def _by_deal(records: Sequence[GameRecord]) -> dict[int, list[GameRecord]]:
    deals: dict[int, list[GameRecord]] = {}
    for record in records:
        deals.setdefault(record.deal, []).append(record)
    return deals
