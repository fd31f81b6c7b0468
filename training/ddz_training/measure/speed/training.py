"""Training: moves consumed a second, by ours on the processor or a GPU, and by DouZero's own training.

DouZero's ``douzero.dmc`` runs as it is, in processes of its own: actors play with the networks, and the learner counts
*frames*, whole moves that it has taken a gradient of, each once, forced ones included.  Ours counts the same, though it
plays forced moves without learning from them; what it does learn from stands in a line of its own.

Three things are arranged around DouZero.  Its logger imports GitPython, which its package does not ask for, to note a
commit; where that is missing, an empty stand-in lies on the processes' path.  PyTorch's own threads are off: with an
actor a core they are in each other's way.  And its batches are a quarter of the default's, because the first ones of
that size are full only after minutes; the learner is a small part of the time with either.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ddz_training.measure.speed.benchmark import Contender, Repeat, Work, rate
from ddz_training.measure.speed.fresh_process import FreshProcessError

_BATCH = 8
_PATIENCE = 900.0
"""Seconds after which DouZero's training is given up."""

_GRACE_TENTHS = 100
_LOOK = 0.01
"""Seconds between two looks at the file that DouZero writes to; its actors would hold a pipe open after its end."""

_STAND_IN = """
class InvalidGitRepositoryError(Exception):
    pass


def Repo(*arguments, **options):
    raise InvalidGitRepositoryError
"""

_CHILD = """
import importlib, os, sys
from douzero.dmc.arguments import parser
dmc = importlib.import_module("douzero.dmc.dmc")
learn = dmc.learn
def counted(position, models, model, batch, *rest):
    found = learn(position, models, model, batch, *rest)
    os.write(1, f"\\nLEARNED {position} {batch['done'].numel()}\\n".encode())  # in one piece: a thread for each role
    return found
dmc.learn = counted
dmc.train(parser.parse_args(sys.argv[1:]))
"""


@rate
def own_training(*, learned: bool = False, **settings: Any) -> Work:
    """Self-play with networks of the shipped sizes and one thread a core; the learner plays all seats.

    Args:
        learned: Whether the decisions with a choice, kickers included, are counted that are learned from; else whole
            moves, forced ones included.
        **settings: Settings of the run.
    """
    from ddz_agents.neural.shipped import shipped_policy_path
    from ddz_agents.neural.weights import load_weights
    from ddz_training.learn.ppo.config import SelfPlayConfig
    from ddz_training.learn.ppo.selfplay import SelfPlay

    start = load_weights(shipped_policy_path())
    usual: dict[str, Any] = {"architecture": start.policy.architecture, "minibatch": 2048, "opponent_share": 0.0}
    run = SelfPlay(SelfPlayConfig(**(usual | settings)), start=start)
    while True:
        before = run.counters.decisions
        run.step()
        yield run.counters.decisions - before if learned else run.moves


@contextlib.contextmanager
def _douzero(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """DouZero's training; all its processes end with the block."""
    if importlib.util.find_spec("git") is None:
        (folder / "git.py").write_text(_STAND_IN, encoding="utf-8")
    paths = os.pathsep.join(path for path in (str(folder), *sys.path) if path)
    options = ["--actor_device_cpu", "--training_device", "cpu", "--disable_checkpoint", "--savedir", str(folder)]
    sizes = ["--num_actors", str(os.cpu_count() or 1), "--num_threads", "1", "--batch_size", str(_BATCH)]
    with (folder / "learned").open("w") as learned, (folder / "errors").open("w") as errors:
        child = subprocess.Popen(
            [sys.executable, "-c", _CHILD, *options, *sizes],
            env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
            cwd=folder,
            stdout=learned,
            stderr=errors,
            start_new_session=True,  # actors and resource trackers share its group
        )
    watch = threading.Timer(_PATIENCE, os.killpg, (child.pid, signal.SIGTERM))
    watch.start()
    try:
        yield child
    finally:
        watch.cancel()
        _end(child)


def _end(child: subprocess.Popen[bytes]) -> None:
    """End a process and those of its group, and wait until none is left.

    Python's resource tracker ignores this signal: it removes the semaphores of the others when they are gone.
    """
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGTERM)
    child.wait()
    with contextlib.suppress(ProcessLookupError):
        for _ in range(_GRACE_TENTHS):
            os.killpg(child.pid, 0)
            time.sleep(0.1)
        os.killpg(child.pid, signal.SIGKILL)


def _frames(child: subprocess.Popen[bytes], folder: Path) -> Iterator[tuple[str, int]]:
    """Position and frames of every batch that is learned from, as it happens."""
    with (folder / "learned").open() as file:
        line = ""
        while child.poll() is None:
            line += file.readline()
            if not line.endswith("\n"):
                time.sleep(_LOOK)
                continue
            if line.startswith("LEARNED "):
                _, position, frames = line.split()
                yield position, int(frames)
            line = ""
    errors = (folder / "errors").read_text()
    raise FreshProcessError(f"DouZero's training ended:\n{errors[-2000:]}")


def _cycle(learned: Iterator[tuple[str, int]]) -> int:
    """Frames up to the landlord's next batch: the three roles' batches fill at the same pace, one after the other."""
    frames = 0
    while True:
        position, count = next(learned)
        frames += count
        if position == "landlord":
            return frames


def douzero(seconds: float) -> Repeat:
    """Frames a second of DouZero's training, each time from its start; the first batches are not timed."""
    if importlib.util.find_spec("douzero") is None:
        raise ImportError("no douzero", name="douzero")

    def repeat() -> float:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name, _douzero(Path(name)) as child:
            learned = _frames(child, Path(name))
            for _ in range(2):
                _cycle(learned)
            frames, began, elapsed = 0, time.perf_counter(), 0.0
            while elapsed < seconds:
                frames += _cycle(learned)
                elapsed = time.perf_counter() - began
            return frames / elapsed

    return repeat


BESIDE_DOUZERO = (
    Contender("ddz-env PPO self-play, every move (as DouZero's frames)", own_training()),
    Contender("ddz-env PPO self-play, decisions with a choice only", own_training(learned=True)),
    Contender("DouZero dmc on the CPU, frames", douzero, 20, is_peer=True),
)
_GPU: Any = {"device": "cuda", "num_games": 16384, "groups": 1, "steps": 64, "minibatch": 32768, "shard": 32768}
BESIDE_GPU = (
    Contender("CPU, all cores", own_training()),
    Contender("GPU, float32", own_training(precision="float32", **_GPU)),
    Contender("GPU, bfloat16", own_training(precision="bfloat16", **_GPU), 1_000_000),
)
