"""Generalized advantage estimation for games of several seats, once a move.

J. Schulman et al., "High-dimensional continuous control using generalized advantage estimation", ICLR 2016, equation
16, with two changes that the game asks for:

* What follows a decision of a seat is that seat's *own* next decision, not the next step of the game, so the chain is
  kept seat by seat; what other seats do in between belongs to the transition.
* A decision is not a unit of time, a move is.  Between the stages of one move (the main group and its kickers) neither
  discount nor λ applies, and steps in which nothing is decided (a single legal action) count nothing: they have no
  value and no advantage, and the discount between the two decisions around them is that of one move.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from array_api_compat import array_namespace, device

from ddz_training.learn.errors import InvalidTrainingError

Array = npt.NDArray[Any]


class Advantages(NamedTuple):
    """What :func:`seat_advantages` computes.

    Attributes:
        advantages: Shape ``[steps, envs]``, float32; zero where not ``known``.
        targets: Advantages plus values, what the critic should have said, shape ``[steps, envs]``, float32; zero where
            not ``known``.
        known: The decisions whose seat decided again, or whose game ended, before the rollout did, shape
            ``[steps, envs]``, bool.
    """

    advantages: npt.NDArray[np.float32]
    targets: npt.NDArray[np.float32]
    known: npt.NDArray[np.bool_]


def seat_advantages(
    values: Array,
    rewards: Array,
    seats: Array,
    decides: Array,
    begins: Array,
    done: Array,
    *,
    gamma: float = 1.0,
    lam: float = 0.95,
) -> Advantages:
    """Advantages of the decisions of every seat.

    Args:
        values: The acting seat's value before the step, shape ``[steps, envs]``; read where ``decides``.
        rewards: What the step brought each seat, shape ``[steps, envs, seats]``.
        seats: The seat that acted, shape ``[steps, envs]``, integers.
        decides: Whether the step was a decision to learn from, shape ``[steps, envs]``, bool.
        begins: Whether the step began a move (it was no kicker stage), shape ``[steps, envs]``, bool.
        done: Whether the step ended the game, shape ``[steps, envs]``, bool.
        gamma: Discount a move.
        lam: λ a move.

    Returns:
        Advantages, targets and which of them are known.

    Raises:
        InvalidTrainingError: If ``gamma`` or ``lam`` is not in 0..1 or the shapes do not fit.

    Example:
        A seat decides twice, with another seat's step in between, and then wins:

        >>> import numpy as np
        >>> yes, no = np.ones((3, 1), bool), np.zeros((3, 1), bool)
        >>> rewards, done = np.zeros((3, 1, 2)), no.copy()
        >>> rewards[2, 0], done[2] = (1, -1), True
        >>> values, seats = np.array([[0.2], [0.0], [0.6]]), np.array([[0], [1], [0]])
        >>> found = seat_advantages(values, rewards, seats, yes, yes, done, lam=0.5)
        >>> [round(float(advantage), 3) for advantage in found.advantages[:, 0]]
        [0.6, -1.0, 0.4]
    """
    _check(values, rewards, (seats, decides, begins, done), gamma, lam)
    xp = array_namespace(values)
    (steps, envs), here_too = values.shape, {"device": device(values)}
    every = xp.arange(envs, **here_too)
    advantages, targets = (xp.zeros((steps, envs), dtype=xp.float32, **here_too) for _ in range(2))
    known = xp.zeros((steps, envs), dtype=xp.bool, **here_too)
    shape = (envs, rewards.shape[2])
    # What lies ahead of each seat: the value and advantage of its next decision, what it earns until then, whether
    # it begins another move on the way, and whether anything is known of it at all.
    next_value, next_advantage, earned = (xp.zeros(shape, dtype=xp.float64, **here_too) for _ in range(3))
    moved, ahead = (xp.zeros(shape, dtype=xp.bool, **here_too) for _ in range(2))
    once, discount, trace = (xp.asarray(x, dtype=xp.float64, **here_too) for x in (1.0, gamma, gamma * lam))
    for step in reversed(range(steps)):
        ended, acting = done[step], xp.astype(seats[step], xp.int64)
        next_value[ended], next_advantage[ended], earned[ended] = 0.0, 0.0, 0.0
        ahead[ended] = True
        earned += rewards[step]
        here = every[decides[step]]
        seat = acting[here]
        crossed = moved[here, seat]
        value = xp.astype(values[step, here], xp.float64)
        delta = earned[here, seat] + xp.where(crossed, discount, once) * next_value[here, seat] - value
        advantage = delta + xp.where(crossed, trace, once) * next_advantage[here, seat]
        sure = ahead[here, seat]
        advantages[step, here] = xp.astype(xp.where(sure, advantage, 0.0), xp.float32)
        targets[step, here] = xp.astype(xp.where(sure, advantage + value, 0.0), xp.float32)
        known[step, here] = sure
        # Without a successor the decision is a successor itself: its value stands for all that follows.
        next_value[here, seat], next_advantage[here, seat] = value, xp.where(sure, advantage, 0.0)
        earned[here, seat], moved[here, seat], ahead[here, seat] = 0.0, False, True
        moved[every, acting] |= begins[step]
    return Advantages(advantages, targets, known)


def _check(values: Array, rewards: Array, others: tuple[Array, ...], gamma: float, lam: float) -> None:
    for name, value in (("gamma", gamma), ("lam", lam)):
        if not 0.0 <= value <= 1.0:
            raise InvalidTrainingError(f"{name}={value!r} must be in 0..1")
    if values.ndim != 2 or rewards.shape[:2] != values.shape or any(other.shape != values.shape for other in others):
        shapes = ", ".join(str(list(array.shape)) for array in (values, rewards, *others))
        raise InvalidTrainingError(f"a rollout is [steps, envs], its rewards [steps, envs, seats]; got {shapes}")


def shared_rewards(rewards: Array, landlords: Array, players: int, objective: str) -> npt.NDArray[np.float32]:
    """One reward for each side: the landlord's, and its opposite for every peasant.

    Args:
        rewards: Returns by seat, shape ``[envs, 3]``.
        landlords: The landlord's seat, shape ``[envs]``, integers; negative where there is none.
        players: How many seats.
        objective: ``win``, or ``stake``: the landlord's return is then the sum over its opponents, of which one
            opponent's share is taken.

    Returns:
        Shape ``[envs, 3]``, float32.

    Example:
        >>> import numpy as np
        >>> shared_rewards(np.array([[1.0, -0.5, -0.5]]), np.array([0]), 3, "win").tolist()
        [[1.0, -1.0, -1.0]]
        >>> shared_rewards(np.array([[-4.0, 8.0, -4.0]]), np.array([1]), 3, "stake").tolist()
        [[-4.0, 4.0, -4.0]]
    """
    xp = array_namespace(rewards)
    every = xp.arange(len(rewards), device=device(rewards))
    there = landlords >= 0
    own = xp.where(there, rewards[every, xp.where(there, landlords, 0)], 0.0)
    if objective == "stake":
        own = own / (players - 1)
    shared = xp.stack([-own] * 3, axis=1)
    shared[every[there], landlords[there]] = own[there]
    shared[:, players:] = 0.0
    found: npt.NDArray[np.float32] = xp.astype(shared, xp.float32)
    return found
