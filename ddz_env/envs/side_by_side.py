"""Many games played at once: in each round, each player chooses moves for all games in which it is to act."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ddz_env.core.engine.layout import HISTORY_MOVES, HISTORY_WORDS, SEAT, STAGE, STAGE_OVER
from ddz_env.core.rules import Rules
from ddz_env.envs.stepping import play_whole_move
from ddz_env.playing.many import WaitingGames
from ddz_env.support.compiling import kernel

ChooseMoves = Callable[[int, WaitingGames], npt.NDArray[np.uint64]]
"""The whole moves of a player, given its number and the games that wait for it, as
:func:`ddz_env.playing.many.request_moves` returns them."""


@kernel
def _play_moves(
    rows: np.ndarray, rings: np.ndarray, games: np.ndarray, rules: np.ndarray, moves: np.ndarray, decided: np.ndarray
) -> None:
    """Play one legal move in each selected game, and count the decisions of each seat."""
    log = np.empty((0, HISTORY_WORDS), np.uint64)
    for index in range(games.size):
        row = rows[games[index]]
        decided[games[index], row[SEAT]] += 1
        play_whole_move(row, rings[games[index]], log, moves[index, 0], moves[index, 1], rules)


def play_games_together(
    rows: npt.NDArray[np.uint64],
    rules: Rules,
    players: npt.NDArray[np.int64],
    answer: ChooseMoves,
    rng: Callable[[int, int], np.random.Generator],
    *,
    rings: npt.NDArray[np.uint64] | None = None,
    max_moves: int | None = None,
) -> npt.NDArray[np.int64]:
    """Play many games at once, to the end or up to ``max_moves`` moves; return each seat's decision counts.

    Args:
        rows: The games, each running and at the start of a decision, shape ``[n, 32]``, uint64, changed in place.
        rules: The rules.
        players: The number of the player in each seat, shape ``[n, 3]``.
        answer: Gets the moves of a player, which must be legal.
        rng: The generator of a game's seat.
        rings: The recent moves of each game, shape ``[n, 16, 2]``, uint64, changed in place; by default there are none.
        max_moves: How many moves are played in each game at most.

    Returns:
        The decisions of each seat, shape ``[n, 3]``, int64.
    """
    count, words = len(rows), rules.words()
    if rings is None:
        rings = np.zeros((count, HISTORY_MOVES, HISTORY_WORDS), np.uint64)
    decided, games = np.zeros((count, 3), np.int64), np.arange(count)
    while len(games):
        seats = rows[games, SEAT].astype(np.int64)
        asked, moves = players[games, seats], np.empty((len(games), 2), np.uint64)
        for player in np.unique(asked).tolist():
            indices = np.flatnonzero(asked == player)
            keys = list(zip(games[indices].tolist(), seats[indices].tolist(), strict=True))
            of = rows[games[indices]], rings[games[indices]], rules, lambda index, keys=keys: rng(*keys[index])
            moves[indices] = answer(player, WaitingGames(*of))
        _play_moves(rows, rings, games, words, moves, decided)
        running = rows[games, STAGE] != STAGE_OVER
        if max_moves is not None:
            running &= decided[games].sum(axis=1) < max_moves
        games = games[running]
    return decided
