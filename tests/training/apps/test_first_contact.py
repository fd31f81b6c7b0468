"""What a person meets first: help, lists, names in tables, curves for TensorBoard."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from ddz_env.playing.registry import LEVELS, agent_names, agent_options
from ddz_training.measure.contest import Arena
from ddz_training.measure.errors import InvalidArenaError
from tests.rooms import ROOT
from tests.training.apps.terminal import commands, ddz, examples, refused


def test_every_help_has_examples_that_can_be_typed() -> None:
    seen = 0
    for path, command in commands():
        result = ddz(*path, "-h", width=80)
        assert result.exit_code == 0, result.output
        assert "…" not in result.output, f"{path}: a word is wider than its column"
        assert "Usage" in result.output
        assert not re.search(r"`|:\w+:", result.output), path
        lines = examples(command)
        assert lines, f"ddz {' '.join(path)} has no example"
        for line in lines:
            seen += 1
            assert len(line) <= 78
            assert line in result.output
            _, *words = shlex.split(line)
            if not hasattr(command, "list_commands"):
                assert words[: len(path)] == list(path)
                command.make_context(path[-1], words[len(path) :])
    assert seen >= 40


def test_an_agent_is_explained_with_all_its_options_and_without_markup() -> None:
    for level in LEVELS:
        assert f"The level {level.name} is {level.agent}" in ddz("agents", level.name).output
    for name in agent_names():
        told = ddz("agents", name).output
        assert not re.search(r"`|:\w+:`", told)
        for option in agent_options(name):
            assert re.search(rf"(?m)^{option.name} +{re.escape(option.written)}", told), option.name


def test_agents_take_names(tmp_path: Path) -> None:
    arena = ("arena", "random", "random", "--deals", "2", "--processes", "1", "--out", tmp_path / "games.csv")
    result = ddz(*arena, "--name", "one", "--name", "two")
    assert result.exit_code == 0, result.output
    assert re.search(r"one +two", result.output)
    assert "random" not in result.stdout
    assert ddz(*arena, "--resume").exit_code == 2  # a file's names belong to its settings
    for wrong, message in ((("one",), "1 names for 2 agents"), (("one", "one"), "tells no two agents apart")):
        with pytest.raises(InvalidArenaError, match=message):
            Arena(("random", "rules"), names=wrong)


def test_a_missing_tensorboard_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from ddz_training.learn.errors import MissingTensorBoardError
    from ddz_training.learn.loop import RunLog

    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(MissingTensorBoardError, match=r"pip install -e '\.\[tensorboard\]'"):
        RunLog({}, None, tmp_path / "t")
    assert not (tmp_path / "t").exists()


def test_curves_and_evaluations_are_written_as_scalars(tmp_path: Path) -> None:
    """Of a run that was killed after its checkpoint, what it wrote beyond that is hidden by what comes anew."""
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    from ddz_training.learn.imitation import ImitationLine
    from ddz_training.learn.loop import RunLog
    from ddz_training.learn.strength import Evaluation

    found = Evaluation(3, "rules", 50, wins=0.75, low=0.7, high=0.8, landlord=0.625, peasants=0.875)
    first = RunLog({}, None, tmp_path)
    for decisions, loss in ((10, 0.5), (20, 0.25), (30, 9.0)):
        first.add(ImitationLine(decisions, loss, 0.5))
    first.close()
    second = RunLog({}, None, tmp_path, done=20)
    second.add(ImitationLine(30, 0.125, 0.5))
    second.add(found)
    second.close()
    events = EventAccumulator(str(tmp_path)).Reload()
    evaluated = {f"evaluation/rules/{name}" for name in ("wins", "landlord", "peasants")}
    assert set(events.Tags()["scalars"]) == {"training/loss", "training/agreement"} | evaluated
    losses, wins = events.Scalars("training/loss"), events.Scalars("evaluation/rules/wins")
    assert [(event.step, event.value) for event in losses] == [(10, 0.5), (20, 0.25), (30, 0.125)]
    assert [(event.step, event.value) for event in wins] == [(3, 0.75)]


@pytest.mark.parametrize("command", ["selfplay", "imitate", "sb3"])
def test_every_training_takes_tensorboard_and_one_word_for_a_setting(command: str) -> None:
    told = ddz("train", command, "--help").output
    assert "--tensorboard" in told
    assert "--eval-" not in told


def test_a_setting_that_is_given_twice_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("sb3_contrib")
    for command, option in (("selfplay", ("--seed", "3", "--updates", "1")), ("sb3", ("--evaluate-deals", "3"))):
        name = option[0].removeprefix("--").replace("-", "_")
        said = refused("train", command, "--out", tmp_path / "run", "--set", f"{name}=4", *option)
        assert f"{name} is given twice: as {option[0]} and by --set {name}=" in said


def test_plots_start_at_zero_and_name_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    figure = pytest.importorskip("matplotlib.figure")
    from ddz_training.experiments import mini
    from ddz_training.experiments.experiment import read_saved

    drawn: list[Any] = []
    results = ROOT / "docs" / "results"
    for experiment in (mini.MINI_UCT, mini.MINI_AGENTS):
        monkeypatch.setattr(figure.Figure, "savefig", lambda figure, path: drawn.append(figure.axes[0]))
        assert experiment.plot is not None
        experiment.plot(read_saved(experiment.result, results / f"{experiment.file}.csv"), tmp_path / "x.png")
    assert [axes.get_ylim()[0] for axes in drawn] == [0, 0]
    assert [text.get_text() for text in drawn[1].texts].count("not played") == 1
    assert len(drawn[1].patches) == 25
