"""One name per thing: names that were given up do not come back, and every word of the glossary is used."""

from __future__ import annotations

import ast
import functools
import re

import pytest

from ddz_agents.renamed_options import RENAMED as RENAMED_OPTIONS
from ddz_env.playing.registry import list_agent_names, list_agent_options
from ddz_training.learn.belief import BeliefConfig
from ddz_training.learn.dmc import DmcConfig
from ddz_training.learn.imitation import ImitationConfig
from ddz_training.learn.ppo.config import SelfPlayConfig
from ddz_training.learn.settings import RENAMED as RENAMED_SETTINGS
from tests.packages import ROOT, SOURCES

GLOSSARY = ROOT / "docs" / "reference" / "glossary.md"

RETIRED = {
    "Advisers": "AdviserPool",
    "AgentKeeper": "AgentPool",
    "BlindPolicyAgent": "AblatedPolicyAgent",
    "Cast": "Lineups, or Pairings",
    "CertainWins": "ForcedWins",
    "Forest": "RootParallelTrees",
    "Judge": "WinProbability",
    "JudgedDeal": "DealTendency",
    "Judges": "TendencyAgents",
    "Ladder": "EquivalentSearch",
    "OwnsArrays": "a base class for arrays out of pickles",
    "Scratch": "HandWorkspace",
    "Sight": "SeatView",
    "Thought": "statistics of a search",
    "absorb": "backpropagate",
    "answered_move": "parse_answer",
    "behind": "a name that says which prefix goes",
    "look_around": "read_public_state",
    "may_ride": "are_kickers_legal",
    "offered": "a name that says what is listed",
    "own": "copy_readonly_arrays",
    "play_and_tell": "a name that says who is notified",
    "read_story": "public history",
    "replacing": "atomic_write",
    "said": "message",
    "see": "encode",
    "set_back": "rewind",
    "share_out": "scatter_gradients",
    "worded": "a name that says what is formatted",
}
"""Names of functions and classes that were given up, and what is said today."""

FORMER_OPTIONS = {*RENAMED_OPTIONS, *RENAMED_SETTINGS}
"""Options of agents and settings of training that are refused under these names."""


@functools.cache
def _defined() -> dict[str, str]:
    """The functions and classes of the packages, each with a file that defines it."""
    found = {}
    for folder in SOURCES.values():
        for file in folder.rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_bytes())):
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                    found[node.name.lstrip("_")] = file.relative_to(ROOT).as_posix()
    return found


def test_retired_names_define_nothing() -> None:
    assert {name: _defined()[name] for name in RETIRED.keys() & _defined().keys()} == {}


@pytest.mark.parametrize("kind", [SelfPlayConfig, BeliefConfig, DmcConfig, ImitationConfig])
def test_settings_of_training_have_the_fields_names(kind: type) -> None:
    assert not FORMER_OPTIONS & kind.__dataclass_fields__.keys()  # type: ignore[attr-defined]


def test_options_of_agents_have_no_former_name() -> None:
    named = {(agent, option.name) for agent in list_agent_names() for option in list_agent_options(agent)}
    assert len(named) > 100
    assert not [pair for pair in named if pair[1] in FORMER_OPTIONS]


def test_the_glossary_has_each_word_once_and_at_most_fifty() -> None:
    words = re.findall(r"(?m)^\| \*\*(.+?)\*\* \|", GLOSSARY.read_text(encoding="utf-8"))
    assert len(words) <= 50
    assert words == sorted(set(words), key=str.lower)
