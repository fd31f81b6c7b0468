"""Agents that play at random: ``random`` among complete legal moves, ``random-staged`` action by action."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ddz_env import Move, View
from ddz_env.core.engine.layout import HANDS, SEAT, STAGE, STAGE_PLAY
from ddz_env.core.engine.moves import list_all_moves
from ddz_env.core.engine.playout import draw_action, draw_kickers
from ddz_env.core.engine.tables import MASK_WORDS
from ddz_env.core.engine.words import U0
from ddz_env.playing.agent import check_to_act
from ddz_env.playing.many import WaitingGames
from ddz_env.support.compiling import kernel


@kernel
def draw_staged_move(row: np.ndarray, rules: np.ndarray, state: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Draw a move action by action (main group, then kickers), each uniformly among the legal ones.

    Args:
        row: The game at the start of a decision, shape ``[32]``, uint64; unchanged.
        rules: The rules array.
        state: A generator's state (:mod:`ddz_env.core.engine.random`).

    Returns:
        The first stage's action id and the kickers as a hand.
    """
    main, state = draw_action(row, rules, np.empty(MASK_WORDS, np.uint64), state)
    if row[STAGE] != STAGE_PLAY:
        return main, U0
    kickers, _ = draw_kickers(row, row[HANDS + np.int64(row[SEAT])], main, rules, state)
    return main, kickers


class RandomAgent:
    """Plays uniformly over whole legal moves, as in RLCard and DouZero: the baseline of win rates.

    Example:
        >>> from ddz_env import State
        >>> state = State.new(seed=1)
        >>> RandomAgent().act(state.view(), np.random.default_rng(0)) in state.legal_moves()
        True
    """

    name = "random"
    same_in_batches = True

    def act_many(self, waiting: WaitingGames) -> npt.NDArray[np.uint64]:
        """Draw one uniformly random legal move for each waiting game."""
        words, moves = waiting.rules.words(), np.empty((len(waiting.rows), 2), np.uint64)
        for index, row in enumerate(waiting.rows):
            moves[index] = _draw_move(row, words, waiting.rng(index))
        return moves

    def act(self, view: View, rng: np.random.Generator) -> Move:
        """Draw a legal move uniformly at random.

        Raises:
            IllegalMoveError: If it is not the seat's turn.
        """
        check_to_act(view)
        return Move.from_words(*_draw_move(view.row, view.rule_words, rng))


def _draw_move(row: npt.NDArray[np.uint64], rules: npt.NDArray[np.uint64], rng: np.random.Generator) -> tuple[int, int]:
    """Draw one complete legal move uniformly, and return its main action id and its kickers as a hand."""
    mains, kickers = list_all_moves(row, rules)
    choice = int(rng.integers(mains.size))
    return int(mains[choice]), int(kickers[choice])


class RandomStagedAgent:
    """Plays uniformly over each stage: weaker and faster than ``random``, for speed comparisons only."""

    name = "random-staged"

    def act(self, view: View, rng: np.random.Generator) -> Move:
        """Draw a legal move action by action: the main group first, then each kicker.

        Raises:
            IllegalMoveError: If it is not the seat's turn.
        """
        check_to_act(view)
        main, kickers = draw_staged_move(view.row, view.rule_words, rng.integers(0, 2**64, dtype=np.uint64))
        return Move.from_words(int(main), int(kickers))
