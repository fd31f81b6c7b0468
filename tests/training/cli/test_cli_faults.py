"""What a person reads when something is wrong: one line, and before the first game where that is possible."""

from __future__ import annotations

import errno
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import Mock

import pytest

from ddz_env.support.errors import InvalidMoveError
from ddz_training.cli import tables
from ddz_training.cli.app import list_commands
from ddz_training.cli.console import EXIT_INTERRUPTED
from ddz_training.cli.faults import EXIT_BAD_INPUT, EXIT_FAULT, EXIT_UNREAD
from tests.packages import ROOT, pythonpath
from tests.training.cli.terminal import ddz, done, refused

needs_posix = pytest.mark.skipif(os.name != "posix", reason="files and signals are those of POSIX")
TWO = "arena random random-staged --deals 1 --processes 1"


def cut_off() -> SystemError:
    """The error of a compiled call that ends while Ctrl-C arrives."""
    error = SystemError("CPUDispatcher returned a result with an exception set")
    error.__cause__ = KeyboardInterrupt()
    return error


@pytest.mark.parametrize(
    ("error", "message", "code"),
    [
        (InvalidMoveError("no move"), "no move", EXIT_BAD_INPUT),
        (KeyboardInterrupt(), "interrupted", EXIT_INTERRUPTED),
        (cut_off(), "interrupted", EXIT_INTERRUPTED),
        (ModuleNotFoundError("No module named 'torch'", name="torch.nn"), "pip install -e '.[train]'", 2),
        (ModuleNotFoundError("No module named 'mine'", name="mine"), "No module named 'mine'", 2),
        (PermissionError(errno.EACCES, "Permission denied", "x.csv"), "x.csv: Permission denied", 2),
        (OSError(errno.ENOSPC, "No space left on device"), "No space left on device", 2),
        (InvalidMoveError("9" * 100_000), f"{'9' * 2_000} ...", EXIT_BAD_INPUT),
        (MemoryError("8 GiB"), "not enough memory 8 GiB", 2),
        (KeyError("lost"), "a fault of ddz, KeyError: 'lost'; ddz --debug shows where", EXIT_FAULT),
    ],
)
def test_every_error_is_one_message_and_a_traceback_only_on_request(
    error: BaseException, message: str, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "make_action_table", Mock(side_effect=error))
    result = ddz("show", "actions")
    [said] = result.stderr.splitlines()
    assert (message in said, len(said) < 2_100, result.exit_code) == (True, True, code)
    debugged = ddz("--debug", "show", "actions")
    assert debugged.exception is error or debugged.exit_code == EXIT_INTERRUPTED


KEPT = {
    "curves/training_curves.csv": "stage,update,decisions,games,seconds\na,1,many,1,1\n",
    "day_broken.py": "class MyAgent:\n    def act(self)\n",
    "empty": "",
    "games.csv": '# {"agents": ["random", "rules"]}\ndeal,winner\n0,landlord\n',
    "old.safetensors": "weights",
    "old.txt": "positions",
}
"""Files that are there before a command that is refused, and afterwards."""

REFUSED = {
    # what Click checks
    "arnea": "Did you mean 'arena'?",
    "record rules": "Missing option '--out'",
    "warmup --fast": "No such option",
    # names
    "reproduce mini-cencus": "did you mean 'mini-census'?",
    "benchmark rules --deals 6": "this is now: ddz benchmark run rules --deals 6",
    "benchmark --field --full": "this is now: ddz benchmark field --full",
    "benchmark --sample 3 --check games.csv": "this is now: ddz benchmark check --sample 3 games.csv",
    "study records games.csv --games 3": "this is now: ddz benchmark records games.csv --games 3",
    "benchmark check old.txt": "old.txt",
    "benchmark field --full --deal-file old.txt": "leave out --deal-file",
    "reproduce landlord games=2": "settings are options now: --games 2, not games=2",
    "reproduce landlord --gmaes 2": "Did you mean",
    "mcp --agents 'rules;rulez'": "did you mean 'rules'?",
    "agents ghost": "no agent is called 'ghost'",
    "arena rules ghost": "no agent is called 'ghost'",
    "benchmark run ghost": "no agent is called 'ghost'",
    "botzone bot --agent ghost": "no agent is called 'ghost'",
    "botzone bundle --agent ghost --out x.zip": "no agent is called 'ghost'",
    "play --agents ghost": "no agent is called 'ghost'",
    "rate rules ghost": "no agent is called 'ghost'",
    "record ghost --out new": "no agent is called 'ghost'",
    "study equivalent ghost": "no agent is called 'ghost'",
    "benchmark records empty --agent ghost": "no agent is called 'ghost'",
    "study tendency --top ghost": "no agent is called 'ghost'",
    "watch ghost --out new/game.txt": "no agent is called 'ghost'",
    "web --adviser ghost": "no agent is called 'ghost'",
    "arena mymodule:MyAgent random": "no module 'mymodule'",
    "arena day_broken:MyAgent random": "SyntaxError: expected ':' (day_broken.py, line 2)",
    "arena expectimax rules": "add --rules mini",
    "arena rules random --over random": "name at least three agents",
    "arena rules random policy --over ghost": "ghost",
    "arena rules random --partner ghost": "no agent is called 'ghost'",
    "arena rules random --partner rules --rules bidding": "a partner needs three players and a fixed landlord",
    "show rules poker": "unknown rules preset 'poker'",
    # values
    "arena random rules --deals 0": "0 is not in the range",
    "arena random rules --seed -1": "seed",
    "bidding 3344": "cards",
    "puzzles 99999": "there is no puzzle 99999",
    "solve '3 / 4' --without trios": "did you mean 'trio'",
    "solve '3 / 4' --without solo": "categories must have solo",
    "show actions 400": "neither a move nor an action id",
    "train dmc --out x": "say how long to train",
    "train imitate --out x.safetensors --init old.safetensors": "leave out --init",
    "train selfplay --updates 1 --out x --set lam=1": "settings are options now: --gae-lambda 1, not lam=1",
    "train selfplay --updates 1 --out x --gae-lambda 2": "gae_lambda=2 must be a number from 0 to 1",
    # files
    "arena random rules --out games.xls": "must end in .csv or .sqlite",
    "arena random rules --table games.csv": "holds the results of an earlier run",
    "botzone log empty": "empty is empty",
    "botzone match random random random --out old.txt": "is there already",
    "demo --out empty": "is a file",
    "export --half --out old.safetensors": "is there already",
    "replay empty --review": "a saved game begins with the line",
    "solve --file old.txt": "old.txt:1: cannot read",
    "train belief --out empty": "is a file",
    "train curves --out curves": "is not a training curve",
    "train sb3 --out empty": "is a file",
}
"""What is said to wrong lines, of which every command has one at least."""


@pytest.mark.parametrize(("line", "message"), REFUSED.items())
def test_a_wrong_line_is_refused_before_anything_is_done(
    line: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needed = {"train": "sb3_contrib", "demo": "torch", "export": "torch", "web": "starlette", "mcp": "mcp"}
    pytest.importorskip(needed.get(line.split()[0], "click"))
    monkeypatch.chdir(tmp_path)
    for name, text in KEPT.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text)
    names = sorted(Path().rglob("*"))
    assert message in refused(*shlex.split(line))
    assert sorted(Path().rglob("*")) == names
    assert {name: Path(name).read_text() for name in KEPT} == KEPT


def test_every_command_has_a_wrong_line() -> None:
    without = {"show observation"}  # it takes no values
    assert {name for _, name, _ in list_commands() if f"{name} " not in " ".join(REFUSED)} == without


@needs_posix
def test_tables_may_go_to_a_device_and_replace_earlier_tables(tmp_path: Path) -> None:
    for table in (tmp_path / "table.csv", tmp_path / "table.csv", "/dev/null"):
        done(*TWO.split(), "--table", table)


@needs_posix
@pytest.mark.parametrize(
    "line",
    [
        f"{TWO} --deal-file",
        f"{TWO} --out pipe.csv",
        f"{TWO} --out pipe.sqlite",
        "record --out new --from",
        "replay",
        "replay --review",
        "solve --file",
        "botzone log",
        "watch random --after",
        "train imitate --out new.safetensors --data",
    ],
)
@pytest.mark.parametrize("target", [None, "/dev/zero"])
def test_what_may_never_end_is_not_read(
    line: str, target: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    pipe = Path(next((word for word in line.split() if word.startswith("pipe")), "pipe"))
    pipe.symlink_to(target) if target else os.mkfifo(pipe)
    assert refused(*line.split(), *([] if pipe.suffix else [pipe]))
    assert [*Path().iterdir()] == [pipe]


@pytest.mark.skipif(getattr(os, "geteuid", lambda: 0)() == 0, reason="who may do everything writes everywhere")
def test_a_folder_that_may_not_be_written_is_found_before_the_first_game(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert "cannot write into" in refused(*TWO.split(), "--out", tmp_path / "new" / "games.csv")


@pytest.mark.parametrize(
    ("command", "package", "extra"),
    [
        ("train selfplay --updates 1 --out out", "torch", "train"),
        ("web", "uvicorn", "web"),
        ("reproduce mini-agents --plot x.png", "matplotlib", "plot"),
    ],
)
def test_a_missing_extra_is_named_with_its_command(command: str, package: str, extra: str, tmp_path: Path) -> None:
    code = f"import sys; sys.modules[{package!r}] = None; from ddz_training.cli.app import main; main()"
    line, env = [sys.executable, "-c", code, *command.split()], {**os.environ, "PYTHONPATH": pythonpath()}
    ended = subprocess.run(line, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert (ended.returncode, len(ended.stderr.splitlines())) == (2, 1), ended.stderr
    assert f"pip install -e '.[{extra}" in ended.stderr
    assert not list(tmp_path.iterdir())


@needs_posix
@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("ddz play --agents random --out game.txt 0<&- >&- 2>&-; code=$?; test -s game.txt && exit $code", 0, ""),
        ("PYTHONIOENCODING=latin-1 ddz show rules", 0, ""),
        ("ddz show actions | true; exit ${PIPESTATUS[0]}", EXIT_UNREAD, ""),
        (
            "mkdir gone; cd gone; rmdir ../gone; ddz show rules",
            EXIT_BAD_INPUT,
            "the folder that this was started in is",
        ),
    ],
)
def test_a_command_ends_well_whatever_streams_and_folder_it_is_started_with(
    line: str, code: int, said: str, tmp_path: Path
) -> None:
    defined = f'ddz() {{ "{sys.executable}" -m ddz_training "$@"; }}; {line}'
    env = {**os.environ, "PYTHONPATH": pythonpath()}
    ended = subprocess.run(["bash", "-c", defined], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert (ended.returncode, ended.stderr.count("\n")) == (code, 1 if said else 0), ended.stderr
    assert said in ended.stderr


SLEEPS = """
import signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background has it ignored
from ddz_training.cli import tables
from ddz_training.cli.app import main
def make_action_table():
    print("ready", flush=True)
    time.sleep(60)
tables.make_action_table = make_action_table
main()
"""


@needs_posix
@pytest.mark.parametrize(
    ("number", "code", "said"), [(signal.SIGINT, EXIT_INTERRUPTED, "interrupted\n"), (signal.SIGTERM, -15, "")]
)
def test_ctrl_c_ends_a_command_in_one_line_and_sigterm_keeps_its_action(
    number: signal.Signals, code: int, said: str
) -> None:
    command = [sys.executable, "-c", SLEEPS, "show", "actions"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    time.sleep(0.05)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors.decode()) == (code, said)
