"""The command line, from outside: exit codes, messages and files.  No figure of speed is asserted."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import signal
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import typer
from rich.console import Console
from rich.progress import Progress

from ddz_training.apps.cli import named_commands
from ddz_training.apps.cli.console import counting_bar, share_bar, stopping
from ddz_training.apps.cli.signals import STOPPING
from ddz_training.apps.cli.training_bars import training_bar
from tests.training.apps.terminal import ddz, refused, start_ddz, wait_until


def shown(progress: Progress, width: int) -> list[str]:
    """The lines of a bar, as plain text."""
    screen = io.StringIO()
    Console(file=screen, width=width).print(progress)
    return screen.getvalue().splitlines()


def test_a_run_that_is_asked_to_stop_ends_after_its_block_with_advice_and_the_code_of_an_interruption(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def run(*signals: signal.Signals) -> None:
        with stopping("resume with --resume") as asked:
            assert not asked()
            for number in signals:
                signal.raise_signal(number)
            assert asked() == bool(signals)
            print("saved")

    before = signal.getsignal(signal.SIGTERM)
    run()
    assert capsys.readouterr().err == ""
    with pytest.raises(typer.Exit) as ended:
        run(signal.SIGTERM)
    assert ended.value.exit_code == 130
    told = capsys.readouterr()
    assert (told.out, told.err) == ("saved\n", f"{STOPPING}\nstopped; resume with --resume\n")
    with pytest.raises(KeyboardInterrupt):
        run(signal.SIGINT, signal.SIGINT)  # the second ends it at once
    assert capsys.readouterr().out == ""
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_training_shows_how_far_it_is_and_a_table_of_every_evaluation(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    from ddz_training.learn.loop import Budget, Counters
    from ddz_training.learn.ppo.selfplay import CurveLine
    from ddz_training.learn.strength import Evaluation

    found = [Evaluation(1, "random", 50, wins=0.75, low=0.7, high=0.8, landlord=0.6, peasants=0.9)]
    run = SimpleNamespace(counters=Counters(decisions=100, seconds=1.0))  # resumed: their second does not count
    told_of = {"update": 1, "games": 1200, "decisions": 180, "seconds": 3.0, "entropy": 0.5, "explained": 0.25}
    line = CurveLine(**{field.name: told_of.get(field.name, 0) for field in fields(CurveLine)})
    with training_bar(cast(Any, run), Budget(updates=4)) as calls:
        run.counters.update, run.counters.decisions, run.counters.seconds = 1, 180, 3.0
        calls["on_update"](line)
        calls["on_evaluation"]([])
        calls["on_evaluation"](found)
    told = capsys.readouterr().err
    for text in ("After 1 update, 50 duplicate deals each", "random", "75.0", "70.0–80.0", "60.0", "90.0"):
        assert text in told
    assert "update 1 · 1,200 games · entropy 0.50 · critic explains 25 % · 40 decisions/s" in told
    assert "25 %" in told


@pytest.mark.parametrize("width", [60, 80, 160])
def test_a_bar_loses_nothing_on_a_narrow_screen(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ddz_training.apps.cli.console._LOG_WIDTH", width)
    share, count = share_bar(), counting_bar()
    state = "update 120 · 1,203,400 games · 41,230 decisions/s · entropy 0.51 · critic explains 78 %"
    share.add_task("training", total=60.0, completed=15.0, state=state)
    count.add_task("deals × 120 pairs", total=120_000, completed=15_000)
    bar, *words = shown(share, width)
    assert bar.startswith("training")
    assert " 25 % " in bar
    assert " ".join(words).split() == state.split()
    [counted] = shown(count, width)
    assert counted.startswith("deals × 120 pairs")
    assert " 15000/120000 " in counted
    for line in (bar, counted):
        assert re.search(r"\d:\d\d:\d\d eta -:--:--", line)  # seconds may pass between the task and the picture
        assert len(line.rstrip()) <= width


def test_arena_prints_a_table_and_writes_files(tmp_path: Path) -> None:
    table, summary, games = tmp_path / "t.csv", tmp_path / "t.json", tmp_path / "games.jsonl"
    two = ("arena", "random", "random-staged")
    result = ddz(*two, "--deals", 5, "--processes", 1, "--csv", table, "--json", summary, "--out", games)
    assert result.exit_code == 0, result.output
    for text in ("random-staged", "landlord", "peasants", "overall", "95 %"):
        assert text in result.output
    assert "score" not in result.output  # it would repeat the win rates
    document = json.loads(summary.read_text())
    assert document["settings"]["agents"] == ["random", "random-staged"]
    assert [row["deals"] for row in document["results"]] == [5, 5]
    assert {"mean", "low", "high", "count"} == set(document["results"][0]["wins"])
    assert table.read_text().splitlines()[0].startswith("agent,opponent,deals,games,landlord_wins,landlord_wins_low")
    assert len(games.read_text().splitlines()) == 11
    assert ddz(*two, "--deals", "5", "--out", games, "--resume").exit_code == 0
    assert "--resume" in refused(*two, "--out", games)
    assert "seed" in refused(*two, "--seed", "9", "--out", games, "--resume")


def test_arena_of_three_ends_with_standings() -> None:
    result = ddz("arena", "random", "random-staged", "random", "--deals", "2", "--processes", "1", "--rules", "bidding")
    assert result.exit_code == 0, result.output
    for text in ("random #2", "Against all others", "stake scoring", "score overall"):
        assert text in " ".join(result.output.split())


def test_own_agent_from_the_current_directory(tmp_path: Path) -> None:
    (tmp_path / "cli_own_agent.py").write_text(
        "class MyAgent:\n    name = 'mine'\n    def act(self, view, rng):\n        return view.legal_moves()[0]\n"
    )
    done = start_ddz("arena", "cli_own_agent:MyAgent", "random", "--deals", "2", cwd=tmp_path)
    told, errors = done.communicate(timeout=300)
    assert done.returncode == 0, errors
    assert "cli_own_agent:MyAgent" in told


IGNORED = [
    ("bidding 3344567TJQQKA22BR --role peasant-up", "--role"),
    ("bidding 3344567TJQQKA22BR --bottom 359 --bid 0", "--bid"),
    ("bidding 3344567TJQQKA22BR --bottom 359 --bid 2 --rules standard,doubling=true", "--bid"),
    ("replay game.txt --game 1", "--game"),
    ("rate --out l.sqlite --rules bidding --no-timing", "--rules and --no-timing"),
    ("rate --out l.sqlite --deals 200", "--deals"),
    ("solve 'KK5543 / 225543' --landlord 2", "--landlord"),
    ("puzzles 12 --make 3", "the number"),
    ("puzzles --make 3 --answer", "--answer"),
    ("puzzles --answer", "--answer"),
    ("puzzles --deal 9+9", "--deal"),
    ("puzzles 12 --out q.txt", "--out"),
    ("benchmark rules --all --deals 1", "--all"),
    ("benchmark --check mine.json --deals 3", "--deals"),
    ("benchmark --field --name mine", "--name"),
]
"""What the rest of a line leaves without effect, defaults that are typed included."""


@pytest.mark.parametrize(("line", "without_effect"), IGNORED)
def test_an_option_that_would_be_ignored_is_refused_before_any_work(
    line: str, without_effect: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    assert refused(*shlex.split(line)).endswith(f": leave out {without_effect}")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


NO_FILE = [f"train {name} --out empty" for name in ("belief", "curves", "dmc", "sb3", "selfplay")]
WRONG = {
    "no agent is called 'nobody'": [
        *("agents nobody", "arena rules nobody", "benchmark nobody", "botzone bot --agent nobody"),
        *("botzone bundle --agent nobody --out x.zip", "play --agents nobody", "watch nobody", "web --adviser nobody"),
    ],
    "cannot write into empty": ["demo --out empty", "record rules --out empty", *NO_FILE],
    "is a folder": ["export --out .", "study tendency --out .", "train imitate --out ."],
    "there is no puzzle 99999": ["puzzles 99999"],
    "two or three hands separated by '+'": ["puzzles --make 2 --deal 8"],
    "two agents": ["arena random", "rate rules"],
    "unknown rules preset 'poker'": ["arena random random --rules poker", "rules poker"],
    "no module 'mymodule' in the current folder or on the path": ["arena mymodule:MyAgent random"],
    "no module 'json.nosuch' in the current folder or on the path": ["arena json.nosuch:Foo random"],
    "did you mean 'botzone'?": ["arena botzon:./bot random"],
    "unknown scoring 'chess'": ["arena random random --scoring chess"],
    "--out": ["arena random random --resume"],
    "cannot read 'Z'": ["actions zebra"],
    "is no move": ["actions 34J"],
    "seat 0 has 2 cards": ["bidding 34"],
    "empty is empty": ["botzone log empty"],
    "a match has 3 seats": ["botzone match rules"],
    "no such page": ["docs nowhere.md"],
    "3 agents for 2 other seats": ["play --agents random;random;random"],
    "--seat=2 must be an integer in 0..1": ["play --seat 2 --rules mini"],
    "unknown language 'fr'": ["play --lang fr"],
    "there is no file nowhere": ["replay nowhere"],
    "no position in empty": ["solve --file empty"],
    "there is no option 'iterations'": ["study equivalent rules --search rules"],
    "empty": ["export empty --out x.onnx"],
    "name one agent, or 3": ["watch rules rules"],
    "ddz play is for people": ["watch person"],
}
"""What is said to wrong inputs, of which every command has one at least."""


@pytest.mark.parametrize(("line", "message"), [(line, message) for message, lines in WRONG.items() for line in lines])
def test_every_command_says_in_one_line_what_is_wrong(
    line: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if line.startswith(("train", "demo", "export")):
        pytest.importorskip("torch")
    if line.startswith("web"):
        pytest.importorskip("starlette")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").touch()
    assert message in refused(*line.split())
    assert [path.name for path in tmp_path.iterdir()] == ["empty"]


def test_no_command_is_without_a_wrong_input() -> None:
    """Experiments check theirs alike: tests/training/apps/test_cli_faults.py."""
    tried = [line for lines in WRONG.values() for line in lines]
    names = [name for _, name, _ in named_commands()]
    assert [name for name in names if not any(line.startswith(f"{name} ") for line in tried)] == ["reproduce"]


def test_unknown_commands_and_options_are_usage_errors() -> None:
    assert ddz("dance").exit_code == 2
    assert ddz("arena", "random", "random", "--deals", "0").exit_code == 2


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("rules", "openspiel"),
        ("rules rlcard", "kicker_repeat"),
        ("actions", "plane+solos"),
        ("actions 42", "trio+solo 333+"),
        ("actions 333444+58", "384 (kicker 8)"),
        ("actions 9999", "9999: bomb; action 74 (bomb 9999)"),
        ("solve '33 / 4'", "33 / 4: the first hand wins (1 node, "),
        ("solve '35 / 4 / 5' --landlord 2", "35 / 4 / 5: the peasants win (2 nodes, "),
    ],
)
def test_what_is_looked_up_is_told(line: str, told: str) -> None:
    assert told in ddz(*shlex.split(line)).stdout


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="POSIX process groups")
@pytest.mark.parametrize("with_signal", ["SIGKILL", pytest.param("SIGINT", marks=pytest.mark.long)])
def test_a_run_that_is_cut_off_resumes_with_nothing_lost(tmp_path: Path, with_signal: str) -> None:
    arena = ("arena", "random", "random-staged", "--no-timing", "--seed", "4")
    whole, cut = tmp_path / "whole.csv", tmp_path / "cut.csv"
    process = start_ddz(*arena, "--deals", "100000", "--out", str(cut), cwd=tmp_path)
    wait_until(process, lambda: cut.exists() and cut.read_bytes().count(b"\n") >= 24)
    os.killpg(process.pid, getattr(signal, with_signal))
    _, errors = process.communicate(timeout=60)
    if with_signal == "SIGINT":
        assert process.returncode == 130
        [said] = re.findall("go on with: (.+)\n", errors)
        assert sorted(shlex.split(said)) == sorted(["ddz", *arena, "--deals", "100000", "--out", str(cut), "--resume"])
    kept = cut.read_bytes().count(b"\n") // 2
    deals = str(kept + 5)
    for file, more in ((cut, ["--resume"]), (whole, [])):
        done = start_ddz(*arena, "--deals", deals, "--out", str(file), *more, cwd=tmp_path)
        _, errors = done.communicate(timeout=300)
        assert done.returncode == 0, errors
    assert cut.read_bytes() == whole.read_bytes()
