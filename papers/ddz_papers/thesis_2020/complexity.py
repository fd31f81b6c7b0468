"""The complexity of a game: counts of deals and states, random games, and stopping rules for sampling.

Counts are exact, or the thesis's estimates (Wang Zhengfei, Peking University 2020, section 4.1).  Random games choose
uniformly at every decision; complexity is computed from the winner, the length and the choices of each.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_env import State
from ddz_env.core.engine.layout import LANDLORD, ROW_WORDS, STAGE, STAGE_OVER, WINNER
from ddz_env.core.engine.moves import list_moves
from ddz_env.core.engine.random import advance, mix, scale_below, stream_state
from ddz_env.core.engine.step import play_move
from ddz_env.core.engine.words import U1
from ddz_env.support.compiling import kernel
from ddz_env.support.errors import DouDizhuError, install_hint

# --- Counts -----------------------------------------------------------------------------------------------------------

LANDLORD_HAND, LANDLORD_CARDS, PEASANT_HAND = 17, 3, 17


def count_deals() -> int:
    """Return the number of deals with distinct suits and known landlord cards, a factor of the state count.

    Example:
        >>> f"{count_deals():.1e}"
        '8.5e+26'
    """
    landlord = LANDLORD_HAND + LANDLORD_CARDS
    return math.comb(54, landlord) * math.comb(landlord, LANDLORD_CARDS) * math.comb(34, PEASANT_HAND)


def bound_states() -> int:
    """Return the thesis's bound on the number of states: the deals times the ``2**54`` sets of played cards."""
    return count_deals() * 2**54


def tree_exponent(branching: float, length: float) -> float:
    """Estimate log10 of the game-tree size by the thesis: deals × peasants' hands × branching ** length."""
    return math.log10(count_deals()) + math.log10(math.comb(34, PEASANT_HAND)) + length * math.log10(branching)


# --- Random games -----------------------------------------------------------------------------------------------------

_COMMON_MOVES = 1024


class Playouts(NamedTuple):
    """The rewards, lengths and numbers of choices of random games, with one entry per game.

    Attributes:
        rewards: The landlord's, +1 or -1, ``[games]`` float64.
        lengths: Decisions, passes included, ``[games]`` int64.
        choices: Legal moves (by ranks) summed over all decisions, ``[games]`` int64.
    """

    rewards: npt.NDArray[np.float64]
    lengths: npt.NDArray[np.int64]
    choices: npt.NDArray[np.int64]


def play_random_games(states: Sequence[State], games: int, seed: int, first: int = 0) -> Playouts:
    """Play games to the end with uniformly random moves, and return their results.

    Args:
        states: Where they begin, under the same rules and at the start of a decision of play; game ``i`` begins at
            state ``i`` modulo their number.
        games: How many.
        seed: The seed; game ``i`` has the stream ``first + i``, so that games may be played in pieces.
        first: Number of the first game.

    Example:
        >>> games = play_random_games([State.from_hands(["34", "5", "6"], check_sizes=False)], 100, seed=1)
        >>> int(games.lengths.min()), int(games.choices.min())
        (2, 4)
    """
    starts = np.stack([state.row for state in states])
    return Playouts(*_play_random_games(starts, states[0].rule_words, np.uint64(seed), first, games))


@kernel
def _play_random_games(
    starts: np.ndarray, rules: np.ndarray, seed: np.uint64, first: int, games: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Play the games of :func:`play_random_games` from game-state arrays, ``[starts, 32]`` uint64."""
    rewards, lengths = np.empty(games, np.float64), np.zeros(games, np.int64)
    choices = np.zeros(games, np.int64)
    row = np.empty(ROW_WORDS, np.uint64)
    mains, kickers = np.empty(_COMMON_MOVES, np.uint64), np.empty(_COMMON_MOVES, np.uint64)
    for game in range(games):
        row[:] = starts[(first + game) % len(starts)]
        state = stream_state(seed, np.uint64(first + game))
        while row[STAGE] != STAGE_OVER:
            count = list_moves(row, rules, mains, kickers)
            if count > mains.size:
                mains, kickers = np.empty(2 * count, np.uint64), np.empty(2 * count, np.uint64)
                list_moves(row, rules, mains, kickers)
            state = advance(state)
            chosen = np.int64(scale_below(mix(state), np.uint64(count)))
            play_move(row, mains[chosen], kickers[chosen], rules)
            lengths[game] += 1
            choices[game] += count
        rewards[game] = 1.0 if row[WINNER] - U1 == row[LANDLORD] else -1.0
    return rewards, lengths, choices


BOARD_GAMES = ("othello", "oware")


def load_board_game(name: str) -> Any:
    """Load an OpenSpiel game by its name, as a ``pyspiel.Game``.

    Raises:
        DouDizhuError: If OpenSpiel is not installed.
    """
    try:
        import pyspiel
    except ImportError as error:
        raise DouDizhuError(f"{name} needs OpenSpiel: {install_hint('peers')}") from error
    return pyspiel.load_game(name)


def play_random_board_games(start: Any, games: int, seed: int, first: int = 0) -> Playouts:
    """Play deterministic two-player games to the end with uniformly random moves.

    Args:
        start: Where each begins, a ``pyspiel.State``.
        games: How many.
        seed: The seed.
        first: Number of the first game; each has a stream of its own.

    Returns:
        The games; the reward is that of the player who moves first in the game.
    """
    results = [_play_board_game(start.clone(), random.Random(f"{seed} {game}")) for game in range(first, first + games)]
    rewards, lengths, choices = zip(*results, strict=True)
    return Playouts(np.array(rewards, np.float64), np.array(lengths), np.array(choices))


def _play_board_game(state: Any, rng: random.Random) -> tuple[float, int, int]:
    length = choices = 0
    while not state.is_terminal():
        actions = state.legal_actions()
        state.apply_action(actions[int(rng.random() * len(actions))])
        length += 1
        choices += len(actions)
    return state.returns()[0], length, choices


# --- When to stop -----------------------------------------------------------------------------------------------------

Samples = npt.NDArray[np.float64]

MIN_SAMPLES = 100
"""Samples before the rule may stop: the first few may be all alike."""


def adjacent_means_settled(samples: Samples, difference: float) -> npt.NDArray[np.bool_]:
    """Test for each sample whether it moves the mean by less than a bound (thesis, section 4.4.1).

    The next sample moves the mean by its distance from the mean, divided by their number, so this says little of the
    mean's error: with rewards of +1 and -1, the likelier one first fulfils it after about 10,000 * (1 - |mean|) games.

    Args:
        samples: In the order in which they came, ``[samples]``.
        difference: The thesis's 0.0001.

    Returns:
        ``[samples]``; from the 100th sample on.
    """
    count = np.arange(1, len(samples) + 1)
    means = np.cumsum(samples) / count
    return (np.abs(np.diff(means, prepend=np.inf)) < difference) & (count >= MIN_SAMPLES)


def first_stop(*tests: npt.NDArray[np.bool_]) -> int | None:
    """Return the number of samples after which all tests first hold together; None if they never do.

    Example:
        >>> first_stop(np.array([False, True, True]), np.array([True, False, True]))
        3
        >>> first_stop(np.array([False, True]), np.array([True, False])) is None
        True
    """
    all_hold = np.logical_and.reduce(tests)
    index = int(np.argmax(all_hold))
    return index + 1 if all_hold[index] else None
