"""The command line as its tests start it: in this process, or in one of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from ddz_training.cli import console
from ddz_training.cli.app import app
from tests.packages import pythonpath


def ddz(*arguments: object, width: int = 160, text: str | None = None) -> Result:
    """Run a command whose screen is so wide."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(console, "_LOG_WIDTH", width)
        environment = {"COLUMNS": str(width), "NO_COLOR": "1"}
        return CliRunner().invoke(app, list(map(str, arguments)), input=text, env=environment)


def done(*arguments: object, width: int = 160) -> Result:
    """Run a command that ends well."""
    result = ddz(*arguments, width=width)
    assert result.exit_code == 0, result.output
    return result


def refused(*arguments: object) -> str:
    """The line that a command ends with, before it has done anything; Click says the usage before it."""
    result = ddz(*arguments)
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    assert "Traceback" not in result.output
    lines = result.stderr.splitlines()
    assert len(lines) == 1 or lines[0].startswith("Usage: "), result.stderr
    return lines[-1]


def start_ddz(*arguments: str, cwd: Path) -> subprocess.Popen[str]:
    """Start a command in a process, and a process group, of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "ddz_training", *arguments],
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


def commands(
    command: click.Command = app, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command of ``ddz`` with the words that lead to it."""
    yield path, command
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            yield from commands(below, (*path, name))


def as_options(settings: Iterable[str]) -> list[str]:
    """Settings of the form ``name=value`` as options of a command."""
    pairs = (setting.split("=", 1) for setting in settings)
    return [word for name, value in pairs for word in (f"--{name.replace('_', '-')}", value)]
