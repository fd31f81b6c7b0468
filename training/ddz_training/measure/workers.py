"""Work shared by workers, whose results come in the order of the tasks.

There are three forms of workers: in this process, in processes of this machine, and wherever :func:`executed_by` says
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
    """Does tasks, one at a time; a result must depend on nothing but the task."""

    def work(self, task: _TaskIn, /) -> _ResultOut:
        """Do one task."""
        ...

    def close(self) -> None:
        """Release what the worker holds; nothing unless a subclass says so."""
        return


Start = Callable[[], Worker[Any, Any]]
"""Makes a worker; it is called once in each process, so with several it must be picklable."""

DoTasks = Callable[[Sequence[_Task]], Iterator[_Result]]
"""Has tasks done by workers: the results in the order of the tasks."""

Executor = Callable[[Start, int], AbstractContextManager[DoTasks[Any, Any]]]
"""Makes workers for the time of a ``with`` block, as :func:`workers` does."""

_begun: list[Worker[Any, Any]] = []
"""The worker of a worker process, once it is made."""


def workers(
    start: Callable[[], Worker[_Task, _Result]], processes: int
) -> AbstractContextManager[DoTasks[_Task, _Result]]:
    """Workers that are kept from one list of tasks to the next, for the time of a ``with`` block.

    Leaving the block early ends them at once.

    Args:
        start: Makes a worker.
        processes: Worker processes; with one, all is done in this process.

    Raises:
        WorkerDiedError: In the block, if a worker process died.
    """
    return _executor.get()(start, processes)


def in_blocks(share: DoTasks[Any, Any], size: int, processes: int) -> DoTasks[Any, Any]:
    """A :data:`DoTasks` for workers that do several tasks at once: each gets lists of tasks, and returns their results.

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
def executed_by(executor: Executor) -> Iterator[None]:
    """Let an executor make all workers within a ``with`` block."""
    token = _executor.set(executor)
    try:
        yield
    finally:
        _executor.reset(token)


def in_turn(submit: Callable[[Any], Future[Any]], room: Callable[[], int]) -> DoTasks[Any, Any]:
    """Make a :data:`DoTasks` from a function that begins one task.

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
def on_this_machine(start: Start, processes: int) -> Iterator[DoTasks[Any, Any]]:
    """Workers in processes of this machine; a single one in this process."""
    if processes <= 1:
        with closing(start()) as worker:
            yield lambda tasks: map(worker.work, tasks)
        return
    earlier_children = set(multiprocessing.active_children())
    context = multiprocessing.get_context("spawn")
    lifeline, ours = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(processes, context, _begin, (start, lifeline))
    finished = False
    try:
        yield in_turn(lambda task: pool.submit(_work, task), lambda: processes * TASKS_IN_FLIGHT)
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


_executor: ContextVar[Executor] = ContextVar("executor", default=on_this_machine)


def _begin(start: Start, lifeline: Connection) -> None:
    bind_to_parent(lifeline, _end)
    _begun.append(start())


def _end() -> None:
    for worker in _begun:
        worker.close()


def _work(task: Any) -> Any:
    return _begun[0].work(task)
