"""SB3's vector environment: the games are those of the Gymnasium environment, and SB3 is told what it expects."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from gymnasium import Wrapper
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.monitor import Monitor

from ddz_env.core.errors import GameOverError, IllegalMoveError, InvalidMoveError
from ddz_env.core.observation import OBSERVATION
from ddz_env.envs.gym import DouDizhuEnv
from ddz_training.learn.sb3.vec_env import MaskedVecEnv, make_games

N = 6


def choose(masks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.array([int(rng.choice(np.flatnonzero(mask))) for mask in masks])


def made(opponents: Any = "random", count: int = N, seed: int = 3, threads: int = 1, **options: Any) -> MaskedVecEnv:
    env = MaskedVecEnv(make_games(count, opponents, threads=threads, **options))
    env.seed(seed)
    return env


def test_nothing_depends_on_the_number_of_threads() -> None:
    shown = []
    for threads in (1, 3):
        env = made("rules", 150, threads=threads)
        observations, rng = env.reset(), np.random.default_rng(0)
        for _ in range(30):
            observations, *_ = env.step(choose(env.env_method("action_masks"), rng))
        shown.append(observations)
    assert (shown[0] == shown[1]).all()


@pytest.mark.parametrize("opponents", ["random", "rules"])
def test_games_that_end_before_the_learner_may_act_are_passed_over(opponents: str) -> None:
    """In the half-deck game the landlord may go out at once; SB3 has no name for a game without a decision."""
    env = made(opponents, 200, rules="half-deck")
    env.reset()
    rng, lengths = np.random.default_rng(0), list[int]()
    for _ in range(60):
        masks = env.env_method("action_masks")
        assert masks.any(axis=1).all()
        _, _, _, infos = env.step(choose(masks, rng))
        lengths += [info["episode"]["l"] for info in infos if info]
    assert len(lengths) > 200
    assert min(lengths) >= 1


@pytest.mark.parametrize("opponents", ["random", "rules", "ddz_agents.random:RandomAgent"])
def test_infos_of_finished_games_and_of_no_others_say_what_sb3_wants(opponents: str) -> None:
    env = made(opponents, scoring="stake")
    env.reset()
    rng = np.random.default_rng(0)
    returns, lengths = np.zeros(N), np.zeros(N, int)
    ended = 0
    while ended < 12:
        observations, rewards, dones, infos = env.step(choose(env.env_method("action_masks"), rng))
        assert (observations.shape, observations.dtype) == ((N, 512), np.dtype(np.int8))
        assert (rewards.dtype, dones.dtype, len(infos)) == (np.dtype(np.float32), np.dtype(bool), N)
        returns += rewards
        lengths += 1
        for index in range(N):
            if not dones[index]:
                assert infos[index] == {}
                assert rewards[index] == 0
                continue
            assert infos[index].keys() == {"terminal_observation", "TimeLimit.truncated", "is_success", "episode"}
            assert infos[index]["TimeLimit.truncated"] is False
            assert infos[index]["is_success"] is bool(returns[index] > 0)
            episode = infos[index]["episode"]
            assert (episode["r"], episode["l"]) == (returns[index], lengths[index])
            assert episode["t"] > 0
            last = infos[index]["terminal_observation"]
            assert last[OBSERVATION.offsets["stage"] + 2] == 0  # whose game is over chooses no kickers
            cards = [last[OBSERVATION.offsets[f"cards_left_{seat}"]] for seat in ("self", "next", "previous")]
            assert cards.count(0) == 1
            assert (last != observations[index]).any()
            assert cards[0] > 0 or infos[index]["is_success"]
            ended += 1
            returns[index], lengths[index] = 0, 0
    env.close()


def test_masks_come_in_one_array_as_sb3_contrib_takes_them() -> None:
    env = made()
    assert is_masking_supported(env)
    observations = env.reset()
    masks = env.env_method("action_masks")
    assert (masks.shape, masks.dtype) == ((N, 400), np.dtype(bool))
    assert (get_action_masks(env) == masks).all()
    assert (env.env_method("action_masks", indices=[4, 1]) == masks[[4, 1]]).all()
    assert (env.env_method("action_masks", indices=2) == masks[[2]]).all()
    assert observations.shape == (N, 512)
    before = masks.copy()
    env.step(choose(masks, np.random.default_rng(0)))
    assert (masks == before).all()  # SB3 keeps masks and observations while it steps


def test_seeds_repeat_the_games_and_a_second_reset_goes_on() -> None:
    one, other = made(seed=9), made(seed=9)
    assert (one.reset() == other.reset()).all()
    first = made(seed=9).reset()
    assert (one.reset() == other.reset()).all()
    assert (one.reset() != first).any()
    assert (made(seed=10).reset()[:-1] == first[1:]).all()  # game i has the seed plus i, as in SB3's own


def test_attributes_are_those_of_the_one_environment_that_all_games_share() -> None:
    env = made()
    assert env.get_attr("num_envs") == [N] * N
    assert env.get_attr("render_mode", [0, 2]) == [None, None]
    assert env.has_attr("action_masks")
    assert not env.has_attr("nothing")
    env.set_attr("label", 7)
    assert env.get_attr("label", 1) == [7]
    assert env.env_is_wrapped(Monitor) == [True] * N
    assert env.env_is_wrapped(Wrapper, [0]) == [False]


def test_what_is_not_legal_is_a_named_error_and_changes_nothing() -> None:
    for opponents in ("random", "rules"):
        env = made(opponents)
        with pytest.raises(GameOverError, match="call reset"):
            env.step(np.zeros(N, int))
        env.reset()
        illegal = env.env_method("action_masks").argmin(axis=1)
        with pytest.raises(IllegalMoveError, match="game 0"):
            env.step(illegal)
        with pytest.raises(InvalidMoveError, match="shape"):
            env.step(np.zeros(N + 1, int))
        env.step(env.env_method("action_masks").argmax(axis=1))


def test_the_single_environment_passes_sb3_s_checker() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(DouDizhuEnv(), warn=True)


def test_sb3_s_own_evaluation_reads_the_episodes() -> None:
    env = made(rules="mini")
    model = MaskablePPO("MlpPolicy", env, policy_kwargs={"net_arch": [8]}, n_steps=8, seed=0, device="cpu")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rewards, lengths = evaluate_policy(model, env, n_eval_episodes=10, return_episode_rewards=True)
    assert set(rewards) <= {-1.0, 1.0}
    assert min(lengths) >= 1
