"""The programs that use other libraries are whole, and what is known of them is current; nothing is trained here."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.integrations import __main__ as runner
from tests.integrations import judge
from training.integrations import CONSTRAINTS, FILE, IntegrationError, counted_lines, programs, shown

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "tests" / "integrations"
PROGRAMS = programs(FOLDER)
ROWS: dict[str, dict[str, Any]] = json.loads((ROOT / "docs" / "results" / FILE).read_text(encoding="utf-8"))


def _pinned(library: Path) -> dict[str, str]:
    lines = (library / CONSTRAINTS).read_text(encoding="utf-8").splitlines()
    pins = [re.fullmatch(r"([\w.-]+)(?:\[[\w,-]+\])?==([\w.]+)", line) for line in lines if not line.startswith("#")]
    assert all(pins), f"{library.name}: every line of {CONSTRAINTS} pins a version"
    return {pin[1]: pin[2] for pin in pins if pin}


def test_every_folder_is_an_integration() -> None:
    folders = {path.name for path in FOLDER.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders == {program.parent.name for program in PROGRAMS.values()}


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program_has_a_result_of_the_versions_that_are_pinned(name: str) -> None:
    program, row = PROGRAMS[name], ROWS[name]
    assert counted_lines(shown(program)) > 0
    pins = _pinned(program.parent)
    assert pins["torch"] == "2.13.0"
    for package in (row["library"], "torch", "gymnasium", "pettingzoo"):
        assert row["versions"][package].partition("+")[0] == pins[package]
    assert row["beats"]
    assert row["wins"]["low"] > row["random"]["high"]
    assert row["illegal"] == 0
    assert row["decisions"] >= judge.LEAST_DECISIONS


def test_only_what_is_marked_is_shown(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(
        "import judge\n# [shown\nimport lib\n\n# why\nlib.train()\n# shown]\njudge()\n", encoding="utf-8"
    )
    assert shown(program) == "import lib\n\n# why\nlib.train()"
    assert counted_lines(shown(program)) == 2
    program.write_text("import lib\n", encoding="utf-8")
    with pytest.raises(IntegrationError, match="marks nothing"):
        shown(program)


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A library with two programs in a checkout of its own; nothing is installed."""
    folder = tmp_path / "tests" / "integrations" / "toy"
    folder.mkdir(parents=True)
    (tmp_path / "docs" / "results").mkdir(parents=True)
    (folder / CONSTRAINTS).write_text("toy==1.0\n", encoding="utf-8")
    for name in ("train", "train_aec"):
        (folder / f"{name}.py").write_text("# [shown\npass\n# shown]\n", encoding="utf-8")
    monkeypatch.setattr(runner, "ROOT", tmp_path)
    monkeypatch.setattr(runner, "__file__", str(folder.parent / "__main__.py"))
    monkeypatch.setattr("venv.create", lambda place, with_pip: place.mkdir(parents=True))
    return folder


def _row(**changes: Any) -> str:
    rate = {"mean": 0.6, "low": 0.55, "high": 0.65, "count": 4000}
    return json.dumps({"library": "toy", "illegal": 0, "beats": True, "wins": rate, "random": rate} | changes)


def test_a_failure_stops_nothing_and_is_told(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    printed = {"tests.integrations.toy.train": "no row", "tests.integrations.toy.train_aec": f"noise\n{_row()}\n"}
    installed = []

    def run(command: list[str], log: Path) -> str:
        installed.extend(command[-1:] if "install" in command else [])
        return printed.get(command[-1], "")

    monkeypatch.setattr(runner, "_run", run)
    app = runner.typer.Typer()
    app.command()(runner.main)
    result = CliRunner().invoke(app, [])
    assert result.exit_code == 1
    assert "toy: FAILED: it printed no row" in result.stderr
    results = runner.ROOT / "docs" / "results" / FILE
    assert list(json.loads(results.read_text(encoding="utf-8"))) == ["toy-aec"]
    for faulty in ({"illegal": 3}, {"beats": False}):
        printed["tests.integrations.toy.train"] = _row(**faulty)
        assert CliRunner().invoke(app, ["toy"]).exit_code == 1
    printed["tests.integrations.toy.train"] = _row()
    assert CliRunner().invoke(app, ["toy"]).exit_code == 0
    assert list(json.loads(results.read_text(encoding="utf-8"))) == ["toy", "toy-aec"]
    assert len(installed) == 1  # the environment was reused
    (library / CONSTRAINTS).write_text("toy==1.1\n", encoding="utf-8")
    assert CliRunner().invoke(app, ["toy-aec"]).exit_code == 0
    assert CliRunner().invoke(app, ["toy", "--fresh"]).exit_code == 0
    assert len(installed) == 3
    assert "there are toy, toy-aec" in CliRunner().invoke(app, ["nothing"]).stderr


def test_illegal_actions_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "TABLES", 4)
    monkeypatch.setattr(judge, "GAMES", 8)
    played = judge.play(lambda observations, masks: (~masks).argmax(axis=1), rules="mini", role="landlord")
    assert (played.games, played.won, played.illegal) == (8, 0, played.decisions)
    legal = judge.play(lambda observations, masks: masks.argmax(axis=1), rules="mini", role="landlord")
    assert legal.illegal == 0 < legal.decisions
