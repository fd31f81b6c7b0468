"""Work shared by processes: in order, whatever ends first, and with an end to every process."""

from __future__ import annotations

import multiprocessing
import os
import time

import pytest

from training.evaluation.errors import WorkerDiedError
from training.evaluation.ordered_map import ordered_map


class Sleeper:
    """Answers with the task; the earlier the task, the later the answer.  A negative task ends the process."""

    def play(self, task: int) -> int:
        if task < 0:
            os._exit(1)
        time.sleep(0.02 * (6 - task))
        return task

    def close(self) -> None:
        pass


def test_results_come_in_the_order_of_the_tasks() -> None:
    assert list(ordered_map(Sleeper, range(6), 2)) == list(range(6))
    assert list(ordered_map(Sleeper, [5, 6, 4], 1)) == [5, 6, 4]
    assert list(ordered_map(Sleeper, [], 2)) == []


def test_a_dead_worker_is_an_error_and_leaves_no_process_behind() -> None:
    with pytest.raises(WorkerDiedError, match="what is saved is kept"):
        list(ordered_map(Sleeper, [4, 5, -1, 6], 2))
    assert multiprocessing.active_children() == []


def test_an_iteration_that_is_given_up_ends_its_processes() -> None:
    results = ordered_map(Sleeper, range(7), 2)
    assert next(results) == 0
    results.close()
    assert multiprocessing.active_children() == []
