"""What holds for any experiment: it resumes to the same results, keeps to its settings, and refuses wrong names."""

from __future__ import annotations

from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from ddz_env.support.options import format_option_value
from ddz_papers import experiments
from ddz_papers.determinization_2011 import mini_experiments
from ddz_papers.experiments.experiment import Experiment, read_results_file
from ddz_papers.experiments.registry import EXPERIMENTS, load_experiment, load_experiments
from ddz_training.measure.errors import SettingsMismatchError
from ddz_training.measure.plotting import can_plot
from ddz_training.measure.store import read_results
from tests.packages import ROOT
from tests.training.cli.terminal import as_options, ddz, done

pytest.importorskip("torch")

RESULTS = ROOT / "docs" / "results"
TIMES = {"ms", "opponent_ms", "seconds"}
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
    "mini-uct": Case({"games": 2, "seed": 99}, [(4000,), (4001,)]),
    "cheating": Case({"deals": 2, **TREES}),
    "landlord": Case({"deals": 3, "games": 2, **TREES}),
    "thresholds": Case({"deals": 2, **TREES}),
    "iterations": Case({"deals": 2, "at": (500, 10_000), **TREES}),
    "exploration": Case({"deals": 2, "at": (0.1, 1.0), **TREES}),
    "trees": Case({"deals": 2, "at": (1, 500), **TREES}),
    "branching": Case({}, [("rules", 0), ("rules", 3)]),
    "information-sets": Case({}, [(0,), (7,)]),
    "search-depth": Case({"only": ("open hands, depth 1",), "deals": 2}),
    "tuning": Case(HILL),
    "policy-strength": Case({"only": ("policy-rules", "policy-random"), "deals": 2}),
    "points-strength": Case({"opponent": ("rules",), "deals": 2}),
    "agent-strength": Case({"only": ("random", "rlcard-rule"), "deals": 2}),
    "search-parts": Case({"only": ("300 iterations: uniform + playout",), "deals": 2}),
    "levels": Case({"deals": 2, "slow": 1}),
    "chances": Case({"games": 2}),
    "table-chances": Case({"only": ("hard",), "games": 2, "played_out": 1, "worlds": 4}),
    "equivalents": Case({"only": ("random", "rlcard-rule"), "deals": 20, "most": 8, "rung_deals": 2}),
    "equivalent-knowledge": Case({"only": ("rules", "rules without pass"), "deals": 20, "most": 8, "rung_deals": 2}),
    "equivalent-known": Case({"known": (2,), "method": "sequential", "repetitions": 2, "deals": 10}),
    "equivalent-simulated": Case({}, [("steep", "printed", 0), ("flat", "binary", 1)]),
    "holdem": Case({"matches": 1}, [("full, by stage", "payoff", "random", 0), ("weighted", "payoff", "random", 0)]),
    "streets": Case({}, [(0,), (3,)]),
    "win-rate": Case({}, [("rules", 0), ("rules", 1)]),
    "bidders": Case({"deals": 2, "bankroll": None}),
    "solver-curve": Case({}, [("all techniques", "10+10+10", 0), ("all techniques", "11+11+11", 1)]),
    "solver-techniques": Case({"positions": 1, "only": ("without order", "rehash 2")}),
    "tendency-savings": Case({}, [("rules v rlcard-rule", 100_000), ("rules v rlcard-rule", 100_001)]),
    "tendency": Case({}, [("rules v random", 0), ("rules v rlcard-rule", 5)]),
    "tree-size": Case({}, [("random, by moves", 0), ("bots, rules", 0)]),
    "complexity": Case({}, [("deal 2", 0), ("deal 2", 5)]),
}
PUBLISHED = {
    *("mini-inference", "branching", "equivalent-simulated", "tendency", "tree-size", "complexity", "mini-uct"),
    *("holdem", "streets", "search-depth", "agent-strength", "points-strength", "information-sets", "win-rate"),
    *("solver-curve", "solver-techniques"),
}
"""Cases whose results come out as they were published, those left out in which the shipped policy plays: it climbs."""
LONG = (
    *("mini-inference", "mini-agents", "levels", "equivalents", "equivalent-knowledge", "search-depth"),
    *("search-parts", "table-chances", "tuning", "chances", "holdem", "agent-strength"),
)
"""Those that play for more than two seconds: the papers are finished, and what pins their results stays."""


def small(name: str, **more: Any) -> tuple[Experiment[Any, Any], Any]:
    experiment = load_experiment(name)
    given = {**CASES[name].options, **more}
    if "processes" in {option.name for option in fields(experiment.options)}:
        given.setdefault("processes", 1)
    return experiment, experiment.options(**given)


def lines(experiment: Experiment[Any, Any], path: Path) -> list[dict[str, Any]]:
    """The results of a file, without the times."""
    results = read_results_file(experiment.result, path).results
    return [{name: value for name, value in asdict(one).items() if name not in TIMES} for one in results]


def killing(done: int, total: int) -> None:
    """Ends a run after its first task."""
    if done == 1 < total:
        raise KeyboardInterrupt


def test_every_experiment_has_a_case_and_its_name_source_and_results() -> None:
    assert {*EXPERIMENTS} == {*CASES}
    for name in EXPERIMENTS:
        experiment = load_experiment(name)
        assert experiment.name == name
        assert all((experiment.source, experiment.about, experiment.unit, experiment.tables))
        assert all(option.meaning for option in experiment.options.options()), name
        assert {*experiment.key} <= {field.name for field in fields(experiment.result)}
        settings, _ = read_results(RESULTS / experiment.file_name)
        assert {*experiment.settings(experiment.options())} == {*settings} - {"code", "version", "files"}, name


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] if name in LONG else []) for name in CASES]
)
def test_a_killed_run_goes_on_to_the_same_results(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is played twice, a file of other settings is refused, and there are tables of it."""
    if name in ("mini-census", "mini-agents"):
        few = mini_experiments.list_mini_deals()[::800]
        monkeypatch.setattr(mini_experiments, "list_mini_deals", lambda: few)
    whole, cut, seen = tmp_path / "whole.csv", tmp_path / "cut.csv", list[tuple[int, int]]()
    (experiment, options), tasks = small(name), CASES[name].tasks
    first = experiment.run(options, whole, tasks=tasks)
    assert list(first.results) == list(read_results_file(experiment.result, whole).results), "as exact as its file"
    with pytest.raises(KeyboardInterrupt):
        experiment.run(options, cut, killing, tasks)
    assert 0 < len(lines(experiment, cut)) < len(lines(experiment, whole))
    experiment.run(options, cut, tasks=tasks)
    assert lines(experiment, cut) == lines(experiment, whole)
    again = experiment.run(options, cut, lambda *done: seen.append(done), tasks)
    assert {done for done, _ in seen} == {seen[0][1]}, "nothing is played again"
    published = lines(experiment, RESULTS / experiment.file_name) if name in PUBLISHED else lines(experiment, cut)
    assert all(line in published for line in lines(experiment, whole))
    if "seed" in experiment.settings(options):
        with pytest.raises(SettingsMismatchError):
            experiment.run(replace(options, seed=options.seed + 1), cut, tasks=tasks)
    first_table, *others = (table(again) for table in experiment.tables.values())
    assert first_table.lines
    assert all(table.header for table in others)


@pytest.mark.parametrize("name", ["landlord", pytest.param("points-strength", marks=pytest.mark.long)])
def test_results_do_not_depend_on_the_processes_and_the_command_shows_them(name: str, tmp_path: Path) -> None:
    experiment, one = small(name)
    for processes in (1, 2):
        saved = experiment.run(replace(one, processes=processes), tmp_path / f"{processes}.csv")
    assert lines(experiment, tmp_path / "1.csv") == lines(experiment, tmp_path / "2.csv")
    typed = as_options(
        f"{option.strip('_')}={format_option_value(value)}" for option, value in CASES[name].options.items()
    )
    printed = done("reproduce", name, "--out", tmp_path / "2.csv", *typed).output
    assert next(iter(experiment.tables.values()))(saved).title[:20] in printed


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("landlord --wings 2", "No such option"),
        ("exploration --at 0.3", "unknown exploration '0.3'"),
        ("policy-strength --only nothing", "search-rollout"),
        ("points-strength --opponent ghost", "ghost"),
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
    experiment.plot(read_results_file(experiment.result, RESULTS / experiment.file_name), path)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert 3_000 < path.stat().st_size < 200_000


def test_the_experiment_of_the_guide_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs" / "guides" / "extend" / "experiment.md").read_text(encoding="utf-8")
    program = page.partition("```python\n")[2].partition("```")[0]
    (tmp_path / "rockets.py").write_text(program, encoding="utf-8")
    monkeypatch.setattr(experiments, "__path__", [*experiments.__path__, str(tmp_path)])
    monkeypatch.setitem(EXPERIMENTS, "rockets", page.partition('`"rockets": "')[2].partition('"')[0])
    experiment = load_experiment("rockets")
    options = experiment.options(deals=300, processes=1)
    with pytest.raises(KeyboardInterrupt):
        experiment.run(options, tmp_path / "rockets.csv", killing)
    saved = experiment.run(options, tmp_path / "rockets.csv")
    assert [(rules, deals) for rules, deals, _ in experiment.tables["rockets"](saved).lines] == [
        ("standard", "300"),
        ("douzero", "300"),
    ]
    share = np.mean([deal.rocket for deal in saved.results])
    assert share == pytest.approx(20 * 19 / (54 * 53), abs=0.04)
