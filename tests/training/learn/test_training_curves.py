"""The curves of a training in stages: put together, drawn, and as a table."""

from __future__ import annotations

from pathlib import Path

import pytest

from ddz_training.learn.training_curves import load_training, make_stage_table, plot_training, read_run, save_training
from ddz_training.measure.errors import InvalidExperimentError
from ddz_training.measure.plotting import can_plot
from tests.training.cli.terminal import ddz, refused

CURVES = "update,decisions,games,entropy,seconds\n"
EVALUATIONS = "update,opponent,deals,wins,low,high\n"


@pytest.fixture
def runs(tmp_path: Path) -> tuple[Path, Path]:
    """Two runs: of two updates and an evaluation, and one that is still writing its files."""
    lines = "0,random,20,0.5,0.4,0.6\n1,random,20,0.7,0.6,0.8\n2,random,20,0.9,0.85,0.95\n2,rules,20,0.25,0.2,0.3\n"
    for name, curves, evaluations in (
        ("first", "1,1000,50,0.5,1800\n2,2500,90,0.4,3600\n", lines),
        ("second", "1,700,30,0.3,900\n2,9", ""),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "curves.csv").write_text(CURVES + curves, encoding="utf-8")
        (tmp_path / name / "evaluations.csv").write_text(EVALUATIONS + evaluations, encoding="utf-8")
    return tmp_path / "first", tmp_path / "second"


def test_stages_are_read_as_they_were_saved(runs: tuple[Path, Path], tmp_path: Path) -> None:
    stages = [read_run("one", runs[0]), read_run("two", runs[1])]
    save_training(stages, tmp_path / "out")
    loaded = load_training(tmp_path / "out")
    for stage, before in zip(loaded, stages, strict=True):
        assert stage.name == before.name
        assert stage.updates == [{**line, "stage": stage.name} for line in before.updates]
        assert stage.evaluations == [{**line, "stage": stage.name} for line in before.evaluations]
    assert [stages[0].counter_at("decisions", line) for line in stages[0].evaluations] == [0, 1000, 2500, 2500]
    assert make_stage_table(stages).lines == [
        ("one", "2", "90", "2,500", "1.00", "90.0 (85.0–95.0)", "25.0 (20.0–30.0)"),
        ("two", "1", "30", "700", "0.25", "", ""),
        ("all", "3", "120", "3,200", "1.25", "", ""),
    ]
    if can_plot():
        plot_training(loaded, tmp_path / "deeper" / "plot.png")
        assert (tmp_path / "deeper" / "plot.png").read_bytes().startswith(b"\x89PNG")


def test_what_is_no_curve_is_refused(runs: tuple[Path, Path], tmp_path: Path) -> None:
    for text in (CURVES, "a,b\n1,2\n"):
        (runs[0] / "curves.csv").write_text(text, encoding="utf-8")
        with pytest.raises(InvalidExperimentError):
            read_run("one", runs[0])
    assert "name folders of ddz train selfplay and dmc" in refused("train", "curves", tmp_path)
    assert "name folders of runs" in refused("train", "curves")


def test_the_command_puts_runs_together_and_goes_by_its_own_files_after_that(
    runs: tuple[Path, Path], tmp_path: Path
) -> None:
    """A stage that is added replaces its namesake; by default the files lie in the last run's folder."""
    out = tmp_path / "out"
    first = ddz("train", "curves", "--out", out, f"alone={runs[0]}", runs[1])
    assert first.exit_code == 0, first.output
    assert ddz("train", "curves", "--out", out).output == first.output
    (runs[1] / "evaluations.csv").write_text(EVALUATIONS.strip() + ",more\n1,rules,9,0.5,0.4,0.6,7\n", encoding="utf-8")
    added = ddz("train", "curves", "--out", out, "--add", f"second={runs[1]}", f"new={runs[0]}")
    assert added.exit_code == 0, added.output
    stages = load_training(out)
    assert [(stage.name, len(stage.evaluations)) for stage in stages] == [("alone", 4), ("second", 1), ("new", 4)]
    assert (stages[0].evaluations[0]["more"], stages[1].evaluations[0]["more"]) == ("", "7")
    assert ddz("train", "curves", *runs).exit_code == 0
    assert [stage.name for stage in load_training(runs[1])] == ["first", "second"]
