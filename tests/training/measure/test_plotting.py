"""Plots: what they show, read from the figure."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pytest

from ddz_training.measure.plotting import Panel, Series, save_plot


@pytest.mark.parametrize(("beside", "shared"), [("chips", True), ("% of hands", False)])
def test_panels_have_one_scale_only_where_they_measure_the_same(
    monkeypatch: pytest.MonkeyPatch, beside: str, shared: bool
) -> None:
    """A histogram of per cents beside thousands of chips would be too low to see."""
    drawn = list[Any]()
    monkeypatch.setattr(pytest.importorskip("matplotlib.figure").Figure, "savefig", lambda one, _: drawn.append(one))
    chips, shares = Series("", [0, 1], [0.0, 1e5]), Series("", range(4), [0.5, 1.5, 2.5, 2.5], "histogram")
    save_plot(BytesIO(), Panel([chips], y="chips"), Panel([shares], y=beside))
    first, second = (axes.get_ylim() for axes in drawn[0].axes)
    assert (first == second) == shared
    assert (second[1] > 1e5) == shared
