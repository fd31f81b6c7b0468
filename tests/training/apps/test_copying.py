"""What is printed to be copied, a path or a command, is broken by no line end of ours, however narrow the terminal."""

from __future__ import annotations

import ast
import importlib
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, get_type_hints
from unittest.mock import Mock

import pytest
import typer
from typer.testing import CliRunner

from ddz_env.core.errors import command_line
from ddz_env.peers.botzone.games import botzone_game
from ddz_training.apps.botzone.match import play_match
from ddz_training.apps.cli.commands import FriendlyCommand, FriendlyGroup, FriendlyTyper, resuming
from ddz_training.apps.cli.console import quoted, tell
from tests.rooms import SOURCES
from tests.training.apps.terminal import commands, ddz, examples

CLI = SOURCES["ddz_training"] / "apps" / "cli"
GAME = ("--agents", "rules", "--seed", "1")
TWO = ("random", "random-staged", "--deals", "1", "--processes", "1")


@pytest.fixture
def long(tmp_path: Path) -> Path:
    """A folder with a path that fits no terminal and that a shell reads only in quotes."""
    folder = tmp_path / ("a long name " * 12).strip() / "牌局 :smile: [bold]x"
    folder.mkdir(parents=True)
    return folder


def _calls(name: str) -> Iterator[tuple[str, ast.Call]]:
    """Calls of a function or method in the commands' files, but for the file that prints."""
    for file in sorted(CLI.glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))) if file.name != "console.py" else ():
            if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) == name:
                yield f"{file.name}:{node.lineno}", node


def test_strings_are_printed_by_the_functions_that_break_no_path() -> None:
    """What goes to rich itself is a table or a picture; prose, which may be folded, holds no command and no path."""
    pictures = re.compile(r".*table|Rule|Text\.from_ansi|screen")
    for place, call in _calls("print"):
        for one in call.args if getattr(call.func, "id", "") != "print" else ():
            made = ast.unparse(one.func if isinstance(one, ast.Call) else one)
            assert pictures.fullmatch(made), f"{place} prints {made}"
    for place, call in _calls("remark"):
        written = ast.unparse(call.args[0])
        assert not re.search(r"\bddz |\b(path|file|folder|out)\b", written), f"{place} folds {written}"


def test_paths_in_what_is_told_are_written_for_a_shell() -> None:
    for place, call in _calls("tell"):
        for part in (part for one in call.args for part in ast.walk(one)):
            if isinstance(part, ast.FormattedValue):
                written = ast.unparse(part.value)
                assert not re.match(r"(out|path|file|folder|self\.path|keeper\.path)\b(?!\.stat)", written), place


def test_the_examples_of_every_help_can_be_copied() -> None:
    known = dict(commands())
    assert all(isinstance(command, (FriendlyCommand, FriendlyGroup)) for command in known.values())
    for path in ((), ("play",), ("train",), ("train", "selfplay"), ("reproduce", "mini-uct")):
        told = ddz(*path, "-h", width=40).output.splitlines()
        assert set(examples(known[path])) <= set(map(str.strip, told)), path


OTHERWISE = {("web",): ("--port", "0"), **dict.fromkeys([("botzone", "log"), ("replay",), ("solve",)], ())}
OTHERWISE |= {("benchmark", "--check"): (), ("train", "imitate", "--init"): ("--data", "x", "--out", "new.safetensors")}
"""Arguments of commands beside the file, where they are not those of the example."""


def test_a_file_that_cannot_be_used_is_named_on_one_line_by_every_command(
    long: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Experiments have all theirs from one place; the curves of a training are begun with the training."""
    monkeypatch.chdir(long)
    (long / "file").touch()
    file, seen = long / "file" / "x.csv", 0
    for path, command in commands():
        if hasattr(command, "list_commands") or (path[0] == "reproduce" and path[1] != "mini-uct"):
            continue
        hints = get_type_hints(command.callback)
        for parameter in command.params:
            if "Path" not in str(hints.get(parameter.name)) or parameter.name == "tensorboard":
                continue
            option = parameter.opts[-1]
            words = shlex.split(examples(command)[0])[1 + len(path) :]
            words = list(OTHERWISE.get(path, OTHERWISE.get((*path, option), words)))
            if option in words:
                del words[words.index(option) : words.index(option) + 2]
            told = ddz(*path, *words, *([option] if option.startswith("-") else []), file, width=40)
            named = [line for line in told.output.splitlines() if str(file) in line or quoted(file) in line]
            assert (len(named), told.exit_code) == (1, 2), (*path, option, told.output or repr(told.exception))
            seen += 1
    assert seen > 30


Said = tuple[tuple[object, ...], str, str]
"""A command, what is typed, and what stands on one line of its answer, in full."""


def _at_the_table(folder: Path, language: str) -> list[Said]:
    game = folder / "game.txt"
    spoken = ("--lang", language)
    return [
        (("play", *GAME, "--out", game, *spoken), "hint rules\nquit\n", quoted(game)),
        (("play", "--out", game), "", f"{game} is there already: "),
        (("play", *GAME), f"hint policy:path={folder}/no\nquit\n", f"{folder}/no: "),
        (("watch", "rules", "--seed", "1", "--out", folder / "looked.txt", *spoken), "", quoted(folder / "looked.txt")),
    ]


def _elsewhere(folder: Path) -> list[Said]:
    games, data, log = folder / "games.csv", folder / "data", folder / "log.json"
    log.write_text(str(play_match(botzone_game("FightTheLandlord"), ["random"] * 3, 3)), encoding="utf-8")
    return [
        (("arena", *TWO, "--out", games, "--name", f"{folder}/a", "--name", "b"), "", f"  is  {folder}/a"),
        (("arena", *TWO, "--out", games), "", f"{games} exists: add --resume"),
        (("record", "random", "--deals", "1", "--processes", "1", "--out", data), "", f"{quoted(data)}: "),
        (("botzone", "log", log, "--out", folder / "log"), "", f"{quoted(folder / 'log')}: 1 game, "),
        (("botzone", "bundle", "--out", folder / "bot.zip"), "", f"{quoted(folder / 'bot.zip')}: "),
        (("replay", folder / "no"), "", f"there is no file {folder / 'no'}"),
        (("replay", log, folder), "", f"({folder})"),
        (("rate", "--out", folder / "no.sqlite"), "", str(folder / "no.sqlite")),
    ]


@pytest.mark.parametrize(("width", "language"), [(40, "en"), (80, "zh"), (200, "en")])
def test_paths_and_commands_stand_on_one_line(width: int, language: str, long: Path) -> None:
    for arguments, typed, expected in (*_at_the_table(long, language), *(_elsewhere(long) if width == 40 else ())):
        shown = ddz(*arguments, width=width, text=typed).output.splitlines()
        assert any(expected in line for line in shown), (arguments, shown)


def test_what_is_interrupted_says_the_whole_command_that_goes_on_with_it(
    long: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measure = importlib.import_module("ddz_training.apps.cli.measure")
    for name in ("run_with_progress", "_play_league"):
        monkeypatch.setattr(measure, name, Mock(side_effect=KeyboardInterrupt))
    monkeypatch.setattr(measure, "_report_league", lambda *_: False)
    for name, file in (("arena", long / "games.csv"), ("rate", long / "league.sqlite")):
        words = (name, "random", "rules", "--out", file)
        told = ddz(*words, width=40)
        assert told.exit_code == 130, told.output
        [line] = [line for line in told.output.splitlines() if "go on with" in line]
        assert line.endswith(f"{quoted(file)} is valid, go on with: {command_line('ddz', *words, '--resume')}")


@pytest.mark.parametrize(
    ("typed", "more", "expected"),
    [
        ("run --out='a b' file", {}, "ddz run file --out 'a b' --resume"),
        ("run --out x --resume", {}, "ddz run --out x --resume"),
        ("run --start w.x --out x --start=y", {}, "ddz run --out x --resume"),
        ("run --out x", {"trust": True}, "ddz run --out x --resume --trust"),
        ("--debug run --out x -- -file", {}, "ddz run --out x --resume -- -file"),
    ],
)
@pytest.mark.skipif(os.name == "nt", reason="the quotes of POSIX shells")
def test_a_command_is_said_again_with_what_it_was_given(typed: str, more: dict[str, bool], expected: str) -> None:
    one = FriendlyTyper()

    @one.command()
    def run(
        context: typer.Context,
        file: Annotated[str, typer.Argument()] = "",
        out: str = "",
        start: str = "",
        resume: bool = False,
        trust: bool = False,
    ) -> None:
        tell(resuming(context, start=None, **more))

    @one.command()
    def other() -> None:
        """The group needs two."""

    assert CliRunner().invoke(one, shlex.split(typed)).output == expected + "\n"
