"""Curves for TensorBoard: what the CSV files of a run hold, as scalars."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ddz_env.core.errors import install_hint
from ddz_training.learn.errors import CheckpointError, MissingTensorBoardError

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

    from ddz_training.learn.strength import Evaluation


class Board:
    """Scalars under their step.

    Args:
        writer: Where they go; None for nowhere.
    """

    def __init__(self, writer: SummaryWriter | None) -> None:
        self._writer = writer

    def add_line(self, line: Any) -> None:
        """A line of the curves: a dataclass of numbers, the first of which is the step."""
        step, *names = [field.name for field in dataclasses.fields(line)]
        self._add("training", {name: getattr(line, name) for name in names}, getattr(line, step))

    def add_evaluations(self, found: Sequence[Evaluation]) -> None:
        """The win rates of one evaluation, an opponent each."""
        for line in found:
            shares = {"wins": line.wins, "landlord": line.landlord, "peasants": line.peasants}
            self._add(f"evaluation/{line.opponent}", shares, line.update)

    def _add(self, group: str, values: dict[str, float], step: int) -> None:
        if self._writer is None:
            return
        for name, value in values.items():
            self._writer.add_scalar(f"{group}/{name}", value, step)
        self._writer.flush()


@contextmanager
def board(folder: Path | None, done: int = 0) -> Iterator[Board]:
    """Scalars in a folder of TensorBoard's.

    Args:
        folder: The folder; None writes nothing and needs no TensorBoard.
        done: The last step of an earlier run that is continued; what a killed one wrote beyond it is hidden.

    Raises:
        MissingTensorBoardError: If TensorBoard is not installed.
        CheckpointError: If the folder cannot be written.
    """
    if folder is None:
        yield Board(None)
        return
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise MissingTensorBoardError(
            f"--tensorboard needs TensorBoard ({error}): {install_hint('tensorboard')}"
        ) from error
    try:
        writer = SummaryWriter(str(folder), purge_step=done + 1 if done else None)
    except OSError as error:
        raise CheckpointError(f"cannot write {folder}: {error}") from error
    try:
        yield Board(writer)
    finally:
        writer.close()
