"""Measurements that need a process of their own: start time and memory."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping


class FreshProcessError(RuntimeError):
    """The measured process failed; the message holds the end of what it wrote."""


def run_python(code: str, environment: Mapping[str, str] | None = None) -> str:
    """Run code in a new interpreter with this one's import path, and return what it prints.

    Args:
        code: Python source.
        environment: Variables to set.

    Raises:
        FreshProcessError: If the process fails.
    """
    paths = os.pathsep.join(path for path in (os.getcwd(), *sys.path) if path)
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": paths, **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise FreshProcessError(f"a measured process failed:\n{done.stderr[-2000:]}")
    return done.stdout
