"""Error handling of the commands: the one line that is printed for an error, and the exit code."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import click

from ddz_env.support.errors import DouDizhuError, install_hint
from ddz_training.cli.console import EXIT_INTERRUPTED, print_error
from ddz_training.measure.errors import AgentFaultWarning, OtherVersionWarning

EXIT_FAULT = 1
EXIT_BAD_INPUT = 2
EXIT_AGENT_FAILED = 3
"""Played to the end, but an agent failed on the way."""

EXIT_UNREAD = 141
"""Nobody reads what is printed any more: what a shell says of a program that ended by SIGPIPE."""

FAILED_AGENTS = "ddz.agent_failed"
"""What a command notes in the ``meta`` of Click's context: the failures of agents."""

RESUMABLE_FILE = "ddz.resumed"
"""Likewise: the file that the same command would go on with."""

_EXTRAS = {
    **dict.fromkeys(("torch", "stable_baselines3", "sb3_contrib"), "train"),
    **dict.fromkeys(("onnx", "onnxruntime", "onnxscript"), "onnx"),
    **dict.fromkeys(("PIL", "pygame"), "render"),
    **dict.fromkeys(("pyspiel", "douzero"), "peers"),
    **dict.fromkeys(("starlette", "uvicorn"), "web"),
    **{"matplotlib": "plot", "mcp": "mcp", "tensorboard": "tensorboard", "rlcard": "rlcard"},
}
"""The extra that installs an optional package."""


class CommandLineError(DouDizhuError):
    """Raised when the given command-line arguments do not fit together; nothing has been done yet."""


def describe_fault(error: BaseException) -> tuple[str, int]:
    """Return a one-line message for an error, and the exit code for it."""
    # A call of compiled code that ends while Ctrl-C arrives has a result and an exception.
    if isinstance(error, KeyboardInterrupt) or isinstance(error.__cause__, KeyboardInterrupt):
        return "interrupted", EXIT_INTERRUPTED
    if isinstance(error, DouDizhuError):
        return str(error), EXIT_BAD_INPUT
    if isinstance(error, ImportError):
        package = (error.name or "").partition(".")[0]
        hint = f": {install_hint(_EXTRAS[package])}" if package in _EXTRAS else ""
        return f"this needs the package {package!r} ({error}){hint}", EXIT_BAD_INPUT
    if isinstance(error, MemoryError):
        return f"there is not enough memory {error}".strip(), EXIT_BAD_INPUT
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or error}", EXIT_BAD_INPUT
    return f"a fault of ddz, {type(error).__name__}: {error}; ddz --debug shows where", EXIT_FAULT


def report_failed_agent(message: str) -> None:
    """Print an agent's failure in red, once per message, and set the command's exit code for failed agents."""
    said = click.get_current_context().meta.setdefault(FAILED_AGENTS, set())
    if message not in said:
        print_error(message)
    said.add(message)


@contextmanager
def report_agent_warnings() -> Iterator[None]:
    """Collect warnings in a ``with`` block, and at its end report failed agents and results of mixed versions."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", AgentFaultWarning)
            yield
    finally:
        for warning in caught:
            if issubclass(warning.category, AgentFaultWarning):
                report_failed_agent(str(warning.message))
            elif issubclass(warning.category, OtherVersionWarning):
                print_error(str(warning.message))
            else:
                warnings.showwarning(warning.message, warning.category, warning.filename, warning.lineno)
