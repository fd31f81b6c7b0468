"""Workers on a Ray cluster, as an alternative to the local ones of :mod:`ddz_training.measure.workers`.

``use_ray()`` joins the cluster that ``RAY_ADDRESS`` names or that ``ray start`` began on this machine, and begins one
of its own where there is none.  Every task is one of Ray's, on one core: a machine that joins gets some, and the tasks
of a process that died are done again by another.  A result depends on nothing but its task, so neither changes results.
"""

from __future__ import annotations

import functools
import importlib.util
import logging
import os
import socket
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from ddz_env import __version__
from ddz_env.support.errors import install_hint
from ddz_training.measure.errors import ClusterError, WorkerDiedError
from ddz_training.measure.workers import TASKS_IN_FLIGHT, MakeWorker, RunTasks, Worker, share_in_order, use_executor

_ATTEMPTS = 3
"""The number of processes that must die of one task before that is an error."""
_CLOSING, _PAUSE = 10.0, 0.5
"""Seconds that all processes have to release what they hold, and that each of them waits for the others."""
_STORE = 100 * 2**20
"""Bytes of the object store of a cluster of our own; results are small."""

_workers_by_name: dict[str, Worker[Any, Any]] = {}
"""The worker of a process of the cluster, by the name of what made it: Ray gives a process one task after the other."""


def _do_task(name: str, version: str, make: MakeWorker, task: Any) -> Any:
    """Do a task in a process of the Ray cluster, making the run's worker there on first use."""
    if version != __version__:
        raise ClusterError(f"{socket.gethostname()} has version {__version__} of this package, the run {version}")
    if name not in _workers_by_name:
        _release()
        _workers_by_name[name] = make()
    return _workers_by_name[name].work(task)


def _release(pause: float = 0.0) -> None:
    """Close this process's worker, and sleep ``pause`` seconds so that the process takes no other task."""
    while _workers_by_name:
        _workers_by_name.popitem()[1].close()
    time.sleep(pause)


def _release_all(ray: Any) -> None:
    """Close the workers of all cluster processes, because Ray itself would end them abruptly."""
    release = ray.remote(num_cpus=1)(_release)
    released = [release.remote(_PAUSE) for _ in range(int(ray.cluster_resources().get("CPU", 0)))]
    ray.wait(released, num_returns=len(released), timeout=_CLOSING)


def _import_ray() -> Any:
    if importlib.util.find_spec("ray") is None:
        raise ClusterError(f"--ray needs Ray: {install_hint('ray')}")
    # Ray's messages do not belong in a command's output, and its usage statistics are not sent.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault("RAY_task_oom_retries", str(_ATTEMPTS - 1))  # Ray's default is to retry for ever
    import ray

    return ray


def _join_cluster(ray: Any, processes: int) -> None:
    """Join an existing Ray cluster, or start a new one with ``processes`` cores."""
    if ray.is_initialized():
        return
    quiet = {"logging_level": logging.ERROR, "include_dashboard": False}
    try:
        try:
            ray.init(num_cpus=processes, object_store_memory=_STORE, **quiet)
        except ValueError:  # Ray raises it where a cluster exists, whose size is fixed
            ray.init(**quiet)
    except Exception as error:  # a plain one among others: Ray's own, where a machine is too busy to start
        raise ClusterError(f"the Ray cluster cannot be reached ({error}); ray status shows what runs") from error


@contextmanager
def _start_workers(ray: Any, make: MakeWorker, processes: int) -> Iterator[RunTasks[Any, Any]]:
    """Start one worker per core of an existing cluster, or the requested number in a new cluster.

    Raises:
        ClusterError: If the cluster cannot be reached.
        WorkerDiedError: If three processes died one after the other of one task.
    """
    _join_cluster(ray, max(1, processes))
    remote, made, begun = ray.remote(num_cpus=1, max_retries=_ATTEMPTS - 1)(_do_task), ray.put(make), set[Any]()

    def submit(task: Any) -> Future[Any]:
        ref = remote.remote(made.hex(), __version__, made, task)
        begun.add(ref)
        future: Future[Any] = ref.future()
        future.add_done_callback(lambda _: begun.discard(ref))
        return future

    def room() -> int:
        # Count at least one core: a machine may join soon.
        return TASKS_IN_FLIGHT * max(1, int(ray.cluster_resources().get("CPU", 0)))

    try:
        yield share_in_order(submit, room)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from error
    except ray.exceptions.RayError as error:
        raise WorkerDiedError(
            f"{_ATTEMPTS} workers on the cluster died of the same task (killed, out of memory, or is this package not "
            f"installed there?); what is saved is kept; the last one: {error}"
        ) from error
    finally:
        for ref in list(begun):  # given up
            ray.cancel(ref, force=True)


@contextmanager
def use_ray() -> Iterator[None]:
    """Run workers on a Ray cluster instead of in local processes, within a ``with`` block.

    Raises:
        ClusterError: If Ray is not installed, or, as soon as there is work, if its cluster cannot be reached.
    """
    ray = _import_ray()
    joined_before = ray.is_initialized()
    try:
        with use_executor(functools.partial(_start_workers, ray)):
            yield
        if ray.is_initialized():
            _release_all(ray)
    finally:
        if not joined_before:
            ray.shutdown()
