"""Agents by name."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from agents.random import RandomAgent
from ddz_env.agent import Agent
from ddz_env.errors import InvalidAgentOptionError, UnknownAgentError
from ddz_env.registry import BUILT_IN, agent_names, make_agent, parse_options


@pytest.mark.parametrize("name", [name for name in BUILT_IN if name != "rlcard-rule"])
def test_every_built_in_name_makes_an_agent(name: str) -> None:
    if name in ("policy", "neural-ismcts"):
        pytest.importorskip("torch")
    agent = make_agent(name)
    assert isinstance(agent, Agent)
    assert agent.name


def test_options_reach_the_factory() -> None:
    agent = make_agent("isuct:iterations=2000,exploration=0.7")
    assert (agent.options.iterations, agent.options.exploration) == (2000, 0.7)  # type: ignore[attr-defined]


def test_unknown_names_list_what_exists_and_suggest_the_nearest() -> None:
    with pytest.raises(UnknownAgentError, match=r"did you mean 'rules'") as caught:
        make_agent("ruels")
    assert all(name in str(caught.value) for name in agent_names())


@pytest.mark.parametrize("spec", ["", "   ", "nothing-like-it", "ruels:depth=3", "no_such_module:Agent", ".x:Agent", 7])
def test_what_is_no_agent_has_a_named_error(spec: str) -> None:
    with pytest.raises(UnknownAgentError):
        make_agent(spec)


@pytest.mark.parametrize("spec", ["math:pi", "math:nothing", "json:dumps.x", "collections:OrderedDict"])
def test_modules_without_an_agent_have_a_named_error(spec: str) -> None:
    with pytest.raises(UnknownAgentError):
        make_agent(spec)


@pytest.mark.parametrize(
    "spec", ["random:depth=3", "rules:fast", "isuct:iterations", "isuct:iterations=5,iterations=6", "isuct:=5"]
)
def test_bad_options_have_a_named_error(spec: str) -> None:
    with pytest.raises(InvalidAgentOptionError, match=r"rules|random|isuct"):
        make_agent(spec)


def test_the_message_for_a_bad_option_says_which_there_are() -> None:
    with pytest.raises(InvalidAgentOptionError, match=r"exploration=1\.0"):
        make_agent("isuct:iteration=5")


def test_option_values_are_read_as_what_they_look_like() -> None:
    assert parse_options("a=1, b=-0.5, c=true, d=None, e=win,f=1e3") == {
        "a": 1,
        "b": -0.5,
        "c": True,
        "d": None,
        "e": "win",
        "f": 1000.0,
    }
    assert parse_options("") == {}


def test_the_users_own_agent_is_found_in_the_current_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_private_agent.py").write_text(
        "class Mine:\n"
        "    def __init__(self, depth=1):\n"
        "        self.depth = depth\n"
        "    def act(self, view, rng):\n"
        "        return view.legal_moves()[0]\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    agent = make_agent("my_private_agent:Mine:depth=4")
    assert agent.depth == 4  # type: ignore[attr-defined]
    assert agent.name == "my_private_agent:Mine:depth=4"
    assert isinstance(make_agent("agents.random:RandomAgent"), RandomAgent)


def test_an_error_inside_the_users_module_is_not_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_broken_agent.py").write_text("import a_module_that_is_not_there\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    with pytest.raises(ModuleNotFoundError, match="a_module_that_is_not_there"):
        make_agent("my_broken_agent:Mine")


def test_the_distribution_declares_every_built_in_agent() -> None:
    """Environments know opponents by the entry points alone."""
    text = (Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8")
    section = text.partition('[project.entry-points."ddz_env.agents"]\n')[2].partition("\n\n")[0]
    declared = dict(line.replace('"', "").split(" = ") for line in section.splitlines())
    assert declared == BUILT_IN
