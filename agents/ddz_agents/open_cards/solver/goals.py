"""Goals of the landlord's side that a search proves or refutes: a win, or a win of at least a given stake.

A goal of ``k`` >= 1 is a win with at least ``k - 1`` doublings still to come.  One of ``k`` <= 0 is a win, or a loss
with at most ``-k`` of them.  ``WIN``, which is 1, is just a win.  Whoever reaches a goal reaches all lower ones.  A
bomb brings a goal one nearer to ``WIN``, so the history matters only as far as spring can still depend on it.
"""

# mypy: disable-error-code="arg-type,no-any-return"
# (To Numba NumPy's integers and Python's are one type, to the checker they are two.)

from __future__ import annotations

import numpy as np

from ddz_env.core.engine.legal import bomb_ranks, holds_rocket
from ddz_env.core.engine.words import U0, U1, popcount
from ddz_env.core.rules import R_SPRING
from ddz_env.support.compiling import inline_kernel

WIN = 1
MOST_DOUBLINGS = 15
"""Thirteen bombs, the rocket and spring."""
LOWEST, HIGHEST = -MOST_DOUBLINGS, 1 + MOST_DOUBLINGS
PEASANTS_PLAYED = 4


@inline_kernel
def goal_after_bomb(goal: int) -> int:
    """Return the goal that the rest of the game must reach after a bomb or the rocket has been played."""
    if goal == WIN:
        return goal
    return goal - 1 if goal > WIN else goal + 1


@inline_kernel
def plays_after(plays: int, by_landlord: bool) -> int:
    """Update the encoded number of plays by each side, which decides whether a win is a spring.

    Args:
        plays: 0, 1 or 2 for that many or more by the landlord, plus ``PEASANTS_PLAYED`` for any by the peasants.
        by_landlord: Whether the landlord plays.
    """
    if not by_landlord:
        return plays | PEASANTS_PLAYED
    return plays + 1 if (plays & 3) < 2 else plays


@inline_kernel
def value_at_end(goal: int, by_landlord: bool, plays: int, rules: np.ndarray) -> int:
    """Return 1 if the landlord's goal is reached when a side has just played its last card, else 0."""
    spring = rules[R_SPRING] == U1
    if by_landlord:
        return 1 if goal <= (2 if spring and (plays & PEASANTS_PLAYED) == 0 else 1) else 0
    return 1 if goal <= (-1 if spring and (plays & 3) == 1 else 0) else 0


@inline_kernel
def spring_left(goal: int, plays: int, rules: np.ndarray) -> int:
    """Return a code for how a spring can still change the stake: 0 not at all, 1 by a win, 2 or 3 by a loss."""
    if goal == WIN or rules[R_SPRING] == U0:
        return 0
    if goal > WIN:
        return 1 if (plays & PEASANTS_PLAYED) == 0 else 0
    return 2 + (plays & 3) if (plays & 3) < 2 else 0


@inline_kernel
def count_bombs(hands: np.ndarray, rules: np.ndarray) -> int:
    """Count the bombs and rockets in all hands."""
    count = np.int64(0)
    for seat in range(3):
        count += np.int64(popcount(bomb_ranks(hands[seat], rules))) + (1 if holds_rocket(hands[seat], rules) else 0)
    return count


@inline_kernel
def value_if_decided(goal: int, hands: np.ndarray, plays: int, rules: np.ndarray) -> int:
    """Return 1 if the goal is certain to be reached, 0 if it cannot be reached any more, else -1."""
    if goal == WIN:
        return -1
    most = count_bombs(hands, rules) + (1 if spring_left(goal, plays, rules) != 0 else 0)
    if goal > WIN:
        return 0 if goal > WIN + most else -1
    return 1 if goal <= -most else -1


@inline_kernel
def is_decided_by_win(goal: int, by_landlord: bool) -> bool:
    """Return whether any win of the given side decides the goal in its favour, regardless of the stake."""
    return goal <= WIN if by_landlord else goal >= WIN
