"""Random games of OpenSpiel's board games: Reversi (``othello``) and Awari (``oware``)."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from ddz_env.core.errors import DouDizhuError, install_hint
from ddz_training.measure.complexity.playouts import Playouts

BOARD_GAMES = ("othello", "oware")


def load_game(name: str) -> Any:
    """A game of OpenSpiel's by its name, a ``pyspiel.Game``.

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
    found = [_play(start.clone(), random.Random(f"{seed} {game}")) for game in range(first, first + games)]
    rewards, lengths, choices, products = zip(*found, strict=True)
    return Playouts(np.array(rewards, np.float64), np.array(lengths), np.array(choices), np.array(products, np.float64))


def _play(state: Any, rng: random.Random) -> tuple[float, int, int, float]:
    length = choices = 0
    product = 0.0
    while not state.is_terminal():
        actions = state.legal_actions()
        state.apply_action(actions[int(rng.random() * len(actions))])
        length += 1
        choices += len(actions)
        product += float(np.log(len(actions)))
    return state.returns()[0], length, choices, product
