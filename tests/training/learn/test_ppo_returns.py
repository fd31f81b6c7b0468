"""Advantages, once a move and seat by seat, against a naive loop, an analytic case and a move worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from ddz_training.learn.errors import InvalidTrainingError
from ddz_training.learn.ppo.games import shared_rewards
from ddz_training.learn.ppo.ppo import seat_advantages

Columns = dict[str, np.ndarray]


def random_rollout(seed: int, steps: int = 40, envs: int = 6, seats: int = 3) -> Columns:
    rng = np.random.default_rng(seed)
    done = rng.random((steps, envs)) < 0.12
    rewards = rng.normal(size=(steps, envs, seats)) * done[..., None]
    rewards += rng.normal(size=rewards.shape) * (rng.random(rewards.shape) < 0.1)  # some on the way, too
    return {
        "values": rng.normal(size=(steps, envs)).astype(np.float32),
        "rewards": rewards,
        "seats": rng.integers(0, seats, (steps, envs)),
        "decides": rng.random((steps, envs)) < 0.7,
        "begins": rng.random((steps, envs)) < 0.7,
        "done": done,
    }


def naive_advantages(rollout: Columns, gamma: float, lam: float) -> tuple[np.ndarray, np.ndarray]:
    """One environment, one game, one seat after the other: first the errors, then their discounted sums."""
    steps, envs = rollout["values"].shape
    advantages, known = np.zeros((steps, envs)), np.zeros((steps, envs), bool)
    for env in range(envs):
        ends = [step for step in range(steps) if rollout["done"][step, env]]
        firsts = [0, *(end + 1 for end in ends)]
        for first, last in zip(firsts, [*ends, None], strict=True):
            game = range(first, steps if last is None else last + 1)
            for seat in range(rollout["rewards"].shape[2]):
                mine = [step for step in game if rollout["seats"][step, env] == seat]
                decisions = [step for step in mine if rollout["decides"][step, env]]
                errors, moves = [], []
                for place, step in enumerate(decisions):
                    value = rollout["values"][step, env]
                    if place + 1 < len(decisions):
                        following = decisions[place + 1]
                        new_move = any(rollout["begins"][s, env] for s in mine if step < s <= following)
                        discount = gamma if new_move else 1.0
                        earned = rollout["rewards"][step:following, env, seat].sum()
                        errors.append(earned + discount * rollout["values"][following, env] - value)
                        moves.append(new_move)
                    elif last is not None:
                        errors.append(rollout["rewards"][step : last + 1, env, seat].sum() - value)
                for place in range(len(errors)):
                    total, weight = 0.0, 1.0
                    for later in range(place, len(errors)):
                        total += weight * errors[later]
                        if later < len(moves):
                            weight *= gamma * lam if moves[later] else 1.0
                    advantages[decisions[place], env] = total
                    known[decisions[place], env] = True
    return advantages, known


@pytest.mark.parametrize(("gamma", "lam"), [(1.0, 0.95), (0.9, 0.8), (1.0, 0.0), (0.97, 1.0)])
def test_advantages_equal_those_of_a_naive_loop_over_seats(gamma: float, lam: float) -> None:
    unknown = 0
    for seed in range(20):
        rollout = random_rollout(seed)
        found = seat_advantages(**rollout, gamma=gamma, lam=lam)
        advantages, known = naive_advantages(rollout, gamma, lam)
        assert (found.known == known).all()
        np.testing.assert_allclose(found.advantages, advantages, atol=1e-5)
        np.testing.assert_allclose(found.targets, np.where(known, advantages + rollout["values"], 0), atol=1e-5)
        unknown += int((rollout["decides"] & ~known).sum())
    assert unknown > 100  # the last decision of every seat whose game goes on


def test_a_move_with_three_kickers_is_one_unit_of_time() -> None:
    """Worked by hand, γ = 0.9, λ = 0.5.

    Seat 0 plays 333444555+6 7 8 (main group and three kickers, values 0.1, 0.2, 0.3, 0.4), seats 1 and 2 pass, which
    was all that they could do, and seat 0 decides on its last move, value 0.8, and wins 1: 1 - 0.8 = 0.2.  The third
    kicker comes before another move, so that both apply: 0.9 * 0.8 - 0.4 + 0.9 * 0.5 * 0.2 = 0.41.  Within the first
    move neither does: 0.1 more for each stage.
    """
    values = np.array([[0.1], [0.2], [0.3], [0.4], [9.0], [9.0], [0.8]])
    seats = np.array([[0], [0], [0], [0], [1], [2], [0]])
    begins, done = np.array([[1], [0], [0], [0], [1], [1], [1]], bool), np.arange(7)[:, None] == 6
    rewards = done[..., None] * np.array([1.0, -1.0, -1.0])
    found = seat_advantages(values, rewards, seats, seats == 0, begins, done, gamma=0.9, lam=0.5)
    np.testing.assert_allclose(found.advantages[:, 0], [0.71, 0.61, 0.51, 0.41, 0, 0, 0.2], atol=1e-6)
    assert found.known[:, 0].tolist() == [True, True, True, True, False, False, True]


def test_peasants_share_what_the_landlord_loses() -> None:
    win = np.array([[-1.0, 0.5, 0.5], [0.5, 0.5, -1.0], [0.0, 0.0, 0.0]])
    assert shared_rewards(win, np.array([0, 2, -1]), 3, "win").tolist() == [[-1, 1, 1], [1, 1, -1], [0, 0, 0]]
    stake = np.array([[6.0, -2.0, -4.0]])  # one peasant has doubled
    assert shared_rewards(stake, np.array([0]), 3, "stake").tolist() == [[3, -3, -3]]
    two = np.array([[1.0, -1.0, 0.0]])
    assert shared_rewards(two, np.array([0]), 2, "stake").tolist() == [[1, -1, 0]]


def test_what_is_out_of_range_has_a_named_error() -> None:
    rollout = random_rollout(1)
    for wrong in ({"gamma": 1.5}, {"lam": -0.1}):
        with pytest.raises(InvalidTrainingError, match=r"must be in 0\.\.1"):
            seat_advantages(**rollout, **wrong)  # type: ignore[arg-type]
    rollout["done"] = rollout["done"][:-1]
    with pytest.raises(InvalidTrainingError, match=r"\[steps, envs\]"):
        seat_advantages(**rollout)
