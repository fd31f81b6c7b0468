"""Programs end, with whole results, whatever an agent leaves behind or does."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from ddz_env import Move, View
from tests.packages import ROOT, pythonpath
from tests.training.measure.test_workers import is_running, needs_proc

ENVIRONMENT = {**os.environ, "PYTHONPATH": pythonpath()}
PATIENCE = 600.0
"""Seconds until an agent moves: what it needs may have to be compiled first."""


def for_ever() -> None:
    while True:
        time.sleep(1.0)


class Untidy:
    """Leaves a thread and a child behind, and forks in its first move."""

    forked = False

    def __init__(self) -> None:
        threading.Thread(target=for_ever).start()
        if not multiprocessing.current_process().daemon:  # those may have none
            multiprocessing.get_context("spawn").Process(target=for_ever).start()

    def act(self, view: View, rng: np.random.Generator) -> Move:
        if not Untidy.forked:
            Untidy.forked = True
            os.fork()
        return view.legal_moves()[0]


class Thinks:
    """Never answers."""

    def act(self, view: View, rng: np.random.Generator) -> Move:
        print("thinks", file=sys.stderr, flush=True)
        while True:
            pass


class Employs:
    """Starts a program, and waits for it."""

    def act(self, view: View, rng: np.random.Generator) -> Move:
        program = subprocess.Popen(["sleep", "600"])
        print("started", program.pid, file=sys.stderr, flush=True)
        program.wait()
        return view.legal_moves()[0]


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "ddz_training", *map(str, arguments)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork, so no agent can fork there")
@pytest.mark.parametrize("more", [("--processes", 1), ("--processes", 2), ("--processes", 1, "--time-limit", 60)])
def test_an_agents_threads_and_children_keep_no_program_alive(more: tuple[object, ...], tmp_path: Path) -> None:
    out = tmp_path / "games.csv"
    line = command("arena", f"{__name__}:Untidy", "random", "--deals", 2, "--out", out, *more)
    ended = subprocess.run(line, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, timeout=PATIENCE)
    assert ended.returncode == 0, ended.stderr
    assert len(out.read_text().splitlines()) == 2 + 2 * 2


@needs_proc
def test_what_an_agent_with_a_time_limit_starts_ends_with_the_program() -> None:
    line = command("arena", f"{__name__}:Employs", "random", "--time-limit", 600, "--processes", 1)
    with subprocess.Popen(line, cwd=ROOT, env=ENVIRONMENT, text=True, stderr=subprocess.PIPE) as program:
        assert program.stderr is not None
        started = next(line for line in program.stderr if line.startswith("started "))
        program.terminate()
        assert program.wait(2.0) == -signal.SIGTERM
        time.sleep(2.0)
        assert not is_running(int(started.split()[1]))


@pytest.mark.parametrize("ending", ["the client leaves", signal.SIGINT, signal.SIGTERM])
def test_the_protocols_server_ends_while_an_agent_thinks(ending: str | signal.Signals) -> None:
    pytest.importorskip("mcp")
    line = command("mcp", "--agents", f"{__name__}:Thinks", "--adviser", "random")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    server = subprocess.Popen(line, cwd=ROOT, env=ENVIRONMENT, text=True, **pipes)
    assert server.stdin is not None
    assert server.stdout is not None
    assert server.stderr is not None
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    for message in (
        {"id": 1, "method": "initialize", "params": about},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "new_game", "arguments": {"seat": 1}}},
    ):
        server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        server.stdin.flush()
    while server.stderr.readline() not in ("thinks\n", ""):
        pass
    if isinstance(ending, signal.Signals):
        server.send_signal(ending)
    else:
        server.stdin.close()
    try:
        assert server.wait(2.0) == (-ending if isinstance(ending, signal.Signals) else 0)
    finally:
        server.kill()
        for pipe in (server.stdin, server.stdout, server.stderr):
            pipe.close()
