"""Many games in one call, by two threads: the self-play batch, and a learner against three kinds of opponents."""

from __future__ import annotations

import time
from typing import Any

from training.bench.benchmark import Contender, Part, Prepare, Repeat

GAMES = 4096
THREADS = 2
LEARNERS = 1024


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


def learning(opponents: str) -> Prepare:
    """Decisions a second of a learner against opponents who answer inside ``step``, theirs not counted."""

    def prepare(seconds: float) -> Repeat:
        import os

        import gymnasium
        import numpy as np

        import ddz_env  # noqa: F401  # registers the environment

        if opponents == "policy":
            import safetensors.torch  # noqa: F401  # without it there is no policy to play against
        threads = min(THREADS, os.cpu_count() or 1)
        kind: dict[str, Any] = {"vectorization_mode": "vector_entry_point", "opponents": opponents, "threads": threads}
        games = gymnasium.make_vec("ddz_env/DouDizhu-v0", LEARNERS, autoreset_mode="SameStep", **kind)
        rng = np.random.default_rng(0)
        _, infos = games.reset(seed=0)

        def actions() -> Any:
            mask = infos["action_mask"]
            return np.argmax(rng.random(mask.shape, np.float32) * mask, axis=1)

        def repeat() -> float:
            nonlocal infos
            spent, decisions = 0.0, 0
            while spent < seconds:
                chosen = actions()
                start = time.perf_counter()
                *_, infos = games.step(chosen)
                spent += time.perf_counter() - start
                decisions += LEARNERS
            return decisions / spent

        repeat()  # games at every age
        return repeat

    return prepare


LEARNER = Part(
    "learner",
    "a learner's vector environment, two threads, 1,024 games",
    "decisions/s",
    tuple(Contender(f"make_vec, opponents={name}", learning(name)) for name in ("random", "rules", "policy")),
)

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
