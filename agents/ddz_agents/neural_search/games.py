"""Games that wait for the networks, and who moves in them unasked: forced moves, and a recognized rule agent's.

Hand inference weighs how likely each kind of player makes every move.  Where a seat is clearly the rule agent rather
than the policy, its next move is known in every determinization: in the tree, and when the policy plays on from a leaf.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_agents.neural.model import Bytes
from ddz_agents.rules.rules import next_action
from ddz_agents.rules.scratch import RuleWorkspace, new_rule_workspace
from ddz_agents.rules.weights import WEIGHTS
from ddz_agents.worlds.determinize import Words
from ddz_env.core import observation
from ddz_env.core.engine import layout as at
from ddz_env.core.engine.legal import count_legal, legal_mask, marked, nth_legal
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


class RecognizedSeats(NamedTuple):
    """Which of the other seats are the rule agent, and what it computes with.

    Attributes:
        plays_rules: 1 for a seat that is the rule agent, 0 for any other, shape ``[3]``, uint8.
        workspace: The rule agent's memory.
        plan: Its plan of the move in progress, shape ``[2]``, uint64 (:func:`ddz_agents.rules.rules.next_action`).
    """

    plays_rules: npt.NDArray[np.uint8]
    workspace: RuleWorkspace
    plan: Words


def none_recognized() -> RecognizedSeats:
    """No seat is recognized."""
    return RecognizedSeats(np.zeros(3, np.uint8), new_rule_workspace(), np.zeros(2, np.uint64))


@inline_kernel
def rule_action(row: np.ndarray, rules: np.ndarray, mask: np.ndarray, opponents: RecognizedSeats) -> np.uint64:
    """The rule agent's action; the first legal one where it has no answer.

    Args:
        row: A full row, not over.
        rules: The rules array.
        mask: The legal actions of the seat to act.
        opponents: Whose memory is used.
    """
    opponents.plan[0] = U0  # of another game, perhaps
    action = next_action(row, rules, opponents.workspace, WEIGHTS, opponents.plan)
    return action if marked(mask, action) else nth_legal(mask, U0)


@inline_kernel
def describe(games: SearchGames, index: int, rules: np.ndarray, mask: np.ndarray) -> None:
    """Write what the networks read of a game, whose legal actions are in the mask."""
    row = games.rows[index]
    observation.expand_mask(mask, games.masks[index])
    observation.write_observation(row, games.rings[index], rules, row[at.SEAT], games.observations[index])
    observation.write_concealed(row, rules, row[at.SEAT], games.concealed[index])


@kernel
def play_unasked(games: SearchGames, chosen: np.ndarray, rules: np.ndarray, opponents: RecognizedSeats) -> None:
    """Play what is forced and what recognized seats play, up to the next choice; note it and describe it.

    Args:
        games: The games; all but the masks of finished ones are changed.
        chosen: Which of them, shape ``[k]``, int64.
        rules: The rules array.
        opponents: The recognized seats.
    """
    mask = np.empty(MASK_WORDS, np.uint64)
    for index in chosen:
        row, ring = games.rows[index], games.rings[index]
        games.waits[index] = False
        while row[at.STAGE] != at.STAGE_OVER and not games.waits[index]:
            legal_mask(row, rules, mask)
            if count_legal(mask) == U1:
                apply_and_record(row, ring, nth_legal(mask, U0), rules)
            elif opponents.plays_rules[row[at.SEAT]]:
                apply_and_record(row, ring, rule_action(row, rules, mask, opponents), rules)
            else:
                games.waits[index] = True
                describe(games, index, rules, mask)
