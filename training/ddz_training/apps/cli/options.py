"""Options that several commands have alike; files that they name are checked before the first game, not after the last.

What stands in the way of an output is found while the command line is read: its callback is here.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from ddz_env.core.errors import DouDizhuError, install_hint
from ddz_env.core.whole_file import LONGEST_ADDITION, is_stream, real_path
from ddz_training.apps.cli.lazily import lazily
from ddz_training.measure.provenance import other_code
from ddz_training.measure.store import SUFFIXES, holds_results

with lazily():
    from ddz_training.measure import plotting, ray_cluster

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
        raise OutputError("{file} is there already: {advice}", file=path, advice=advice)


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


def _note(context: typer.Context, option: typer.CallbackParam, path: Path, *, written: bool) -> None:
    """Note a file of the command, and refuse it if another option names it and one of the two writes it.

    Raises:
        OutputError: If so.
    """
    name = option.opts[-1] if option.param_type_name == "option" else option.opts[-1].upper()
    others: list[tuple[str, Path, bool]] = context.meta.setdefault("ddz.files", [])
    for option_before, other, was_written in others:
        if (written or was_written) and _same(path, other):
            raise OutputError(f"{option_before} and {name} are both {path}: name two files")
    others.append((name, path, written))


def _same(one: Path, other: Path) -> bool:
    return real_path(one) == real_path(other) or (one.exists() and other.exists() and one.samefile(other))


def input_file(context: typer.Context, option: typer.CallbackParam, path: Path | None) -> Path | None:
    """The callback of an option that names a file to read, which no output of the command may replace."""
    if path is not None:
        _note(context, option, path, written=False)
    return path


Callback = Callable[[typer.Context, typer.CallbackParam, Path | None], Path | None]
"""Of an option that names a file."""


def output_file(*suffixes: str, new: bool = False, results: bool = False, stream: bool = False) -> Callback:
    """The callback of an option that names a file to write; all files of a command are different ones.

    Args:
        *suffixes: How its name may end; none for anything.
        new: Whether a file that is there is refused.
        results: Whether it holds results (:mod:`ddz_training.measure.store`); anything else never replaces
        these.
        stream: Whether it may be a device or a pipe.
    """

    def check(context: typer.Context, option: typer.CallbackParam, path: Path | None) -> Path | None:
        if path is None or (stream and is_stream(path)):
            return path
        check_output(path, suffixes)
        _note(context, option, path, written=True)
        if new:
            check_new(path)
        if not results and path.is_file() and holds_results(path):
            raise OutputError(f"{path} holds the results of an earlier run: name another file")
        return path

    return check


results_file = output_file(*SUFFIXES, results=True)
"""The callback of an option that names a file of results."""


def plot_file(context: typer.Context, option: typer.CallbackParam, path: Path | None) -> Path | None:
    """The callback of an option that names a picture.

    Raises:
        OutputError: If it cannot be written, or nothing can draw it.
    """
    if path is not None and not plotting.can_plot():
        raise OutputError(f"a plot needs matplotlib: {install_hint('plot')}")
    return output_file(*PLOTS)(context, option, path)


def output_folder(path: Path | None) -> Path | None:
    """The callback of an option that names a folder to write into."""
    if path is not None:
        check_output_folder(path)
    return path


def _join_cluster(context: typer.Context, wanted: bool) -> bool:
    if wanted:
        context.with_resource(ray_cluster.on_ray())
    return wanted


def _allow_other_code(context: typer.Context, allowed: bool) -> bool:
    context.with_resource(other_code(allowed))
    return allowed


RULES = "Rules: a preset, with options behind it if wanted (ddz rules --help)."
Count = Annotated[int, typer.Option(min=1)]
OptionalCount = Annotated[int | None, typer.Option(min=1)]
Natural = Annotated[int, typer.Option(min=0)]
OptionalNatural = Annotated[int | None, typer.Option(min=0)]
InputFile = Annotated[Path | None, typer.Option(callback=input_file)]
TableFile = Annotated[Path | None, typer.Option(callback=output_file(".csv", stream=True))]
JsonFile = Annotated[Path | None, typer.Option(callback=output_file(".json", stream=True))]
ResultsFile = Annotated[Path | None, typer.Option(callback=results_file)]
OutputFolder = Annotated[Path, typer.Option(callback=output_folder)]
Preset = Annotated[str, typer.Option("--rules", help=RULES)]
Names = Annotated[
    list[str] | None,
    typer.Option(help="A short name for the tables; once for each agent, in order (--name deep --name rules)."),
]
TimeLimit = Annotated[
    float | None,
    typer.Option(
        min=0.001, help="Seconds a decision may take; a longer one is cut off and loses the game. No limit by default."
    ),
]
OnFault = Annotated[
    str, typer.Option(help="What happens when an agent fails: lose (it loses that game) or stop (the match ends).")
]
OnRay = Annotated[
    bool,
    typer.Option(
        "--ray",
        callback=_join_cluster,
        help="Play on a Ray cluster (ray start), or on one begun with --processes cores; results do not depend on it.",
    ),
]
"""For every command that takes ``--processes``; its body needs nothing more."""
OtherCode = Annotated[
    bool,
    typer.Option(
        "--allow-other-code",
        callback=_allow_other_code,
        help="Add to a file that other code has written; it then names both.",
    ),
]
"""For every command that adds to what is saved; its body needs nothing more."""
Out = Annotated[
    Path | None,
    typer.Option(help="Save results here as they come (FILE.csv); resumes an existing file.", callback=results_file),
]
Plot = Annotated[Path | None, typer.Option(help="Write a plot here (.png, .pdf or .svg).", callback=plot_file)]
Threads = Annotated[int | None, typer.Option(help="Threads; results do not depend on them.")]
TensorBoard = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="Write the curves for TensorBoard into this folder, too (needs the extra tensorboard)."
    ),
]
Minutes = Annotated[float | None, typer.Option(help="Minutes of training in total, including those before --resume.")]
Updates = Annotated[int | None, typer.Option(help="Updates in total, including those before --resume.")]
Init = Annotated[
    Path | None,
    typer.Option(help="Start from these weights: those of imitate, or of an earlier run.", callback=input_file),
]
Objective = Annotated[str | None, typer.Option(help="win (default) or stake.")]
Resume = Annotated[bool, typer.Option("--resume", help="Resume from the checkpoint in --out.")]
TrainedRules = Annotated[str | None, typer.Option("--rules", help=RULES)]
TrainingSeed = Annotated[int | None, typer.Option("--seed", help="Seed of deals, actions and weights; 0 by default.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", help="Any other setting, name=value (learning_rate=0.001, architecture.width=512 ...)."),
]
