"""Work on a Ray cluster: what a dead worker had is done again, and results are those of this machine.

A stand-in for Ray's few functions shows how workers are started, given tasks and replaced; the long tests run Ray.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest
import typer
from typer.testing import CliRunner

from ddz_training.apps.cli import app
from ddz_training.measure.match import ray_cluster
from ddz_training.measure.match.errors import OtherCodeError, WorkerDiedError
from ddz_training.measure.match.ordered_map import Share, executed_by, on_this_machine, ordered_map, workers
from ddz_training.measure.match.provenance import Provenance, SameCode
from ddz_training.measure.match.ray_cluster import _Actors, on_ray
from ddz_training.measure.match.round_robin import Arena, run_arena
from tests.rooms import pythonpath

has_ray = importlib.util.find_spec("ray") is not None
runs_ray = pytest.mark.skipif(not has_ray, reason="needs Ray")


class RayError(Exception):
    pass


class RayTaskError(RayError):
    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


class PretendedRay:
    """Ray's functions in this process; of what the workers do the last one's comes back first.

    Attributes:
        started: Workers that were started.
        dies: Told a task before it is done; whether its worker dies of it.
        cores: Workers that can be made; the others wait.
    """

    exceptions = SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)

    def __init__(self, dies: Callable[[Any], bool] = lambda task: False, cores: int = 9) -> None:
        self.dies, self.cores = dies, cores
        self.started = 0
        self.most_waiting = 0
        self._calls: dict[object, tuple[Any, str, tuple[Any, ...]]] = {}

    def remote(self, **options: Any) -> Callable[[type], Any]:
        def declared(kind: type) -> Any:
            def made(make: Callable[[], Any]) -> Any:
                self.started += 1
                actor = SimpleNamespace(hand=kind(make), number=self.started, dead=False)
                for name in ("start", "play", "close"):
                    setattr(actor, name, SimpleNamespace(remote=functools.partial(self._call, actor, name)))
                return actor

            return SimpleNamespace(remote=made)

        return declared

    def _call(self, actor: Any, name: str, *arguments: Any) -> object:
        ref = object()
        self._calls[ref] = actor, name, arguments
        return ref

    def put(self, value: Any) -> Any:
        return value

    def wait(self, refs: list[object], num_returns: int, timeout: float) -> tuple[list[object], list[object]]:
        assert refs
        able = [ref for ref in refs if self._calls[ref][0].number <= self.cores]
        waiting = [ref for ref in able if self._calls[ref][1] == "play"]
        self.most_waiting = max(self.most_waiting, len(waiting))
        first: dict[int, object] = {}
        for ref in able:  # an actor does its calls in order
            first.setdefault(self._calls[ref][0].number, ref)
        starts = [ref for ref in first.values() if self._calls[ref][1] == "start"]
        return (starts or list(first.values()))[-1:], []

    def get(self, ref: object) -> Any:
        actor, name, arguments = self._calls.pop(ref)
        if actor.dead or (name == "play" and self.dies(arguments[0])):
            actor.dead = True
            raise RayError("the actor died")
        try:
            return getattr(actor.hand, name)(*arguments)
        except Exception as error:
            raise RayTaskError(error) from error

    def kill(self, actor: Any) -> None:
        actor.dead = True


class Doubler:
    """Answers with the double of a task; a task of -1 is an error."""

    def play(self, task: int) -> int:
        if task == -1:
            raise KeyError("no such task")
        return 2 * task

    def close(self) -> None:
        pass


def test_results_come_in_order_whatever_comes_back_first_and_the_workers_are_kept() -> None:
    ray = PretendedRay()
    actors = _Actors(ray, Doubler, lambda: 3)
    assert list(actors.share(range(100))) == list(range(0, 200, 2))
    assert sorted(actors.share(range(50), in_order=False)) == list(range(0, 100, 2))
    assert ray.started == 3
    assert ray.most_waiting == 6, "each has the next task at hand"
    assert list(actors.share([])) == []


def test_one_task_starts_one_worker_and_a_worker_without_a_machine_holds_nothing_up() -> None:
    ray = PretendedRay()
    assert list(_Actors(ray, Doubler, lambda: 8).share([4])) == [8]
    assert ray.started == 1
    ray = PretendedRay(cores=1)
    assert list(_Actors(ray, Doubler, lambda: 4).share(range(40))) == list(range(0, 80, 2))


def test_long_tasks_do_not_wait_behind_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = PretendedRay()
    monkeypatch.setattr(ray_cluster, "_SHORT", 0.0)
    assert list(_Actors(ray, Doubler, lambda: 3).share(range(30))) == list(range(0, 60, 2))
    assert ray.most_waiting == 3


def test_a_cluster_that_grows_gets_workers() -> None:
    ray, most = PretendedRay(), [1]
    results = _Actors(ray, Doubler, lambda: most[0]).share(range(60))
    assert [next(results) for _ in range(3)] == [0, 2, 4]
    most[0] = 5
    assert list(results) == list(range(6, 120, 2))
    assert ray.started == 5


def test_what_a_dead_worker_had_is_done_again() -> None:
    deaths = [7, 20, 20, 33]

    def dies(task: int) -> bool:
        if task in deaths:
            deaths.remove(task)
            return True
        return False

    ray = PretendedRay(dies)
    assert list(_Actors(ray, Doubler, lambda: 2).share(range(40))) == list(range(0, 80, 2))
    assert deaths == []
    assert ray.started == 6


def test_a_task_of_which_every_worker_dies_is_an_error() -> None:
    ray = PretendedRay(lambda task: task == 5)
    with pytest.raises(WorkerDiedError, match="3 workers on the cluster died of the same task"):
        list(_Actors(ray, Doubler, lambda: 2).share(range(9)))
    ray = PretendedRay()
    with pytest.raises(KeyError, match="no such task"):
        list(_Actors(ray, Doubler, lambda: 2).share([1, -1, 2]))


def test_work_that_is_given_up_leaves_no_worker_with_old_tasks() -> None:
    ray = PretendedRay()
    actors = _Actors(ray, Doubler, lambda: 2)
    results = actors.share(range(40))
    assert next(results) == 0
    results.close()
    assert list(actors.share(range(3))) == [0, 2, 4]
    assert ray.started == 3, "the one that was idle is kept"


def test_everything_that_is_shared_goes_to_the_executor_that_is_asked_for() -> None:
    asked: list[int] = []

    @contextmanager
    def elsewhere(make: Callable[[], Any], processes: int, /) -> Iterator[Share[Any, Any]]:
        asked.append(processes)
        with on_this_machine(make, 1) as share:
            yield share

    arena = Arena(("random", "random-staged"), timing=False)
    with executed_by(elsewhere):
        assert list(ordered_map(Doubler, [1, 2, 3], 2)) == [2, 4, 6]
        there = run_arena(arena, 3, processes=3)
    assert asked == [2, 3]
    assert there == run_arena(arena, 3)
    assert asked == [2, 3]


def test_a_worker_with_other_code_plays_nothing() -> None:
    assert SameCode(Doubler, Provenance.of(["rules"]))().play(2) == 4
    with pytest.raises(OtherCodeError, match=r"has the code [0-9.]+ [0-9a-f]+, the process that shares the work has x"):
        SameCode(Doubler, Provenance(("x",)))()


def test_whatever_shares_work_takes_ray() -> None:
    group: Any = typer.main.get_command(app)
    known = {name: group.commands[name] for name in ("arena", "benchmark", "rate", "record", "solve", "speed")}
    known |= group.commands["study"].commands
    with click.Context(group) as context:
        reproduce = group.commands["reproduce"]
        known |= {name: reproduce.get_command(context, name) for name in ("iterations", "holdem", "win-rate")}
    options = {name: {text for option in command.params for text in option.opts} for name, command in known.items()}
    share = {name for name, texts in options.items() if "--processes" in texts}
    assert {"arena", "equivalent", "rate", "record", "tendency", "iterations"} <= share < set(known)
    assert share == {name for name, texts in options.items() if "--ray" in texts}


def test_without_ray_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    result = CliRunner().invoke(app, ["arena", "random", "random-staged", "--deals", "1", "--ray"])
    assert (result.exit_code, "pip install -e '.[ray]'" in result.output) == (2, True)


class Fragile:
    """Answers with the double of a task; the first time that one of some tasks comes, its process is killed.

    Args:
        folder: Where the deaths are noted.
    """

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)

    def play(self, task: int) -> int:
        if task in (3, 11):
            note = self._folder / str(task)
            if not note.exists():
                note.touch()
                os.kill(os.getpid(), 9)
        if task == -1:
            os.kill(os.getpid(), 9)
        if task == -2:
            raise OtherCodeError("told as it is")
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
            assert sorted(share(range(20), in_order=False)) == list(range(0, 40, 2))
        # Who takes a dead worker's place may still be starting when the last task is done: it has nothing to release.
        assert len([note for note in tmp_path.iterdir() if note.name.startswith("closed")]) in (1, 2)
        with pytest.raises(WorkerDiedError, match="died of the same task"):
            list(ordered_map(make, [1, -1, 2], 2))
        with pytest.raises(OtherCodeError, match="told as it is"):
            list(ordered_map(make, [1, -2, 2], 2))
    assert not ray.is_initialized()


class Slow(Doubler):
    """Takes its time, and says on which machine."""

    def play(self, task: int) -> Any:
        import ray

        time.sleep(0.2)
        return 2 * task, ray.get_runtime_context().get_node_id()


@runs_ray
@pytest.mark.long
def test_a_machine_that_dies_changes_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    import ray
    from ray.cluster_utils import Cluster

    store = {"object_store_memory": 100 * 2**20}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False, **store})
    try:
        second = cluster.add_node(num_cpus=1, **store)
        monkeypatch.setenv("RAY_ADDRESS", cluster.address)
        found: list[Any] = []
        with on_ray():
            for result in ordered_map(Slow, range(400), 1):  # a cluster that was there has all its cores at work
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
    (tmp_path / "mine.py").write_text(
        "from ddz_agents.random import RandomAgent\nclass Mine(RandomAgent):\n    name = 'mine'\n", encoding="utf-8"
    )
    agents = ["mine:Mine", "rules", "isuct:iterations=50"]
    for out, how in (("ray", ["--ray"]), ("one", ["--processes", "1"])):
        command = [sys.executable, "-m", "ddz_training", "arena", *agents, "--deals", "3", "--no-timing", *how]
        run = subprocess.run(
            [*command, "--out", f"{out}.csv"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), pythonpath()])},
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, run.stderr
    assert (tmp_path / "ray.csv").read_bytes() == (tmp_path / "one.csv").read_bytes()
