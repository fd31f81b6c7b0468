"""The decisions of a data set as a learner imitates them: what a search visited, or what was done."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ddz_agents.neural.model import Bytes, Floats
from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.core.observation import OBSERVATION_SIZE
from ddz_training.data.games import DataSetError
from ddz_training.data.table import read_pieces


@dataclass
class RecordedSet:
    """Decisions, and how much each action counts.

    Attributes:
        observations: Shape ``[n, OBSERVATION_SIZE]``, int8.
        legal: Masks as bits, shape ``[n, 50]``, uint8.
        firsts: Where each decision's actions begin, shape ``[n + 1]``, int64.
        actions: Their actions, shape ``[visited]``, int16.
        counts: Their visits, shape ``[visited]``, int32; 1 for the action of a decision without visits.
    """

    observations: Bytes
    legal: npt.NDArray[np.uint8]
    firsts: npt.NDArray[np.int64]
    actions: npt.NDArray[np.int16]
    counts: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.observations)

    def masks(self, rows: npt.NDArray[np.int64]) -> Bytes:
        """Masks of some decisions as bytes, shape ``[rows, 400]``, int8."""
        return np.unpackbits(self.legal[rows], axis=1, count=NUM_ACTIONS).view(np.int8)

    def seen(self, rows: npt.NDArray[np.int64]) -> tuple[Bytes, Bytes]:
        """Observations of some decisions, shape ``[rows, OBSERVATION_SIZE]``, int8, and their masks."""
        return self.observations[rows], self.masks(rows)

    def shares(self, rows: npt.NDArray[np.int64]) -> Floats:
        """The share that each action had, shape ``[rows, 400]``, float32; rows sum to 1."""
        shares = np.zeros((len(rows), NUM_ACTIONS), np.float32)
        for place, (first, last) in enumerate(zip(self.firsts[rows], self.firsts[rows + 1], strict=True)):
            shares[place, self.actions[first:last]] = self.counts[first:last] / self.counts[first:last].sum()
        return shares


_COLUMNS = ("observation", "legal", "action", "visits")


def load_recorded(path: str | Path) -> RecordedSet:
    """Read every decision of a data set that was a choice.

    A stage is imitated by the visits of its search; without visits, as it was decided.  Everything is in memory at
    once, about 600 bytes a decision.

    Args:
        path: A table, a folder with tables, or the folder of a data set.

    Raises:
        DataSetError: If there is no table or no row, a table cannot be read, or it is for other observations or
            actions.
    """
    pieces = [_piece(batch) for batch in read_pieces(path, _COLUMNS)]
    if not pieces:
        raise DataSetError(f"{path} holds no decisions")
    found = {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}
    return RecordedSet(firsts=np.concatenate([[0], np.cumsum(found.pop("sizes"))]), **found)


def _piece(batch: Any) -> dict[str, npt.NDArray[Any]]:
    """The choices among the rows of a record batch, as in :class:`RecordedSet`, and how many actions each has."""
    legal, visits = batch.column("legal"), batch.column("visits")
    options = legal.value_lengths().to_numpy()
    row = np.repeat(np.arange(len(options)), options)
    action = legal.flatten().to_numpy()
    mask = np.zeros((len(options), NUM_ACTIONS), np.uint8)
    mask[row, action] = 1
    count = (action == batch.column("action").to_numpy()[row]).astype(np.int32)
    searched = visits.is_valid().to_numpy(zero_copy_only=False)
    count[searched[row]] = visits.flatten().to_numpy()
    taught = (options > 1)[row] & (count > 0)
    chosen = np.flatnonzero(options > 1)
    observations = batch.column("observation").flatten().to_numpy().reshape(-1, OBSERVATION_SIZE)
    return {
        "observations": observations[chosen],
        "legal": np.packbits(mask[chosen], axis=1),
        "sizes": np.bincount(row[taught], minlength=len(options))[chosen],
        "actions": action[taught],
        "counts": count[taught],
    }
