"""Plots: what they show, read from the figure."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from ddz_training.measure.plotting import Panel, Series, save_plot
from tests.rooms import ROOT


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


def test_plots_start_at_zero_and_name_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    from ddz_training.experiments.experiment import read_saved
    from ddz_training.experiments.registry import load_experiment

    drawn: list[Any] = []
    results = ROOT / "docs" / "results"
    monkeypatch.setattr(Figure, "savefig", lambda figure, path: drawn.extend(figure.axes))
    for experiment in map(load_experiment, ("mini-uct", "mini-agents")):
        assert experiment.plot is not None
        experiment.plot(read_saved(experiment.result, results / experiment.file_name), tmp_path / "x.png")
    assert [axes.get_ylim()[0] for axes in drawn] == [0, 0]
    assert [text.get_text() for text in drawn[1].texts].count("not played") == 1
    assert len(drawn[1].patches) == 25
