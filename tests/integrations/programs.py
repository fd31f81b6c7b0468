"""The programs that use other libraries, and what is known of them."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable
from typing import Any

from tests.packages import ROOT

FOLDER = ROOT / "tests" / "integrations"
RESULTS = ROOT / "docs" / "results" / "integrations.json"
CONSTRAINTS = "constraints.txt"
PROGRAMS = {
    f"{path.parent.name}{path.stem.removeprefix('train').replace('_', '-')}": path
    for path in sorted(FOLDER.glob("*/train*.py"))
}
"""By name: ``LIBRARY`` for ``train.py``, ``LIBRARY-WHAT`` for ``train_WHAT.py``."""


def results() -> dict[str, dict[str, Any]]:
    """The row of each program that has run: what its policies win by seed, and how fast its games once were."""
    rows: dict[str, dict[str, Any]] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return rows


def spread(shares: Iterable[float]) -> str:
    """The mean of some shares, and the lowest and the highest, in per cent."""
    every = sorted(100 * share for share in shares)
    return f"{statistics.fmean(every):.1f} ({every[0]:.1f}–{every[-1]:.1f})"
