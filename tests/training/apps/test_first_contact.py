"""What a person meets first: the table of ``ddz play``, help, lists, names in tables, curves for TensorBoard."""

from __future__ import annotations

import io
import re
import shlex
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from ddz_env import Move, Rules, State
from ddz_env.core.errors import DouDizhuError
from ddz_env.core.spoken import question
from ddz_env.playing.registry import LEVELS, agent_names, agent_options
from ddz_env.table.session import PERSON, Deal, Record, Session
from ddz_env.table.texts import LANGUAGES, Texts, cells
from ddz_training.apps.cli.board import moves_by_kind, moves_table, understood
from ddz_training.measure.match.errors import InvalidArenaError
from ddz_training.measure.match.round_robin import Arena
from tests.rooms import ROOT
from tests.training.apps.terminal import commands, ddz, examples, refused


def played(rules: str, *typed: str, seat: int = 0, seed: int = 1) -> list[str]:
    """The lines of a screen of 80 columns after somebody typed something."""
    table = ("--agents", "random", "--hints", "random", "--seed", seed, "--seat", seat, "--rules", rules)
    result = ddz("play", *table, width=80, text="".join(f"{line}\n" for line in typed))
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert not [line for line in lines if len(line) > 80 and "kept in" not in line]
    return lines


def test_a_person_is_understood_at_the_table() -> None:
    lines = played("standard", "?", "h", "help", "hint", "bid 5", "q", "hint", "quit")
    told = "\n".join(lines)
    for text in ("JJJ+[3456789TQA2]", "solo chain (21)", "pair (7)", "q alone is a queen", "the bids are no bid, "):
        assert text in told
    assert told.count("the legal moves\n") == 2
    assert told.count("random would play ") == 2
    assert "Q♠  solo" in told  # a queen is a queen, in small letters too
    assert lines[-1] == "goodbye"
    for leave in ((":q",), ("EXIT",), ()):
        assert played("standard", *leave)[-1].endswith("goodbye")


def test_the_auction_and_doubling_are_understood() -> None:
    told = "\n".join(played("bidding,doubling=true", "?", "h", "3", "?", "h", "double", "quit", seat=1))
    for text in ("bid 1  bid 2  bid 3", "type bid 1", "may double", "double (2)", "type double, or no", "×2"):
        assert text in told


def test_calling_robbing_and_showing_are_understood() -> None:
    session = Session(Record(Deal(Rules.preset("robbing,showing=true"), seed=5), (PERSON,) * 3))
    typed = []
    for answer, asked in (("yes", "call"), ("no", "rob"), ("y", "rob"), ("no", "rob"), ("yes", "show")):
        assert session.question == asked
        legal = io_of(moves_table(session.view(session.seat).legal_moves(), None, session.worded))
        assert {asked, f"no {asked}"} <= set(legal.split("  ")) | {legal.split()[-1]}
        assert asked in Texts().help(asked)
        turn = session.play(understood(answer, session.question, session.rules, session.can_play))
        typed.append((str(turn.move), session.worded(turn.move, turn.number)))
    moves, texts = (list(told) for told in zip(*typed, strict=True))
    assert moves == ["bid 1", "no bid", "bid 2", "no bid", "double"]
    assert texts == ["call", "no rob", "rob", "no rob", "show"]
    assert [text for _, text in session.sight(0).history] == texts
    assert Record.parse(str(session.record())).moves == session.moves
    landlord = session.sight(0).table.landlord
    assert all(session.sight(seat).table.seats[landlord].unseen == 0 for seat in range(3))
    told = "\n".join(played("robbing,showing=true", "h", "?", "no", "quit", seed=3))
    assert re.search("may (call|rob)", told)


def io_of(table: object) -> str:
    screen = io.StringIO()
    Console(file=screen, width=80).print(table)
    return screen.getvalue()


@pytest.mark.parametrize(
    ("before", "meant"),
    [
        ((), {"2": "bid 2", " Bid  2 ": "bid 2", "no": "no bid", "pass": "no bid"}),
        (("bid 3",), {"yes": "double", "no": "no double", "pass": "no double"}),
        (("bid 3", *["no double"] * 3), {"2": "2", "q": "Q", "10": "T"}),
    ],
)
def test_short_answers_mean_what_the_stage_asks(before: tuple[str, ...], meant: dict[str, str]) -> None:
    state = State.new(5, "bidding,doubling=true")
    for move in before:
        state.step(move)
    asked = question(state.history, state.stage, state.rules)
    for text, expected in meant.items():
        assert str(understood(text, asked, state.rules, lambda move: True)) == expected
    with pytest.raises(DouDizhuError):
        state.step(understood("bid 5", asked, state.rules, state.legal_moves().__contains__))


def test_legal_moves_are_few_lines_and_none_is_missing() -> None:
    """248 moves and more fit a screen; every move's body stands in its category, with its kickers."""
    state = State.from_hands(["333444555666789TJQKA", "7", "8"], check_sizes=False)
    moves = state.legal_moves()
    assert len(moves) > 248
    shown = io_of(moves_table(moves))
    lines = shown.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80
    kinds = moves_by_kind(moves)
    numbers = Counter(move.category for move in moves)
    assert list(kinds) == list(numbers)
    for kind, number in numbers.items():
        assert f"{kind} ({number})" in shown or number == 1
    assert "333444+2×[56789TJQKA]" in kinds["plane+solos"]
    assert {Move.parse(text) for text in kinds["solo chain"]} == {m for m in moves if m.category == "solo chain"}


def test_help_names_what_can_be_typed_at_each_stage() -> None:
    for stage, word in (("play", "34567"), ("bid", "bid 1"), ("double", "double")):
        for language in LANGUAGES:
            told = Texts(language).help(stage)
            assert word in told or language == "zh"
            assert all(cells(line) <= 80 for line in told.splitlines())


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
    from ddz_training.learn.board import board
    from ddz_training.learn.errors import MissingTensorBoardError

    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(MissingTensorBoardError, match=r"pip install -e '\.\[tensorboard\]'"), board(tmp_path / "t"):
        pass
    assert not (tmp_path / "t").exists()
    with board(None) as nowhere:
        nowhere.add_evaluations([])


def test_curves_and_evaluations_are_written_as_scalars(tmp_path: Path) -> None:
    """Of a run that was killed after its checkpoint, what it wrote beyond that is hidden by what comes anew."""
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    from ddz_training.learn.board import board
    from ddz_training.learn.imitation import ImitationProgress
    from ddz_training.learn.strength import Evaluation

    found = Evaluation(3, "rules", 50, wins=0.75, low=0.7, high=0.8, landlord=0.625, peasants=0.875)
    with board(tmp_path) as first:
        for decisions, loss in ((10, 0.5), (20, 0.25), (30, 9.0)):
            first.add_line(ImitationProgress(decisions, loss, 0.5))
    with board(tmp_path, done=20) as second:
        second.add_line(ImitationProgress(30, 0.125, 0.5))
        second.add_evaluations([found])
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
    pytest.importorskip("matplotlib")
    from ddz_training.experiments import mini, mini_uct
    from ddz_training.experiments.experiment import read_saved

    drawn: list[Any] = []
    results = ROOT / "docs" / "results"
    for module, experiment in ((mini_uct, mini_uct.MINI_UCT), (mini, mini.MINI_AGENTS)):
        monkeypatch.setattr(module, "finish_figure", lambda figure, axes, *rest, **legend: drawn.append(axes))
        assert experiment.plot is not None
        experiment.plot(read_saved(experiment.result, results / f"{experiment.file}.csv"), tmp_path / "x.png")
    assert [axes.get_ylim()[0] for axes in drawn] == [0, 0]
    assert [text.get_text() for text in drawn[1].texts].count("not defined") == 1
    assert len(drawn[1].patches) == 24
