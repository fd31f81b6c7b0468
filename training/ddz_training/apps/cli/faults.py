"""What a person reads when a command fails: one message and an exit code, whatever was raised."""

from __future__ import annotations

import os
from typing import NamedTuple

import typer

from ddz_env.core.errors import DouDizhuError, install_hint
from ddz_training.apps.cli.signals import EXIT_INTERRUPTED

EXIT_BAD_INPUT = 2
EXIT_FAULT = 1
EXIT_AGENT_FAILED = 3
"""Played to the end, but an agent failed on the way."""

_EXTRAS = {
    "torch": "train",
    "stable_baselines3": "train",
    "sb3_contrib": "train",
    "onnx": "onnx",
    "onnxruntime": "onnx",
    "onnxscript": "onnx",
    "matplotlib": "plot",
    "PIL": "render",
    "pygame": "render",
    "tensorboard": "tensorboard",
    "rlcard": "rlcard",
    "pyspiel": "peers",
    "douzero": "peers",
    "starlette": "web",
    "uvicorn": "web",
    "playwright": "browser",
}
"""The extra that installs an optional package."""


class Fault(NamedTuple):
    """How a command ends that could not do its work.

    Attributes:
        message: For the person.
        exit_code: Of the command.
    """

    message: str
    exit_code: int


def wants_tracebacks() -> bool:
    """Whether the environment asks for tracebacks (``DDZ_DEBUG``), as ``--debug`` does."""
    return os.environ.get("DDZ_DEBUG", "0") not in ("", "0")


def fault_of(error: BaseException) -> Fault | None:
    """What to tell of an error; None for what the command line itself tells or passes on.

    Args:
        error: What was raised.
    """
    if isinstance(error, (typer.Exit, typer.Abort, SystemExit, BrokenPipeError)) or hasattr(error, "exit_code"):
        return None
    # A call of compiled code that ends while Ctrl-C arrives has a result and an exception.
    if isinstance(error, KeyboardInterrupt) or isinstance(error.__cause__, KeyboardInterrupt):
        return Fault("interrupted", EXIT_INTERRUPTED)
    if isinstance(error, DouDizhuError):
        return Fault(str(error), EXIT_BAD_INPUT)
    if isinstance(error, ImportError):
        package = (error.name or "").partition(".")[0]
        hint = f": {install_hint(_EXTRAS[package])}" if package in _EXTRAS else ""
        return Fault(f"this needs the package {package!r} ({error}){hint}", EXIT_BAD_INPUT)
    if isinstance(error, MemoryError):
        return Fault(f"there is not enough memory {error}".strip(), EXIT_BAD_INPUT)
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return Fault(f"{where}{error.strerror or error}", EXIT_BAD_INPUT)
    return Fault(f"a fault of ddz, {type(error).__name__}: {error}; --debug shows where", EXIT_FAULT)
