"""The games at the leaves of a search: their encoding for priors and values, and the play of forced moves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_agents.neural.model import Bytes
from ddz_agents.worlds.determinize import Words
from ddz_env import Rules, State, View
from ddz_env.core import observation
from ddz_env.core.engine import layout as at
from ddz_env.core.engine.legal import count_legal, nth_legal, write_legal_mask
from ddz_env.core.engine.step import apply_and_record
from ddz_env.core.engine.tables import MASK_WORDS
from ddz_env.core.engine.words import U0, U1
from ddz_env.core.state import restore_state
from ddz_env.support.compiling import inline_kernel, kernel

GAME_OVER, NEEDS_VALUE, NEEDS_PLAYER = 0, 1, 2
"""What a game waits for: nothing, as it is over; a prior and a value; or a move of an agent that plays its seat."""
_NO_LOG = np.empty((0, 2), np.uint64)


class LeafGames(NamedTuple):
    """A batch of games as arrays, with the observation and the legal actions of each seat to act.

    Attributes:
        rows: The games, shape ``[n, 32]``, uint64.
        rings: The moves before, shape ``[n, 16, 2]``, uint64.
        waits: What each waits for (``GAME_OVER``, ``NEEDS_VALUE`` or ``NEEDS_PLAYER``), shape ``[n]``, int8.
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

    def part(self, chosen: slice | npt.NDArray[np.intp]) -> LeafGames:
        """Return part of the games: a slice shares memory, and an array of indexes makes copies."""
        return LeafGames._make(array[chosen] for array in self)


def new_games(count: int) -> LeafGames:
    """Allocate arrays of zeros for ``count`` games."""
    return LeafGames(
        np.zeros((count, at.ROW_WORDS), np.uint64),
        np.zeros((count, at.HISTORY_MOVES, at.HISTORY_WORDS), np.uint64),
        np.zeros(count, np.int8),
        np.zeros((count, observation.OBSERVATION_WORDS), np.uint64),
        np.zeros((count, observation.MASK_BYTE_WORDS), np.uint64),
        np.zeros((count, observation.CONCEALED_WORDS), np.uint64),
    )


@dataclass(frozen=True)
class LeafBatch:
    """A batch of leaf positions that wait for a prior and a value, each in its own determinization.

    Attributes:
        games: The games, all of them waiting.  A value may play them on.
        rules: The rules of all.
    """

    games: LeafGames
    rules: Rules

    def __len__(self) -> int:
        return len(self.games.waits)

    @classmethod
    def of(cls, view: View) -> LeafBatch:
        """Create a batch of one position from a view, with the hidden hands left empty."""
        games = new_games(1)
        games.rows[0], games.rings[0], games.waits[0] = view.row, view.ring, NEEDS_VALUE
        games.observations[0] = observation.observe(view).view(np.uint64)
        observation.mask_bytes(games.masks)[0] = observation.action_mask(view)
        return cls(games, view.rules)

    @property
    def observations(self) -> Bytes:
        """The observation of each seat to act, as environments return it, shape ``[n, 512]``, int8."""
        return self.games.observations.view(np.int8)

    @property
    def action_masks(self) -> Bytes:
        """The action masks with 1 for each legal action and 0 for all others, shape ``[n, 400]``, int8."""
        return observation.mask_bytes(self.games.masks)

    @property
    def concealed(self) -> Bytes:
        """The cards hidden from each seat to act, as critics read them, shape ``[n, 8 * CONCEALED_WORDS]``, int8.

        Zero for the searcher's own decision (:meth:`of`), which is in no world.
        """
        return self.games.concealed.view(np.int8)

    def states(self) -> list[State]:
        """Return the games as ``State`` objects with the last 16 moves, for value functions in plain Python."""
        pairs = zip(self.games.rows, self.games.rings, strict=True)
        return [restore_state(row.copy(), ring.copy(), _NO_LOG, self.rules) for row, ring in pairs]

    def part(self, chosen: npt.NDArray[np.intp]) -> LeafBatch:
        """Return a batch with copies of the chosen leaves."""
        return LeafBatch(self.games.part(chosen), self.rules)


@inline_kernel
def encode_game(games: LeafGames, index: int, rules: np.ndarray, mask: np.ndarray) -> None:
    """Write a game's observation, action mask and concealed cards, which the networks read."""
    row = games.rows[index]
    observation.expand_mask(mask, games.masks[index])
    observation.write_observation(row, games.rings[index], rules, row[at.SEAT], games.observations[index])
    observation.write_concealed(row, rules, row[at.SEAT], games.concealed[index])


@kernel
def play_forced(games: LeafGames, chosen: np.ndarray, rules: np.ndarray) -> None:
    """Play the forced moves of the chosen games, and encode the next position in which a seat has a choice.

    Args:
        games: The games; all but the masks of finished ones are changed.
        chosen: Which of them, shape ``[k]``, int64.
        rules: The rules array.
    """
    mask = np.empty(MASK_WORDS, np.uint64)
    for index in chosen:
        row, ring = games.rows[index], games.rings[index]
        games.waits[index] = GAME_OVER
        while row[at.STAGE] != at.STAGE_OVER and games.waits[index] == GAME_OVER:
            write_legal_mask(row, rules, mask)
            if count_legal(mask) == U1:
                apply_and_record(row, ring, nth_legal(mask, U0), rules)
            else:
                games.waits[index] = NEEDS_VALUE
                encode_game(games, index, rules, mask)


@kernel
def play_actions(games: LeafGames, chosen: np.ndarray, actions: np.ndarray, rules: np.ndarray) -> None:
    """Play one given action in each of the chosen games, in place.

    Args:
        games: The games; changed.
        chosen: Which of them, shape ``[k]``, int64.
        actions: A legal action of each, shape ``[k]``, int64.
        rules: The rules array.
    """
    for number in range(chosen.size):
        index = chosen[number]
        apply_and_record(games.rows[index], games.rings[index], np.uint64(actions[number]), rules)
