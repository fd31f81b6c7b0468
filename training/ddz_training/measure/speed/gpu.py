"""Self-play on a GPU beside the processor: decisions stepped and moves trained a second, by the same code."""

from __future__ import annotations

from ddz_training.measure.speed.benchmark import Contender, Part, Prepare, Repeat, rate_of
from ddz_training.measure.speed.training import OwnTraining

GAMES = 65536
"""Games that are stepped side by side on a GPU; their rows, rings and observations take a hundred megabytes."""

_STEPS = 20
_TRAINING = {"num_games": 16384, "groups": 1, "steps": 64, "minibatch": 32768, "shard": 32768}


def stepping_on_gpu(seconds: float) -> Repeat:
    """Decisions a second of the batch on a GPU, observations, masks and random choice included."""
    from numba import cuda

    from ddz_env.envs.cuda_batch import CudaSelfPlayBatch

    batch = CudaSelfPlayBatch(GAMES, check=False)

    def work() -> int:
        for _ in range(_STEPS):
            batch.step(batch.sample_actions())
        cuda.synchronize()
        return _STEPS * GAMES

    return rate_of(work, seconds)


def stepping_on_cpu(seconds: float) -> Repeat:
    """The same of the batch on the processor, all cores."""
    from ddz_env.envs.batch import SelfPlayBatch

    batch = SelfPlayBatch(4096)

    def work() -> int:
        for _ in range(_STEPS):
            batch.step(batch.sample_actions())
        return _STEPS * batch.num_games

    return rate_of(work, seconds)


def training_on_gpu(precision: str) -> Prepare:
    """Whole moves a second of self-play with its learning on a GPU, forced moves included."""
    return OwnTraining(device="cuda", precision=precision, **_TRAINING).moves


STEPPED = Part(
    "gpu-step",
    "self-play batch with observation, mask and random choice",
    "decisions/s",
    (Contender("CPU, all cores", stepping_on_cpu), Contender("GPU", stepping_on_gpu, 10_000_000)),
    on_request=True,
)
TRAINED = Part(
    "gpu-train",
    "self-play with learning, networks of the shipped sizes",
    "moves/s",
    (
        Contender("CPU, all cores", OwnTraining().moves),
        Contender("GPU, float32", training_on_gpu("float32")),
        Contender("GPU, bfloat16", training_on_gpu("bfloat16"), 1_000_000),
    ),
    repeats=3,
    seconds=30.0,
    on_request=True,
)
