"""Workers that do tasks in one or several processes, and return the results in task order.

There are three forms of workers: in this process, in processes of this machine, and wherever :func:`use_executor` says
(a cluster of machines: :mod:`ddz_training.measure.ray_cluster`).  The results are the same.
"""

from __future__ import annotations

import itertools
import multiprocessing
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, closing, contextmanager
from contextvars import ContextVar
from multiprocessing.connection import Connection
from typing import Any, Protocol, TypeVar

from ddz_env.support.processes import CLOSE_SECONDS, bind_to_parent, kill_process_group
from ddz_training.measure.errors import WorkerDiedError

_Task = TypeVar("_Task")
_TaskIn = TypeVar("_TaskIn", contravariant=True)
_Result = TypeVar("_Result")
_ResultOut = TypeVar("_ResultOut", covariant=True)

TASKS_IN_FLIGHT = 16
"""Tasks per worker that may wait for an earlier one; bounds memory and what a kill loses."""


class Worker(Protocol[_TaskIn, _ResultOut]):
    """A worker that does one task at a time; each result must depend on nothing but the task."""

    def work(self, task: _TaskIn, /) -> _ResultOut:
        """Compute and return the result of one task."""
        ...

    def close(self) -> None:
        """Release the worker's resources; the default does nothing."""
        return


MakeWorker = Callable[[], Worker[Any, Any]]
"""Makes a worker; it is called once in each process, so with several it must be picklable."""

RunTasks = Callable[[Sequence[_Task]], Iterator[_Result]]
"""Has tasks done by workers: the results in the order of the tasks."""

Executor = Callable[[MakeWorker, int], AbstractContextManager[RunTasks[Any, Any]]]
"""Makes workers for the time of a ``with`` block, as :func:`start_workers` does."""

_workers_of_process: list[Worker[Any, Any]] = []
"""The worker of a worker process, once it is made."""


def start_workers(
    start: Callable[[], Worker[_Task, _Result]], processes: int
) -> AbstractContextManager[RunTasks[_Task, _Result]]:
    """Start workers for the duration of a ``with`` block, for one or more lists of tasks.

    Leaving the block early ends them at once.

    Args:
        start: Makes a worker.
        processes: Worker processes; with one, all is done in this process.

    Raises:
        WorkerDiedError: In the block, if a worker process died.
    """
    return _executor.get()(start, processes)


def share_in_blocks(share: RunTasks[Any, Any], size: int, processes: int) -> RunTasks[Any, Any]:
    """Make a :data:`RunTasks` that passes tasks to the workers in lists of up to ``size`` tasks.

    Args:
        share: The workers.
        size: The most tasks of a list.
        processes: Worker processes, all of which shall have something to do.
    """

    def shared(tasks: Sequence[Any]) -> Iterator[Any]:
        length = max(1, min(size, -(-len(tasks) // processes)))
        blocks = [list(tasks[first : first + length]) for first in range(0, len(tasks), length)]
        return itertools.chain.from_iterable(share(blocks))

    return shared


@contextmanager
def use_executor(executor: Executor) -> Iterator[None]:
    """Let :func:`start_workers` use another executor within a ``with`` block."""
    token = _executor.set(executor)
    try:
        yield
    finally:
        _executor.reset(token)


def share_in_order(submit: Callable[[Any], Future[Any]], room: Callable[[], int]) -> RunTasks[Any, Any]:
    """Make a :data:`RunTasks` that submits tasks while there is room, and yields the results in task order.

    Args:
        submit: Begins a task.
        room: How many tasks may be under way at present.
    """

    def share(tasks: Sequence[Any]) -> Iterator[Any]:
        remaining, waiting = iter(tasks), deque[Future[Any]]()
        while True:
            waiting.extend(submit(task) for task in itertools.islice(remaining, max(0, room() - len(waiting))))
            if not waiting:
                return
            yield waiting.popleft().result()

    return share


@contextmanager
def local_workers(start: MakeWorker, processes: int) -> Iterator[RunTasks[Any, Any]]:
    """Start workers in processes of this machine, or a single worker in the current process."""
    if processes <= 1:
        with closing(start()) as worker:
            yield lambda tasks: map(worker.work, tasks)
        return
    earlier_children = set(multiprocessing.active_children())
    context = multiprocessing.get_context("spawn")
    lifeline, ours = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(processes, context, _start_worker, (start, lifeline))
    finished = False
    try:
        yield share_in_order(lambda task: pool.submit(_do_task, task), lambda: processes * TASKS_IN_FLIGHT)
        finished = True
    except BrokenProcessPool as error:
        raise WorkerDiedError("a worker process died (killed, or out of memory?); what is saved is kept") from error
    finally:
        children = set(multiprocessing.active_children()) - earlier_children
        if not finished:
            for child in children:
                kill_process_group(child.pid)
                child.terminate()
        ending = threading.Thread(target=pool.shutdown, kwargs={"cancel_futures": True}, daemon=True)
        ending.start()
        ours.close()  # from here on they end, whatever threads and children agents have left behind
        while any(child.is_alive() for child in children):
            time.sleep(0.01)
        ending.join(CLOSE_SECONDS)  # the pool's thread holds semaphores, which Python would call leaked
        lifeline.close()


_executor: ContextVar[Executor] = ContextVar("executor", default=local_workers)


def _start_worker(start: MakeWorker, lifeline: Connection) -> None:
    bind_to_parent(lifeline, _close_workers)
    _workers_of_process.append(start())


def _close_workers() -> None:
    for worker in _workers_of_process:
        worker.close()


def _do_task(task: Any) -> Any:
    return _workers_of_process[0].work(task)
