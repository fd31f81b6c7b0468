"""The self-play batch: 4,096 games stepped in one call by two threads."""

from __future__ import annotations

import time

from training.bench.benchmark import Contender, Part, Prepare, Repeat

GAMES = 4096
THREADS = 2


def stepping(observation: bool, sampling: bool) -> Prepare:
    """Decisions a second of ``step``.

    Args:
        observation: Whether observations and byte masks are written, or the masks alone.
        sampling: Whether the random choice of the actions is on the clock too.
    """

    def prepare(seconds: float) -> Repeat:
        import os

        from ddz_env.batch import SelfPlayBatch

        threads = min(THREADS, os.cpu_count() or 1)
        batch = SelfPlayBatch(num_games=GAMES, seed=0, threads=threads, observation=observation)
        for _ in range(60):  # games at every age
            batch.step(batch.sample_actions())

        def repeat() -> float:
            spent, decisions = 0.0, 0
            while spent < seconds:
                start = time.perf_counter()
                actions = batch.sample_actions()
                if not sampling:
                    start = time.perf_counter()
                batch.step(actions)
                spent += time.perf_counter() - start
                decisions += GAMES
            return decisions / spent

        return repeat

    return prepare


PART = Part(
    "batch",
    "self-play batch, two threads, 4,096 games",
    "decisions/s",
    (
        Contender("step: observation and mask", stepping(True, False), 2_000_000),
        Contender("step: mask only", stepping(False, False), 5_000_000),
        Contender("step and sample_actions: observation and mask", stepping(True, True)),
    ),
)
