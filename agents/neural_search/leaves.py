"""What a search asks the networks about its leaves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from agents.mcts.errors import InvalidSearchOptionError, check_choice
from agents.neural.model import Bytes, Floats, PolicyModel
from agents.neural_search.slots import Slots

LEAVES = ("auto", "critic", "value", "simulation")


@runtime_checkable
class GameCritic(Protocol):
    """A model that also values games of which it sees every hand, as determinizations are."""

    def value_of_games(self, observations: Bytes, masks: Bytes, concealed: Bytes) -> Floats:
        """Values for the observers, -1 to 1: :meth:`agents.neural.policy.NetworkPolicy.value_of_games`."""
        ...


def flattened(log_probabilities: Floats, temperature: float) -> Floats:
    """Priors at a temperature.

    Args:
        log_probabilities: Shape ``[n, 400]``, minus infinity where illegal.
        temperature: 1 leaves them alone; above 1 they come nearer to each other.

    Example:
        >>> np.exp(flattened(np.log(np.array([[0.9, 0.1]], np.float32)), 2.0)).round(2).tolist()
        [[0.75, 0.25]]
    """
    if temperature == 1.0:
        return log_probabilities
    # Beside the likeliest, so that at low temperatures not all of them vanish.
    scaled = (log_probabilities - log_probabilities.max(axis=1, keepdims=True)) / np.float32(temperature)
    result: Floats = scaled - np.log(np.exp(scaled).sum(axis=1, keepdims=True))
    return result


Evaluate = Callable[[Slots, npt.NDArray[np.intp]], tuple[Floats, Floats]]
"""Logarithms of the priors, shape ``[n, 400]``, and values, shape ``[n]``, of some of the slots."""


def leaf_kind(model: PolicyModel, leaf: str) -> str:
    """Whose value a leaf gets.

    Args:
        model: The model.
        leaf: ``critic``: of the game, every hand seen; ``value``: the policy's own, of the information set of the seat
            to act; ``simulation``: the networks give none; ``auto``: the critic if the model has one, else the value,
            and a simulation if the model was trained for stakes, whose values are no chances, or has no critic and its
            value was never taught, as after imitation.

    Raises:
        InvalidSearchOptionError: If there is no such leaf, the model has no critic, its values are stakes, or its value
            was never taught.
    """
    check_choice("leaf", leaf, LEAVES)
    objective = getattr(model, "objective", "win")
    if objective != "win":
        if leaf not in ("auto", "simulation"):
            raise InvalidSearchOptionError(
                f"leaf={leaf!r} needs values from -1 (lost) to 1 (won); this policy was trained for objective="
                f"{objective!r}: use leaf='simulation'"
            )
        return "simulation"
    has_critic = isinstance(model, GameCritic) and getattr(model, "critic", True) is not None
    if leaf == "critic" and not has_critic:
        raise InvalidSearchOptionError("leaf='critic' needs a model that values games; these weights hold no critic")
    has_value = getattr(model, "values_trained", True)
    if leaf == "value" and not has_value:
        raise InvalidSearchOptionError(
            "leaf='value' needs values that were taught; these weights learned moves only, by imitation: use "
            "leaf='simulation', or train them on (ddz train selfplay --init)"
        )
    if leaf == "auto":
        return "critic" if has_critic else "value" if has_value else "simulation"
    return leaf


def evaluator(model: PolicyModel, kind: str, temperature: float) -> Evaluate:
    """How the leaves of a search are evaluated.

    Args:
        model: The model.
        kind: As from :func:`leaf_kind`.
        temperature: Of the prior: above 1 it is flatter than the policy.
    """

    def evaluate(slots: Slots, rows: npt.NDArray[np.intp]) -> tuple[Floats, Floats]:
        observations, masks = slots.observations[rows].view(np.int8), slots.masks[rows].view(np.int8)
        log_probabilities, values = model.evaluate(observations, masks)
        if kind == "critic":
            assert isinstance(model, GameCritic)
            values = model.value_of_games(observations, masks, slots.concealed[rows].view(np.int8))
        return flattened(log_probabilities, temperature), values

    return evaluate
