"""The runner of ``make test-anywhere``, the random order, and asserts that Python leaves out."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from tests import anywhere
from tests.anywhere import __main__ as runner
from tests.anywhere import place
from tests.anywhere.surroundings import CHEAP, SURROUNDINGS, TOGETHER, together
from tests.conftest import shuffled
from tests.rooms import ROOT

HERE = ROOT / "tests"
FAILING = "def fails():\n    assert not 'planted'\n"


def plant(folder: Path) -> None:
    """A suite with our settings, in which two tests fail: one by its own assert, one by that of a file beside it."""
    (folder / "tests").mkdir(parents=True)
    for name in ("__init__.py", "conftest.py"):
        shutil.copy(HERE / name, folder / "tests" / name)
    shutil.copy(HERE.parent / "pyproject.toml", folder)
    (folder / "tests" / "planted.py").write_text(FAILING)
    calls = "from tests.planted import fails\n\ndef test_helper():\n    fails()\n\ndef test_passes():\n    pass\n\n"
    (folder / "tests" / "test_anywhere.py").write_text(calls + FAILING.replace("fails", "test_own"))


def test_a_planted_failure_fails_though_python_executes_no_assert(tmp_path: Path) -> None:
    plant(tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "tests"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONOPTIMIZE": "1", "PYTHONPATH": os.pathsep.join([str(tmp_path), str(HERE.parent)])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "2 failed, 1 passed" in done.stdout


@pytest.mark.skipif(shutil.which("git") is None, reason="a surrounding begins with a clone")
def test_what_fails_in_a_surrounding_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, logs = tmp_path / "source", tmp_path / "logs"
    plant(source)
    for command in ("init --quiet", "add tests", "-c user.name=x -c user.email=x commit --quiet --message x"):
        subprocess.run(["git", *command.split()], cwd=source, check=True)
    (source / "tests" / "planted.py").write_text("def fails():\n    pass\n")  # not committed, and run all the same
    monkeypatch.setattr(place, "ROOT", source)
    monkeypatch.setenv("PYTHONPATH", str(HERE.parent))
    app = typer.Typer()
    app.command()(runner.main)
    done = CliRunner().invoke(app, ["foreign-path", "--workers", "0", "--logs", str(logs)])
    assert done.exit_code == 1, done.output
    assert "1 failed, 2 passed" in done.output
    assert "FAILED tests/test_anywhere.py::test_own" in done.output
    assert "planted" in (logs / "foreign-path.log").read_text(encoding="utf-8")
    assert CliRunner().invoke(app, ["nowhere"]).exit_code == 2


def test_every_surrounding_says_what_it_is() -> None:
    assert anywhere.__doc__
    assert set(CHEAP) <= SURROUNDINGS.keys()
    assert len({one.what for one in SURROUNDINGS.values()}) == len(SURROUNDINGS)
    assert sorted(name for names in TOGETHER.values() for name in names) == sorted(SURROUNDINGS)


def test_what_several_surroundings_differ_in_one_has_together() -> None:
    joined = together(("columns-40", "lang-c", "one-worker", "foreign-path"))
    assert joined.environ == {"COLUMNS": "40", "LANG": "C", "LC_ALL": "C"}
    assert (joined.workers, joined.folder) == (0, SURROUNDINGS["foreign-path"].folder)
    with pytest.raises(ValueError, match="four-workers does not go with one process: workers"):
        together(("one-worker", "four-workers"))


def test_the_random_order_is_that_of_its_seed(request: pytest.FixtureRequest) -> None:
    items = list(request.session.items)
    order = shuffled(items, 1)
    assert sorted(item.nodeid for item in order) == sorted(item.nodeid for item in items)
    assert order == shuffled(items, 1)
    assert len(list(itertools.groupby(item.path for item in order))) == len({item.path for item in order})
