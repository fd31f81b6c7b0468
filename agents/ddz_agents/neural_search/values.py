"""What the networks say of a search's leaves: priors, and values after some more decisions.

The critic errs most where much is still to be played.  Some moves later the same world has shown more of what follows
from the leaf, and everyone has moved as the policy does, each seat on what it sees: so the policy plays a leaf's game
on before the critic values it.

What a model has said of a position is kept until the next decision: most positions of a search come back.
Determinizations differ in hands that many positions do not see, several trees search the same ones, and what the policy
plays on from neighbouring leaves soon meets.  In a decision of the default search fewer than half of the positions are
different ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from ddz_agents.neural.model import Bytes, Floats, PolicyModel
from ddz_agents.neural_search.descent import Descents, describe_leaf
from ddz_agents.neural_search.players import RecognizedSeats, skip_known
from ddz_agents.worlds.determinize import Words
from ddz_env import View
from ddz_env.core.engine.layout import LANDLORD, NO_GAME, SEAT, WINNER
from ddz_env.core.engine.step import apply_and_record
from ddz_env.core.engine.tables import MASK_WORDS
from ddz_env.core.observation import action_mask, mask_bytes, observe
from ddz_env.support.compiling import kernel
from ddz_env.support.owned import OwnsArrays

AHEAD = 4
"""Decisions that the policy plays from a leaf before it is valued."""
_ALL = slice(None)
ROOM = 1 << 13
"""Positions that are kept; when there are more, all are forgotten."""


@runtime_checkable
class GameCritic(Protocol):
    """A model with a critic, which values games of which it sees every hand."""

    def value_of_games(self, observations: Bytes, masks: Bytes, concealed: Bytes) -> Floats:
        """Values for observers, -1 to 1: :meth:`ddz_agents.neural.compiled_policy.CompiledPolicy.value_of_games`."""
        ...


def leaf_kind(model: PolicyModel) -> str:
    """Whose value a leaf gets.

    Returns:
        ``critic``: of the game, every hand seen.  ``value``, where the model has no critic: the policy's own, of the
        information set of the seat to act.  ``playout``, where it was trained for stakes, which are not chances, or
        where its value was never taught either, as after imitation.
    """
    if getattr(model, "objective", "win") != "win":
        return "playout"
    if isinstance(model, GameCritic) and getattr(model, "critic", True) is not None:
        return "critic"
    return "value" if getattr(model, "values_trained", True) else "playout"


class Evaluator:
    """What the networks say of a search's positions.

    Args:
        model: The model.
        kind: Whose value a leaf gets, as from :func:`leaf_kind`.
        uniform_prior: Whether the prior is uniform instead of the policy's.

    Attributes:
        networks_value: Whether a leaf's value is the networks'.
    """

    def __init__(self, model: PolicyModel, kind: str, *, uniform_prior: bool = False) -> None:
        self._model, self._kind, self._uniform_prior = model, kind, uniform_prior
        self.networks_value = kind != "playout"

    def root(self, view: View) -> Floats:
        """Logarithms of the prior of the searcher's own decision, shape ``[400]``, float32."""
        mask = action_mask(view)[None]
        return (uniform_prior(mask) if self._uniform_prior else self._model.evaluate(observe(view)[None], mask)[0])[0]

    def leaves(self, descents: Descents, rules: Words, opponents: RecognizedSeats) -> tuple[Floats, Floats]:
        """Logarithms of the priors of leaves, ``[n, 400]``, and values for the seats to act, -1 to 1, ``[n]``.

        Args:
            descents: Copies of those that wait: they are played on.
            rules: The rules array.
            opponents: What is known of the other seats.
        """
        prior = uniform_prior(mask_bytes(descents.masks)) if self._uniform_prior else None
        if prior is not None and not self.networks_value:  # no network has a say
            return prior, np.zeros(len(prior), np.float32)
        log_probabilities, values = ask(self._model, descents)
        if self.networks_value:
            seats = descents.rows[:, SEAT].copy()
            play_on(self._model, descents, log_probabilities, AHEAD, rules, opponents)
            values = values_for(descents, seats, self._values)
        return (log_probabilities if prior is None else prior), values

    def _values(self, descents: Descents) -> Floats:
        """What positions are worth to the seats to act, shape ``[n]``."""
        return ask_critic(self._model, descents) if self._kind == "critic" else ask(self._model, descents)[1]


def uniform_prior(masks: Bytes) -> Floats:
    """Logarithms of a uniform choice among the legal actions, minus infinity for the others.

    Args:
        masks: 1 for a legal action, shape ``[n, 400]``.

    Returns:
        Shape ``[n, 400]``, float32.
    """
    with np.errstate(divide="ignore"):
        return np.log(masks / masks.sum(axis=1, keepdims=True, dtype=np.float32)).astype(np.float32)


def ask(model: PolicyModel, descents: Descents, chosen: slice | npt.NDArray[np.intp] = _ALL) -> tuple[Floats, Floats]:
    """The policy's logarithms of probabilities and its own values, where the descents are, or some of them."""
    return model.evaluate(descents.observations[chosen].view(np.int8), mask_bytes(descents.masks[chosen]))


def ask_critic(model: PolicyModel, descents: Descents) -> Floats:
    """The critic's values of the games for the seats to act, shape ``[n]``."""
    assert isinstance(model, GameCritic)
    seen = descents.observations.view(np.int8), mask_bytes(descents.masks), descents.concealed.view(np.int8)
    return model.value_of_games(*seen)


def values_for(descents: Descents, seats: Words, value: Callable[[Descents], Floats]) -> Floats:
    """What games are worth to some seats: 1, -1 or 0 where they are over, elsewhere what the networks say.

    Args:
        descents: The games.
        seats: For whom, shape ``[n]``, uint64.
        value: What games that go on are worth to the seats to act.

    Returns:
        Shape ``[n]``, float32.
    """
    winners, landlords = descents.rows[:, WINNER], descents.rows[:, LANDLORD]
    won = (seats == landlords) == (winners == landlords + np.uint64(1))
    values = np.where(winners == NO_GAME, 0, np.where(won, 1, -1)).astype(np.float32)
    waiting = np.flatnonzero(descents.waits)
    if len(waiting):
        landlords = landlords[waiting]  # of an auction at the leaf, the one that it has come to
        same_side = (descents.rows[waiting, SEAT] == landlords) == (seats[waiting] == landlords)
        found = value(descents.copied(waiting))
        values[waiting] = np.where(same_side, found, -found)
    return values


def play_on(
    model: PolicyModel,
    descents: Descents,
    log_probabilities: Floats,
    decisions: int,
    rules: Words,
    opponents: RecognizedSeats,
) -> None:
    """Let a policy play games on in place, its likeliest action each time.

    Args:
        model: The policy.
        descents: Games that wait for a decision; changed.
        log_probabilities: The policy's word on them, shape ``[n, 400]``, float32.
        decisions: How many are played in each; what is forced, or known, does not count.
        rules: The rules array.
        opponents: What is known of the other seats.
    """
    playing = np.arange(len(descents.waits))
    for number in range(decisions):
        if number:
            log_probabilities, _ = ask(model, descents, playing)
        _play_actions(descents, playing, log_probabilities.argmax(axis=1), rules, opponents)
        playing = playing[descents.waits[playing] != 0]
        if not len(playing):
            break


@kernel
def _play_actions(
    descents: Descents, places: np.ndarray, actions: np.ndarray, rules: np.ndarray, opponents: RecognizedSeats
) -> None:
    """Play an action in some games, and what needs no decision after it; describe the positions reached.

    Args:
        descents: The games; rows, rings, descriptions and ``waits`` are changed.
        places: Which of them, all waiting, shape ``[k]``, int64.
        actions: One for each of these, shape ``[k]``, int64.
        rules: The rules array.
        opponents: What is known of the other seats.
    """
    mask = np.empty(MASK_WORDS, np.uint64)
    for number in range(places.size):
        index = places[number]
        row, ring = descents.rows[index], descents.rings[index]
        apply_and_record(row, ring, np.uint64(actions[number]), rules)
        descents.waits[index] = skip_known(row, ring, rules, mask, opponents)
        if descents.waits[index]:
            describe_leaf(row, ring, rules, mask, descents, index)


class _AnswerCache(OwnsArrays):
    """Answers by position."""

    def __init__(self) -> None:
        self._known: dict[bytes, tuple[Floats, ...]] = {}

    def forget(self) -> None:
        """Begin anew."""
        self._known = {}

    def of(self, positions: Bytes, evaluate: Callable[[npt.NDArray[np.intp]], tuple[Floats, ...]]) -> list[Floats]:
        """The answers for one position or more; those that are new are evaluated, each once.

        Args:
            positions: Everything that an answer depends on, shape ``[n, bytes]``, int8.
            evaluate: Answers for some of the rows.
        """
        keys = [position.tobytes() for position in positions]
        if len(self._known) + len(keys) > ROOM:
            self.forget()
        new = {key: row for row, key in enumerate(keys) if key not in self._known}
        if new:
            answers = evaluate(np.fromiter(new.values(), np.intp))
            self._known.update(zip(new, zip(*answers, strict=True), strict=True))
        return [np.array(column) for column in zip(*(self._known[key] for key in keys), strict=True)]


class CachedModel:
    """A model that evaluates each position once, until :meth:`forget`.

    Args:
        model: The model; its answers for a row are taken not to depend on the other rows.
    """

    def __init__(self, model: PolicyModel) -> None:
        self._model, self._policy, self._critic = model, _AnswerCache(), _AnswerCache()

    def forget(self) -> None:
        """Forget all answers."""
        self._policy.forget()
        self._critic.forget()

    def evaluate(self, observations: Bytes, masks: Bytes) -> tuple[Floats, Floats]:
        """As :meth:`ddz_agents.neural.model.PolicyModel.evaluate`."""
        positions = np.concatenate([observations, masks], axis=1)
        logs, values = self._policy.of(positions, lambda new: self._model.evaluate(observations[new], masks[new]))
        return logs, values

    def value_of_games(self, observations: Bytes, masks: Bytes, concealed: Bytes) -> Floats:
        """As :meth:`GameCritic.value_of_games`; the legal actions do not count."""
        model = self._model
        assert isinstance(model, GameCritic)
        positions = np.concatenate([observations, concealed], axis=1)
        values, *_ = self._critic.of(
            positions, lambda new: (model.value_of_games(observations[new], masks[new], concealed[new]),)
        )
        return values
