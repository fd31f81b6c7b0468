"""The command line, from outside: exit codes, messages and files.  No figure of speed is asserted."""

from __future__ import annotations

import codecs
import importlib
import json
import os
import re
import shlex
import signal
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import click
import pytest

from ddz_env.playing.registry import LEVELS, list_agent_names, list_agent_options
from ddz_env.support.options import Options
from ddz_papers.experiments.registry import EXPERIMENTS
from ddz_training.cli import console
from ddz_training.cli.app import HEADINGS, app
from ddz_training.cli.console import STOPPING_MESSAGE, stop_on_interrupt
from ddz_training.cli.info import ABLATIONS
from ddz_training.cli.options import Count, Workers, take_options_of
from ddz_training.cli.tables import read_strengths
from ddz_training.cli.train import train_under_bar
from ddz_training.measure.store import read_results
from tests.packages import ROOT
from tests.training.cli.terminal import commands, ddz, done, refused, start_ddz, wait_until

PAGE = 4096
"""Bytes of the smallest transaction of SQLite."""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, an empty one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


# --- what every command has --------------------------------------------------


def test_every_help_fits_and_has_examples_that_can_be_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    for path, command in commands():
        shown = done(*path, "-h", width=80)
        assert not [line for line in shown.output.splitlines() if len(line) > 80 and "  ddz" not in line], path
        assert not re.search(r"`|:\w+:", shown.output), path
        lines = re.findall(r"(?m)^ +(ddz .*)$", command.help or "")
        assert lines, f"ddz {' '.join(path)} has no example"
        for line in lines:
            assert line in shown.output
            words = shlex.split(line)[1:]
            assert words[: len(path)] == list(path)
            if not isinstance(command, click.Group):
                monkeypatch.chdir(ROOT)
                command.make_context(path[-1], words[len(path) :], parent=click.Context(app, info_name="ddz"))


@dataclass(frozen=True)
class Where(Options):
    """Where.

    Attributes:
        folder: Its folder.
    """

    folder: Path


@dataclass(frozen=True, kw_only=True)
class What(Where):
    """What.

    Attributes:
        at_most: How many.
        timing: Whether.
        part: Where from.
    """

    at_most: Count | None = None
    timing: bool = True
    part: Workers = field(default_factory=Workers)


def test_the_fields_of_options_are_options_of_a_command_which_gets_one_object() -> None:
    got: list[Options] = []
    command = click.command()(take_options_of(What)(lambda options: got.append(options)))
    assert [option.opts[0] for option in command.params] == [
        "--at-most",
        "--timing",
        "--processes",
        "--ray",
        "--folder",
    ]
    assert command.params[0].help == "How many."  # type: ignore[attr-defined]
    assert command.params[-1].required
    command.main(["--folder", "a", "--at-most", "3", "--no-timing", "--ray"], standalone_mode=False)
    assert got == [What(folder=Path("a"), at_most=3, timing=False, part=Workers(2, True))]
    with pytest.raises(click.BadParameter, match="0 is not in the range"):
        command.main(["--folder", "a", "--at-most", "0"], standalone_mode=False)


def test_the_help_lists_commands_under_their_headings() -> None:
    shown = ddz("--help").stdout
    assert re.findall(r"(?m)^(\w[\w ]+):$", shown) == ["Options", *HEADINGS]
    for name in app.commands:
        assert re.search(rf"(?m)^  {name} ", shown)


@pytest.mark.parametrize(
    ("line", "following"),
    [
        ("record random --deals 1 --out games", "train imitate --out warm.safetensors --data games"),
        ("study tendency --top random --bottom random --deals 9 --out d.csv", "arena random random --deal-file d.csv"),
    ],
)
def test_the_command_that_comes_next_can_be_typed(line: str, following: str, here: Path) -> None:
    [shown] = re.findall(r"(?m)^  (ddz .*)$", done(*line.split(), "--processes", "1").stderr)
    assert following in shown
    done(*shlex.split(shown)[1:])


# --- single commands ---------------------------------------------------------


def test_a_run_that_is_to_stop_ends_after_its_block_with_advice_and_the_code_of_an_interruption(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def run(*signals: signal.Signals) -> None:
        with stop_on_interrupt("resume with --resume") as ended:
            assert not ended()
            for number in signals:
                signal.raise_signal(number)
            assert ended() == bool(signals)
            print("saved")

    before = signal.getsignal(signal.SIGINT)
    run()
    assert capsys.readouterr().err == ""
    with pytest.raises(click.exceptions.Exit) as ended:
        run(signal.SIGINT)
    assert ended.value.exit_code == 130
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("saved\n", f"{STOPPING_MESSAGE}\nstopped; resume with --resume\n")
    with pytest.raises(KeyboardInterrupt):
        run(signal.SIGINT, signal.SIGINT)  # the second ends it at once
    assert capsys.readouterr().out == ""
    assert signal.getsignal(signal.SIGINT) is before


def test_a_training_shows_how_far_it_is_and_a_table_of_every_evaluation(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    from ddz_training.learn.loop import Budget, Counters
    from ddz_training.learn.strength import Evaluation

    evaluations = [Evaluation(1, "random", 50, wins=0.75, low=0.7, high=0.8, landlord=0.6, peasants=0.9)]
    run = Mock(counters=Counters(decisions=100, seconds=1.0))  # resumed: their second does not count

    def train(*_: object, on_update: Any, on_evaluation: Any, **more: object) -> None:
        run.counters.update, run.counters.decisions, run.counters.seconds = 1, 180, 3.0
        on_update("what was learned")
        on_evaluation([])
        on_evaluation(evaluations)

    monkeypatch.setattr("ddz_training.learn.loop.train", train)
    train_under_bar(run, Budget(updates=4), None)
    assert run.close.called
    shown = capsys.readouterr().err
    for text in ("After 1 update, 50 duplicate deals each", "random", "75.0", "70.0–80.0", "60.0", "90.0"):
        assert text in shown
    assert "25 % · what was learned · 40 decisions/s" in shown


def test_arena_prints_a_table_and_writes_files(here: Path) -> None:
    settings = ("--deals", 5, "--processes", 1, "--out", "games.csv")
    two = ("arena", "one=random", "two=random-staged", *settings)
    result = done(*two, "--table", "t.json")
    for text in ("one", "landlord", "peasants", "overall", "95 %"):
        assert text in result.output
    assert "score overall" not in result.output  # it would repeat the win rates
    assert "random" not in result.stdout
    document = json.loads(Path("t.json").read_text())
    assert document["settings"]["agents"] == ["random", "random-staged"]
    assert [row["deals"] for row in document["results"]] == [5, 5]
    assert {"mean", "low", "high", "count"} == set(document["results"][0]["wins"])
    assert len(Path("games.csv").read_text().splitlines()) == 12
    assert "names" in refused("arena", "random", "random-staged", *settings)  # they belong to the file's settings
    done(*two, "--table", "t.csv")
    assert Path("t.csv").read_text().startswith("agent,opponent,deals,games,landlord_wins,landlord_wins_low")
    assert "seed" in refused(*two, "--seed", "9")
    assert "partner" in refused(*two, "--partner", "random")


def test_arena_compares_two_agents_against_a_third_beside_a_partner() -> None:
    shown = done(
        "arena", "rules", "random", "random-staged", "--deals", 5, "--over", "random", "--partner", "rules"
    ).stdout
    assert "rules is the second peasant" in shown
    assert "Differences on the same deals" in shown
    assert re.search(r"rules +random +random-staged +5 +[+-]\d", shown)


def test_an_agent_is_explained_with_all_its_options_and_without_markup() -> None:
    listed = ddz("agents").stdout
    for name in list_agent_names():
        assert len(re.findall(rf"(?m)^{name} +[\d–]", listed)) == 1, name
        shown = ddz("agents", name).output
        assert not re.search(r"`|:\w+:`", shown)
        for option in list_agent_options(name):
            assert re.search(rf"(?m)^{option.name} +{re.escape(option.default_text)}", shown), option.name
    for level in LEVELS:
        assert f"The level {level.name} is {level.agent}" in ddz("agents", level.name).output
    names = [name for name in re.findall(r"(?m)^([a-z-]+) +[\d–]", listed) if name != "agent"]
    assert names[:4] == [level.name for level in LEVELS]
    assert names[4] == next(iter(read_strengths()))
    assert set(names[-len(ABLATIONS) :]) == set(ABLATIONS)


def test_experiments_are_listed_and_one_is_explained() -> None:
    listed = done("reproduce").stdout
    assert re.findall(r"(?m)^([a-z-]+[a-z]) +\S", listed)[1:-1] == list(EXPERIMENTS)
    shown = done("reproduce", "landlord", "--help").stdout
    assert "Whitehouse" in shown
    assert re.search(r"(?s)--tree-iterations INTEGER .*?\[default: 250\]", shown)


@pytest.mark.parametrize("given", [("--only", "random,random-staged"), ("--only", "random", "--only", "random-staged")])
def test_a_list_is_given_at_once_or_in_parts(given: tuple[str, ...]) -> None:
    shown = done("reproduce", "agent-strength", "--deals", 2, "--processes", 1, *given).stdout
    assert re.findall(r"(?m)^(random\S*) +2", shown) in (["random", "random-staged"], ["random-staged", "random"])


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("show rules", "openspiel"),
        ("show rules rlcard", "kicker_repeat"),
        ("show actions", "plane+solos"),
        ("show observation", "move_2, actor_2 … actor_15"),
        ("show observation --state", "State, 216 bytes"),
        ("show actions 42", "trio+solo 333+"),
        ("show actions 333444+58", "384 (kicker 8)"),
        ("show actions 9999", "9999: bomb; action 74 (bomb 9999)"),
        ("arena random random-staged random --deals 2 --processes 1 --rules bidding", "random #2"),
        ("arena random random-staged random --deals 2 --processes 1 --rules bidding", "score overall"),
        ("arena random random-staged --deals 2 --processes 1 --rules bidding", "both win where both are peasants"),
        ("arena random random rules --deals 1 --processes 1", "Against all others"),
        ("solve '33 / 4'", "33 / 4: the first hand wins (1 node, "),
        ("solve '35 / 4 / 5' --landlord 2", "35 / 4 / 5: the peasants win (2 nodes, "),
        ("solve '33344 / 55566'", "the first hand wins"),
        ("solve '33344 / 55566' --without trio+pair", "the second hand wins"),
    ],
)
def test_what_is_looked_up_is_told(line: str, shown: str) -> None:
    assert shown in ddz(*shlex.split(line)).stdout


def test_positions_are_read_behind_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "positions.txt").write_bytes(codecs.BOM_UTF8 + b"33 / 4\n")
    assert "33 / 4: the first hand wins" in done("solve", "--file", tmp_path / "positions.txt").stdout


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="POSIX process groups")
@pytest.mark.parametrize("with_signal", ["SIGKILL", pytest.param("SIGINT", marks=pytest.mark.long)])
def test_a_run_that_is_cut_off_resumes_with_nothing_lost(tmp_path: Path, with_signal: str) -> None:
    arena = ("arena", "random", "random-staged", "--no-timing", "--seed", "4")
    whole, cut, log = (tmp_path / name for name in ("whole.csv", "cut.csv", "cut.sqlite-wal"))
    process = start_ddz(*arena, "--deals", "100000", "--out", str(cut), cwd=tmp_path)
    wait_until(process, lambda: log.exists() and log.stat().st_size > 20 * PAGE)
    os.killpg(process.pid, getattr(signal, with_signal))
    _, errors = process.communicate(timeout=60)
    if with_signal == "SIGINT":
        assert process.returncode == 130
        assert "the same command resumes it" in errors
    kept = len(read_results(tmp_path / "cut.sqlite")[1]) // 2
    assert kept > 5
    deals = str(kept + 5)
    for file in (cut, whole):
        done(*arena, "--deals", deals, "--processes", 1, "--out", file)
    assert cut.read_bytes() == whole.read_bytes()


def test_without_a_terminal_lines_say_how_long_the_rest_takes_tenth_by_tenth(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [0.0]
    monkeypatch.setattr(console, "time", SimpleNamespace(monotonic=lambda: now[0]))
    with console.progress_bar("deals") as tell:
        for done_now, seconds in (
            *((2, 0.0), (3, 600.0), (10, 630.0)),  # first it compiles
            *((40, 640.0), (50, 641.0), (100, 700.0), (199, 800.0), (199, 1400.0)),
        ):
            now[0] = seconds
            tell(done_now, 1000)
    said = [line.partition(" of ")[0] for line in capsys.readouterr().err.splitlines()]
    assert said == ["deals: 40", "deals: 100", "deals: 199"]


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "killpg"), reason="POSIX process groups")
@pytest.mark.parametrize("line", ["reproduce mini-uct --deals 40 --games 1", "benchmark run rules --deals 6"])
@pytest.mark.parametrize("with_signal", ["SIGTERM", "SIGKILL"])
def test_a_killed_study_goes_on_to_the_results_of_an_unbroken_one(line: str, with_signal: str, tmp_path: Path) -> None:
    whole, cut, log = (tmp_path / name for name in ("whole.csv", "cut.csv", "cut.sqlite-wal"))
    process = start_ddz(*line.split(), "--out", str(cut), cwd=tmp_path)
    wait_until(process, lambda: log.exists() and log.stat().st_size > 8 * PAGE)
    os.killpg(process.pid, getattr(signal, with_signal))
    process.communicate(timeout=60)
    for file in (cut, whole):
        done(*line.split(), "--out", file)
    results = [[{**row, "ms_a": 0, "ms_b": 0} for row in read_results(file)[1]] for file in (cut, whole)]
    assert results[0] == results[1]


def test_a_warmup_runs_every_program_and_says_what_it_left_out(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = [("one", Path("one").touch), ("broken", partial(int, "x")), ("last", Path("last").touch)]
    monkeypatch.setattr(importlib.import_module("ddz_play.cli.warmup"), "PROGRAMS", programs)
    assert "left out: broken: invalid literal" in done("warmup").stderr
    assert sorted(path.name for path in here.iterdir()) == ["last", "one"]
