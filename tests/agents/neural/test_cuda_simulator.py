"""The GPU path: under Numba's simulator in a subprocess, and on a GPU where there is one."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from ddz_env import PRESETS
from ddz_env.envs.batch import SelfPlayBatch
from ddz_env.envs.cuda_batch import CudaSelfPlayBatch, NoDeviceError

SCRIPT = """
import numpy as np
from ddz_env.envs.batch import SelfPlayBatch
from ddz_env.envs.cuda_batch import CudaSelfPlayBatch
from ddz_env.core.errors import IllegalMoveError

steps = {steps}
for rules in {rules}:
    host = SelfPlayBatch(3, rules, seed=5, threads=1, concealed=True)
    device = CudaSelfPlayBatch(3, rules, seed=5, concealed=True)
    for step in range(steps):
        ours = host.sample_actions().copy()
        theirs = device.sample_actions()
        assert (ours == np.asarray(theirs.copy_to_host())).all()
        host.step(ours)
        device.step(theirs)
        for name in ("observation", "mask", "mask_words", "concealed", "seat", "role", "reward", "done", "game"):
            assert (getattr(host, name) == np.asarray(getattr(device, name).copy_to_host())).all(), (rules, step, name)
    wrong = np.array([int(a) for a in host.sample_actions()], np.int64)
    wrong[1] = 399
    try:
        device.step(wrong)
    except IllegalMoveError as error:
        assert "game 1: action 399" in str(error), error
    else:
        raise AssertionError("an illegal action was played")
print("equal", int(host.game.max()))
"""


def run_simulated(script: str, *arguments: str) -> str:
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


EVERY_PRESET = pytest.param(list(PRESETS), 150, marks=pytest.mark.long, id="every preset")


@pytest.mark.parametrize(("rules", "steps"), [pytest.param(["mini", "standard"], 25, id="two presets"), EVERY_PRESET])
def test_simulated_device_equals_the_cpu(rules: list[str], steps: int) -> None:
    assert run_simulated(SCRIPT.format(rules=rules, steps=steps)).startswith("equal")


def has_device() -> bool:
    try:
        from numba import cuda
    except ImportError:
        return False
    return bool(cuda.is_available())


@pytest.mark.skipif(has_device(), reason="there is a device")
def test_without_a_device_the_error_has_a_name() -> None:
    with pytest.raises(NoDeviceError, match=r"SelfPlayBatch|numba-cuda"):
        CudaSelfPlayBatch(2)


@pytest.mark.skipif(not has_device(), reason="there is no device")
def test_device_equals_the_cpu() -> None:
    host, device = SelfPlayBatch(300, seed=5), CudaSelfPlayBatch(300, seed=5)
    for _ in range(100):
        actions = host.sample_actions()
        assert (actions == device.sample_actions().copy_to_host()).all()
        host.step(actions)
        device.step(actions)
        for name in ("observation", "mask", "reward", "done", "seat"):
            assert (getattr(host, name) == getattr(device, name).copy_to_host()).all()
