"""Playing many games side by side: agents that answer in batches decide in all waiting games at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ddz_env.core.engine.layout import HISTORY_MOVES, HISTORY_WORDS, ROW_WORDS, SEAT, STAGE, STAGE_KICKER, STAGE_OVER
from ddz_env.core.engine.step import apply_and_record
from ddz_env.core.engine.tables import MASK_WORDS
from ddz_env.core.observation import MASK_BYTE_WORDS, OBSERVATION_WORDS, mask_bytes, write_mask, write_observation
from ddz_env.core.rules import Rules
from ddz_env.core.view import write_view
from ddz_env.envs.games import check_actions, refuse_illegal
from ddz_env.support.compiling import kernel

Answer = Callable[..., npt.NDArray[np.int64]]
"""Called with the number of a player and what :meth:`ddz_env.playing.agent.BatchPlayer.actions` is given."""


@kernel
def _look(rows: np.ndarray, rings: np.ndarray, games: np.ndarray, rules: np.ndarray, shown: Any) -> None:
    """Write what the seats to act see and may do: views, observations, masks as bytes and as bits."""
    views, observations, masks, bits = shown
    for index in range(games.size):
        row, seat = rows[games[index]], rows[games[index], SEAT]
        write_view(row, int(np.int64(seat)), rules, views[index])
        write_observation(row, rings[games[index]], rules, seat, observations[index])
        write_mask(row, rules, bits[index], masks[index])


@kernel
def _advance(
    rows: np.ndarray, rings: np.ndarray, games: np.ndarray, rules: np.ndarray, actions: np.ndarray, decided: np.ndarray
) -> None:
    """Play a legal action in each of some games, and count the moves that begin."""
    for index in range(games.size):
        row = rows[games[index]]
        decided[games[index], row[SEAT]] += row[STAGE] != STAGE_KICKER
        apply_and_record(row, rings[games[index]], np.uint64(actions[index]), rules)


def play_side_by_side(
    rows: npt.NDArray[np.uint64],
    rules: Rules,
    players: npt.NDArray[np.int64],
    answer: Answer,
    rng: Callable[[int, int], np.random.Generator],
    *,
    rings: npt.NDArray[np.uint64] | None = None,
    most_moves: int | None = None,
) -> npt.NDArray[np.int64]:
    """Play games to their end, or for some moves.

    Args:
        rows: The games, each running and at the start of a decision, shape ``[n, 32]``, uint64, changed in place.
            Players see the rows of views (:func:`~ddz_env.core.view.write_view`).
        rules: The rules.
        players: The number of the player in each seat, shape ``[n, 3]``.
        answer: Gets the answers of a player.
        rng: The generator of a game's seat.
        rings: The recent moves of each game, shape ``[n, 16, 2]``, uint64, changed in place; by default there are none.
        most_moves: How many moves are played in each game at most.

    Returns:
        The decisions of each seat, shape ``[n, 3]``, int64.

    Raises:
        InvalidMoveError: If an answer is not an array of action ids.
        IllegalMoveError: If an action is not legal.
    """
    count, words = len(rows), rules.words()
    if rings is None:
        rings = np.zeros((count, HISTORY_MOVES, HISTORY_WORDS), np.uint64)
    sizes = ROW_WORDS, OBSERVATION_WORDS, MASK_BYTE_WORDS, MASK_WORDS
    views, observations, masks, bits = shown = tuple(np.empty((count, size), np.uint64) for size in sizes)
    decided, games = np.zeros((count, 3), np.int64), np.arange(count)
    while len(games):
        _look(rows, rings, games, words, shown)
        seats = rows[games, SEAT].astype(np.int64)
        asked, actions = players[games, seats], np.empty(len(games), np.int64)
        for player in np.unique(asked).tolist():
            indices = np.flatnonzero(asked == player)
            seat_of = dict(zip(games[indices].tolist(), seats[indices].tolist(), strict=True)).__getitem__
            arrays = views[indices], observations[indices].view(np.int8), mask_bytes(masks[indices])
            answers = answer(player, games[indices], *arrays, lambda game, seat=seat_of: rng(game, seat(game)))
            actions[indices] = check_actions(answers, len(indices))
        refuse_illegal(actions, bits)
        _advance(rows, rings, games, words, actions, decided)
        stages = rows[games, STAGE]
        running = stages != STAGE_OVER
        if most_moves is not None:
            running &= (stages == STAGE_KICKER) | (decided[games].sum(axis=1) < most_moves)
        games = games[running]
    return decided
