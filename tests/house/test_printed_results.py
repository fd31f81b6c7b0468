"""A printed ``ddz reproduce`` command, run beside a copy of the committed file, finds nothing left to do."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from ddz_papers.experiments.registry import EXPERIMENTS
from ddz_training.measure import store
from tests.house.test_commands import lines
from tests.packages import ROOT, SOURCES
from tests.training.cli.terminal import done

pytest.importorskip("torch")
pytest.importorskip("matplotlib")

PAGES = [
    *(ROOT / "docs" / "measurements").glob("*.md"),
    *(ROOT / "docs" / "explanations").glob("*.md"),
    *SOURCES["ddz_papers"].rglob("README.md"),
]
PRINTED = sorted(
    {
        " ".join(line.split())
        for page in PAGES
        for line in lines(page.read_text(encoding="utf-8"))
        if line.startswith("ddz reproduce ") and "--out docs/results/" in line
    }
)
"""The commands with a file of results, which is committed."""


def test_every_experiment_of_a_paper_is_printed_with_its_file() -> None:
    of_papers = {name for name, place in EXPERIMENTS.items() if not place.startswith("strengths.")}
    assert of_papers - {line.split()[2] for line in PRINTED} == set()


@pytest.mark.parametrize("line", PRINTED)
def test_a_printed_command_finds_nothing_to_do(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def start(*_: object) -> None:
        raise AssertionError("there is something left to play")

    monkeypatch.setattr(store, "start_workers", start)
    monkeypatch.chdir(tmp_path)
    file = re.search(r"--out (\S+)", line)
    assert file
    copy = tmp_path / file[1]
    copy.parent.mkdir(parents=True)
    shutil.copy(ROOT / file[1], copy)
    before = copy.read_bytes()
    assert done(*shlex.split(line)[1:]).output
    assert copy.read_bytes() == before


FEW = {
    **dict.fromkeys(("cheating", "landlord"), "--deals 1 --games 1 --trees 2 --tree-iterations 4"),
    **dict.fromkeys(("thresholds", "trees"), "--deals 2 --games 1 --trees 2 --tree-iterations 4"),
    **dict.fromkeys(("iterations", "exploration"), "--deals 1 --games 1 --trees 2 --tree-iterations 4"),
    **dict.fromkeys(("branching", "information-sets"), "--deals 2"),
    "mini-uct": "--deals 2 --games 1",
    "search-depth": "--deals 1",
    "tuning": "--evaluations 12 --deals 40 --batch 40 --choice 40 --fresh 40 --only landlord",
    "equivalents": "--only random --deals 4 --most 4 --rung-deals 2",
    "equivalent-knowledge": "--only rules --deals 4 --most 4 --rung-deals 2",
    "equivalent-known": "--known 2 --repetitions 1 --deals 4 --step-deals 4",
    "equivalent-simulated": "--searches 1 --deals 50 --step-deals 50",
    "holdem": "--matches 1",
    "win-rate": "--hands 1 --worlds 100",
    "bidders": "--deals 1 --worlds 4",
    "solver-curve": "--positions 1 --nodes 1000",
    "solver-techniques": "--positions 1 --nodes 1000",
    "tendency": "--deals 2 --only 'rules v random'",
    "tendency-savings": "--deals 2 --only 'rules v rlcard-rule'",
    "tree-size": "--blocks 1 --bot-blocks 1",
    "complexity": "--only 'deal 2' --difference 0.01",
    "arena": "--deals 1 --first-deal 0",
    "equivalent": "--deals 4 --most 4 --precision 4",
}
"""What makes a printed command short, by its experiment or command; the last value of an option counts."""
MINUTES = {"mini-agents", "mini-inference"}
"""Experiments that play every deal of Mini and have no shorter form."""
OF_PAPERS = [page for page in PAGES if page.parent.name not in ("strengths", "explanations")]


def paper_commands() -> list[str]:
    """The commands on the papers' pages and READMEs that play, but for those of the project's own agents."""
    read = {
        "experiments-full",
        "experiments-mini",
        "thesis",
        "thesis-equivalent",
        "stakes-results",
        "textbook",
        "solver",
    }
    found = {
        " ".join(line.split())
        for page in OF_PAPERS
        if page.stem in read or page.name == "README.md"
        for line in lines(page.read_text(encoding="utf-8"))
    }
    own = {name for name, place in EXPERIMENTS.items() if place.startswith("strengths.")} - {"search-depth"} | MINUTES
    whole = {line for line in found if len(line.split()) > 3 or line.split()[1:] == ["reproduce", "streets"]}
    return sorted(line for line in whole if not own & {*line.split()} and " NAME" not in line)


@pytest.mark.long
@pytest.mark.parametrize("line", paper_commands())
def test_a_printed_command_runs_in_an_empty_folder(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = shlex.split(line)[1:]
    named = next((word for word in words if word in FEW), "")
    short = shlex.split(FEW.get(named, ""))
    repeated = {"--only", "--at", "--known"} & {*short}  # they add up, where other options have one value
    for option in repeated & {*words}:
        place = words.index(option)
        del words[place : place + 2]
    assert done(*words, *short).output
