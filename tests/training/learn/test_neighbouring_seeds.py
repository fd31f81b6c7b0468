"""Which deals runs with the seeds 0 and 1 have in common: none, or what a convention says."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import gymnasium
import numpy as np
import pytest

import ddz_env  # registers the environments
from ddz_env.batch import SelfPlayBatch
from ddz_training.learn.ppo.config import SelfPlayConfig
from ddz_training.learn.ppo.selfplay import new_games
from ddz_training.learn.sb3.train import Sb3Config, new_model
from ddz_training.learn.sb3.train import new_games as new_sb3_games
from ddz_training.measure.duplicate import new_deal

N = 8
RULES = ddz_env.Rules()


def make_vec(seed: int) -> Iterable[Any]:
    games: Any = gymnasium.make_vec("ddz_env/DouDizhu-v0", N, opponents="random", threads=1)
    return games.reset(seed=seed)[0]  # type: ignore[no-any-return]


def train_sb3(seed: int) -> Iterable[Any]:
    config = Sb3Config(seed=seed, num_envs=N, n_steps=2)
    return new_model(config, new_sb3_games(config, 1)).get_env().reset()  # type: ignore[union-attr, return-value]


def train_selfplay(seed: int) -> Iterable[Any]:
    config = SelfPlayConfig(seed=seed, num_envs=N)
    return np.concatenate([new_games(config, group).batch.observation for group in range(config.groups)])


def arena(seed: int) -> Iterable[Any]:
    return [new_deal(RULES, seed, deal).row for deal in range(N)]


@pytest.mark.parametrize(
    ("deals", "in_common"),
    [
        (make_vec, N - 1),  # Gymnasium's convention: game i has the seed plus i
        (train_sb3, 0),
        (train_selfplay, 0),
        (arena, 0),
        (lambda seed: SelfPlayBatch(N, seed=seed, threads=1).observation, 0),
    ],
    ids=["make_vec", "train sb3", "train selfplay", "arena", "SelfPlayBatch"],
)
def test_neighbouring_seeds_share_no_deals(deals: Callable[[int], Iterable[Any]], in_common: int) -> None:
    one, other = ({np.asarray(seen).tobytes() for seen in deals(seed)} for seed in (0, 1))
    assert len(one) == len(other) == N
    assert len(one & other) == in_common
