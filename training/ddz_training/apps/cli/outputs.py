"""The files that options name, checked before the first game rather than after the last."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_type_hints

from ddz_env.core.errors import DouDizhuError, install_hint
from ddz_env.core.whole_file import LONGEST_ADDITION, is_stream, real_path
from ddz_training.apps.cli.lazily import lazily

with lazily():
    from ddz_training.measure import plotting, store

if TYPE_CHECKING:
    from ddz_env.core.options import Options

_PROBE = bytes(1 << 16)
"""Less room than this counts as a full disk."""


class OutputError(DouDizhuError):
    """A file or folder that was named for output cannot be written, or must not be; nothing has been done yet."""


class File:
    """What an option's file is for, behind its type: ``Annotated[Path | None, File(".csv")]``.

    Args:
        *suffixes: How its name may end; none for anything.
        use: ``write`` replaces it, but never results of an earlier run; ``new`` refuses one that is there; ``results``
            adds to it; ``plot`` draws it with matplotlib; ``read`` reads it; ``folder`` writes into it.
        stream: Whether it may be a device or a pipe.
    """

    def __init__(
        self,
        *suffixes: str,
        use: Literal["write", "new", "results", "plot", "read", "folder"] = "write",
        stream: bool = False,
    ) -> None:
        self.suffixes, self.use, self.stream = suffixes, use, stream

    def check(self, path: Path) -> None:
        """Refuse a path that cannot be used in this way.

        Raises:
            OutputError: If it cannot.
        """
        if self.use == "plot" and not plotting.can_plot():
            raise OutputError(f"a plot needs matplotlib: {install_hint('plot')}")
        if self.use == "folder":
            check_output_folder(path)
        elif self.use != "read" and not (self.stream and is_stream(path)):
            check_output(path, self.suffixes, new=self.use == "new")
            if self.use != "results" and path.is_file() and store.holds_results(path):
                raise OutputError(f"{path} holds the results of an earlier run: name another file")


PLOT = File(".png", ".pdf", ".svg", use="plot")


def check_files(options: Options, names: Mapping[str, str]) -> None:
    """Check all files of a command, and that none of those written is another of its files.

    Args:
        options: The command.
        names: What its fields are called on the command line.

    Raises:
        OutputError: If one of them cannot be used.
    """
    seen: list[tuple[str, File, Path]] = []
    for field, hint in get_type_hints(type(options), include_extras=True).items():
        path = getattr(options, field)
        for file in (one for one in getattr(hint, "__metadata__", ()) if isinstance(one, File) and path is not None):
            file.check(path)
            for other, before, earlier in seen:
                both_read = file.use == before.use == "read"
                if not both_read and _same(path, earlier) and not is_stream(path):
                    raise OutputError(f"{other} and {names[field]} are both {path}: name two files")
            seen.append((names[field], file, path))


def _same(one: Path, other: Path) -> bool:
    return real_path(one) == real_path(other) or (one.exists() and other.exists() and one.samefile(other))


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
    real = real_path(path)
    try:
        for beside in (real, real.with_name(real.name + "." * LONGEST_ADDITION)):
            with contextlib.suppress(FileNotFoundError):
                beside.stat()  # finds a link in a loop, and a name that is too long
        if path.is_file():
            with path.open("ab"):
                pass
        _probe(real.parent)
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
