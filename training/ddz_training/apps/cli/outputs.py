"""The files that options name, checked before the first game rather than after the last."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any, Literal

import click

from ddz_env.core.errors import DouDizhuError, install_hint
from ddz_env.core.whole_file import is_stream, real_path

_PROBE = bytes(1 << 16)
"""Less room than this counts as a full disk."""


class OutputError(DouDizhuError):
    """A file or folder that was named for output cannot be written, or must not be; nothing has been done yet."""


class Output(click.ParamType[Path]):
    """A file or folder that a command writes.

    Args:
        *suffixes: How its name may end; none for anything.
        use: ``write`` replaces it, but never results of an earlier run; ``table`` does that, too, and may write to a
            device or a pipe; ``new`` refuses one that is there; ``resume`` adds to it; ``plot`` draws it with
            matplotlib; ``folder`` writes into it.
    """

    name = "path"

    def __init__(
        self, *suffixes: str, use: Literal["write", "table", "new", "resume", "plot", "folder"] = "write"
    ) -> None:
        self.suffixes, self.use = suffixes, use

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Refuse a path that cannot be written.

        Raises:
            OutputError: If it cannot.
        """
        from ddz_training.measure import plotting, store

        path = Path(value)
        if self.use == "folder":
            check_output_folder(path)
        elif self.use != "table" or not is_stream(path):
            if self.use == "plot" and not plotting.can_plot():
                raise OutputError(f"a plot needs matplotlib: {install_hint('plot')}")
            check_output(path, self.suffixes, new=self.use == "new")
            if self.use != "resume" and path.is_file() and store.holds_results(path):
                raise OutputError(f"{path} holds the results of an earlier run: name another file")
        return path


RESULTS = Output(".csv", ".sqlite", use="resume")
TABLE = Output(".csv", ".json", use="table")
PLOT = Output(".png", ".pdf", ".svg", use="plot")
LEAGUE = Output(".sqlite", ".db")
WEIGHTS = ".safetensors"
NEW_WEIGHTS = Output(WEIGHTS, use="new")
NEW = Output(use="new")
FOLDER = Output(use="folder")


results_option = click.option(
    "--out", type=RESULTS, help="Save results as they come: FILE.sqlite, and FILE.csv at the end; resumed if there."
)
plot_option = click.option("--plot", type=PLOT, help="Write a plot here (.png, .pdf or .svg).")


def check_output(path: Path, suffixes: tuple[str, ...] = (), *, new: bool = False) -> None:
    """Make sure that a file can be written.  The file is not touched, and no folder is made.

    Args:
        path: The file.
        suffixes: How its name may end; empty for anything.
        new: Whether it must not be there yet.

    Raises:
        OutputError: If it cannot.
    """
    if path.is_dir():
        raise OutputError(f"{path} is a folder: name a file in it")
    if is_stream(path):
        raise OutputError(f"{path} is a device or a pipe: name a file")
    if suffixes and path.suffix.lower() not in suffixes:
        raise OutputError(f"{path} must end in {' or '.join(suffixes)}")
    if new and path.is_file():
        raise OutputError("{file} is there already: {advice}", file=path, advice="name another file")
    try:
        if path.is_file():
            path.open("ab").close()
        _probe(real_path(path).parent)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from error


def check_output_folder(path: Path) -> None:
    """Make sure that files can be written into a folder, which need not be there yet.

    Raises:
        OutputError: If they cannot.
    """
    try:
        _probe(path)
    except OSError as error:
        raise OutputError(f"cannot write into {path}: {error.strerror or error}") from error


def _probe(folder: Path) -> None:
    """Write something into a folder, or into the nearest one above it that exists, and remove it again."""
    folder = folder.absolute()
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(_PROBE)
        file.flush()
        os.fsync(file.fileno())
