"""Files that a command will write: what stands in the way is found before the first game, not after the last."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from ddz_env.errors import DouDizhuError, install_hint

PLOTS = (".png", ".pdf", ".svg")
"""What matplotlib is asked to write."""

_PROBE = bytes(1 << 16)
"""Less room than this counts as a full disk."""


class OutputError(DouDizhuError):
    """A file or folder that was named for output cannot be written; nothing has been done yet."""


def check_output(path: Path, suffixes: tuple[str, ...] = ()) -> None:
    """Make sure that a file can be written.  The file is not touched, and no folder is made.

    Args:
        path: The file.
        suffixes: How its name may end; empty for anything.

    Raises:
        OutputError: If it cannot.
    """
    if path.is_dir():
        raise OutputError(f"{path} is a folder: name a file in it")
    if suffixes and path.suffix.lower() not in suffixes:
        raise OutputError(f"{path} must end in {' or '.join(suffixes)}")
    try:
        if path.is_file():
            with path.open("ab"):
                pass
        if path.is_file() or not path.exists():  # neither a device nor a pipe
            _probe(path.parent)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from error


def check_output_folder(path: Path) -> None:
    """Make sure that files can be written into a folder, which need not be there yet.

    Args:
        path: The folder.

    Raises:
        OutputError: If they cannot.
    """
    try:
        _probe(path)
    except OSError as error:
        raise OutputError(f"cannot write into {path}: {error.strerror or error}") from error


def _probe(folder: Path) -> None:
    """Write something into a folder, or into the nearest one above it that is there, and take it away again."""
    folder = folder.absolute()
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(_PROBE)
        file.flush()
        os.fsync(file.fileno())


def output_file(*suffixes: str) -> Callable[[Path | None], Path | None]:
    """The callback of an option that names a file to write.

    Args:
        *suffixes: How its name may end; none for anything.
    """

    def check(path: Path | None) -> Path | None:
        if path is not None:
            check_output(path, suffixes)
        return path

    return check


def results_file(path: Path | None) -> Path | None:
    """The callback of an option that names a file of results."""
    from training.arena.results import SUFFIXES

    return output_file(*SUFFIXES)(path)


def plot_file(path: Path | None) -> Path | None:
    """The callback of an option that names a picture.

    Raises:
        OutputError: If it cannot be written, or nothing can draw it.
    """
    from training.experiments.plotting import can_plot

    if path is not None and not can_plot():
        raise OutputError(f"a plot needs matplotlib: {install_hint('plot')}")
    return output_file(*PLOTS)(path)


def output_folder(path: Path | None) -> Path | None:
    """The callback of an option that names a folder to write into."""
    if path is not None:
        check_output_folder(path)
    return path
