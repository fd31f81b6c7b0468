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
