"""Work on a Ray cluster: the tasks of a dead worker are done again, and results are those of this machine."""

from __future__ import annotations

import functools
import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ddz_training.measure import ray_cluster
from ddz_training.measure.errors import ClusterError, WorkerDiedError
from ddz_training.measure.ray_cluster import use_ray
from ddz_training.measure.workers import start_workers
from tests.packages import pythonpath
from tests.training.cli.terminal import ddz

has_ray = importlib.util.find_spec("ray") is not None
runs_ray = pytest.mark.skipif(not has_ray, reason="needs Ray")


class Doubler:
    """Answers with the double of a task."""

    def work(self, task: int) -> int:
        return 2 * task

    def close(self) -> None:
        pass


def doubled(make: Callable[[], Any], tasks: Sequence[int]) -> list[int]:
    with start_workers(make, 2) as share:
        return list(share(tasks))


def test_a_worker_of_another_version_plays_nothing() -> None:
    with pytest.raises(ClusterError, match=r"has version [0-9.]+ of this package, the run 0\.0\.1"):
        ray_cluster._do_task("name", "0.0.1", Doubler, 2)


def test_without_ray_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    result = ddz("arena", "random", "random-staged", "--deals", 1, "--ray")
    assert (result.exit_code, "pip install -e '.[ray]'" in result.output) == (2, True)


class Fragile:
    """Answers with the double of a task; the first time that one of some tasks comes, its process is killed.

    The deaths are noted in a folder.
    """

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        self._folder.mkdir(exist_ok=True)

    def work(self, task: int) -> int:
        note = self._folder / str(task)
        if task == -1 or (task in (3, 11) and not note.exists()):
            note.touch()
            os.kill(os.getpid(), 9)
        if task == -2:
            raise ClusterError("passed on as it is")
        return 2 * task

    def close(self) -> None:
        (self._folder / f"closed {os.getpid()}").touch()


@runs_ray
@pytest.mark.long
def test_ray_replays_what_a_killed_worker_had_and_ends(tmp_path: Path) -> None:
    import ray

    make = functools.partial(Fragile, str(tmp_path))
    with use_ray():
        assert not ray.is_initialized(), "a cluster is joined for work"
        with start_workers(make, 2) as share:
            assert list(share(range(40))) == list(range(0, 80, 2))
        with pytest.raises(WorkerDiedError, match="died of the same task"):
            doubled(make, [1, -1, 2])
        with pytest.raises(ClusterError, match="passed on as it is"):
            doubled(make, [1, -2, 2])
        before = {note.name for note in tmp_path.iterdir()}
        assert doubled(functools.partial(Fragile, str(tmp_path / "last")), [20, 21]) == [40, 42]
    assert not ray.is_initialized()
    assert any(name.startswith("closed") for name in before), "by the next worker of its process"
    assert list((tmp_path / "last").iterdir()), "by the end"


class Located:
    """Answers with the double of a task, after a while, and the node of the cluster that it runs on."""

    def work(self, task: int) -> tuple[int, str]:
        import ray

        time.sleep(0.2)
        return 2 * task, ray.get_runtime_context().get_node_id()

    def close(self) -> None:
        pass


@runs_ray
@pytest.mark.long
def test_a_node_of_the_cluster_that_is_killed_changes_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
    monkeypatch.setenv("RAY_ADDRESS", cluster.address)
    try:
        with use_ray(), start_workers(Located, 1) as share:
            results = share(range(100))
            before = [next(results) for _ in range(40)]
            cluster.remove_node(nodes[-1], allow_graceful=False)
            after = list(results)
    finally:
        cluster.shutdown()
    assert [double for double, _ in before + after] == list(range(0, 200, 2))
    assert nodes[-1].node_id in {node for _, node in before}, "it had taken part"


@runs_ray
@pytest.mark.long
def test_a_command_on_ray_writes_the_file_that_processes_write(tmp_path: Path) -> None:
    code = "from ddz_agents.random import RandomAgent\nclass Mine(RandomAgent):\n    name = 'mine'\n"
    (tmp_path / "mine.py").write_text(code, encoding="utf-8")
    agents = ["mine:Mine", "rules", "isuct:iterations=50"]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), pythonpath()])}
    for out, how in (("ray", ["--ray"]), ("one", ["--processes", "1"])):
        command = [sys.executable, "-m", "ddz_training", "arena", *agents, "--deals", "3", "--no-timing", *how]
        run = subprocess.run([*command, "--out", f"{out}.csv"], cwd=tmp_path, env=env, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
    assert (tmp_path / "ray.csv").read_bytes() == (tmp_path / "one.csv").read_bytes()
