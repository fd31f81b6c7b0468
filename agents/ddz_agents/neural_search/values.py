"""Value functions for the leaves of a search, which return -1 to 1 for the seats to act.

A value is any function of :class:`~ddz_agents.neural_search.leaf_games.LeafBatch` and a generator.  It may play their
games on.  It is not asked before there is a landlord, when nobody's side is known.

The critic errs most where much is still to be played.  Some moves later the same world has shown more of what follows
from the leaf, and everyone has moved as the policy does, each seat on what it sees: so the policy plays a leaf's game
on before the critic values it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import numpy.typing as npt

from ddz_agents.neural.model import Floats, GameCritic, PolicyModel
from ddz_agents.neural_search.leaf_games import LeafBatch, LeafGames, play_actions, play_forced
from ddz_agents.tree_search.search import reward_of, simulate_random
from ddz_agents.worlds.determinize import Words
from ddz_env.core.engine.layout import LANDLORD, NO_GAME, SEAT, WINNER
from ddz_env.core.engine.random import stream_state
from ddz_env.core.engine.tables import MASK_WORDS
from ddz_env.core.observation import mask_bytes
from ddz_env.support.compiling import kernel
from ddz_env.support.errors import InvalidAgentOptionError

_ALL = slice(None)


class PolicyValue:
    """A value function that lets the policy play on for a few decisions, then asks its critic or value head.

    Args:
        model: The policy, whose likeliest actions are played; with a critic or a value of its own.
        leaf: ``critic`` for the critic, which sees all three hands, ``value`` for the policy's own value.
        steps: Decisions that the policy plays in each game first; what is forced does not count.

    Raises:
        InvalidAgentOptionError: If a critic is wanted that the model lacks.
    """

    def __init__(self, model: PolicyModel, leaf: Literal["critic", "value"], steps: int = 4) -> None:
        if leaf == "critic" and model.leaf != "critic":
            raise InvalidAgentOptionError("PolicyValue(leaf='critic') needs a policy with a critic, such as policy-v3")
        self._model, self._leaf, self._steps = model, leaf, steps

    def __call__(self, leaves: LeafBatch, rng: np.random.Generator) -> Floats:
        """Return values for the seats to act, -1 to 1, shape ``[n]``, float32, playing the games on in place."""
        games = leaves.games
        seats = games.rows[:, SEAT].copy()
        play_policy_steps(self._model, games, self._steps, leaves.rules.words())
        return values_for_seats(games, seats, self._values)

    def _values(self, games: LeafGames) -> Floats:
        """Return the values of positions for the seats to act, by the critic or the policy, shape ``[n]``."""
        if self._leaf == "critic":
            return evaluate_with_critic(self._model, games)
        return evaluate_games(self._model, games)[1]


def random_playouts(leaves: LeafBatch, rng: np.random.Generator) -> Floats:
    """Return 1 or -1 for the seats to act, shape ``[n]``, float32, after a random playout of each game.

    A playout takes a finishing move at once.
    """
    seats = leaves.games.rows[:, SEAT].copy()
    landlords, chances = play_out_randomly(leaves.games.rows, leaves.rules.words(), rng)
    return np.where(seats == landlords, 2 * chances - 1, 1 - 2 * chances).astype(np.float32)


def play_out_randomly(rows: Words, rules: Words, rng: np.random.Generator) -> tuple[Words, Floats]:
    """Play games to their ends at random, in place; return each game's landlord and that seat's result, 0 to 1.

    Args:
        rows: The games, shape ``[n, 32]``, uint64; changed.
        rules: The rules array.
        rng: The only source of randomness.

    Returns:
        The landlords, shape ``[n]``, uint64, and 1 where they win, 0 where not, one half where everybody declined to be
        landlord, shape ``[n]``, float32.
    """
    chances = np.empty(len(rows), np.float32)
    _play_rows_out(rows, rules, rng.integers(0, 2**64, dtype=np.uint64), chances)
    return rows[:, LANDLORD].copy(), chances


@kernel
def _play_rows_out(rows: np.ndarray, rules: np.ndarray, seed: np.uint64, chances: np.ndarray) -> None:
    """Play games to their ends at random, and write the landlord's result of each game."""
    mask = np.empty(MASK_WORDS, np.uint64)
    for index in range(rows.shape[0]):
        row = rows[index]
        simulate_random(row, rules, mask, stream_state(seed, np.uint64(index)), True)
        chances[index] = reward_of(row, row[LANDLORD])


def evaluate_games(
    model: PolicyModel, games: LeafGames, chosen: slice | npt.NDArray[np.intp] = _ALL
) -> tuple[Floats, Floats]:
    """Return the policy's log-probabilities, shape ``[n, 400]``, and values, shape ``[n]``, in the chosen games."""
    return model.evaluate(games.observations[chosen].view(np.int8), mask_bytes(games.masks[chosen]))


def evaluate_with_critic(model: PolicyModel, games: LeafGames) -> Floats:
    """Return the critic's values of games for the seats to act, shape ``[n]``."""
    assert isinstance(model, GameCritic)
    seen = games.observations.view(np.int8), mask_bytes(games.masks), games.concealed.view(np.int8)
    return model.value_of_games(*seen)


def values_for_seats(games: LeafGames, seats: Words, value: Callable[[LeafGames], Floats]) -> Floats:
    """Return the values of games for given seats: the result of a finished game, else an estimate.

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
        landlords = landlords[waiting]
        same_side = (games.rows[waiting, SEAT] == landlords) == (seats[waiting] == landlords)
        to_act = value(games.part(waiting))
        values[waiting] = np.where(same_side, to_act, -to_act)
    return values


def play_policy_steps(model: PolicyModel, games: LeafGames, decisions: int, rules: Words) -> None:
    """Play a given number of a policy's most likely actions in each game, in place.

    Args:
        model: The policy.
        games: Games that wait for a decision; changed.
        decisions: How many are played in each; what is forced does not count.
        rules: The rules array.
    """
    playing = np.arange(len(games.waits))
    for _ in range(decisions):
        play_actions(games, playing, evaluate_games(model, games, playing)[0].argmax(axis=1), rules)
        play_forced(games, playing, rules)
        playing = playing[games.waits[playing] != 0]
        if not len(playing):
            break
