"""Work on a Ray cluster: the tasks of a dead worker are done again, and results are those of this machine.

A replacement of Ray's few functions records its calls; the long tests run Ray.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ddz_training.measure import ray_cluster
from ddz_training.measure.errors import ClusterError, WorkerDiedError
from ddz_training.measure.ray_cluster import on_ray
from ddz_training.measure.workers import Share, executed_by, on_this_machine, workers
from tests.rooms import pythonpath
from tests.training.apps.terminal import ddz

has_ray = importlib.util.find_spec("ray") is not None
runs_ray = pytest.mark.skipif(not has_ray, reason="needs Ray")


class RayError(Exception):
    pass


class RayTaskError(RayError):
    cause = KeyError("no such task")


class Ref:
    """What Ray gives for a task: one of -1 fails, of -2 its process dies, of -3 it never ends."""

    def __init__(self, play: Callable[..., Any], task: int, *how: Any) -> None:
        self._future: Future[Any] = Future()
        if task >= 0:
            self._future.set_result(play(*how, task))
        elif task > -3:
            self._future.set_exception(RayTaskError() if task == -1 else RayError("its process died"))

    def future(self) -> Future[Any]:
        return self._future


class PretendedRay:
    """Ray's functions, in this process."""

    exceptions = SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)

    def __init__(self, cores: int = 2, cluster: bool = False) -> None:
        self.cores, self.cluster, self.joined = cores, cluster, False
        self.cancelled: list[Ref] = []
        self.begun = 0

    def is_initialized(self) -> bool:
        return self.joined

    def init(self, **options: Any) -> None:
        if self.cluster and "num_cpus" in options:
            raise ValueError("there is a cluster")
        self.joined = True

    def shutdown(self) -> None:
        self.joined = False

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": self.cores}

    def put(self, make: Any) -> Any:
        name = os.urandom(8).hex()
        return SimpleNamespace(make=make, hex=lambda: name)

    def remote(self, **options: Any) -> Any:
        def begin(play: Callable[..., Any], name: str, version: str, made: Any, task: int) -> Ref:
            assert options == {"num_cpus": 1, "max_retries": 2}
            self.begun += 1
            return Ref(play, task, name, version, made.make)

        def declared(play: Callable[..., Any]) -> Any:
            releases = play is ray_cluster._release
            return SimpleNamespace(remote=(lambda pause: play()) if releases else functools.partial(begin, play))

        return declared

    def wait(self, refs: list[object], num_returns: int, timeout: float) -> None:
        assert len(refs) == num_returns == self.cores

    def cancel(self, ref: Ref, force: bool) -> None:
        self.cancelled.append(ref)


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> PretendedRay:
    pretended = PretendedRay()
    monkeypatch.setattr(ray_cluster, "_ray", lambda: pretended)
    return pretended


class Doubler:
    """Answers with the double of a task."""

    def __init__(self, notes: list[str]) -> None:
        self._notes = notes
        notes.append("made")

    def work(self, task: int) -> int:
        return 2 * task

    def close(self) -> None:
        self._notes.append("closed")


def doubled(make: Callable[[], Any], tasks: Sequence[int]) -> list[int]:
    with workers(make, 2) as share:
        return list(share(tasks))


@pytest.mark.parametrize("cluster", [False, True])
def test_a_cluster_is_joined_or_begun_for_work_and_left(ray: PretendedRay, cluster: bool) -> None:
    ray.cluster = cluster
    notes: list[str] = []
    make, other = functools.partial(Doubler, notes), functools.partial(Doubler, notes)
    with on_ray():
        assert not ray.joined
        with workers(make, 2) as share:
            assert list(share(range(100))) == list(range(0, 200, 2))
            assert list(share([])) == []
        assert notes == ["made"], "a worker is kept from task to task"
        assert doubled(other, [4]) == [8]
        assert notes == ["made", "closed", "made"]
        assert ray.joined
    assert not ray.joined
    assert notes == ["made", "closed"] * 2
    ray.joined = True
    with on_ray():
        assert doubled(make, [4]) == [8]
    assert ray.joined, "who began it ends it"


def test_a_cluster_that_grows_gets_more_tasks(ray: PretendedRay) -> None:
    make = functools.partial(Doubler, [])
    with on_ray(), workers(make, 1) as share:
        results = share(range(100))
        assert next(results) == 0
        assert ray.begun == 32
        ray.cores = 4
        assert next(results) == 2
        assert ray.begun == 65
        ray.cores = 0  # for a while there is no core
        assert list(results) == list(range(4, 200, 2))


@pytest.mark.parametrize(("task", "error"), [(-1, KeyError), (-2, WorkerDiedError)])
def test_what_goes_wrong_in_a_task_is_an_error_here_and_the_others_are_given_up(
    ray: PretendedRay, task: int, error: type[Exception]
) -> None:
    with on_ray(), pytest.raises(error, match=r"no such task|3 workers on the cluster died of the same task"):
        doubled(functools.partial(Doubler, []), [1, task, -3, -3, 2])
    assert len(ray.cancelled) == 2


def recording(asked: list[int]) -> Any:
    """An executor on this machine that notes how many processes each call wants."""

    @contextmanager
    def elsewhere(make: Callable[[], Any], processes: int, /) -> Iterator[Share[Any, Any]]:
        asked.append(processes)
        with on_this_machine(make, 1) as share:
            yield share

    return executed_by(elsewhere)


def test_a_command_plays_on_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(ray_cluster, "on_ray", lambda: recording(asked))
    for words, found in ((["--ray"], [2]), ([], [2])):
        result = ddz("arena", *words, "random", "random-staged", "--deals", 3, "--processes", 2)
        assert (result.exit_code, asked) == (0, found), result.output


def test_a_worker_of_another_version_plays_nothing() -> None:
    with pytest.raises(ClusterError, match=r"has version [0-9.]+ of this package, the run 0\.0\.1"):
        ray_cluster._play("name", "0.0.1", functools.partial(Doubler, []), 2)


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
    with on_ray():
        with workers(make, 2) as share:
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


class Slow(Fragile):
    """Takes its time, and says on which machine."""

    def work(self, task: int) -> Any:
        import ray

        time.sleep(0.2)
        return 2 * task, ray.get_runtime_context().get_node_id()


@runs_ray
@pytest.mark.long
def test_a_machine_that_dies_changes_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import ray
    from ray.cluster_utils import Cluster

    store = {"object_store_memory": 100 * 2**20}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False, **store})
    try:
        second = cluster.add_node(num_cpus=1, **store)
        monkeypatch.setenv("RAY_ADDRESS", cluster.address)
        found: list[Any] = []
        with on_ray(), workers(functools.partial(Slow, ""), 1) as share:
            # A cluster that was there has all its cores at work.
            for result in share(range(400)):
                found.append(result)
                if second is not None and len({place for _, place in found}) == 2:
                    cluster.remove_node(second, allow_graceful=False)
                    second = None
        assert second is None
        assert [value for value, _ in found] == list(range(0, 800, 2))
    finally:
        ray.shutdown()
        cluster.shutdown()


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
