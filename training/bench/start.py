"""From process start to the first finished game of the AEC environment, with and without the compile cache."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from training.bench.benchmark import Contender, Part, Repeat
from training.bench.fresh_process import run_python

FIRST_GAME = """
from ddz_env import dou_dizhu_v0
env = dou_dizhu_v0.env()
env.reset(seed=1)
for agent in env.agent_iter():
    observation, reward, termination, truncation, info = env.last()
    env.step(None if termination or truncation else env.action_space(agent).sample(observation["action_mask"]))
"""


def _timed(cache: Path) -> float:
    start = time.perf_counter()
    run_python(FIRST_GAME, {"DDZ_CACHE_DIR": str(cache)})
    return time.perf_counter() - start


def first_time(seconds: float) -> Repeat:
    """With an empty cache each time."""

    def repeat() -> float:
        with tempfile.TemporaryDirectory() as cache:
            return _timed(Path(cache))

    return repeat


def after_that(seconds: float) -> Repeat:
    """With the cache of an earlier process."""
    cache = tempfile.TemporaryDirectory()
    _timed(Path(cache.name))

    def repeat() -> float:
        return _timed(Path(cache.name))

    return repeat


PART = Part(
    "start",
    "process start to first finished game",
    "s",
    (Contender("first time (compiles)", first_time, 15), Contender("after that", after_that, 2)),
    less_is_better=True,
    repeats=3,
)
