"""What a search asks the networks about its leaves."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from agents.mcts.errors import InvalidSearchOptionError, check_choice
from agents.neural.model import Bytes, Floats, PolicyModel
from agents.neural_search.playing_on import play_on
from agents.neural_search.slots import Slots
from ddz_env.observation import mask_bytes

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


class Evaluator:
    """What the networks say of a search's positions.

    Args:
        model: The model.
        kind: Whose value a leaf gets, as from :func:`leaf_kind`.
        temperature: Of the prior: above 1 it is flatter than the policy.
        ahead: Decisions that the policy plays on before a leaf is valued (:mod:`agents.neural_search.playing_on`).
    """

    def __init__(self, model: PolicyModel, kind: str, temperature: float, ahead: int = 0) -> None:
        self._model, self._kind, self._temperature = model, kind, temperature
        self._ahead = ahead if kind != "simulation" else 0

    def priors(self, slots: Slots) -> tuple[Floats, Floats]:
        """Logarithms of the priors of some positions, and of the policy's own probabilities, both ``[n, 400]``."""
        own, _ = self._ask(slots)
        return flattened(own, self._temperature), own

    def leaves(self, slots: Slots, rules: npt.NDArray[np.uint64]) -> tuple[Floats, Floats]:
        """Logarithms of the priors of leaves, shape ``[n, 400]``, and their values for the seats to act, shape ``[n]``.

        Args:
            slots: Copies of the leaves' slots: they are played on.
            rules: The rules array.
        """
        log_probabilities, values = self._ask(slots)
        if self._ahead:
            values = play_on(self._model, slots, log_probabilities, self._ahead, rules, self._values)
        elif self._kind == "critic":
            values = self._values(slots)
        return flattened(log_probabilities, self._temperature), values

    def _ask(self, slots: Slots) -> tuple[Floats, Floats]:
        return self._model.evaluate(slots.observations.view(np.int8), mask_bytes(slots.masks))

    def _values(self, slots: Slots) -> Floats:
        if self._kind != "critic":
            return self._ask(slots)[1]
        assert isinstance(self._model, GameCritic)
        seen = slots.observations.view(np.int8), mask_bytes(slots.masks), slots.concealed.view(np.int8)
        return self._model.value_of_games(*seen)
