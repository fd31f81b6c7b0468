"""The equations of the expected-payoff policy, which apply to any betting game.

The paper's equations are missing from our copy; they are reconstructed from its prose, which says of

* (1) that the expected rate of payoff is ``W - (1 - W) = 2 W - 1``, less the loss rate ``chip / max_chip``, what could
  be lost, and that high win rates go with stakes of 10,000 to 20,000 of 20,000.  Subtracted in full, the loss rate
  never lets more than half of the chips be staked; weighted by the chance of losing, the best stake is half of them at
  ``W`` = 2/3 and all from 3/4 on: ``S = (2 W - 1 - (1 - W) * chip / max_chip) * chip``;
* (3) that the opponent's win rate has the base value ``1 - W`` and grows with the share of all chips that it has bet,
  and that an opponent who bets everything is thought to be ahead exactly where ``W`` is below 2/3:
  ``W_opp = (1 - W) * (1 + chip / chipsum)`` is the reading under which this threshold comes out;
* (4) that the payoff at the end of a simulation follows from both win rates and the chips bet:
  ``S = (W - W_opp) * chip``.
"""

from __future__ import annotations

import math


def expected_payoff(
    win_rate: float, chip: float, max_chip: float = math.inf, gain: float | None = None, full: bool = False
) -> float:
    """Compute the expected payoff of a stake before the cards are known (equation 1).

    Args:
        win_rate: The chance of winning, 0 to 1.
        chip: What is at stake.
        max_chip: All that could be lost; infinity leaves the loss rate out.
        gain: The expected gain for each chip at stake, where something better is known than ``2 * win_rate - 1``.
        full: Whether the loss rate is subtracted in full instead of by the chance of losing: the other reading.

    Example:
        >>> expected_payoff(0.75, 10), expected_payoff(0.75, 10, max_chip=40), expected_payoff(0.75, 10, 40, full=True)
        (5.0, 4.375, 2.5)
    """
    rate = 2.0 * win_rate - 1.0 if gain is None else gain
    risk = 1.0 if full else 1.0 - win_rate
    return (rate - risk * chip / max_chip) * chip


def opponent_win_rate(win_rate: float, share: float) -> float:
    """Estimate an opponent's win rate from ours and from its stake as a share of its maximum (equation 3).

    Args:
        win_rate: Our win rate against a random hand.
        share: What the opponent has staked, as a share of the most that it could stake.

    Returns:
        The estimate, at most 1.

    Example:
        >>> opponent_win_rate(0.7, 0.0), opponent_win_rate(0.7, 1.0)  # doctest: +ELLIPSIS
        (0.30000000000000004, 0.6000000000000001)
    """
    return min(1.0, (1.0 - win_rate) * (1.0 + share))


def final_payoff(win_rate: float, opponent: float, chip: float) -> float:
    """Compute the payoff of a simulation that ends before the cards are shown (equation 4).

    Args:
        win_rate: Our win rate.
        opponent: The opponent's win rate (:func:`opponent_win_rate`).
        chip: What is at stake.

    Example:
        >>> final_payoff(0.75, 0.5, 8)
        2.0
    """
    return (win_rate - opponent) * chip
