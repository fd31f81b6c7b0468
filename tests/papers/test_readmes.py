"""The READMEs of the papers: the example runs, commands and files exist, links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ddz_papers.experiments.registry import EXPERIMENTS, load_experiment
from tests.packages import ROOT, SOURCES
from tests.readmes import dead_links, examples_run

README = SOURCES["ddz_papers"] / "README.md"
PAGES = [README, *sorted(README.parent.glob("*/README.md"))]
COMMAND = re.compile(r"ddz reproduce ([a-z-]+)((?: --[\w-]+ [\w./,]+)*)")


def test_the_example_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert examples_run(README) == 7


def test_every_paper_has_a_page_and_every_experiment_is_on_one() -> None:
    listed = re.findall(r"(?m)^\| \[`\w+`\]\((\w+)/README\.md\) \|", README.read_text(encoding="utf-8"))
    assert [page.parent.name for page in PAGES[1:]] == sorted(listed)
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES[1:])
    assert {name for name, _ in COMMAND.findall(text)} == {*EXPERIMENTS}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.parent.name)
def test_a_page_names_commands_files_and_links_that_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for name, options in COMMAND.findall(text):
        known = {"out", *(option.name for option in load_experiment(name).options.options())}
        assert known >= {*re.findall(r"--([\w-]+)", options)}, name
    for file in re.findall(r"docs/results/\w+\.csv", text):
        assert (ROOT / file).exists(), file
    assert dead_links(page) == []
