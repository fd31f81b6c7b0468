"""``ddz demo``: a fresh policy, the comparison and the report; and what is left when it is killed."""

from __future__ import annotations

import csv
import importlib
import os
import signal
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

from ddz_agents.neural.weights import load_weights
from ddz_training.measure.contest import Arena, run_arena
from ddz_training.measure.markdown import Table
from ddz_training.measure.statistics import summarize
from tests.training.apps.terminal import ddz, refused, start_ddz, wait_until

demo = importlib.import_module("ddz_training.apps.cli.demo")
SMALL = {"num_games": 16, "steps": 32, "opponents": ("random",), "evaluate_deals": 2, "architecture.width": 8}


def shrink(replace: Callable[[object, str, object], None]) -> None:
    """A demonstration of seconds: a tiny network, three agents."""
    replace(demo, "SETTINGS", SMALL)
    replace(demo, "ENTRANTS", {name: demo.ENTRANTS[name] for name in ("shipped policy", "fresh policy", "random")})


class Checker(HTMLParser):
    """Every element that is opened is closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


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
        *("PPO by self-play from random weights, 0.01 min", "2 duplicate deals each"),
        *("Against all others", "Pair by pair", "6 games; the report is demo-report/report.html"),
    ):
        assert text in " ".join(done.output.split())
    assert load_weights(policy).notes["seed"] == 2
    with (folder / "training" / "curves.csv").open(encoding="utf-8") as file:
        updates = [int(line["update"]) for line in csv.DictReader(file)]
    assert updates == list(range(1, len(updates) + 1))  # of the second run, from its beginning
    page = (folder / "report.html").read_text(encoding="utf-8")
    for text in ("shipped policy", "fresh policy", "--minutes 0.01", "arena policy policy:path="):
        assert text in page
    Checker(page)


def test_the_matrix_holds_each_pair_from_both_sides() -> None:
    names = {"random": "chance", "rules": "rule agent", "random-staged": "stages"}
    pairs = summarize(run_arena(Arena(tuple(names), names=tuple(names.values())), 4))
    order = ["rule agent", "stages", "chance"]
    matrix = demo.win_matrix(pairs, order).lines
    assert [row[0] for row in matrix] == ["1 rule agent", "2 stages", "3 chance"]
    assert [row[1 + place] for place, row in enumerate(matrix)] == ["–"] * 3
    rates = {(result.agent, result.opponent): round(100 * result.wins.mean) for result in pairs}
    for i, j in ((0, 1), (0, 2), (1, 2)):
        there, back = (int(matrix[a][1 + b].partition(" ")[0]) for a, b in ((i, j), (j, i)))
        assert there + back == 100
        assert there == rates[order[i], order[j]]


def test_what_a_page_quotes_is_not_read_as_markup() -> None:
    odd = '<b>&"'
    text = demo.report([Table(odd, [odd], [[odd]], odd)])
    assert odd not in text
    Checker(text)


def test_a_folder_that_no_option_of_an_agent_can_name_is_refused(tmp_path: Path) -> None:
    assert "a,b" in refused("demo", "--out", tmp_path / "a,b")
    assert list(tmp_path.iterdir()) == []
