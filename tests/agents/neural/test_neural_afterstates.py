"""What actions leave: hand_values that are handed back save time and change nothing."""

from __future__ import annotations

import numpy as np
import pytest

from ddz_agents.neural.afterstates import describe_afterstates
from ddz_agents.neural.features import HAND_VALUES, MOST_LOSERS, MOST_MOVES, PLANES, PROSPECTS, put_hand_values
from ddz_env.envs.batch import SelfPlayBatch


@pytest.fixture(scope="module")
def batch() -> SelfPlayBatch:
    """Games at many stages."""
    found = SelfPlayBatch(300, "rlcard", seed=3, threads=1)
    for _ in range(25):
        found.step(found.sample_actions())
    return found


def test_pairs_come_row_by_row_and_action_by_action(batch: SelfPlayBatch) -> None:
    afterstates = describe_afterstates(batch.observation, batch.mask)
    rows, actions = np.nonzero(batch.mask)
    assert (afterstates.rows == rows).all()
    assert (afterstates.actions == actions).all()
    assert afterstates.hand_values.shape == (len(rows), HAND_VALUES)
    assert afterstates.hand_values.dtype == np.int16


def test_appraisals_that_are_handed_back_give_the_same_columns(batch: SelfPlayBatch) -> None:
    first = describe_afterstates(batch.observation, batch.mask)
    again = describe_afterstates(batch.observation, batch.mask, first.hand_values.copy())
    for one, other in zip(first, again, strict=True):
        assert one.tobytes() == other.tobytes()


def test_appraisals_that_are_handed_back_are_believed(batch: SelfPlayBatch) -> None:
    """There is no second search: others give other prospects, and the cards are what they are."""
    first = describe_afterstates(batch.observation, batch.mask)
    other = describe_afterstates(batch.observation, batch.mask, np.full_like(first.hand_values, 302))
    assert (other.columns[:, :PLANES] == first.columns[:, :PLANES]).all()
    assert (other.columns[:, PLANES : PLANES + MOST_LOSERS].sum(1) == 3).all()
    assert (first.columns[:, PLANES:] != other.columns[:, PLANES:]).any(axis=1).mean() > 0.9


@pytest.mark.parametrize(
    ("sure", "price", "losers", "moves", "share", "steps"),
    [
        (0, 0, 0, 0, 0.25, 0),
        (3, 1, 0, 3, 0.251, 1),  # three moves that nothing beats
        (502, 250, 5, 7, 0.5, 5),
        (2000, 32_000, MOST_LOSERS, MOST_MOVES, 1.0, 12),
        (100, -32_000, 1, 1, 0.0, 0),
    ],
)
def test_an_appraisal_is_a_hundred_a_loser_and_one_any_other_move_and_a_price(
    sure: int, price: int, losers: int, moves: int, share: float, steps: int
) -> None:
    out = np.full(PROSPECTS + 1, 9, np.float32)
    assert put_hand_values(sure, price, out, 0) == PROSPECTS
    parts = np.split(out, [MOST_LOSERS, MOST_LOSERS + MOST_MOVES, MOST_LOSERS + MOST_MOVES + 1, PROSPECTS])
    assert [part.sum() for part in (*parts[:2], parts[3])] == [losers, moves, steps]
    assert parts[2][0] == pytest.approx(share, abs=1e-6)
    assert parts[4].tolist() == [9]
