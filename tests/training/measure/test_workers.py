"""Work shared by processes: in order, and with an end to every process."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from ddz_training.measure.errors import WorkerDiedError
from ddz_training.measure.workers import start_workers
from tests.packages import pythonpath


class Sleeper:
    """Answers with the task; the earlier the task, the later the answer.  A negative task ends the process."""

    def work(self, task: int) -> int:
        if task < 0:
            os._exit(1)
        time.sleep(0.02 * (6 - task))
        return task

    def close(self) -> None:
        pass


def test_results_come_in_the_order_of_the_tasks() -> None:
    for processes in (1, 2):
        with start_workers(Sleeper, processes) as share:
            assert list(share([5, 6, 4])) == [5, 6, 4]
            assert list(share([])) == []
            started = multiprocessing.active_children()
            assert list(share(range(6))) == list(range(6))
            assert multiprocessing.active_children() == started, "kept from one list to the next"
        assert multiprocessing.active_children() == []


def test_a_dead_worker_is_an_error_and_leaves_no_process_behind() -> None:
    with pytest.raises(WorkerDiedError, match="what is saved is kept"), start_workers(Sleeper, 2) as share:
        list(share([4, 5, -1, 6]))
    assert multiprocessing.active_children() == []


def test_a_block_that_is_left_early_ends_its_processes_and_threads() -> None:
    def interrupt(result: int) -> None:
        raise KeyboardInterrupt

    before = set(threading.enumerate())
    with pytest.raises(KeyboardInterrupt), start_workers(Sleeper, 2) as share:
        interrupt(next(share(range(7))))
    assert multiprocessing.active_children() == []
    assert set(threading.enumerate()) == before, "they hold semaphores, which Python would call leaked"


needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks Linux which processes there are")


def is_running(process: int) -> bool:
    stat = Path(f"/proc/{process}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"


class Teller:
    """Starts a child, notes both processes in a folder, and works for as long as it is let."""

    def __init__(self, folder: str) -> None:
        for process in (os.getpid(), subprocess.Popen(["sleep", "600"]).pid):
            (Path(folder) / str(process)).touch()

    def work(self, task: int) -> int:
        time.sleep(600)
        return task

    def close(self) -> None:
        pass


@needs_proc
@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM])
def test_workers_end_with_their_parent_and_their_children(ending: signal.Signals, tmp_path: Path) -> None:
    source = f"""
import functools
from tests.training.measure.test_workers import Teller
from ddz_training.measure.workers import start_workers
if __name__ == "__main__":
    with start_workers(functools.partial(Teller, {str(tmp_path)!r}), 2) as share:
        list(share(range(40)))
"""
    script = tmp_path / "parent.py"
    script.write_text(source, encoding="utf-8")
    parent = subprocess.Popen([sys.executable, str(script)], env={**os.environ, "PYTHONPATH": pythonpath()})

    def started() -> list[int]:
        return [int(note.name) for note in tmp_path.iterdir() if note.name.isdigit()]

    for _ in range(6000):  # ten minutes at most
        if len(started()) == 4:
            break
        assert parent.poll() is None
        time.sleep(0.1)
    parent.send_signal(ending)
    assert parent.wait() == -ending
    time.sleep(2.0)
    assert len(started()) == 4
    assert not any(map(is_running, started()))
