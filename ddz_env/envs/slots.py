"""The arrays of games, which every environment steps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_env.core.engine.layout import HISTORY_MOVES, HISTORY_WORDS, ROW_WORDS
from ddz_env.core.engine.tables import MASK_WORDS
from ddz_env.core.observation import CONCEALED_WORDS, MASK_BYTE_WORDS, OBSERVATION_WORDS
from ddz_env.core.rules import RULE_WORDS
from ddz_env.envs.outputs import WIDTH

Words = npt.NDArray[np.uint64]
Integers = npt.NDArray[np.int64]

LOG_MOVES = 256
"""Completed moves a log holds.  54 cards are at most 54 plays with two passes after each, and an auction."""

ROLE, SCORING, PEASANT_REWARD, STRIDE, RENEWS, KINDS = range(6)
"""Terms: the learner's role, the number of the scoring, what a peasant wins (the bits of a float64), by how much the
number of a slot's game grows, whether the step that ends a game deals the next one, and how the opponent of each of
three roles is played."""

TERMS = 8

SEED, NUMBER, STREAM, MAIN, KICKERS = range(5)
"""Keys of a game: its seed, its number under that seed, the state of its random generator (the opponents', or that of
sampled actions), and an opponent's answer: main id and kickers, or the action id of a single stage and 0."""

LEARNER, ACTING, ACTING_ROLE, STATUS, DECIDED, ENDED, ILLEGAL, ORDER, ACTION = range(9)
"""Cells of a game: the learner's seat, the seat to act and its role (3 none yet), what the game waits for, whether the
learner has decided anything in it, whether the last step ended a game, whether the learner's last action was illegal,
what to do next, and the learner's action."""

OWN = 3
"""Index of the learner's own return, behind those of the seats."""


class Slots(NamedTuple):
    """The arrays of ``n`` games.

    Attributes:
        rules: The rules array, shape ``[18]``, uint64.
        terms: What else stays the same (``ROLE`` ...), shape ``[8]``, int64.
        rows: The games as the engine holds them, shape ``[n, 32]``, uint64.
        rings: Their recent moves, shape ``[n, 16, 2]``, uint64.
        keys: Shape ``[n, 5]``, uint64 (``SEED`` ...).
        cells: Shape ``[n, 9]``, int64 (``LEARNER`` ...).
        returns: Of the game that the last step ended, by seat, and the learner's own; shape ``[n, 4]``, float64.
        bits: Masks as bits, shape ``[n, 7]``, uint64.
        masks: Masks as bytes, shape ``[n, 50]``, uint64.
        observations: Shape ``[n, OBSERVATION_WORDS]``, uint64.
        concealed: Shape ``[n, CONCEALED_WORDS]``, uint64.
        infos: Of all seats or of the learner, shape ``[n, seats, WIDTH]``, int64 (:mod:`ddz_env.envs.outputs`).
        logs: All moves, shape ``[n, 256, 2]``, uint64.
        last_observations: What the learner saw at the end of the game that ended last, where the step that ends one
            deals the next; shape ``[n, OBSERVATION_WORDS]``, uint64.
        last_infos: Its info then, shape ``[n, WIDTH]``, int64.

    From ``masks`` on, arrays that are not wanted are empty behind the games: shape ``[n, 0]``, ``[n, 0, WIDTH]`` and
    ``[n, 0, 2]``.
    """

    rules: Words
    terms: Integers
    rows: Words
    rings: Words
    keys: Words
    cells: Integers
    returns: npt.NDArray[np.float64]
    bits: Words
    masks: Words
    observations: Words
    concealed: Words
    infos: Integers
    logs: Words
    last_observations: Words
    last_infos: Integers


def allocate(
    n: int,
    *,
    masks: int = 0,
    observations: int = 0,
    concealed: int = 0,
    infos: int = 0,
    logs: int = 0,
    last: int = 0,
) -> Slots:
    """Zeroed arrays for ``n`` games.

    Args:
        n: How many games.
        masks: 1 if masks are written as bytes.
        observations: 1 if observations are.
        concealed: 1 if the cards that a seat does not see are.
        infos: How many infos a game has: one, or one for each seat.
        logs: 1 if all moves are kept.
        last: 1 if what the learner saw last is.
    """

    def words(*shape: int) -> Words:
        return np.zeros((n, *shape), np.uint64)

    def integers(*shape: int) -> Integers:
        return np.zeros((n, *shape), np.int64)

    return Slots(
        rules=np.zeros(RULE_WORDS, np.uint64),
        terms=np.zeros(TERMS, np.int64),
        rows=words(ROW_WORDS),
        rings=words(HISTORY_MOVES, HISTORY_WORDS),
        keys=words(5),
        cells=integers(9),
        returns=np.zeros((n, 4), np.float64),
        bits=words(MASK_WORDS),
        masks=words(masks * MASK_BYTE_WORDS),
        observations=words(observations * OBSERVATION_WORDS),
        concealed=words(concealed * CONCEALED_WORDS),
        infos=integers(infos, WIDTH),
        logs=words(logs * LOG_MOVES, HISTORY_WORDS),
        last_observations=words(last * OBSERVATION_WORDS),
        last_infos=integers(last * WIDTH),
    )
