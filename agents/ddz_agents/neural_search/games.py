"""Games that wait for the networks: forced moves are played, and the next choice is described."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_agents.neural.model import Bytes
from ddz_agents.worlds.determinize import Words
from ddz_env.core import observation
from ddz_env.core.engine import layout as at
from ddz_env.core.engine.legal import count_legal, legal_mask, nth_legal
from ddz_env.core.engine.step import apply_and_record
from ddz_env.core.engine.tables import MASK_WORDS
from ddz_env.core.engine.words import U0, U1
from ddz_env.support.compiling import inline_kernel, kernel


class SearchGames(NamedTuple):
    """Games side by side, and what the networks read of those in which somebody has a choice.

    Attributes:
        rows: The games, shape ``[n, 32]``, uint64.
        rings: The moves before, shape ``[n, 16, 2]``, uint64.
        waits: 1 where a decision waits for the networks, 0 where the game is over, shape ``[n]``, int8.
        observations: What the seat to act sees, as words, shape ``[n, OBSERVATION_WORDS]``, uint64.
        masks: Its legal actions, as words, shape ``[n, MASK_BYTE_WORDS]``, uint64.
        concealed: What it does not see, as words, shape ``[n, CONCEALED_WORDS]``, uint64.
    """

    rows: Words
    rings: Words
    waits: Bytes
    observations: Words
    masks: Words
    concealed: Words

    def part(self, chosen: slice | npt.NDArray[np.intp]) -> SearchGames:
        """Some of them: of a slice the arrays share their memory, of numbers they are copies."""
        return SearchGames._make(array[chosen] for array in self)


def new_games(count: int) -> SearchGames:
    """Room for a number of games."""
    return SearchGames(
        np.zeros((count, at.ROW_WORDS), np.uint64),
        np.zeros((count, at.HISTORY_MOVES, at.HISTORY_WORDS), np.uint64),
        np.zeros(count, np.int8),
        np.zeros((count, observation.OBSERVATION_WORDS), np.uint64),
        np.zeros((count, observation.MASK_BYTE_WORDS), np.uint64),
        np.zeros((count, observation.CONCEALED_WORDS), np.uint64),
    )


@inline_kernel
def describe(games: SearchGames, index: int, rules: np.ndarray, mask: np.ndarray) -> None:
    """Write what the networks read of a game, whose legal actions are in the mask."""
    row = games.rows[index]
    observation.expand_mask(mask, games.masks[index])
    observation.write_observation(row, games.rings[index], rules, row[at.SEAT], games.observations[index])
    observation.write_concealed(row, rules, row[at.SEAT], games.concealed[index])


@kernel
def play_forced(games: SearchGames, chosen: np.ndarray, rules: np.ndarray) -> None:
    """Play what is forced, up to the next choice; note it and describe it.

    Args:
        games: The games; all but the masks of finished ones are changed.
        chosen: Which of them, shape ``[k]``, int64.
        rules: The rules array.
    """
    mask = np.empty(MASK_WORDS, np.uint64)
    for index in chosen:
        row, ring = games.rows[index], games.rings[index]
        games.waits[index] = False
        while row[at.STAGE] != at.STAGE_OVER and not games.waits[index]:
            legal_mask(row, rules, mask)
            if count_legal(mask) == U1:
                apply_and_record(row, ring, nth_legal(mask, U0), rules)
            else:
                games.waits[index] = True
                describe(games, index, rules, mask)
