"""``ddz demo``: a fresh policy, the comparison and the report."""

from __future__ import annotations

import csv
import importlib
from pathlib import Path

import pytest

from ddz_agents.neural.weights import load_weights
from ddz_training.measure import plotting
from tests.training.cli.terminal import done, refused

demo = importlib.import_module("ddz_training.cli.demo")
SMALL = {"num_envs": 16, "num_steps": 32, "eval_opponents": ("random",), "eval_deals": 2, "architecture.width": 8}


def test_a_demo_replaces_an_unfinished_run_and_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    folder = tmp_path / "demo-report"
    policy = folder / "training" / "policy.safetensors"
    policy.parent.mkdir(parents=True)
    policy.write_bytes(b"cut off")
    (policy.parent / "curves.csv").write_text("update\n9\n", encoding="utf-8")
    small = {name: demo.ENTRANTS[name] for name in ("shipped policy", "fresh policy", "random")}
    monkeypatch.setattr(demo, "ENTRANTS", small)
    monkeypatch.setattr(demo, "SETTINGS", SMALL)
    monkeypatch.chdir(tmp_path)
    said = done("demo", "--minutes", "0.01", "--deals", "1", "--processes", "1", "--seed", "2").output
    for text in (
        *("A game of the environment", "standard · move 0", "the landlord wins", "PPO by self-play from random"),
        *("Against all others", "Cross-table", "6 games; the report is demo-report/report.html"),
        *("play --agents policy:path=", "arena neural-ismcts:path=", "train selfplay --out"),
    ):
        assert text in " ".join(said.split())
    assert load_weights(policy).notes["seed"] == 2
    with (folder / "training" / "curves.csv").open(encoding="utf-8") as file:
        updates = [int(line["update"]) for line in csv.DictReader(file)]
    assert updates == list(range(1, len(updates) + 1))  # of the second run, from its beginning
    page = (folder / "report.html").read_text(encoding="utf-8")
    for text in ("shipped policy", "fresh policy", "Cross-table", "policy:path="):
        assert text in page
    assert ('<img src="ratings.png"' in page) == plotting.can_plot() == (folder / "ratings.png").exists()


def test_a_folder_that_no_option_of_an_agent_can_name_is_refused(tmp_path: Path) -> None:
    assert "a,b" in refused("demo", "--out", tmp_path / "a,b")
    assert list(tmp_path.iterdir()) == []
