"""Agents by name."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from ddz_agents.random import RandomAgent
from ddz_env import State
from ddz_env.playing.registry import GROUP, list_agent_names, list_agent_options, make_agent
from ddz_env.support.errors import InvalidAgentOptionError, UnknownAgentError
from ddz_training.cli.app import app
from tests.packages import ROOT


def test_unknown_names_list_what_exists_and_suggest_the_nearest() -> None:
    with pytest.raises(UnknownAgentError, match=r"did you mean 'rules'") as caught:
        make_agent("ruels")
    assert all(name in str(caught.value) for name in list_agent_names())
    with pytest.raises(UnknownAgentError, match=r"'sb3' \(did you mean 'policy:path=a.zip'\?\)"):
        make_agent("sb3:path=a.zip")


NOBODY = ("", "   ", "nothing-like-it", "ruels:depth=3", "no_such_module:Agent", ".x:Agent", 7)
MODULES = ("math:pi", "math:nothing", "json:dumps.x", "collections:OrderedDict")


@pytest.mark.parametrize("spec", [*NOBODY, *MODULES])
def test_what_is_no_agent_has_a_named_error(spec: str) -> None:
    with pytest.raises(UnknownAgentError):
        make_agent(spec)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("random:depth=3", "'random:depth=3'"),
        ("rules:fast", "'rules:fast'"),
        ("isuct:iterations", "'isuct:iterations'"),
        ("isuct:iterations=5,iterations=6", "'isuct:iterations=5,iterations=6'"),
        ("isuct:=5", "'isuct:=5'"),
        ("isuct:iteration=5", r"did you mean 'iterations'\?\); there are .*exploration"),
        ("isuct:iterations=0", "'isuct:iterations=0': iterations=0 must be a whole number"),
        ("rules:foo=1", "'rules:foo=1': there is no option 'foo'; there are none"),
        ("policy:foo=1", "'policy:foo=1': there is no option 'foo'; there are path"),
        (f"{__name__}:deeper:deph=1", r"there is no option 'deph' \(did you mean 'depth'\?\); there are depth, path"),
        (f"{__name__}:deeper", "missing 1 required positional argument: 'depth'"),
    ],
)
def test_bad_options_have_a_named_error(spec: str, message: str) -> None:
    with pytest.raises(InvalidAgentOptionError, match=message):
        make_agent(spec)


def test_the_users_own_agent_is_found_in_the_current_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_private_agent.py").write_text(
        "class Mine:\n"
        "    def __init__(self, depth=1):\n"
        "        self.depth = depth\n"
        "    def act(self, view, rng):\n"
        "        return view.legal_moves()[0]\n"
    )
    (tmp_path / "my_broken_agent.py").write_text("import a_module_that_is_not_there\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    agent = make_agent("my_private_agent:Mine:depth=4")
    assert (agent.depth, agent.name) == (4, "my_private_agent:Mine:depth=4")  # type: ignore[attr-defined]
    assert isinstance(make_agent("ddz_agents.random:RandomAgent"), RandomAgent)
    with pytest.raises(ModuleNotFoundError, match="a_module_that_is_not_there"):  # an error inside it is not hidden
        make_agent("my_broken_agent:Mine")


class _Bare:
    def act(self, view: Any, rng: Any) -> None: ...


class _Closed:
    __slots__ = ()

    def act(self, view: Any, rng: Any) -> None: ...


def deeper(depth: int, path: str | None = None) -> _Bare:
    """Made to be told how deep."""
    if depth < 0:
        raise TypeError("the fault of the factory itself")
    return _Bare()


def test_a_fault_inside_a_factory_is_not_one_of_its_options() -> None:
    with pytest.raises(TypeError, match="itself"):
        make_agent(f"{__name__}:deeper:depth=-1")


def test_an_object_that_can_act_is_an_agent_and_gets_a_name_if_it_has_none() -> None:
    named = RandomAgent()
    assert make_agent(named) is named
    bare = _Bare()
    assert make_agent(bare) is bare
    assert bare.name == "_Bare"  # type: ignore[attr-defined]
    with pytest.raises(UnknownAgentError, match=r"RandomAgent is a class: give an object, as RandomAgent\(\) makes it"):
        make_agent(RandomAgent)
    for wrong in (3, None, object()):
        with pytest.raises(UnknownAgentError, match="needs a method act"):
            make_agent(wrong)
    with pytest.raises(UnknownAgentError, match="add an attribute name"):
        make_agent(_Closed())


def test_the_options_of_an_agent_are_those_that_it_declares() -> None:
    assert {option.name for option in list_agent_options("isuct")} > {"iterations", "exploration"}
    assert list_agent_options("rules") == list_agent_options("collections:Counter") == ()
    mine = [
        (option.name, option.default_text, option.allowed_values) for option in list_agent_options(f"{__name__}:deeper")
    ]
    assert mine == [("depth", "–", "a whole number"), ("path", "none", "text, or none")]
    assert [(option.name, option.allowed_values) for option in list_agent_options("html.parser:HTMLParser")] == [
        ("convert_charrefs", "anything")  # nothing is said of it
    ]
    with pytest.raises(UnknownAgentError, match="did you mean 'isuct'"):
        list_agent_options("isuctt")


def test_the_guide_s_typed_agent_has_its_options_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    guide = (ROOT / "docs" / "guides" / "bring-your-own-agent.md").read_text(encoding="utf-8")
    [program] = re.findall(r"(?s)in `typed.py`:\n\n```python\n(.*?)```", guide)
    (tmp_path / "typed.py").write_text(program, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    agent, view = make_agent("typed:Longest:most=5,ties=last"), State.new(0).view()
    assert len(agent.act(view, np.random.default_rng(0)).cards) == 5
    with pytest.raises(InvalidAgentOptionError, match="most=50 must be a whole number from 1 to 20"):
        make_agent("typed:Longest:most=50")
    assert list_agent_options("typed:Longest")[1].meaning == "Which of several longest moves it plays."


def test_agents_list_and_the_options_of_one() -> None:
    asked: tuple[list[str], ...] = ([], ["isuct"], ["rules"], ["ruels"], [f"{__name__}:deeper"])
    listed, isuct, rules, wrong, mine = (CliRunner().invoke(app, ["agents", *name]) for name in asked)
    assert (listed.exit_code, isuct.exit_code) == (0, 0)
    assert all(name in listed.output for name in list_agent_names())
    assert "Made to be told how deep." in mine.output
    for done, part in (
        (isuct, "exploration"),
        (mine, "a whole number"),
        (rules, "rules names no options"),
        (wrong, "did you mean 'rules'"),
    ):
        assert part in done.output


def test_without_an_installation_the_error_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "entry_points", lambda group: [])
    with pytest.raises(UnknownAgentError, match=r"none is installed: run `pip install -e \.`"):
        make_agent("rules")


def test_ours_go_before_those_of_other_distributions(monkeypatch: pytest.MonkeyPatch) -> None:
    real = metadata.entry_points(group=GROUP)
    theirs = metadata.EntryPoint("rules", "json:JSONDecoder", GROUP)
    monkeypatch.setattr(metadata, "entry_points", lambda group: [*real, theirs])
    assert make_agent("rules").name == "rules"


@pytest.mark.parametrize("shape", ["agents.py", "agents/__init__.py", "training/mine.py"])
def test_a_users_own_folders_of_any_name_are_theirs_and_ours_still_play(shape: str, tmp_path: Path) -> None:
    own = tmp_path / shape
    own.parent.mkdir(exist_ok=True)
    own.write_text("class Mine:\n    def act(self, view, rng): ...\n")
    module = shape.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    script = f"from ddz_env.playing.registry import make_agent\nimport {module}\nprint({module}.__file__)\n"
    script += f"make_agent('{module}:Mine'), make_agent('rules')"
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, str(own)), done.stderr


class Needs(_Bare):
    def __init__(self, depth: int, **rest: Any) -> None:
        self.depth, self.rest = depth, rest


def test_required_and_free_options_of_a_factory() -> None:
    agent: Any = make_agent(f"{__name__}:Needs:depth=3,any=thing")
    assert (agent.depth, agent.rest) == (3, {"any": "thing"})
    with pytest.raises(InvalidAgentOptionError, match="'depth'"):
        make_agent(f"{__name__}:Needs")
