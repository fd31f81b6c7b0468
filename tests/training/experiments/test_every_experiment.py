"""What holds for any experiment: it resumes to the same results, keeps to its settings, and refuses wrong names."""

from __future__ import annotations

from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ddz_training.apps.documentation import block
from ddz_training.experiments import mini
from ddz_training.experiments.experiment import Experiment, read_saved
from ddz_training.experiments.registry import load_experiment, load_experiments
from ddz_training.measure.errors import SettingsMismatchError
from ddz_training.measure.plotting import can_plot
from tests.rooms import ROOT
from tests.training.apps.terminal import ddz, done

pytest.importorskip("torch")

RESULTS = ROOT / "docs" / "results"
TIMES = {"ms", "opponent_ms", "particles_ms", "network_ms", "seconds"}
"""What no two runs share."""


class Case(NamedTuple):
    """A run of a second or two: the options that are given, and the tasks if not those of the options."""

    options: dict[str, Any]
    tasks: list[Any] | None = None


TREES = {"trees": 2, "tree_iterations": 4}
HILL = {"only": ("landlord",), "evaluations": 12, "deals": 40, "batch": 40, "choice": 40, "fresh": 40}
CASES: dict[str, Case] = {
    "mini-census": Case({}),
    "mini-agents": Case({}, [("cheating", "determinized"), ("determinized+incorrect", "determinized+correct")]),
    "mini-inference": Case({}, [(1, deal) for deal in range(4000, 4004)]),
    "mini-uct": Case({}, [(4000,), (4001,)]),
    "cheating": Case({"deals": 2, **TREES}),
    "landlord": Case({"deals": 3, "games": 2, **TREES}),
    "thresholds": Case({"deals": 2, **TREES}),
    "iterations": Case({"deals": 2, "at": (500, 10_000), **TREES}),
    "exploration": Case({"deals": 2, "at": (0.1, 1.0), **TREES}),
    "trees": Case({"deals": 2, "at": (1, 500), **TREES}),
    "branching": Case({}, [("rules", 0), ("random", 3)]),
    "information-sets": Case({"deals": 2}),
    "hand-inference": Case({}, [("rules", 0), ("random", 1)]),
    "belief": Case({}, [("rules", 0), ("random", 0)]),
    "search-options": Case({"only": ("plain", "4 trees"), "against": ("isuct", "rules"), "iterations": 4, "deals": 2}),
    "search-depth": Case({"only": ("open hands, depth 1",), "deals": 2}),
    "search-gains": Case({"agent": ("policy", "random"), "games": 3, "playouts": 8}),
    "solver-curve": Case({"nodes": 300_000}, [("10+10+10", 0), ("11+11+11", 1)]),
    "tuning": Case(HILL),
    "policy-strength": Case({"only": ("policy-rules", "policy-random"), "deals": 2}),
    "points-strength": Case({"opponent": ("rules",), "deals": 2}),
    "agent-strength": Case({"only": ("random", "rlcard-rule"), "deals": 2}),
    "levels": Case({"deals": 2, "slow": 1}),
    "chances": Case({"games": 2}),
    "exploitability": Case({}, [("CFR 10",), ("rules",)]),
    "mini-mccfr": Case({}, [(0,), (1_000,)]),
    "win-rate": Case({}, [("rules", 0), ("rules", 1)]),
    "bidders": Case({"deals": 2}),
    "equivalents": Case({"only": ("random", "rlcard-rule"), "deals": 20, "most": 8, "rung_deals": 2}),
    "equivalent-known": Case({"known": (2,), "repetitions": 2, "deals": 10}),
    "equivalent-simulated": Case({}, [("steep", "sequential", 0), ("flat", "binary", 1)]),
    "holdem": Case({"matches": 1}, [("full", "payoff", "random", 0), ("weighted", "payoff", "random", 0)]),
    "streets": Case({}, [(0,), (3,)]),
    "growth": Case({"samples": 1}, [("decisions of a batch, by games", 4), ("iterations of a search", 100)]),
    "tendency": Case({}, [("rules v random", 0), ("rules v rlcard-rule", 5)]),
    "tendency-savings": Case({}, [("rules v rlcard-rule", 100_000), ("search 200 v 100", 100_001)]),
    "tree-size": Case({}, [("random, by moves", 0), ("bots, rules", 0)]),
    "complexity": Case({}, [("deal 2", 0), ("deal 2", 5)]),
}
PUBLISHED = {
    *("mini-inference", "branching", "hand-inference", "solver-curve", "exploitability", "mini-mccfr", "win-rate"),
    *("equivalent-simulated", "tendency", "tree-size", "complexity", "mini-uct", "holdem", "streets"),
    *("belief", "search-depth", "agent-strength", "points-strength", "bidders", "information-sets"),
}
"""Cases whose results come out as they were published, those left out in which the shipped policy plays: it climbs."""
LONG = ["mini-inference", "mini-agents", "exploitability", "search-gains", "levels", "equivalents", "mini-mccfr"]
EXTRAS = {"exploitability": "pyspiel", "mini-mccfr": "pyspiel"}


def small(name: str, **more: Any) -> tuple[Experiment[Any, Any], Any]:
    pytest.importorskip(EXTRAS.get(name, "torch"))
    experiment = load_experiment(name)
    given = {**CASES[name].options, **more}
    if "processes" in {option.name for option in fields(experiment.options)}:
        given.setdefault("processes", 1)
    return experiment, experiment.options(**given)


def lines(experiment: Experiment[Any, Any], path: Path) -> list[dict[str, Any]]:
    """The results of a file, without the times."""
    results = read_saved(experiment.result, path).results
    return [{name: value for name, value in asdict(one).items() if name not in TIMES} for one in results]


def killing(done: int, total: int) -> None:
    """Ends a run after its first task."""
    if done == 1 < total:
        raise KeyboardInterrupt


def test_every_experiment_has_a_case() -> None:
    assert {experiment.name for experiment in load_experiments()} == {*CASES}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] if name in LONG else []) for name in CASES]
)
def test_a_killed_run_goes_on_to_the_same_results(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is played twice, a file of other settings is refused, and the tables are those of the pages."""
    if name in ("mini-census", "mini-agents"):
        few = mini.mini_deals()[::800]
        monkeypatch.setattr(mini, "mini_deals", lambda: few)
    whole, cut, seen = tmp_path / "whole.csv", tmp_path / "cut.csv", list[tuple[int, int]]()
    (experiment, options), tasks = small(name), CASES[name].tasks
    experiment.run(options, whole, tasks=tasks)
    with pytest.raises(KeyboardInterrupt):
        experiment.run(options, cut, killing, tasks)
    assert 0 < len(lines(experiment, cut)) < len(lines(experiment, whole))
    experiment.run(options, cut, tasks=tasks)
    assert lines(experiment, cut) == lines(experiment, whole)
    again = experiment.run(options, cut, lambda *done: seen.append(done), tasks)
    assert {done for done, _ in seen} == {seen[0][1]}, "nothing is played again"
    published = lines(experiment, RESULTS / f"{experiment.file}.csv") if name in PUBLISHED else lines(experiment, cut)
    assert all(line in published for line in lines(experiment, whole))
    if experiment.settings:
        with pytest.raises(SettingsMismatchError):
            experiment.run(replace(options, seed=options.seed + 1), cut, tasks=tasks)
    for table in experiment.tables:
        committed = block(table, RESULTS).splitlines()
        first = experiment.tables[table](again).markdown().splitlines()
        assert first[0].split("|")[1] == committed[0].split("|")[1], table
        assert len(first) > 2 or name == "equivalents"


@pytest.mark.parametrize("name", ["landlord", pytest.param("points-strength", marks=pytest.mark.long)])
def test_results_do_not_depend_on_the_processes_and_the_command_shows_them(name: str, tmp_path: Path) -> None:
    experiment, one = small(name)
    for processes in (1, 2):
        saved = experiment.run(replace(one, processes=processes), tmp_path / f"{processes}.csv")
    assert lines(experiment, tmp_path / "1.csv") == lines(experiment, tmp_path / "2.csv")
    given = [(option, part) for option, value in CASES[name].options.items() for part in _parts(value)]
    typed = [f"{option.strip('_')}={part}" for option, part in given]
    printed = done("reproduce", name, "--out", tmp_path / "2.csv", *typed).output
    assert next(iter(experiment.tables.values()))(saved).title[:20] in printed


def _parts(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("landlord options=wings=2", "there is no option 'wings'"),
        ("landlord deals=1001", "deals"),
        ("exploration at=0.3", "unknown exploration '0.3'"),
        ("search-options only=nothing", "4 trees"),
        ("search-options against=ruels", "did you mean 'rules'?"),
        ("search-gains agent=random agent=random", "each once"),
        ("search-gains agent=random agent=ghost", "ghost"),
        ("policy-strength only=nothing", "search-rollout"),
        ("policy-strength neural=neural-ismcst", "did you mean 'neural-ismcts'?"),
        ("points-strength opponent=ghost", "ghost"),
        ("equivalents only=ruels", "did you mean 'rules'?"),
        ("tuning only=peasant", "peasants"),
        ("tendency only=none", "policy v rules"),
    ],
)
def test_commands_say_what_is_wrong_before_anything_is_written(command: str, message: str, tmp_path: Path) -> None:
    result = ddz("reproduce", *command.split(), "--out", tmp_path / "results.csv")
    assert (result.exit_code, message in " ".join(result.output.split())) == (2, True)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not can_plot(), reason="matplotlib is not installed")
@pytest.mark.parametrize("name", [one.name for one in load_experiments() if one.plot])
def test_committed_results_are_drawn(name: str, tmp_path: Path) -> None:
    experiment, path = load_experiment(name), tmp_path / "deeper" / "plot.png"
    assert experiment.plot is not None
    experiment.plot(read_saved(experiment.result, RESULTS / f"{experiment.file}.csv"), path)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert 3_000 < path.stat().st_size < 200_000
