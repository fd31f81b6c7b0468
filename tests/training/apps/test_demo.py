"""``ddz demo``: a fresh policy, the comparison and the report; and what is left when it is killed."""

from __future__ import annotations

import csv
import importlib
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from ddz_agents.neural.weights import load_weights
from ddz_training.measure import plotting
from tests.training.apps.terminal import ddz, refused, start_ddz, wait_until

demo = importlib.import_module("ddz_training.apps.cli.demo")
SMALL = {"num_games": 16, "steps": 32, "opponents": ("random",), "evaluate_deals": 2, "architecture.width": 8}


def shrink(replace: Callable[[object, str, object], None]) -> None:
    """A demonstration of seconds: a tiny network, three agents."""
    replace(demo, "SETTINGS", SMALL)
    replace(demo, "ENTRANTS", {name: demo.ENTRANTS[name] for name in ("shipped policy", "fresh policy", "random")})


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "killpg"), reason="POSIX process groups")
def test_a_killed_demo_leaves_whole_weights_and_no_report(tmp_path: Path) -> None:
    folder = tmp_path / "demo-report"
    policy = folder / "training" / "policy.safetensors"
    smaller = "from tests.training.apps.test_demo import shrink; shrink(setattr)"
    process = start_ddz("demo", "--minutes", "60", "--processes", "1", cwd=tmp_path, before=smaller)
    wait_until(process, policy.exists)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    load_weights(policy)
    assert not (folder / "report.html").exists()


def test_a_demo_replaces_an_unfinished_run_and_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    folder = tmp_path / "demo-report"
    policy = folder / "training" / "policy.safetensors"
    policy.parent.mkdir(parents=True)
    policy.write_bytes(b"cut off")
    (policy.parent / "curves.csv").write_text("update\n9\n", encoding="utf-8")
    shrink(monkeypatch.setattr)
    monkeypatch.chdir(tmp_path)
    done = ddz("demo", "--minutes", "0.01", "--deals", "1", "--processes", "1", "--seed", "2")
    assert done.exit_code == 0, done.output
    for text in (
        *(
            "A game of the environment",
            "standard · move 0",
            "the landlord wins",
            "PPO by self-play from random weights",
        ),
        *("Against all others", "Cross-table", "6 games; the report is demo-report/report.html"),
        *("play --agents policy:path=", "arena neural-ismcts:path=", "train selfplay --out"),
    ):
        assert text in " ".join(done.output.split())
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
