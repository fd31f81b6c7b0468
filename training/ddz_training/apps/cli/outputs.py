"""Files that a command will write: what stands in the way is found before the first game, not after the last."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import typer

from ddz_env.core.errors import DouDizhuError, install_hint
from ddz_env.core.whole_file import LONGEST_ADDITION, is_stream, real_path

WEIGHTS = ".safetensors"
ONNX = ".onnx"

PLOTS = (".png", ".pdf", ".svg")
"""What matplotlib is asked to write."""

_PROBE = bytes(1 << 16)
"""Less room than this counts as a full disk."""


class OutputError(DouDizhuError):
    """A file or folder that was named for output cannot be written, or must not be; nothing has been done yet."""


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
    if is_stream(path):
        raise OutputError(f"{path} is a device or a pipe: name a file")
    if suffixes and path.suffix.lower() not in suffixes:
        raise OutputError(f"{path} must end in {' or '.join(suffixes)}")
    try:
        _check_name(real_path(path))
        if path.is_file():
            with path.open("ab"):
                pass
        _probe(real_path(path).parent)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from error


def _check_name(path: Path) -> None:
    """Find a link that leads back to itself, and a name that is too long for the files that will lie beside it.

    Raises:
        OSError: If it is one of these.
    """
    for beside in (path, path.with_name(path.name + "." * LONGEST_ADDITION)):
        with contextlib.suppress(FileNotFoundError):
            beside.stat()


def check_new(path: Path, advice: str = "name another file") -> None:
    """Refuse to replace a file.

    Args:
        path: The file.
        advice: What to do instead.

    Raises:
        OutputError: If it is there.
    """
    if path.is_file():
        raise OutputError(f"{path} is there already: {advice}")


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


class _Named(NamedTuple):
    """A file that an option of the command names."""

    option: str
    path: Path
    written: bool


def _note(context: typer.Context, option: typer.CallbackParam, path: Path, *, written: bool) -> None:
    """Note a file of the command, and refuse it if another option names it and one of the two writes it.

    Raises:
        OutputError: If so.
    """
    name = option.opts[-1] if option.param_type_name == "option" else option.opts[-1].upper()
    others: list[_Named] = context.meta.setdefault("ddz.files", [])
    for other in others:
        if (written or other.written) and _same(path, other.path):
            raise OutputError(f"{other.option} and {name} are both {path}: name two files")
    others.append(_Named(name, path, written))


def _same(one: Path, other: Path) -> bool:
    return real_path(one) == real_path(other) or (one.exists() and other.exists() and one.samefile(other))


def input_file(context: typer.Context, option: typer.CallbackParam, path: Path | None) -> Path | None:
    """The callback of an option that names a file to read, which no output of the command may replace."""
    if path is not None:
        _note(context, option, path, written=False)
    return path


Callback = Callable[[typer.Context, typer.CallbackParam, Path | None], Path | None]
"""Of an option that names a file."""


def output_file(*suffixes: str, new: bool = False, results: bool = False) -> Callback:
    """The callback of an option that names a file to write; all files of a command are different ones.

    Args:
        *suffixes: How its name may end; none for anything.
        new: Whether a file that is there is refused.
        results: Whether it holds results (:mod:`ddz_training.measure.match.results`); anything else never replaces
        these.
    """

    def check(context: typer.Context, option: typer.CallbackParam, path: Path | None) -> Path | None:
        if path is not None:
            check_output(path, suffixes)
            _note(context, option, path, written=True)
            if new:
                check_new(path)
            if not results:
                _check_no_results(path)
        return path

    return check


def _check_no_results(path: Path) -> None:
    """Refuse to replace the games, or whatever else was computed, of an earlier run."""
    if path.is_file():
        from ddz_training.measure.match.results import holds_results

        if holds_results(path):
            raise OutputError(f"{path} holds the results of an earlier run: name another file")


def table_file(*suffixes: str) -> Callback:
    """The callback of an option that names a file for a table, or a device or pipe.

    Args:
        *suffixes: How the file's name may end.
    """
    check_file = output_file(*suffixes)

    def check(context: typer.Context, option: typer.CallbackParam, path: Path | None) -> Path | None:
        return path if path is not None and is_stream(path) else check_file(context, option, path)

    return check


def results_file(context: typer.Context, option: typer.CallbackParam, path: Path | None) -> Path | None:
    """The callback of an option that names a file of results."""
    from ddz_training.measure.match.results import SUFFIXES

    return output_file(*SUFFIXES, results=True)(context, option, path)


def plot_file(context: typer.Context, option: typer.CallbackParam, path: Path | None) -> Path | None:
    """The callback of an option that names a picture.

    Raises:
        OutputError: If it cannot be written, or nothing can draw it.
    """
    from ddz_training.measure.plotting import can_plot

    if path is not None and not can_plot():
        raise OutputError(f"a plot needs matplotlib: {install_hint('plot')}")
    return output_file(*PLOTS)(context, option, path)


def output_folder(path: Path | None) -> Path | None:
    """The callback of an option that names a folder to write into."""
    if path is not None:
        check_output_folder(path)
    return path
