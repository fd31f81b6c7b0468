"""The imports that the pages of 0.2.0 show work for one release, with a warning, and give today's objects."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ddz_old_names import MOVED, new_name
from tests.rooms import ROOT

SHOWN = (ROOT / "tests" / "data" / "names_of_0_2_0.txt").read_text(encoding="utf-8").splitlines()
COMMANDS = [line.removeprefix("-m ") for line in SHOWN if line.startswith("-m ")]

# One process, since a warning is given once: what each import gives, and what it warns of.
PROGRAM = """
import importlib, json, sys, warnings
answers = []
for line in json.load(sys.stdin):
    module, _, name = line.partition(":")
    space = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        exec(f"from {module} import {name}", space)
    found = space[name]
    new = sys.modules["ddz_old_names"].new_name(module)
    real = importlib.import_module(new or module)
    told = [str(one.message) for one in caught if issubclass(one.category, FutureWarning)]
    answers.append([line, found is getattr(real, name, None), told])
print(json.dumps(answers))
"""


def python(source: str, folder: Path, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, cwd=folder, **options)


def test_every_import_shown_in_0_2_0_gives_todays_object_and_says_its_name(tmp_path: Path) -> None:
    imports = [line for line in SHOWN if ":" in line]
    done = python(f"import ddz_old_names\n{PROGRAM}", tmp_path, input=json.dumps(imports))
    assert done.returncode == 0, done.stderr
    warned = set()
    for line, same, told in json.loads(done.stdout):
        module = line.partition(":")[0]
        new = new_name(module)
        assert same or new is None, line
        expected = [] if new is None or module in warned else [f"{module!r} is {new!r} now"]
        assert [text.partition(";")[0] for text in told] == expected, line
        warned.add(module)
    assert len(warned) > 30


@pytest.mark.parametrize("name", COMMANDS)
def test_every_program_of_0_2_0_runs_under_its_old_name(name: str, tmp_path: Path) -> None:
    start = "import ddz_old_names, runpy, sys; sys.argv[1:] = ['--help']"
    done = python(f"{start}; runpy.run_module({name!r}, run_name='__main__')", tmp_path)
    assert (done.returncode, "--help" in done.stdout) == (0, True), done.stderr


def test_a_folder_of_the_users_own_goes_before_the_old_names(tmp_path: Path) -> None:
    for folder, text in (("agents", "MINE = 1"), ("training/arena", "MINE = 2")):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "__init__.py").write_text(text)
    script = "import ddz_old_names, agents, training.arena as t; print(agents.MINE, t.MINE); import agents.mcts"
    assert python(script, tmp_path).stdout.strip() == "1 2"


def test_old_pickles_find_their_classes_and_unknown_modules_stay_unknown(tmp_path: Path) -> None:
    script = (
        "import ddz_old_names, pickle\n"
        "print(pickle.loads(b'cagents.mcts.agent\\nIsUctAgent\\n.').__module__)\n"
        "try:\n    import training.nothing\nexcept ModuleNotFoundError as error:\n    print(error)\n"
    )
    told = python(script, tmp_path).stdout.split("\n")
    assert told[:2] == ["ddz_agents.tree_search.agent", "No module named 'training.nothing'"]


def test_the_longest_old_name_that_fits_counts() -> None:
    assert new_name("training.arena.results") == "ddz_training.measure.match.results"
    assert new_name("training.arena.tendency") == "ddz_training.measure.tendency"
    assert new_name("ddz_env") is new_name("ddz_env.gym") is new_name("numpy") is None
    assert all(new.startswith("ddz_") for new in MOVED.values())
