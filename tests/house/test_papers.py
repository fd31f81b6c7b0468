"""Each row of the page "From the papers" names something that exists, or says why it was left out."""

from __future__ import annotations

import re

import pytest

from ddz_agents.bidding.holdem.agents import AGENTS as HOLDEM_AGENTS
from ddz_env import PRESETS
from ddz_env.playing.registry import agent_names, make_agent
from ddz_training.apps.cli import named_commands
from ddz_training.experiments.registry import EXPERIMENTS
from tests.rooms import ROOT

PAGE = ROOT / "docs" / "explanations" / "papers.md"
ROWS = [
    [cell.strip() for cell in line.strip().strip("|").split("|")]
    for line in PAGE.read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and not line.startswith(("| in the ", "| --- "))
]
EMPTY = re.compile(r"(Left out|An illustration): \w")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_row_names_what_exists_or_says_why_it_does_not(row: list[str]) -> None:
    _, here, note = row
    if not here:
        assert EMPTY.match(note)
    for experiment in re.findall(r"ddz reproduce ([\w-]+)", here):
        assert experiment in EXPERIMENTS
    for agent in re.findall(r"agent `([\w-]+)`", here):
        assert agent in agent_names()
    for agent in re.findall(r"`(uct-\w+)`", here):
        assert agent in HOLDEM_AGENTS
    for study in re.findall(r"ddz (study \w+)", here):
        assert study in {name for _, name, _ in named_commands()}
    for preset in re.findall(r"preset \[?`([\w-]+)`", here):
        assert preset in PRESETS
    for text in re.findall(r"`([\w-]+:[\w=,-]+)`", here):
        assert make_agent(text)
