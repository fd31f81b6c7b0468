"""What the networks say of a search's leaves: priors, and values, after some more decisions if so wished.

The critic errs most where much is still to be played.  Some moves later the same world has shown more of what follows
from the leaf, and everyone has moved as the policy does, each seat on what it sees: so the policy may play a leaf's
game on before the critic is asked.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from ddz_agents.neural.model import Bytes, Floats, PolicyModel
from ddz_agents.neural_search.descent import Answers, Descents, describe_leaf
from ddz_agents.neural_search.opponent_model import OpponentModel, nobody, skip_known
from ddz_agents.tree_search.simulate import reward_of
from ddz_agents.worlds.determinize import Words
from ddz_env.core.engine.compiling import kernel
from ddz_env.core.engine.layout import LANDLORD, SEAT
from ddz_env.core.engine.step import apply_and_record
from ddz_env.core.engine.tables import MASK_WORDS
from ddz_env.core.errors import InvalidAgentOptionError
from ddz_env.core.observation import mask_bytes


@runtime_checkable
class GameCritic(Protocol):
    """A model that also values games of which it sees every hand, as determinizations are."""

    def value_of_games(self, observations: Bytes, masks: Bytes, concealed: Bytes) -> Floats:
        """Values for observers, -1 to 1: :meth:`ddz_agents.neural.compiled_policy.CompiledPolicy.value_of_games`."""
        ...


def leaf_kind(model: PolicyModel, leaf: str) -> str:
    """Whose value a leaf gets.

    Args:
        model: The model.
        leaf: ``critic``: of the game, every hand seen; ``value``: the policy's own, of the information set of the seat
            to act; ``simulation``: the networks give none; ``auto``: the critic if the model has one, else the value,
            and a simulation if the model was trained for stakes, whose values are no chances, or has no critic and its
            value was never taught, as after imitation.

    Raises:
        InvalidAgentOptionError: If the model has no critic, its values are stakes, or its value was never taught.
    """
    objective = getattr(model, "objective", "win")
    if objective != "win":
        if leaf not in ("auto", "simulation"):
            raise InvalidAgentOptionError(
                f"leaf={leaf!r} needs values from -1 (lost) to 1 (won); this policy was trained for objective="
                f"{objective!r}: use leaf='simulation'"
            )
        return "simulation"
    has_critic = isinstance(model, GameCritic) and getattr(model, "critic", True) is not None
    if leaf == "critic" and not has_critic:
        raise InvalidAgentOptionError("leaf='critic' needs a model that values games; these weights hold no critic")
    has_value = getattr(model, "values_trained", True)
    if leaf == "value" and not has_value:
        raise InvalidAgentOptionError(
            "leaf='value' needs values that were taught; these weights learned moves only, by imitation: use "
            "leaf='simulation', or train them further (ddz train selfplay --init)"
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
        leaf_plies: Decisions that the policy plays on before a leaf is valued.

    Attributes:
        values_leaves: Whether a leaf's value is the networks'.
    """

    def __init__(self, model: PolicyModel, kind: str, temperature: float, leaf_plies: int = 0) -> None:
        self._model, self._kind, self._temperature = model, kind, temperature
        self.values_leaves = kind != "simulation"
        self._leaf_plies = leaf_plies if self.values_leaves else 0

    def priors(self, descents: Descents) -> tuple[Floats, Floats]:
        """Logarithms of the priors of some positions, and of the policy's own probabilities, both ``[n, 400]``."""
        own, _ = ask(self._model, descents)
        return flattened(own, self._temperature), own

    def leaves(self, descents: Descents, rules: Words, opponents: OpponentModel | None = None) -> Answers:
        """Priors and values of leaves.

        Args:
            descents: Copies of those that wait: they are played on.
            rules: The rules array.
            opponents: What is known of the other seats; nothing if not given.
        """
        log_probabilities, values = ask(self._model, descents)
        if self._leaf_plies:
            played = play_on(self._model, descents, log_probabilities, self._leaf_plies, rules, opponents)
            values = played.values
            if len(played.places):
                found = self.values(played.descents)
                values[played.places] = np.where(played.same_side, found, -found)
        elif self._kind == "critic":
            values = self.values(descents)
        return Answers(flattened(log_probabilities, self._temperature), values)

    def values(self, descents: Descents) -> Floats:
        """What positions are worth to the seats to act, shape ``[n]``."""
        if self._kind != "critic":
            return ask(self._model, descents)[1]
        assert isinstance(self._model, GameCritic)
        seen = descents.observations.view(np.int8), mask_bytes(descents.masks), descents.concealed.view(np.int8)
        return self._model.value_of_games(*seen)


def ask(model: PolicyModel, descents: Descents) -> tuple[Floats, Floats]:
    """The policy's logarithms of probabilities and its own values, where the descents are."""
    return model.evaluate(descents.observations.view(np.int8), mask_bytes(descents.masks))


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


class Played(NamedTuple):
    """Games that a policy has played on.

    Attributes:
        values: For the seats that were to act at first, shape ``[n]``, float32: 1 or -1 where the game ended, 0 where
            nobody had bid; not written where it did not end.
        places: The games that did not end.
        descents: Where these stand.
        same_side: Whether the seat to act there is on the side of the seat that was to act at first.
    """

    values: Floats
    places: npt.NDArray[np.intp]
    descents: Descents
    same_side: npt.NDArray[np.bool_]


def play_on(
    model: PolicyModel,
    descents: Descents,
    log_probabilities: Floats,
    decisions: int,
    rules: Words,
    opponents: OpponentModel | None = None,
) -> Played:
    """Let a policy play games on, its likeliest action each time.

    Args:
        model: The policy.
        descents: Games that wait for a decision; changed.
        log_probabilities: The policy's word on them, shape ``[n, 400]``, float32.
        decisions: How many are played in each; what is forced, or known, does not count.
        rules: The rules array.
        opponents: What is known of the other seats; nothing if not given.
    """
    opponents = opponents or nobody()
    seats, values = descents.rows[:, SEAT].copy(), np.empty(len(descents.rows), np.float32)
    places = np.arange(len(seats))
    for number in range(decisions):
        if number:
            log_probabilities, _ = ask(model, descents)
        _play_actions(descents, log_probabilities.argmax(axis=1), rules, opponents)
        found = np.empty(len(places), np.float32)
        write_results(descents, seats[places], found)
        over = descents.waits == 0
        values[places[over]] = found[over]
        left = np.flatnonzero(~over)
        descents, places = descents.copied(left), places[left]
        if not len(left):
            break
    landlords = descents.rows[:, LANDLORD]  # of an auction at the leaf, the one that it has come to
    same_side = (descents.rows[:, SEAT] == landlords) == (seats[places] == landlords)
    return Played(values, places, descents, same_side)


@kernel
def _play_actions(descents: Descents, actions: np.ndarray, rules: np.ndarray, opponents: OpponentModel) -> None:
    """Play an action in every waiting game, and what needs no decision after it; describe where it then stands.

    Args:
        descents: The games; rows, rings, descriptions and ``waits`` are changed.
        actions: One for each of them, waiting or not, shape ``[n]``, int64.
        rules: The rules array.
        opponents: What is known of the other seats.
    """
    mask = np.empty(MASK_WORDS, np.uint64)
    for index in range(actions.size):
        if not descents.waits[index]:
            continue
        row, ring = descents.rows[index], descents.rings[index]
        apply_and_record(row, ring, np.uint64(actions[index]), rules)
        descents.waits[index] = skip_known(row, ring, rules, mask, opponents)
        if descents.waits[index]:
            describe_leaf(row, ring, rules, mask, descents, index)


@kernel
def write_results(descents: Descents, seats: np.ndarray, values: np.ndarray) -> None:
    """Write what finished games brought: 1, -1, or 0 where all declined to be landlord.

    Args:
        descents: The games.
        seats: For whom, shape ``[n]``, uint64.
        values: Output, shape ``[n]``, float32; those of waiting games are left alone.
    """
    for index in range(seats.size):
        if not descents.waits[index]:
            values[index] = np.float32(2.0) * reward_of(descents.rows[index], seats[index]) - np.float32(1.0)
