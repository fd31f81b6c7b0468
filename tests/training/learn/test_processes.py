"""A run of two processes: they learn as one with the games of both, and a lost one ends the run by name."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from ddz_agents.neural.weights import load_weights
from ddz_training.learn.errors import CheckpointMismatchError
from ddz_training.learn.loop import CHECKPOINT, POLICY
from ddz_training.learn.ppo.selfplay import SelfPlay
from tests.packages import pythonpath

TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")


PROGRAM = str(Path(__file__).with_name("one_of_two.py"))
VARIABLES = {**os.environ, "PYTHONPATH": pythonpath(), "OMP_NUM_THREADS": "1"}


def trained(folder: Path, *launcher: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *launcher, PROGRAM, str(folder), "1", "lives"]
    return subprocess.run(command, env=VARIABLES, capture_output=True, text=True, timeout=500, check=False)


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("two")
    result = trained(folder, *TORCHRUN)
    assert result.returncode == 0, result.stderr
    return folder


def test_two_processes_learn_as_one_with_the_games_of_both(two: Path, tmp_path: Path) -> None:
    result = trained(tmp_path)
    assert result.returncode == 0, result.stderr
    gradients = [torch.load(folder / "gradients.pt") for folder in (two, tmp_path)]
    for shared, alone in zip(*gradients, strict=True):
        np.testing.assert_allclose(shared.numpy(), alone.numpy(), rtol=1e-4, atol=1e-7)
    assert max(float(gradient.abs().max()) for gradient in gradients[0]) > 1e-3
    first, second = (load_weights(folder / POLICY).notes for folder in (two, tmp_path))
    assert first["decisions"] == second["decisions"] > 0


def test_only_as_many_processes_as_before_resume_a_run(two: Path) -> None:
    with pytest.raises(CheckpointMismatchError, match="resume with as many processes as before"):
        SelfPlay.resume(two / CHECKPOINT, 1)


def test_a_process_that_is_killed_ends_the_others_by_name(tmp_path: Path) -> None:
    """The processes start as under torchrun, whose agent is left out: it would end them before they notice."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    told = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2", "TORCHELASTIC_RUN_ID": "test"}
    command = [sys.executable, PROGRAM, str(tmp_path), "50", "dies"]
    first, second = (
        subprocess.Popen(command, env={**VARIABLES, **told, "RANK": rank, "LOCAL_RANK": rank}, stderr=subprocess.PIPE)
        for rank in ("0", "1")
    )
    _, errors = first.communicate(timeout=500)
    second.communicate(timeout=500)
    assert second.returncode == -signal.SIGKILL
    assert first.returncode == 1
    assert b"LostProcessError: another process of this run is gone" in errors
    assert load_weights(tmp_path / POLICY).notes["updates"] >= 1
