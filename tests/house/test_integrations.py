"""The programs that use other libraries are shown on their pages, and what is known of them is of these texts."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import integration_pages
from tests.integrations import __main__ as runner
from tests.integrations import speed
from tests.integrations.programs import CONSTRAINTS, current, fingerprint, form_of, programs, steps_of
from tests.rooms import ROOT

FOLDER = ROOT / "tests" / "integrations"
PROGRAMS = programs(ROOT)
ROWS = current(ROOT)
PAGES = sorted((ROOT / "docs" / "guides" / "integrations").glob("*.md"))


def _pinned(library: Path) -> dict[str, str]:
    lines = (library / CONSTRAINTS).read_text(encoding="utf-8").splitlines()
    pins = [re.fullmatch(r"([\w.-]+)(?:\[[\w,-]+\])?==([\w.]+)", line) for line in lines if not line.startswith("#")]
    assert all(pins), f"{library.name}: every line of {CONSTRAINTS} pins a version"
    return {pin[1]: pin[2] for pin in pins if pin}


def test_every_folder_is_an_integration() -> None:
    folders = {path.name for path in FOLDER.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders == {program.parent.name for program in PROGRAMS.values()}


def test_every_library_has_a_page_that_shows_a_program() -> None:
    shown = re.findall(r"<!-- site: code-([\w-]+) -->", "".join(page.read_text(encoding="utf-8") for page in PAGES))
    assert {PROGRAMS[name].parent for name in shown if name in PROGRAMS} == {path.parent for path in PROGRAMS.values()}
    assert PROGRAMS.keys() == speed.PLAYS.keys()


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_can_be_run(name: str) -> None:
    """It imports nothing of ours but other programs and the environment, and takes a budget; its pins say torch's."""
    source = PROGRAMS[name].read_text(encoding="utf-8")
    modules = {node.module or "" for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)}
    ours = [module for module in modules if module.startswith(("tests", "ddz_"))]
    assert all(module == "ddz_env" or module.startswith("tests.integrations.") for module in ours)
    assert re.search(r'\n\n\nif __name__ == "__main__":\n(    .*\n)*    main\(train.*\)\n\Z', source)
    assert steps_of(source) >= 10_000
    assert _pinned(PROGRAMS[name].parent)["torch"] == "2.13.0"


def test_a_result_is_of_a_text_and_of_what_it_imports(library: Path) -> None:
    program, other = library / "train.py", library.parent / "evaluation.py"
    before = fingerprint(program)
    other.write_text("changed = 1\n", encoding="utf-8")
    assert fingerprint(program) != before


@pytest.mark.parametrize("name", ROWS)
def test_a_result_is_of_the_versions_that_are_pinned(name: str) -> None:
    row, pins = ROWS[name], _pinned(PROGRAMS[name].parent)
    for package in (row["library"], "torch", "gymnasium", "pettingzoo"):
        assert row["versions"][package] == pins[package]
    assert min(seed["wins"] for seed in row["seeds"].values()) > row["random"] + 0.02


def test_ours_is_compared_in_the_form_that_a_program_plays() -> None:
    """A library that is fed int8 is beside int8, also where a wrapper casts it, and a dict is beside a dict."""
    forms = {name: form_of(path.read_text(encoding="utf-8")) for name, path in PROGRAMS.items()}
    assert {form.get("rules") for form in forms.values()} == {"mini"}
    plays_int8 = {name for name, form in forms.items() if "dtype" not in form}
    assert plays_int8 == {"cleanrl", "pettingzoo", "pufferlib", "pufferlib-aec", "supersuit-aec"}
    alone = {name for name, form in forms.items() if form.get("opponents") == "random"}
    assert alone == {name for name in PROGRAMS if not name.endswith(("-aec", "-nfsp")) and name != "pettingzoo"}
    dicts = {name for name, form in forms.items() if form.get("observation") == "dict"}
    assert dicts == {"pufferlib", "rlcard", "rllib", "tianshou", "torchrl-vector"}


def test_ours_are_games_of_that_form(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[dict[str, Any]] = []
    for where, make in ((speed.gymnasium, "make"), (speed.gymnasium, "make_vec"), (speed.dou_dizhu_v0, "env")):
        real = getattr(where, make)
        monkeypatch.setattr(where, make, lambda *args, _real=real, **form: made.append(form) or _real(*args, **form))
    for ours, form in (
        (speed.single, {"rules": "mini", "opponents": "random", "observation": "dict"}),
        (speed.vector, {"rules": "mini", "opponents": "random", "dtype": "float32"}),
        (speed.aec, {"rules": "mini"}),
    ):
        assert ours(form)(20) >= 20
        assert made.pop() == form


LONG = [pytest.param(name, marks=pytest.mark.long) for name in ("pettingzoo", "sb3", "rlcard", "rlcard-nfsp")]


@pytest.mark.parametrize("name", ["cleanrl", *LONG])
def test_a_program_runs(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """For a moment, where the library is installed; ``make test-integrations`` runs every program in full."""
    needs = {"sb3": "sb3_contrib", "rlcard": "rlcard", "rlcard-nfsp": "rlcard"}.get(name, "torch")
    for module in (needs, "torch"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    monkeypatch.setenv("STEPS", "2048")
    monkeypatch.setattr("sys.argv", [name, "5"])
    runpy.run_path(str(PROGRAMS[name]), run_name="__main__")
    found = runner._WINS.search(capsys.readouterr().out)
    assert found is not None
    assert found[1] == "5"


TRAIN, TRAIN_AEC = "tests.integrations.toy.train", "tests.integrations.toy.train_aec"
TOY = 'from tests.integrations.evaluation import main\nSTEPS = int(os.environ.get("STEPS", 7))\n'


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A library with two programs in a checkout of its own; nothing is installed."""
    folder = tmp_path / "tests" / "integrations" / "toy"
    for made in (folder, tmp_path / "docs" / "results"):
        made.mkdir(parents=True)
    (folder / CONSTRAINTS).write_text("toy==1.0\n", encoding="utf-8")
    (folder.parent / "evaluation.py").write_text("", encoding="utf-8")
    for name in ("train", "train_aec"):
        (folder / f"{name}.py").write_text(TOY, encoding="utf-8")
    monkeypatch.setattr(runner, "ROOT", tmp_path)
    monkeypatch.setattr(runner, "__file__", str(folder.parent / "__main__.py"))
    monkeypatch.setattr("venv.create", lambda place, with_pip: place.mkdir(parents=True))
    return folder


VERSIONS = dict.fromkeys(("toy", "torch", "gymnasium", "PettingZoo"), "1.0+cpu")
MEASURED = {
    "facts": {"random": 0.5, "python": "3.11", "versions": VERSIONS},
    "speeds": {"through": 900, "of_ours": 0.5, "cores": 2},
}


def test_a_round_is_long_enough_for_the_clock() -> None:
    """A vector environment plays a thousand decisions in 5 ms; a slow library plays no more than that."""
    now, sizes = [0.0], []

    def playing(rate: int) -> Callable[[int], int]:
        def play(decisions: int) -> int:
            now[0] += decisions / rate
            sizes.append(decisions)
            return decisions

        return play

    there, here = speed.rates(playing(500), playing(200_000), lambda: now[0])
    assert (there, here) == (pytest.approx([500] * 7), pytest.approx([200_000] * 7))
    assert sizes[-2:] == [1000, 40_000]


def _measuring(ran: list[str], wins: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """The command, whose programs win what is given; it appends what it runs."""

    def run(command: list[str], log: Path, **variables: str) -> str:
        ran.append("install" if "install" in command else " ".join(command[2:5]))
        if "install" in command:
            return ""
        if "tests.integrations.speed" in command:
            return f"noise\n{json.dumps({'measured': MEASURED[command[3]]})}\n"
        return f"seed {command[-1]}: {wins[command[2]]}% of 4,000 games won against random play\n"

    monkeypatch.setattr(runner, "_run", run)
    app = runner.typer.Typer()
    app.command()(runner.main)
    return lambda *words: CliRunner().invoke(app, words)


def test_speeds_come_last_and_are_measured_again_alone(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They take a quiet machine and a few minutes; a machine that only has to be patient learns before."""
    ran: list[str] = []
    measure = _measuring(ran, {TRAIN: 80.0, TRAIN_AEC: 70.0}, monkeypatch)
    checkout, speeds = library.parent.parent.parent, "tests.integrations.speed speeds"
    assert "toy: FAILED: its wins come first" in measure("toy", "--only", "speeds").stderr
    assert measure("--only", "wins").exit_code == 0
    assert not [one for one in ran if one.startswith(speeds)]
    row = integration_pages.table(checkout).splitlines()[2]
    assert row.endswith("| 80.0 (80.0–80.0) | – | – |")
    both = [f"{speeds} toy", f"{speeds} toy-aec"]
    trained = [f"{TRAIN_AEC} {seed}" for seed in (1, 2, 3)]
    for words, expected in (
        ((), both),
        (("toy", "--only", "speeds", "--again"), both),
        (("toy-aec", "--again"), ["tests.integrations.speed facts toy-aec", *trained, both[1]]),
    ):
        ran.clear()
        assert measure(*words).exit_code == 0
        assert ran == expected


def test_a_run_is_continued_and_a_failure_is_reported(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wins: dict[str, Any] = {TRAIN: 80.0, TRAIN_AEC: "nothing"}
    ran: list[str] = []
    measure = _measuring(ran, wins, monkeypatch)
    checkout = library.parent.parent.parent
    result = measure()
    assert result.exit_code == 1
    assert "toy-aec: FAILED: it did not say how much it won" in result.stderr
    assert [seed["wins"] for seed in current(checkout)["toy"]["seeds"].values()] == [0.8] * 3
    assert integration_pages.table(checkout).endswith("in their present form: `toy-aec`.")
    wins[TRAIN_AEC] = 51.0
    assert "FAILED: it wins 51.0 (51.0–51.0) %, random play 50.0 %" in measure("toy-aec").stderr
    assert ran.count("install") == 1  # the environment was reused
    ran.clear()
    assert measure("toy").exit_code == 1  # both programs of the folder, and nothing is run again
    assert ran == []
    assert "| `toy` | 80.0 (80.0–80.0) |" in integration_pages.table(checkout)
    (library / "train.py").write_text(f"{TOY}# new\n", encoding="utf-8")
    assert "toy" not in current(checkout)  # its row is of another text
    assert measure("toy", "--smoke").exit_code == 0
    assert [seen for seen in ran if "speed" in seen] == []
    assert measure("toy").exit_code == 1
    assert current(checkout)["toy"]["program"] == fingerprint(library / "train.py")
    assert re.search(r"there are toy,\W+toy-aec", measure("nothing").stderr)  # in a box
