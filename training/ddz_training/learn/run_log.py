"""The curves of a training: lines of numbers, in CSV files in step with the checkpoint, and in TensorBoard."""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ddz_env.core.errors import install_hint
from ddz_env.core.whole_file import append, replace_file
from ddz_training.learn.errors import CheckpointError, MissingTensorBoardError
from ddz_training.learn.strength import Evaluation

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

CURVES, EVALUATIONS = "curves.csv", "evaluations.csv"


class RunLog:
    """The lines of a training; each is a dataclass whose first field is the number of its step.

    Args:
        tables: The CSV file of each kind of line that has one.
        folder: Where these files are; None writes none of them.
        tensorboard: TensorBoard's folder; None writes nothing there.
        done: The last update of an earlier run that is continued, 0 for a new one.  What a killed run wrote beyond it
            is dropped, and hidden from TensorBoard.

    Raises:
        CheckpointError: If a file cannot be written or has other columns.
        MissingTensorBoardError: If TensorBoard is not installed.
    """

    def __init__(
        self, tables: Mapping[type, str], folder: Path | None, tensorboard: Path | None = None, done: int = 0
    ) -> None:
        self._board = None if tensorboard is None else _summary_writer(tensorboard, done)
        found = {} if folder is None else {kind: folder / name for kind, name in tables.items()}
        self._files = {kind: CurveFile(path, columns_of(kind), done or -1) for kind, path in found.items()}

    def add(self, line: Any) -> None:
        """Write a line.

        Raises:
            CheckpointError: If that cannot be done.
        """
        values = {name: getattr(line, name) for name in columns_of(type(line))}
        if type(line) in self._files:
            self._files[type(line)].append(values)
        if self._board is None:
            return
        group, step = "training", next(iter(values.values()))
        if isinstance(line, Evaluation):
            group = f"evaluation/{line.opponent}"
            values = {name: values[name] for name in ("update", "wins", "landlord", "peasants")}
        for name, value in list(values.items())[1:]:
            self._board.add_scalar(f"{group}/{name}", value, step)
        self._board.flush()

    def close(self) -> None:
        """Close TensorBoard's file."""
        if self._board is not None:
            self._board.close()


def _summary_writer(folder: Path, done: int) -> SummaryWriter:
    """What writes TensorBoard's files."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise MissingTensorBoardError(
            f"--tensorboard needs TensorBoard ({error}): {install_hint('tensorboard')}"
        ) from error
    try:
        return SummaryWriter(str(folder), purge_step=done + 1 if done else None)
    except OSError as error:
        raise CheckpointError(f"cannot write {folder}: {error}") from error


class CurveFile:
    """A CSV file that is appended to and whose first column is the number of the update.

    Args:
        path: The file.
        columns: The columns, ``update`` first.
        keep: The last update whose lines are kept; lines of later ones are those of a run that was killed after its
            last checkpoint, and will be written again.  -1 begins anew.

    Raises:
        CheckpointError: If the file has other columns, or cannot be read or written.
    """

    def __init__(self, path: Path, columns: Sequence[str], keep: int = -1) -> None:
        self._path = path
        self._columns = list(columns)
        try:
            kept = self._kept(keep) if keep >= 0 and path.exists() else []
            replace_file(path, "".join(map(_line, [self._columns, *kept])).encode())
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise CheckpointError(f"cannot continue {path}: {error}") from error

    def append(self, values: Mapping[str, Any]) -> None:
        """Append a line and hand it to the operating system.

        Raises:
            CheckpointError: If that cannot be done.
        """
        cells = [_cell(values[column]) for column in self._columns]
        try:
            append(self._path, _line(cells).encode())
        except OSError as error:
            raise CheckpointError(f"cannot write {self._path}: {error}") from error

    def _kept(self, last: int) -> list[list[str]]:
        lines = list(csv.reader(self._path.read_text(encoding="utf-8").splitlines()))
        if not lines or lines[0] != self._columns:
            raise CheckpointError(f"{self._path} is not a curve of this version: its first line is {lines[:1]}")
        whole = [line for line in lines[1:] if len(line) == len(self._columns)]
        return [line for line in whole if line[0].isdigit() and int(line[0]) <= last]


def _cell(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _line(cells: Sequence[str]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()


def columns_of(kind: type) -> list[str]:
    """The fields of a dataclass, as columns."""
    return [field.name for field in dataclasses.fields(kind)]
