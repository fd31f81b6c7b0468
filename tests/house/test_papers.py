"""Each row of the page "From the papers" names something that exists, and what is left out has a reason."""

from __future__ import annotations

import re
from typing import get_args

import pytest

from ddz_env import PRESETS
from ddz_env.playing.registry import list_agent_names, list_agent_options, make_agent
from ddz_papers.experiments.registry import EXPERIMENTS
from ddz_papers.payoff_policy.holdem.agents import Player as HoldemPlayer
from ddz_training.cli.app import list_commands
from tests.packages import ROOT

PAGE = ROOT / "docs" / "explanations" / "papers.md"
ROWS = [
    [cell.strip() for cell in line.strip().strip("|").split("|")]
    for line in PAGE.read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and not line.startswith(("| in the ", "| --- "))
]
LEFT_OUT = re.findall(r"(?m)^- \*\*(.+?)\*\*(.*)$", PAGE.read_text(encoding="utf-8"))
"""What is left out, and the beginning of the reason."""
SOMEWHERE = re.compile(r"\]\(|ddz (?:reproduce|study) |agent `|preset `|`[\w-]+:\w+=")
"""What a reader can open or run.  That links lead somewhere is tested with those of all pages."""
NUMBERED = {
    "Whitehouse": {"equation": "1", "figure": "1 2 3", "table": "1 2"},
    "Wang, Ding": {"equation": "1 2 3 4", "figure": "1 2 3 4 5 6 7 8", "table": "1 2", "algorithm": "1 2"},
    "Wang Zhengfei": {
        "equation": "2-1 2-2",
        "figure": "1.1 2.1 2.2 2.3 2.4 2.5 3.1 3.2 3.3 3.4 3.5 4.1 4.2 4.3 4.4 4.5 5.1",
        "table": "2.1 3.1 4.1 4.2 4.3 4.4 4.5 5.1 5.2 5.3 5.4",
        "algorithm": "1 2 3 4 5",
    },
}
"""The numbered equations, figures, tables and algorithms of the documents that have some."""


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_row_names_what_exists(row: list[str]) -> None:
    _, here, _ = row
    assert SOMEWHERE.search(here)
    for experiment in re.findall(r"ddz reproduce ([\w-]+)", here):
        assert experiment in EXPERIMENTS
    for agent in re.findall(r"agent `([\w-]+)`", here):
        assert agent in list_agent_names()
    for agent in re.findall(r"`(uct-\w+)`", here):
        assert agent in get_args(HoldemPlayer)
    for study in re.findall(r"ddz (study \w+)", here):
        assert study in {name for _, name, _ in list_commands()}
    for preset in re.findall(r"preset \[?`([\w-]+)`", here):
        assert preset in PRESETS
    for text in re.findall(r"`([\w-]+:[\w=,-]+)`", here):
        assert make_agent(text)
    for option in re.findall(r"option `([\w-]+)`", here):
        assert option in {known.name for agent in list_agent_names() for known in list_agent_options(agent)}


@pytest.mark.parametrize("what", LEFT_OUT, ids=lambda what: what[0])
def test_what_is_left_out_has_a_reason(what: tuple[str, str]) -> None:
    assert re.match(r": [A-Z]\w", what[1])


def _numbers(section: str, kind: str) -> set[str]:
    """The numbers of a kind that a document's rows and its list of what is left out name: ``figures 7 and 8``."""
    cells = [line.strip("| ").split(" | ")[0] for line in section.splitlines() if line.startswith("| ")]
    cells += re.findall(r"(?m)^- \*\*(.+?)\*\*", section)
    found: set[str] = set()
    for listed in re.findall(rf"{kind}s? ((?:\d[\d.-]*(?:, | and | to )?)+)", " ".join(cells)):
        numbers = listed.replace(" and ", " ").replace(",", " ")
        for chapter, start, end in re.findall(r"((?:\d+\.)?)(\d+) to (?:\d+\.)?(\d+)", numbers):
            numbers += " " + " ".join(f"{chapter}{number}" for number in range(int(start), int(end) + 1))
        found |= set(numbers.replace(" to ", " ").split())
    return found


@pytest.mark.parametrize(("document", "kind"), [(name, kind) for name, kinds in NUMBERED.items() for kind in kinds])
def test_every_numbered_thing_of_a_document_has_its_place(document: str, kind: str) -> None:
    _, _, section = PAGE.read_text(encoding="utf-8").partition(f"\n## {document}")
    named = _numbers(section.partition("\n## ")[0], kind)
    assert set(NUMBERED[document][kind].split()) - named == set()
