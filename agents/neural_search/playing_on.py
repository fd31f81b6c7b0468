"""Leaves valued later: the policy plays their games on, and the critic is asked where it stops.

The critic errs most where much is still to be played.  Some moves later the same world has shown more of what follows
from the leaf, and everyone has moved as the policy does, each seat on what it sees.
"""

# mypy: disable-error-code="arg-type"
# (To Numba NumPy's integers and Python's are one type, to the checker they are two.)

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from agents.mcts.simulate import reward_of
from agents.neural.model import Floats, PolicyModel
from agents.neural_search.slots import Slots
from ddz_env.engine.compiling import inline_kernel, kernel
from ddz_env.engine.layout import LANDLORD, SEAT, STAGE, STAGE_OVER
from ddz_env.engine.legal import count_legal, legal_mask, nth_legal
from ddz_env.engine.step import apply_and_record
from ddz_env.engine.tables import MASK_WORDS
from ddz_env.engine.words import U0, U1
from ddz_env.observation import expand_mask, mask_bytes, write_concealed, write_observation


@inline_kernel
def _skip_forced(row: np.ndarray, ring: np.ndarray, rules: np.ndarray, mask: np.ndarray) -> bool:
    """Play what is forced; whether anybody is left to decide."""
    while row[STAGE] != STAGE_OVER:
        legal_mask(row, rules, mask)
        if count_legal(mask) != U1:
            return True
        apply_and_record(row, ring, nth_legal(mask, U0), rules)
    return False


@kernel
def play_actions(slots: Slots, actions: np.ndarray, rules: np.ndarray) -> None:
    """Play an action in every waiting game, and what is forced after it; describe where it then stands.

    Args:
        slots: The games; rows, rings, descriptions and ``waits`` are changed.
        actions: One for each of them, waiting or not, shape ``[n]``, int64.
        rules: The rules array.
    """
    mask = np.empty(MASK_WORDS, np.uint64)
    for slot in range(actions.size):
        if not slots.waits[slot]:
            continue
        row, ring = slots.rows[slot], slots.rings[slot]
        apply_and_record(row, ring, np.uint64(actions[slot]), rules)
        slots.waits[slot] = _skip_forced(row, ring, rules, mask)
        if slots.waits[slot]:
            expand_mask(mask, slots.masks[slot])
            write_observation(row, ring, rules, row[SEAT], slots.observations[slot])
            write_concealed(row, rules, row[SEAT], slots.concealed[slot])


@kernel
def write_results(slots: Slots, seats: np.ndarray, values: np.ndarray) -> None:
    """Write what finished games brought: 1, -1, or 0 where all declined to be landlord.

    Args:
        slots: The games.
        seats: For whom, shape ``[n]``, uint64.
        values: Output, shape ``[n]``, float32; those of waiting games are left alone.
    """
    for slot in range(seats.size):
        if not slots.waits[slot]:
            values[slot] = np.float32(2.0) * reward_of(slots.rows[slot], seats[slot]) - np.float32(1.0)


Value = Callable[[Slots], Floats]
"""Values of games for the seats to act, shape ``[n]``, float32."""


def play_on(
    model: PolicyModel,
    slots: Slots,
    log_probabilities: Floats,
    decisions: int,
    rules: npt.NDArray[np.uint64],
    value: Value,
) -> Floats:
    """Let the policy play games on, its likeliest action each time, and value them where it stops.

    Args:
        model: The policy.
        slots: Games that wait for a decision; changed.
        log_probabilities: The policy's word on them, shape ``[n, 400]``, float32.
        decisions: How many are played in each; what is forced does not count.
        rules: The rules array.
        value: Asked about those that are not over then.

    Returns:
        Values for the seats that were to act at first, shape ``[n]``, float32: 1 or -1 where the game ended, 0 where
        nobody had bid.
    """
    seats, values = slots.rows[:, SEAT].copy(), np.empty(len(slots.rows), np.float32)
    places = np.arange(len(seats))
    for number in range(decisions):
        if number:
            log_probabilities, _ = model.evaluate(slots.observations.view(np.int8), mask_bytes(slots.masks))
        play_actions(slots, log_probabilities.argmax(axis=1), rules)
        found = np.empty(len(places), np.float32)
        write_results(slots, seats[places], found)
        over = slots.waits == 0
        values[places[over]] = found[over]
        left = np.flatnonzero(~over)
        slots, places = slots.copied(left), places[left]
        if not len(left):
            return values
    landlords = slots.rows[:, LANDLORD]  # of an auction at the leaf, the one that it has come to
    same_side = (slots.rows[:, SEAT] == landlords) == (seats[places] == landlords)
    found = value(slots)
    values[places] = np.where(same_side, found, -found)
    return values
