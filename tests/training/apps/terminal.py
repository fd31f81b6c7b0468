"""The command line as its tests start it: in this process, or in one of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from rich.markup import render
from typer.testing import CliRunner, Result

from ddz_training.apps.cli import app, console
from tests.rooms import pythonpath

COMMANDS = typer.main.get_command(app)


def ddz(*arguments: object, width: int = 160, text: str | None = None) -> Result:
    """Run a command whose screen is so wide; all commands are made once, which the runner would do for each call."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(console, "_LOG_WIDTH", width)
        patch.setattr("typer.testing._get_command", lambda _: COMMANDS, raising=False)
        environment = {"COLUMNS": str(width), "NO_COLOR": "1"}
        return CliRunner().invoke(app, list(map(str, arguments)), input=text, env=environment)


def refused(*arguments: object) -> str:
    """The one line that a command ends with, before it has done anything."""
    result = ddz(*arguments)
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    assert "Traceback" not in result.output
    [line] = [line for line in result.stderr.splitlines() if line.strip()]
    return line


def start_ddz(*arguments: str, cwd: Path, before: str = "") -> subprocess.Popen[str]:
    """Start a command in a process, and a process group, of its own, after some statements of Python."""
    return subprocess.Popen(
        [sys.executable, "-c", f"from ddz_training.apps.cli import main\n{before}\nmain()", *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": pythonpath()},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_until(process: subprocess.Popen[str], ready: Callable[[], bool]) -> None:
    """Wait while a process runs, but not for ever."""
    deadline = time.monotonic() + 600
    while not ready():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.02)


def commands(command: Any = COMMANDS, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command of ``ddz`` with the words that lead to it."""
    yield path, command
    if hasattr(command, "list_commands"):
        context = command.context_class(command)
        for name in command.list_commands(context):
            yield from commands(command.get_command(context, name), (*path, name))


def examples(command: Any) -> list[str]:
    """The command lines at the end of a help."""
    return [line.strip() for line in render(command.epilog or "").plain.splitlines() if line.startswith("  ddz")]
