"""Work shared by the machines of a Ray cluster, in the third form of :mod:`ddz_training.measure.match.ordered_map`.

``on_ray()`` joins the cluster that ``RAY_ADDRESS`` names or that ``ray start`` began on this machine, and begins one of
its own where there is none.  Each worker is an actor on one core; a machine that joins gets workers, and what a
worker had when it died is done again by another.  A result depends on nothing but its task, so neither changes any.
"""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import os
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ddz_env.core.errors import install_hint
from ddz_training.measure.match.errors import ClusterError, WorkerDiedError
from ddz_training.measure.match.ordered_map import Make, Share, executed_by

_SHORT = 0.5
"""Seconds: of tasks that take less on average, a worker gets the next one before it has done the last."""
_IN_FLIGHT = 16
"""Tasks a worker that may wait for an earlier one, as for processes."""
_ATTEMPTS = 3
"""Workers that may die of one task, or before their first one, until that is an error."""
_LOOK_AGAIN = 5.0
"""Seconds between two looks at the size of the cluster."""
_CLOSING = 10.0
"""Seconds that workers have to release what they hold."""
_STORE = 100 * 2**20
"""Bytes of the object store of a cluster of our own; results are small."""


class _Hand:
    """A worker on a machine of the cluster."""

    def __init__(self, make: Make) -> None:
        self._make = make
        self._worker: Any = None

    def start(self) -> None:
        """Make the worker; apart from the constructor, so that what it raises comes back as it is."""
        self._worker = self._make()

    def play(self, task: Any) -> tuple[Any, float]:
        """Do a task; its result, and the seconds that it took."""
        start = time.perf_counter()
        return self._worker.play(task), time.perf_counter() - start

    def close(self) -> None:
        """Release what the worker holds."""
        if self._worker is not None:
            self._worker.close()


@dataclass(eq=False)
class _Actor:
    """A worker as this process sees it.

    Attributes:
        handle: Ray's.
        starting: What comes back once it is made; None afterwards.
        tasks: Numbers of the tasks that it has, by what will come back, in the order in which they are done.
    """

    handle: Any
    starting: Any
    tasks: dict[Any, int] = field(default_factory=dict)


class _Actors:
    """The workers of a ``with`` block.

    Args:
        ray: The module.
        make: Makes a worker.
        most: How many there may be, asked again and again.
    """

    def __init__(self, ray: Any, make: Make, most: Callable[[], int]) -> None:
        self._ray, self._most = ray, most
        self._new = ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0)(_Hand)
        self._make = ray.put(make)
        self._actors: list[_Actor] = []
        self._deaths: Counter[int | None] = Counter()
        self._done, self._seconds = 0, 0.0

    def share(self, tasks: Sequence[Any], in_order: bool = True) -> Generator[Any, None, None]:
        """Have tasks done (:class:`ddz_training.measure.match.ordered_map.Share`)."""
        todo, found, told = deque(range(len(tasks))), dict[int, Any](), 0
        self._deaths.clear()
        try:
            while told < len(tasks):
                self._hand_out(tasks, todo, told + len(self._actors) * _IN_FLIGHT if in_order else len(tasks))
                self._hire(len(todo))
                for number, result in self._collect(todo):
                    found[number] = result
                while found and (not in_order or told in found):
                    yield found.pop(told if in_order else next(iter(found)))
                    told += 1
        finally:
            for actor in [actor for actor in self._actors if actor.tasks]:  # given up half-way
                self._dismiss(actor)

    def close(self) -> None:
        """Let the workers release what they hold, and end them."""
        closing = [actor.handle.close.remote() for actor in self._actors if actor.starting is None]
        with contextlib.suppress(self._ray.exceptions.RayError):
            self._ray.wait(closing, num_returns=len(closing), timeout=_CLOSING) if closing else None
        self.end()

    def end(self) -> None:
        """End the workers at once."""
        for actor in list(self._actors):
            self._dismiss(actor)

    def _dismiss(self, actor: _Actor) -> None:
        self._actors.remove(actor)
        with contextlib.suppress(self._ray.exceptions.RayError):
            self._ray.kill(actor.handle)

    def _hire(self, waiting: int) -> None:
        """Start workers for the tasks that wait, as many as there may be."""
        waiting -= sum(actor.starting is not None for actor in self._actors)
        for _ in range(min(waiting, self._most() - len(self._actors))):
            handle = self._new.remote(self._make)
            self._actors.append(_Actor(handle, handle.start.remote()))

    def _hand_out(self, tasks: Sequence[Any], todo: deque[int], end: int) -> None:
        """Give tasks to the workers that are ready, first one each."""
        short = self._seconds < _SHORT * self._done
        for queued in range(2 if short else 1):
            for actor in self._actors:
                if actor.starting is None and len(actor.tasks) == queued and todo and todo[0] < end:
                    number = todo.popleft()
                    actor.tasks[actor.handle.play.remote(tasks[number])] = number

    def _collect(self, todo: deque[int]) -> Iterator[tuple[int, Any]]:
        """Wait until something comes back; the results, by number."""
        of = {ref: actor for actor in self._actors for ref in (actor.starting, *actor.tasks) if ref is not None}
        ready, _ = self._ray.wait(list(of), num_returns=1, timeout=_LOOK_AGAIN)
        for ref in ready:
            actor = of[ref]
            if actor not in self._actors:  # it died of what came back before
                continue
            try:
                result = self._ray.get(ref)
            except self._ray.exceptions.RayTaskError as error:
                raise error.cause from error
            except self._ray.exceptions.RayError as error:
                self._lose(actor, todo, error)
                continue
            if ref is actor.starting:
                actor.starting = None
                self._deaths.pop(None, None)
            else:
                result, seconds = result
                self._done, self._seconds = self._done + 1, self._seconds + seconds
                yield actor.tasks.pop(ref), result

    def _lose(self, actor: _Actor, todo: deque[int], error: Exception) -> None:
        """Put the tasks of a dead worker back to the front; the first of them may be what killed it."""
        self._dismiss(actor)
        lost = sorted(actor.tasks.values())
        todo.extendleft(reversed(lost))
        blamed = next(iter(actor.tasks.values()), None)
        self._deaths[blamed] += 1
        if self._deaths[blamed] == _ATTEMPTS:
            what = "before their first task" if blamed is None else "of the same task"
            raise WorkerDiedError(
                f"{_ATTEMPTS} workers on the cluster died {what} (killed, out of memory, or is this package not "
                f"installed there?); what is saved is kept; the last one: {error}"
            ) from error


def _ray() -> Any:
    if importlib.util.find_spec("ray") is None:
        raise ClusterError(f"--ray needs Ray: {install_hint('ray')}")
    # What Ray says of itself is no part of a command's output, and nobody is told that it runs.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    import ray

    return ray


class RayExecutor:
    """Makes workers on a Ray cluster, which is joined or begun when the first are wanted.

    Raises:
        ClusterError: If Ray is not installed.
    """

    def __init__(self) -> None:
        self._ray = _ray()
        self._joined = self._own = False
        self._look, self._size = 0.0, 1

    @contextmanager
    def __call__(self, make: Make, processes: int, /) -> Iterator[Share[Any, Any]]:
        """Workers: on a cluster that was there, one a core; else as many as there would be processes.

        Raises:
            ClusterError: If the cluster cannot be reached.
            WorkerDiedError: If three workers died one after the other of one task.
        """
        self._join(max(1, processes))
        actors = _Actors(self._ray, make, (lambda: max(1, processes)) if self._own else self._cores)
        finished = False
        try:
            yield actors.share
            finished = True
        finally:
            if finished:
                actors.close()
            else:
                actors.end()

    def leave(self) -> None:
        """Leave the cluster; one that was begun here ends."""
        if self._joined:
            self._ray.shutdown()
        self._joined = self._own = False

    def _join(self, processes: int) -> None:
        if self._ray.is_initialized():
            return
        quiet = {"logging_level": logging.ERROR, "include_dashboard": False}
        try:
            try:
                self._ray.init(num_cpus=processes, object_store_memory=_STORE, **quiet)
                self._own = True
            except ValueError:  # Ray's answer where there is a cluster, whose size is not for us to say
                self._ray.init(**quiet)
        except Exception as error:  # a plain one among others: Ray's own, where a machine is too busy to start
            raise ClusterError(f"there is no way to the Ray cluster ({error}); ray status says what runs") from error
        self._joined = True

    def _cores(self) -> int:
        """The size of the cluster, asked for now and then."""
        if time.monotonic() >= self._look:
            self._look = time.monotonic() + _LOOK_AGAIN
            # At least one, which waits for a machine that has a core.
            self._size = max(1, int(self._ray.cluster_resources().get("CPU", 0)))
        return self._size


@contextmanager
def on_ray() -> Iterator[None]:
    """Do the work of a ``with`` block that is shared by processes on a Ray cluster.

    Raises:
        ClusterError: If Ray is not installed, or, as soon as there is work, if its cluster cannot be reached.
    """
    executor = RayExecutor()
    with contextlib.ExitStack() as leave:
        leave.callback(executor.leave)
        with executed_by(executor):
            yield
