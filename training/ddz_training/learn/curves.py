"""Training curves as CSV, in step with the checkpoint: a line an update, and in another file a line an evaluation."""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ddz_env.core.whole_file import append, replace_file
from ddz_training.learn.errors import CheckpointError


@dataclass
class CurveLine:
    """What one update brought, a line of ``curves.csv``.

    Attributes:
        update: Updates so far.
        steps: Decisions of the environments so far, forced ones included.
        decisions: Decisions that were learned from so far, each counted once.
        games: Games finished so far.
        landlord_wins: Share of this update's games that the landlord won.
        game_length: Decisions a game in this update.
        policy_loss: The clipped surrogates, negated, in their shares: a mean over the update's decisions, as the next
            five; of the policy, an estimate from those that it learned from.
        value_loss: Half the squared error of the policy's own value.
        critic_loss: The same of the critic.
        entropy: Of the policy, in nats.
        divergence: Estimate of the Kullback–Leibler divergence from the policy that chose (J. Schulman's third
            estimator, ratio − 1 − log ratio).
        clipped: Share of the ratios beyond the clip.
        explained: Share of the targets' variance that the critic had foreseen.
        seconds: Seconds of training so far, evaluations not counted.
    """

    update: int
    steps: int
    decisions: int
    games: int
    landlord_wins: float
    game_length: float
    policy_loss: float
    value_loss: float
    critic_loss: float
    entropy: float
    divergence: float
    clipped: float
    explained: float
    seconds: float


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

    def __init__(self, path: str | Path, columns: Sequence[str], keep: int = -1) -> None:
        self._path = Path(path)
        self._columns = list(columns)
        try:
            kept = self._kept(keep) if keep >= 0 and self._path.exists() else []
            replace_file(self._path, "".join(map(_line, [self._columns, *kept])).encode())
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise CheckpointError(f"cannot continue {self._path}: {error}") from error

    def append(self, values: dict[str, Any]) -> None:
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
            raise CheckpointError(f"{self._path} is no curve of this version: its first line is {lines[:1]}")
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
