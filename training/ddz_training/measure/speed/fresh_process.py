"""Measurements that need a process of their own: time to the first finished game, and memory.

Memory is resident memory above import.  Imports, compiled code and a small warm-up come before the first reading, so
that what is left is what the user asked for: the games, or the tree.  The larger of two figures counts: the growth of
the resident set, which misses arrays that went to pages the compiler had freed, and what ``tracemalloc`` knows of,
which misses what compiled code allocates.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from ddz_training.measure.speed.benchmark import Contender, Prepare, Repeat

FIRST_GAME = """
from ddz_env import dou_dizhu_v0
env = dou_dizhu_v0.env()
env.reset(seed=1)
for agent in env.agent_iter():
    observation, reward, termination, truncation, info = env.last()
    env.step(None if termination or truncation else env.action_space(agent).sample(observation["action_mask"]))
"""

_READING = """
import gc, resource, sys, tracemalloc
def resident():
    gc.collect()
    try:
        with open("/proc/self/smaps_rollup") as file:  # exact; statm lags by some dozen pages a core
            return next(int(line.split()[1]) for line in file if line.startswith("Rss:")) * 1024 / 1e6
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1e-6 if sys.platform == "darwin" else 1e-3)
def start():
    global before
    before = resident()
    tracemalloc.start()
def grown():
    traced = tracemalloc.get_traced_memory()[0] / 1e6
    return max(resident() - before, traced)
"""

_GAMES = """
from ddz_env.envs.batch import SelfPlayBatch
def play(games):
    batch = SelfPlayBatch(num_games=games, seed=0, threads=2)
    for _ in range(100):
        batch.step(batch.sample_actions())
    return batch
play(2)
start()
batch = play(4096)
print(grown())
"""

_TREE = """
import numpy as np
from ddz_agents.tree_search.agent import IsUctAgent
from ddz_env import State
view = State.new(seed=0).view()
IsUctAgent(iterations=1).act(view, np.random.default_rng(0))
start()
agent = IsUctAgent(iterations=10_000)
agent.act(view, np.random.default_rng(0))
print(grown())
"""


class FreshProcessError(RuntimeError):
    """The measured process failed; the message holds the end of what it wrote."""


def run_python(code: str, environment: Mapping[str, str] | None = None) -> str:
    """Run code in a new interpreter with this one's import path, and return what it prints.

    Args:
        code: Python source.
        environment: Variables to set.

    Raises:
        FreshProcessError: If the process fails.
    """
    paths = os.pathsep.join(path for path in (os.getcwd(), *sys.path) if path)
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": paths, **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise FreshProcessError(f"a measured process failed:\n{done.stderr[-2000:]}")
    return done.stdout


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
    return lambda: _timed(Path(cache.name))


def megabytes(code: str) -> Prepare:
    """What some code prints, which calls ``start`` and ``grown`` (above)."""

    def prepare(seconds: float) -> Repeat:
        run_python(_READING + code)  # compiles
        return lambda: max(0.0, float(run_python(_READING + code)))

    return prepare


START = Contender("first time (compiles)", first_time, 12), Contender("after that", after_that, 2)
MEMORY = (
    Contender("4,096 games, observation and mask", megabytes(_GAMES), 20),
    Contender("10,000-iteration tree", megabytes(_TREE), 2),
)
