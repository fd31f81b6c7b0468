"""Tests of the experiments, and the results that are committed."""

from __future__ import annotations

from typing import TypeVar

from ddz_papers.experiments.experiment import read_results_file
from tests.packages import ROOT

RESULTS = ROOT / "docs" / "results"
_Result = TypeVar("_Result")


def committed(kind: type[_Result], name: str) -> list[_Result]:
    """The results of a file that pages show."""
    return list(read_results_file(kind, RESULTS / f"{name}.csv").results)
