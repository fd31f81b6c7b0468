"""Environments stepped from Python, with an observation and a mask at every decision."""

from __future__ import annotations

import random
from typing import Any

from training.bench.benchmark import Contender, Part, Repeat, rate_of
from training.bench.engine import rlcard_game


def _aec(env: Any, seconds: float) -> Repeat:
    """Random play by PettingZoo's loop; the choice from the mask is on the clock."""
    rng = random.Random(0)
    env.reset(seed=0)

    def work() -> int:
        decisions = 0
        env.reset()
        for _ in env.agent_iter():
            observation, _, termination, truncation, _ = env.last()
            if termination or truncation:
                env.step(None)
                continue
            legal = observation["action_mask"].nonzero()[0]
            env.step(int(legal[int(rng.random() * len(legal))]))
            decisions += 1
        return decisions

    return rate_of(work, seconds)


def raw_env(seconds: float) -> Repeat:
    """Ours without wrappers."""
    from ddz_env import dou_dizhu_v0

    return _aec(dou_dizhu_v0.raw_env(), seconds)


def wrapped_env(seconds: float) -> Repeat:
    """Ours with PettingZoo's wrappers."""
    from ddz_env import dou_dizhu_v0

    return _aec(dou_dizhu_v0.env(), seconds)


def rlcard(seconds: float) -> Repeat:
    """RLCard's ``env.step``, its observation included."""
    import rlcard as library

    env = library.make("doudizhu", config={"seed": 0})
    choose = random.Random(0).choice
    return rate_of(lambda: rlcard_game(env, choose), seconds)


PART = Part(
    "aec",
    "environment step with observation and mask, random choice included",
    "decisions/s",
    (
        Contender("ddz-env raw_env()", raw_env, 60_000),
        Contender("ddz-env env()", wrapped_env, 25_000),
        Contender("RLCard env.step", rlcard, is_peer=True),
    ),
)
