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

from ddz_agents.neural.model import Bytes, Floats, Leaf, PolicyModel
from ddz_agents.neural_search.games import SearchGames, play_forced
from ddz_agents.tree_search.search import reward_of, simulate_random
from ddz_agents.worlds.determinize import Words
from ddz_env import View
from ddz_env.core.engine.layout import LANDLORD, NO_GAME, NO_SEAT, SEAT, WINNER
from ddz_env.core.engine.step import apply_and_record
from ddz_env.core.engine.tables import MASK_WORDS
from ddz_env.core.observation import action_mask, mask_bytes, observe
from ddz_env.support.compiling import kernel
from ddz_env.support.owned import OwnsArrays

_ALL = slice(None)
_NO_SEAT = np.uint64(NO_SEAT)
ROOM = 1 << 13
"""Positions that are kept; when there are more, all are forgotten."""


@runtime_checkable
class GameCritic(Protocol):
    """A model with a critic, which values a game from all three hands."""

    def value_of_games(self, observations: Bytes, masks: Bytes, concealed: Bytes) -> Floats:
        """Values for observers, -1 to 1: :meth:`ddz_agents.neural.compiled_policy.CompiledPolicy.value_of_games`."""
        ...


class Evaluator:
    """Asks the networks for priors and values of a search's positions.

    Args:
        model: The model.
        leaf: What a leaf is worth.
        ahead: Decisions that the policy plays from a leaf before a network values it.
        uniform_prior: Whether the prior is uniform instead of the policy's.

    Attributes:
        networks_value: Whether a leaf's value is the networks'.
    """

    def __init__(self, model: PolicyModel, leaf: Leaf, ahead: int, *, uniform_prior: bool = False) -> None:
        self._model, self._leaf, self._ahead, self._uniform_prior = model, leaf, ahead, uniform_prior
        self.networks_value = leaf != "playout"

    def root(self, view: View) -> Floats:
        """Logarithms of the prior of the searcher's own decision, shape ``[400]``, float32."""
        mask = action_mask(view)[None]
        return (uniform_prior(mask) if self._uniform_prior else self._model.evaluate(observe(view)[None], mask)[0])[0]

    def leaves(self, games: SearchGames, rules: Words) -> tuple[Floats, Floats]:
        """Logarithms of the priors of leaves, ``[n, 400]``, and values for the seats to act, -1 to 1, ``[n]``.

        Args:
            games: Copies of those at leaves: they are played on.
            rules: The rules array.
        """
        prior = uniform_prior(mask_bytes(games.masks)) if self._uniform_prior else None
        if prior is not None and not self.networks_value:  # no network has a say
            return prior, np.zeros(len(prior), np.float32)
        log_probabilities, values = ask(self._model, games)
        if self.networks_value:
            seats = games.rows[:, SEAT].copy()
            play_on(self._model, games, log_probabilities, self._ahead, rules)
            values = values_for(games, seats, self._values)
        return (log_probabilities if prior is None else prior), values

    def _values(self, games: SearchGames) -> Floats:
        """What positions are worth to the seats to act, shape ``[n]``."""
        return ask_critic(self._model, games) if self._leaf == "critic" else ask(self._model, games)[1]


def uniform_prior(masks: Bytes) -> Floats:
    """Logarithms of a uniform choice among the legal actions, minus infinity for the others.

    Args:
        masks: 1 for a legal action, shape ``[n, 400]``.

    Returns:
        Shape ``[n, 400]``, float32.
    """
    with np.errstate(divide="ignore"):
        return np.log(masks / masks.sum(axis=1, keepdims=True, dtype=np.float32)).astype(np.float32)


def ask(model: PolicyModel, games: SearchGames, chosen: slice | npt.NDArray[np.intp] = _ALL) -> tuple[Floats, Floats]:
    """The policy's log-probabilities in some waiting games, ``[n, 400]``, and its own values, ``[n]``."""
    return model.evaluate(games.observations[chosen].view(np.int8), mask_bytes(games.masks[chosen]))


def ask_critic(model: PolicyModel, games: SearchGames) -> Floats:
    """The critic's values of the games for the seats to act, shape ``[n]``."""
    assert isinstance(model, GameCritic)
    seen = games.observations.view(np.int8), mask_bytes(games.masks), games.concealed.view(np.int8)
    return model.value_of_games(*seen)


def values_for(games: SearchGames, seats: Words, value: Callable[[SearchGames], Floats]) -> Floats:
    """What games are worth to some seats: 1, -1 or 0 where they are over, elsewhere what the networks say.

    Args:
        games: The games.
        seats: For whom, shape ``[n]``, uint64.
        value: What games that go on are worth to the seats to act.

    Returns:
        Shape ``[n]``, float32.
    """
    winners, landlords = games.rows[:, WINNER], games.rows[:, LANDLORD]
    won = (seats == landlords) == (winners == landlords + np.uint64(1))
    values = np.where(winners == NO_GAME, 0, np.where(won, 1, -1)).astype(np.float32)
    waiting = np.flatnonzero(games.waits)
    if len(waiting):
        landlords = landlords[waiting]  # of an auction at the leaf, the one that it has come to
        same_side = (games.rows[waiting, SEAT] == landlords) == (seats[waiting] == landlords)
        to_act = value(games.part(waiting))
        values[waiting] = np.where(same_side, to_act, -to_act)
    return values


def play_on(model: PolicyModel, games: SearchGames, log_probabilities: Floats, decisions: int, rules: Words) -> None:
    """Let a policy play games on in place, its likeliest action each time.

    Args:
        model: The policy.
        games: Games that wait for a decision; changed.
        log_probabilities: The policy's word on them, shape ``[n, 400]``, float32.
        decisions: How many are played in each; what is forced does not count.
        rules: The rules array.
    """
    playing = np.arange(len(games.waits))
    for number in range(decisions):
        if number:
            log_probabilities, _ = ask(model, games, playing)
        play_actions(games, playing, log_probabilities.argmax(axis=1), rules)
        play_forced(games, playing, rules)
        playing = playing[games.waits[playing] != 0]
        if not len(playing):
            break


@kernel
def play_actions(games: SearchGames, chosen: np.ndarray, actions: np.ndarray, rules: np.ndarray) -> None:
    """Play an action in each of the chosen games.

    Args:
        games: The games; changed.
        chosen: Which of them, shape ``[k]``, int64.
        actions: A legal action of each, shape ``[k]``, int64.
        rules: The rules array.
    """
    for number in range(chosen.size):
        index = chosen[number]
        apply_and_record(games.rows[index], games.rings[index], np.uint64(actions[number]), rules)


@kernel
def landlord_chances(
    games: SearchGames,
    values: np.ndarray,
    networks_value: bool,
    rules: np.ndarray,
    state: np.uint64,
    chances: np.ndarray,
) -> np.uint64:
    """Value the leaves of a tree for the landlord; those that the networks do not value are played to their end.

    Args:
        games: The games at the leaves, of which those that wait are valued.
        values: What the networks say for the seats to act, -1 to 1, in the order of those that wait, shape ``[n]``,
            float32.
        networks_value: Whether that is a leaf's value.
        rules: The rules array.
        state: The generator's state.
        chances: Output, 0 to 1, shape ``[n]``, float32.

    Returns:
        The generator's new state.
    """
    mask = np.empty(MASK_WORDS, np.uint64)
    leaf = 0
    for index in range(games.waits.size):
        if not games.waits[index]:
            continue
        row = games.rows[index]
        if networks_value and row[LANDLORD] != _NO_SEAT:
            value = min(max(values[leaf], np.float32(-1.0)), np.float32(1.0))
            chances[leaf] = (np.float32(1.0) + (value if row[SEAT] == row[LANDLORD] else -value)) / np.float32(2.0)
        else:  # before there is a landlord, no value says which side a seat will be on
            state = simulate_random(row, rules, mask, state, True)
            chances[leaf] = reward_of(row, row[LANDLORD])
        leaf += 1
    return state


class _AnswerCache(OwnsArrays):
    """Remembers a model's answers by position."""

    def __init__(self) -> None:
        self._answers: dict[bytes, tuple[Floats, ...]] = {}

    def forget(self) -> None:
        """Forget all answers."""
        self._answers = {}

    def of(self, positions: Bytes, evaluate: Callable[[npt.NDArray[np.intp]], tuple[Floats, ...]]) -> list[Floats]:
        """The answers for one position or more; those that are new are evaluated, each once.

        Args:
            positions: Everything that an answer depends on, shape ``[n, bytes]``, int8.
            evaluate: Answers for some of the rows.
        """
        keys = [position.tobytes() for position in positions]
        if len(self._answers) + len(keys) > ROOM:
            self.forget()
        new = {key: row for row, key in enumerate(keys) if key not in self._answers}
        if new:
            columns = evaluate(np.fromiter(new.values(), np.intp))
            self._answers.update(zip(new, zip(*columns, strict=True), strict=True))
        return [np.array(column) for column in zip(*(self._answers[key] for key in keys), strict=True)]


class CachedModel:
    """A model that evaluates each position once, until :meth:`forget`.

    Args:
        model: The model; its answers for a row are taken not to depend on the other rows.
    """

    def __init__(self, model: PolicyModel) -> None:
        self._model, self._policy, self._critic = model, _AnswerCache(), _AnswerCache()
        self.leaf = model.leaf

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
