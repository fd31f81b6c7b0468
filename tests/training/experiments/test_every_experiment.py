"""What holds for any experiment: it resumes to the same file, keeps to its settings, and refuses wrong names."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest

from ddz_env.core.errors import UnknownAgentError
from ddz_training.experiments import mini
from ddz_training.experiments.experiment import Experiment, read_saved
from ddz_training.experiments.registry import load_experiment, load_experiments
from ddz_training.measure.errors import SettingsMismatchError
from ddz_training.measure.plotting import can_plot
from ddz_training.measure.store import read_results
from tests.rooms import ROOT
from tests.training.apps.terminal import ddz

pytest.importorskip("torch")

RESULTS = ROOT / "docs" / "results"
SEARCH = "neural-ismcts:iterations=4,trees=1,batch=2"
TIMES = ("ms", "opponent_ms")


class Case(NamedTuple):
    """A run of a second or two: the options that are given, the tasks if not those of the options, other settings."""

    options: dict[str, Any]
    tasks: list[Any] | None = None
    other: dict[str, Any] | None = None


SEED = {"seed": 1}
TREES = {"processes": 1, "trees": 2, "tree_iterations": 4}
CASES: dict[str, Case] = {
    "mini-agents": Case({}, [("cheating", "determinized"), ("determinized+incorrect", "determinized+correct")]),
    "mini-inference": Case({}, [(1, deal) for deal in range(4000, 4004)]),
    "mini-uct": Case({"games": 2, "seed": 7}, [(deal,) for deal in range(4000, 4003)], {"seed": 8}),
    "landlord": Case({"deals": 3, "games": 2, **TREES}, other={"tree_iterations": 5}),
    "branching": Case({"deals": 3}, other=SEED),
    "hand-inference": Case({"particles": 50}, [("rules", 0), ("rules", 1)], {"particles": 60}),
    "search-options": Case(
        {"only": ("plain", "4 trees"), "against": ("isuct", "rules"), "iterations": 4, "deals": 2}, other=SEED
    ),
    "search-gains": Case({"agent": ("policy", "random"), "games": 3, "playouts": 8}, other={"playouts": 9}),
    "policy-strength": Case({"only": ("policy-rules", "search-policy"), "deals": 2, "neural": SEARCH}, other=SEED),
    "points-strength": Case({"agent": "rules", "opponent": ("random-staged",), "deals": 3}, other=SEED),
}
LONG = ("mini-inference", "policy-strength")


def killing(after: int) -> Callable[[int, int], None]:
    """Ends a run after some tasks, unless these are all."""

    def tell(done: int, total: int) -> None:
        if done == after < total:
            raise KeyboardInterrupt

    return tell


def small(name: str, **more: Any) -> tuple[Experiment[Any, Any], Any]:
    experiment = load_experiment(name)
    given = {**CASES[name].options, **more}
    if hasattr(experiment.options(), "processes"):
        given.setdefault("processes", 1)
    return experiment, experiment.options(**given)


def lines(path: Path) -> list[dict[str, Any]]:
    """The results of a file, without the times, which no two runs share."""
    return [{name: cell for name, cell in row.items() if name not in TIMES} for row in read_results(path)[1]]


def typed(options: dict[str, Any]) -> list[str]:
    pairs = [(name, one) for name, value in options.items() for one in (value if isinstance(value, tuple) else [value])]
    return [f"--{name.replace('_', '-')}={value}" for name, value in pairs]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] if name in LONG else []) for name in CASES]
)
def test_a_killed_run_goes_on_to_the_same_file(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever its file was cut off; a file of other settings is refused; the command shows it without playing."""
    if name == "mini-agents":
        some = mini.mini_deals()[4000:4010]
        monkeypatch.setattr(mini, "mini_deals", lambda: some)
    whole, cut, case = tmp_path / "whole.csv", tmp_path / "cut.csv", CASES[name]
    told: list[tuple[int, int]] = []
    experiment, options = small(name)
    results = experiment.run(options, whole, lambda *done: told.append(done), case.tasks).results
    for beside in tmp_path.glob("whole_*"):  # what was measured before
        shutil.copy(beside, beside.with_name(beside.name.replace("whole", "cut")))
    with pytest.raises(KeyboardInterrupt):
        experiment.run(options, cut, killing(1), case.tasks)
    assert 0 < len(lines(cut)) < len(results)
    for _ in range(4 if name == "landlord" else 2):
        experiment.run(options, cut, tasks=case.tasks)
        assert lines(cut) == lines(whole)
        complete = cut.read_bytes()
        cut.write_bytes(complete[: -Random(name).randrange(1, len(complete) // 2)])
    cut.write_bytes(complete)
    told.clear()
    experiment.run(options, cut, lambda *done: told.append(done), case.tasks)
    assert {done for done, _ in told} == {told[0][1]}, "nothing is played again"
    if case.other:
        with pytest.raises(SettingsMismatchError):
            experiment.run(small(name, **case.other)[1], cut, tasks=case.tasks)
    if case.tasks is None:
        printed = ddz("reproduce", name, "--out", cut, *typed(case.options))
        assert printed.exit_code == 0, printed.output
        assert next(iter(experiment.tables.values()))(read_saved(experiment.result, cut)).title[:20] in printed.output
        assert lines(cut) == lines(whole)


@pytest.mark.parametrize("name", ["landlord", pytest.param("search-gains", marks=pytest.mark.long)])
def test_results_do_not_depend_on_the_processes(name: str, tmp_path: Path) -> None:
    experiment, one = small(name)
    for processes in (1, 2):
        experiment.run(replace(one, processes=processes), tmp_path / f"{processes}.csv")
    assert lines(tmp_path / "2.csv") == lines(tmp_path / "1.csv")


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("search-options", {"against": ("ruels",)}),
        ("search-gains", {"agent": ("random", "nobody")}),
        ("policy-strength", {"neural": "neural-ismcst"}),
        ("points-strength", {"opponent": ("nobody",)}),
    ],
)
def test_unknown_agents_are_refused_before_anything_is_written(
    name: str, wrong: dict[str, Any], tmp_path: Path
) -> None:
    experiment, options = small(name, **wrong)
    with pytest.raises(UnknownAgentError):
        experiment.run(options, tmp_path / "results.csv")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("landlord --options wings=2", "there is no option 'wings'"),
        ("exploration --at 0.3", "not among"),
        ("search-options --only nothing", "4 trees"),
        ("policy-strength --only nothing", "search-rollout"),
    ],
)
def test_commands_say_what_is_wrong(command: str, message: str, tmp_path: Path) -> None:
    result = ddz("reproduce", *command.split(), "--out", tmp_path / "results.csv")
    assert (result.exit_code, message in " ".join(result.output.split())) == (2, True)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not can_plot(), reason="matplotlib is not installed")
@pytest.mark.parametrize("name", [one.name for one in load_experiments() if one.plot])
def test_committed_results_are_drawn(name: str, tmp_path: Path) -> None:
    experiment = load_experiment(name)
    assert experiment.plot is not None
    saved = read_saved(experiment.result, RESULTS / f"{experiment.file}.csv")
    experiment.plot(saved, tmp_path / "deeper" / "plot.png")
    assert (tmp_path / "deeper" / "plot.png").read_bytes().startswith(b"\x89PNG")
    assert 3_000 < (tmp_path / "deeper" / "plot.png").stat().st_size < 200_000
