"""The networks' inputs computed by tensor operations, for use on a GPU."""

from __future__ import annotations

from itertools import groupby

import numpy as np
import torch
from torch import Tensor

from ddz_agents.neural.feature_table import AT_LEAST, CHAIN, HAND, SCALED, FeatureColumn, FeatureTable
from ddz_agents.neural.features import (
    CHAINS,
    MOST_LOSERS,
    MOST_MOVES,
    PLANES,
    PRICE_LEAST,
    PRICE_SPAN,
    PRICE_STEP,
    PRICE_STEPS,
)
from ddz_agents.rules.prices import LOSER


class TensorColumns:
    """A converter that computes network inputs from decision bytes by tensor operations on one device.

    Args:
        table: The table.
        device: Where the decisions are.
    """

    def __init__(self, table: FeatureTable, device: torch.device) -> None:
        self._runs = [
            (kind, source, *_sources_and_scales(kind, list(columns), device))
            for (kind, source), columns in groupby(table.columns, key=_run_key)
        ]
        chains = np.zeros((PLANES, len(CHAINS)), np.float32)
        for number, chain in enumerate(CHAINS):
            need = np.array(chain.need)
            chains[(np.flatnonzero(need) * 4) + need.max() - 1, number] = 1.0
        self._chains = torch.from_numpy(chains).to(device)
        self._lengths = torch.from_numpy(chains.sum(0) - 0.5).to(device)
        self._steps = torch.arange(1, 5, dtype=torch.int8, device=device)
        self._parts = _prospect_numbers(device)

    def compute(self, seen: Tensor, hand_values: Tensor) -> Tensor:
        """Return the network inputs of a batch of decisions, shape ``[n, columns]``, float32.

        Args:
            seen: Their bytes, shape ``[n, bytes]``, int8.
            hand_values: Of their hands, shape ``[n, hands, 2]``, int16.

        Returns:
            Shape ``[n, columns]``, float32.
        """
        return torch.cat([self._columns(run, seen, hand_values) for run in self._runs], 1)

    def _columns(self, run: tuple[int, int, Tensor, Tensor], seen: Tensor, hand_values: Tensor) -> Tensor:
        kind, source, sources, numbers = run
        if kind == SCALED:
            return seen.index_select(1, sources).float() * numbers
        if kind == AT_LEAST:
            return (seen.index_select(1, sources) >= numbers).float()
        if kind == CHAIN:
            counts = seen[:, HAND : HAND + PLANES // 4]
            planes = (counts.unsqueeze(2) >= self._steps).flatten(1).float()
            return (planes @ self._chains > self._lengths).float()
        return self._prospects(hand_values[:, source])

    def _prospects(self, hand_values: Tensor) -> Tensor:
        sure, price = hand_values[:, 0].int(), hand_values[:, 1].float()
        losers = torch.div(sure, LOSER, rounding_mode="floor")
        numbers = torch.stack((losers.float(), (losers + sure - LOSER * losers).float(), price), 1)
        which, least = self._parts
        steps = (numbers.index_select(1, which) > least).float()
        scaled = ((price - PRICE_LEAST) / PRICE_SPAN).clamp(0.0, 1.0).unsqueeze(1)
        first = MOST_LOSERS + MOST_MOVES
        return torch.cat((steps[:, :first], scaled, steps[:, first:]), 1)


def _run_key(column: FeatureColumn) -> tuple[int, int]:
    """Return the key by which adjacent inputs are grouped into one tensor operation."""
    kind, source, _ = column
    return kind, source if kind not in (SCALED, AT_LEAST, CHAIN) else -1


def _sources_and_scales(kind: int, columns: list[FeatureColumn], device: torch.device) -> tuple[Tensor, Tensor]:
    """Return the source bytes of adjacent inputs of one kind, and their scales or thresholds, as tensors."""
    dtype = torch.int8 if kind == AT_LEAST else torch.float32
    numbers = torch.tensor([column.number for column in columns]).to(device, dtype)
    return torch.tensor([column.source for column in columns], device=device), numbers


def _prospect_numbers(device: torch.device) -> tuple[Tensor, Tensor]:
    """Return which hand value each prospect input tests, as an index, and the threshold that it must exceed."""
    which = [0] * MOST_LOSERS + [1] * MOST_MOVES + [2] * PRICE_STEPS
    least = [*range(MOST_LOSERS), *range(MOST_MOVES), *(PRICE_STEP * step for step in range(PRICE_STEPS))]
    return torch.tensor(which, device=device), torch.tensor(least, dtype=torch.float32, device=device)
