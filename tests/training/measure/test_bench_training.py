"""The benchmark of training: what is counted, and that nothing of the peer's is left behind."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from ddz_agents.neural.network import Architecture
from ddz_training.learn.ppo.config import SelfPlayConfig
from ddz_training.learn.ppo.selfplay import SelfPlay
from ddz_training.measure.speed import training as bench_training
from ddz_training.measure.speed.fresh_process import FreshProcessError
from ddz_training.measure.speed.parts import PARTS
from tests.training.measure.test_ordered_map import is_running, needs_proc

# A stand-in for DouZero's training: its actor is a process of the same group that never ends by itself.
_FAKE = """
import subprocess, sys, time
from pathlib import Path
actor = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
Path({pids!r}).write_text(str(actor.pid))
print("something else", flush=True)
for _ in range({batches}):
    for position in ("landlord_up", "landlord", "landlord_down"):
        print("LEARNED", position, 100, flush=True)
    time.sleep(0.01)
sys.exit("all is lost")
"""


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file in which the stand-in notes its actor; it learns from a hundred batches a role and dies."""
    pids = tmp_path / "actor"
    monkeypatch.setattr(bench_training, "_CHILD", _FAKE.format(pids=str(pids), batches=100))
    monkeypatch.setattr(bench_training.importlib.util, "find_spec", lambda name: name == "douzero" or None)
    return pids


@needs_proc
def test_the_peers_processes_end_with_the_measurement(fake: Path) -> None:
    assert bench_training.douzero(0.1)() > 0
    assert not is_running(int(fake.read_text()))


def test_a_cycle_counts_the_frames_up_to_the_landlords_next_batch() -> None:
    """Every batch counts once, in whatever order the roles' batches become full."""
    learned = iter(
        [("landlord_up", 100), ("landlord", 90), ("landlord_down", 80), ("landlord_up", 70), ("landlord", 60)]
    )
    assert bench_training._cycle(learned) == 190
    assert bench_training._cycle(learned) == 210
    assert next(learned, None) is None


@needs_proc
def test_a_peer_that_dies_is_an_error_with_its_last_words(fake: Path) -> None:
    with pytest.raises(FreshProcessError, match="all is lost"):
        bench_training.douzero(60.0)()
    assert not is_running(int(fake.read_text()))


def test_a_peer_that_is_not_installed_is_said_to_be_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_training.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError):
        bench_training.douzero(1.0)


def test_the_part_is_measured_only_if_it_is_named() -> None:
    named = ["search-time", "douzero", "training", "gpu-step", "gpu-train", "web", "web-weight"]
    assert [key for key, part in PARTS.items() if part.on_request] == named


def test_moves_are_counted_once_and_kickers_not_at_all() -> None:
    """In a game of kickers there are more steps than moves; without opponents every step is of one of the two kinds."""
    architecture = Architecture(width=8, blocks=0, rest_width=4, rest_features=2, critic_width=8, critic_blocks=0)
    sizes = {"num_games": 16, "steps": 40, "minibatch": 256, "shard": 64}
    run = SelfPlay(SelfPlayConfig(architecture=architecture, opponent_share=0.0, **sizes), threads=1)  # type: ignore[arg-type]
    run.step()
    rollout = run._rollout
    assert run.moves == np.count_nonzero(rollout.begins)
    kickers = np.count_nonzero((rollout.actions >= 379) & (rollout.actions < 394))
    assert kickers > 0
    assert run.moves == 16 * 40 - kickers
    run.close()
