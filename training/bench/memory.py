"""Resident memory above import, each in a process of its own.

Imports, compiled code and a small warm-up come before the first reading, so that what is left is what the user asked
for: the games, or the tree.  The larger of two figures counts: the growth of the resident set, which misses arrays that
went to pages the compiler had freed, and what ``tracemalloc`` knows of, which misses what compiled code allocates.
"""

from __future__ import annotations

from training.bench.benchmark import Contender, Part, Prepare, Repeat
from training.bench.fresh_process import run_python

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
from ddz_env.batch import SelfPlayBatch
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
from agents.mcts.agent import IsUctAgent
from ddz_env import State
view = State.new(seed=0).view()
IsUctAgent(iterations=1).act(view, np.random.default_rng(0))
start()
agent = IsUctAgent(iterations=10_000)
agent.act(view, np.random.default_rng(0))
print(grown())
"""


def megabytes(code: str) -> Prepare:
    """What some code prints, which calls ``start`` and ``grown`` (above)."""

    def prepare(seconds: float) -> Repeat:
        run_python(_READING + code)  # compiles
        return lambda: max(0.0, float(run_python(_READING + code)))

    return prepare


PART = Part(
    "memory",
    "memory above import",
    "MB",
    (
        Contender("4,096 games, observation and mask", megabytes(_GAMES), 20),
        Contender("10,000-iteration tree", megabytes(_TREE), 2),
    ),
    less_is_better=True,
    repeats=3,
)
