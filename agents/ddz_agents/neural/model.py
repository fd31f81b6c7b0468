"""The interface through which agents and searches evaluate a learned policy, whatever runtime computes it."""

from __future__ import annotations

from typing import Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from ddz_agents.neural.errors import InvalidPolicyInputError
from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.core.observation import OBSERVATION_SIZE

Floats = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.int8]
LeafValue = Literal["critic", "value", "playout"]


@runtime_checkable
class PolicyModel(Protocol):
    """The interface of a policy that returns action probabilities and values for a batch of observations.

    Attributes:
        leaf: What a search with it takes a leaf to be worth.  ``critic``: what its critic says of the game, every hand
            seen (:class:`GameCritic`).  ``value``: its own value, of what the
            seat to act sees.  ``playout``: how a random game ends, where its values are no chances of winning.
    """

    leaf: LeafValue

    def evaluate(self, observations: Bytes, masks: Bytes) -> tuple[Floats, Floats]:
        """Return the action log-probabilities and the values for a batch of ``n`` observations.

        Args:
            observations: Shape ``[n, OBSERVATION_SIZE]``, int8, by the table ``OBSERVATION``.
            masks: Shape ``[n, 400]``, int8, non-zero where legal; at least one action per row.

        Returns:
            Logarithms of the probabilities, shape ``[n, 400]``, minus infinity where illegal; the values for the
            observers, shape ``[n]``: -1 (lost) to 1 (won) where ``leaf`` is ``value``.
        """
        ...


@runtime_checkable
class GameCritic(Protocol):
    """A model with a critic, which values a game with all three hands known."""

    def value_of_games(self, observations: Bytes, masks: Bytes, concealed: Bytes) -> Floats:
        """Return the critic's values of games with all three hands known, from -1 to 1, for the seats to act."""
        ...


def choose_leaf_value(objective: str, values_trained: bool, has_critic: bool = False) -> LeafValue:
    """Choose how a search values leaves (critic, policy value or playout) from how the policy was trained.

    Args:
        objective: What it was trained for: ``win``, or ``stake``, of which values are not chances.
        values_trained: Whether its own value was taught; imitation teaches moves only.
        has_critic: Whether a critic came with it.
    """
    if objective != "win":
        return "playout"
    if has_critic:
        return "critic"
    return "value" if values_trained else "playout"


def check_batch(observations: Bytes, masks: Bytes) -> None:
    """Check the shapes and types of observations and masks, and that every mask allows an action.

    Raises:
        InvalidPolicyInputError: If a shape or type is wrong or a row has no legal action.
    """
    for name, array, size in (("observations", observations, OBSERVATION_SIZE), ("masks", masks, NUM_ACTIONS)):
        check_bytes(name, array, len(observations), size)
    empty = np.flatnonzero(~masks.any(axis=1))
    if len(empty):
        raise InvalidPolicyInputError(f"row {empty[0]} has no legal action: is the game over?")


def check_bytes(name: str, array: Bytes, count: int, size: int) -> None:
    """Check that an array is int8 and has the shape ``[count, size]``.

    Raises:
        InvalidPolicyInputError: If it is not int8 of shape ``[count, size]``.
    """
    if array.dtype != np.int8 or array.shape != (count, size):
        raise InvalidPolicyInputError(
            f"{name} must be int8 of shape [{count}, {size}]; got {array.dtype} of shape {list(array.shape)}"
        )
