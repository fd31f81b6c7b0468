"""Complexity of a game: counts of deals, states and games, random games, and rules for when to stop sampling.

Counts are exact, or the thesis's estimates (Wang Zhengfei, Peking University 2020, section 4.1).  Random games choose
uniformly at every decision; complexity is computed from the winner, the length and the choices of each.  A mean has
been sampled enough by the thesis's rule or by its standard error.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_env import State
from ddz_env.core.checks import check_choice
from ddz_env.core.engine.compiling import inline_kernel, kernel, pure_kernel
from ddz_env.core.engine.layout import HANDS, LANDLORD, ROW_WORDS, SEAT, STAGE, STAGE_OVER, WINNER
from ddz_env.core.engine.moves import list_moves
from ddz_env.core.engine.random import advance, below, key, mix
from ddz_env.core.engine.step import main_cards, play_move
from ddz_env.core.engine.words import FOUR_PLANES, U0, U1, add_hand, popcount
from ddz_env.core.errors import DouDizhuError, install_hint
from ddz_training.measure.errors import InvalidExperimentError

# --- Counts -----------------------------------------------------------------------------------------------------------

LANDLORD_HAND, LANDLORD_CARDS, PEASANT_HAND = 17, 3, 17
COPIES = (4,) * 13 + (1, 1)
"""Cards of each rank."""


def deals_by_cards() -> int:
    """Deals with the landlord cards known, cards distinguished by suit: the thesis's first factor.

    Example:
        >>> f"{deals_by_cards():.1e}"
        '8.5e+26'
    """
    landlord = LANDLORD_HAND + LANDLORD_CARDS
    return math.comb(54, landlord) * math.comb(landlord, LANDLORD_CARDS) * math.comb(34, PEASANT_HAND)


def deals_by_ranks() -> int:
    """The same where only ranks count."""
    return _placements((LANDLORD_HAND, LANDLORD_CARDS, PEASANT_HAND), lambda _: 1)


def states_by_cards() -> int:
    """The thesis's bound: every deal, and for every card whether it has been played."""
    return deals_by_cards() * 2**54


def states_by_ranks() -> int:
    """The same where only ranks count: how many of each rank each hand has played."""
    return _placements(
        (LANDLORD_HAND, LANDLORD_CARDS, PEASANT_HAND), lambda held: math.prod(count + 1 for count in held)
    )


def positions_by_cards() -> int:
    """Holdings of cards, ignoring who has played the others: what the rest of a game depends on, except the trick."""
    return _holdings(lambda held: math.factorial(sum(held)) // math.prod(math.factorial(count) for count in held))


def positions_by_ranks() -> int:
    """The same where only ranks count, as in the engine."""
    return _holdings(lambda _: 1)


_Weight = Callable[[Sequence[int]], int]
"""The number of ways to choose the copies of a rank, given how many are in each place."""


def _placements(sizes: tuple[int, int, int], weight: _Weight) -> int:
    """Ways to place all cards in four places, the first three of which take these numbers."""
    return int(_distributions(sizes, weight)[sizes])


def _holdings(weight: _Weight) -> int:
    """Ways to leave hands of any size up to the dealt ones; the fourth place is what has been played."""
    return int(_distributions((LANDLORD_HAND + LANDLORD_CARDS, PEASANT_HAND, PEASANT_HAND), weight).sum())


def _distributions(most: tuple[int, int, int], weight: _Weight) -> np.ndarray:
    """The number of ways by the sizes of the first three of four places: a product of polynomials, one a rank."""
    found = np.zeros([size + 1 for size in most], dtype=object)
    found[0, 0, 0] = 1
    for copies in COPIES:
        before, found = found, np.zeros_like(found)
        for a, b, c in itertools.product(range(copies + 1), repeat=3):
            if a + b + c <= copies:
                ways = weight((a, b, c, copies - a - b - c))
                i, j, k = before.shape
                found[a:, b:, c:] += ways * before[: i - a, : j - b, : k - c]
    return found


def tree_exponent(branching: float, length: float) -> float:
    """The thesis's estimate of the game tree as a power of ten: deals × the peasants' hands × branching ** length."""
    return math.log10(deals_by_cards()) + math.log10(math.comb(34, PEASANT_HAND)) + length * math.log10(branching)


# --- Random games -----------------------------------------------------------------------------------------------------

COUNTINGS = ("moves", "cards")
"""Units of a choice: a move by ranks, or a set of cards, so that ``3`` from ``333`` is three choices."""

_COMMON_MOVES = 1024
_CHOOSE = np.array([[math.comb(n, k) for k in range(5)] for n in range(5)], np.int64)


class Playouts(NamedTuple):
    """Random games, an entry each.

    Attributes:
        rewards: The landlord's, +1 or -1, ``[games]`` float64.
        lengths: Decisions, passes included, ``[games]`` int64.
        choices: Choices of all decisions together, ``[games]`` int64.
        products: The natural logarithm of their product, ``[games]`` float64.
    """

    rewards: npt.NDArray[np.float64]
    lengths: npt.NDArray[np.int64]
    choices: npt.NDArray[np.int64]
    products: npt.NDArray[np.float64]


def playouts(states: Sequence[State], games: int, seed: int, first: int = 0, counting: str = "moves") -> Playouts:
    """Play games to their end with a uniform choice at every decision.

    Args:
        states: Where they begin, under the same rules and at the start of a decision of play; game ``i`` begins at
            state ``i`` modulo their number.
        games: How many.
        seed: The seed; game ``i`` has the stream ``first + i``, so that games may be played in pieces.
        first: Number of the first game.
        counting: One of :data:`COUNTINGS`.

    Raises:
        InvalidExperimentError: If the counting is unknown.

    Example:
        >>> games = playouts([State.from_hands(["34", "5", "6"], check_sizes=False)], 100, seed=1)
        >>> int(games.lengths.min()), int(games.choices.min())
        (2, 4)
    """
    check_choice("counting", counting, COUNTINGS, InvalidExperimentError)
    starts = np.stack([state.row for state in states])
    return Playouts(*_play(starts, states[0].rule_words, counting == "cards", np.uint64(seed), first, games))


@inline_kernel
def _card_sets(hand: np.uint64, cards: np.uint64) -> int:
    """In how many ways a move's cards can be taken from a hand whose cards differ."""
    ways = 1
    left = (cards | cards >> np.uint64(16) | cards >> np.uint64(32) | cards >> np.uint64(48)) & np.uint64(0x7FFF)
    while left != U0:
        bit = left & (~left + U1)
        left ^= bit
        held = popcount(hand & (bit * FOUR_PLANES))
        taken = popcount(cards & (bit * FOUR_PLANES))
        ways *= _CHOOSE[np.int64(held), np.int64(taken)]
    return ways


@kernel
def _play(
    starts: np.ndarray, rules: np.ndarray, by_cards: bool, seed: np.uint64, first: int, games: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The games of :func:`playouts` from rows, ``[starts, 32]`` uint64."""
    rewards, lengths = np.empty(games, np.float64), np.zeros(games, np.int64)
    choices, products = np.zeros(games, np.int64), np.zeros(games, np.float64)
    row = np.empty(ROW_WORDS, np.uint64)
    mains, kickers = np.empty(_COMMON_MOVES, np.uint64), np.empty(_COMMON_MOVES, np.uint64)
    for game in range(games):
        row[:] = starts[(first + game) % len(starts)]
        state = key(seed, np.uint64(first + game))
        while row[STAGE] != STAGE_OVER:
            found = list_moves(row, rules, mains, kickers)
            if found > mains.size:
                mains, kickers = np.empty(2 * found, np.uint64), np.empty(2 * found, np.uint64)
                list_moves(row, rules, mains, kickers)
            state = advance(state)
            if by_cards:
                chosen, found = _draw(row[HANDS + np.int64(row[SEAT])], mains, kickers, found, mix(state))
            else:
                chosen = np.int64(below(mix(state), np.uint64(found)))
            play_move(row, mains[chosen], kickers[chosen], rules)
            lengths[game] += 1
            choices[game] += found
            products[game] += math.log(found)
        rewards[game] = 1.0 if row[WINNER] - U1 == row[LANDLORD] else -1.0
    return rewards, lengths, choices, products


@pure_kernel
def _draw(hand: np.uint64, mains: np.ndarray, kickers: np.ndarray, found: int, bits: np.uint64) -> tuple[np.int64, int]:
    """A move with a chance for each of its sets of cards, and the number of all these."""
    total = 0
    for number in range(found):
        total += _ways(hand, mains[number], kickers[number])
    rest = np.int64(below(bits, np.uint64(total)))
    for number in range(found):
        rest -= _ways(hand, mains[number], kickers[number])
        if rest < 0:
            return np.int64(number), total
    return np.int64(0), total


@pure_kernel
def _ways(hand: np.uint64, main: np.uint64, kickers: np.uint64) -> int:
    if main == U0:
        return 1
    cards = main_cards(main)
    return _card_sets(hand, add_hand(cards, kickers) if kickers != U0 else cards)


BOARD_GAMES = ("othello", "oware")


def load_game(name: str) -> Any:
    """An OpenSpiel game by its name, a ``pyspiel.Game``.

    Raises:
        DouDizhuError: If OpenSpiel is not installed.
    """
    try:
        import pyspiel
    except ImportError as error:
        raise DouDizhuError(f"{name} is OpenSpiel's: {install_hint('peers')}") from error
    return pyspiel.load_game(name)


def board_playouts(start: Any, games: int, seed: int, first: int = 0) -> Playouts:
    """Play a game of two players without chance to its end, with a uniform choice at every decision.

    Args:
        start: Where each begins, a ``pyspiel.State``.
        games: How many.
        seed: The seed.
        first: Number of the first game; each has a stream of its own.

    Returns:
        The games; the reward is that of the player who moves first in the game.
    """
    found = [_play_board(start.clone(), random.Random(f"{seed} {game}")) for game in range(first, first + games)]
    rewards, lengths, choices, products = zip(*found, strict=True)
    return Playouts(np.array(rewards, np.float64), np.array(lengths), np.array(choices), np.array(products, np.float64))


def _play_board(state: Any, rng: random.Random) -> tuple[float, int, int, float]:
    length = choices = 0
    product = 0.0
    while not state.is_terminal():
        actions = state.legal_actions()
        state.apply_action(actions[int(rng.random() * len(actions))])
        length += 1
        choices += len(actions)
        product += float(np.log(len(actions)))
    return state.returns()[0], length, choices, product


# --- When to stop -----------------------------------------------------------------------------------------------------

Samples = npt.NDArray[np.float64]

LEAST = 100
"""Samples before a rule may stop: the first few may be all alike, and two games with one end would stop both rules."""


def adjacent_means_stop(samples: Samples, difference: float) -> npt.NDArray[np.bool_]:
    """Test after each sample whether the mean has just changed by less than a difference (thesis, section 4.4.1).

    The next sample moves the mean by its distance from the mean, divided by their number, so this says little of the
    mean's error: rewards of +1 and -1 fulfil it after about 10,000 games of any kind.

    Args:
        samples: In the order in which they came, ``[samples]``.
        difference: The thesis's 0.0001.

    Returns:
        ``[samples]``; from the 100th sample on.
    """
    count = np.arange(1, len(samples) + 1)
    means = np.cumsum(samples) / count
    return (np.abs(np.diff(means, prepend=np.inf)) < difference) & (count >= LEAST)


def standard_error_stop(samples: Samples, error: float) -> npt.NDArray[np.bool_]:
    """Test after each sample whether the mean's standard error is at most some value.

    Args:
        samples: In the order in which they came, ``[samples]``.
        error: The largest standard error.

    Returns:
        ``[samples]``; from the 100th sample on.
    """
    count = np.arange(1, len(samples) + 1)
    shifted = samples - samples[0]
    means = np.cumsum(shifted) / count
    variances = np.maximum(np.cumsum(shifted**2) / count - means**2, 0) * count / np.maximum(count - 1, 1)
    return (variances <= error**2 * count) & (count >= LEAST)


def first_stop(*tests: npt.NDArray[np.bool_]) -> int | None:
    """The number of samples at which all tests hold for the first time; None if they do not yet.

    Example:
        >>> first_stop(np.array([False, True, True]), np.array([True, False, True]))
        3
        >>> first_stop(np.array([False, True]), np.array([True, False])) is None
        True
    """
    both = np.logical_and.reduce(tests)
    place = int(np.argmax(both))
    return place + 1 if both[place] else None
