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

from ddz_env.core.errors import InvalidMoveError
from ddz_training.apps import tables
from ddz_training.apps.cli import named_commands
from ddz_training.apps.cli.console import EXIT_INTERRUPTED
from ddz_training.apps.cli.faults import EXIT_BAD_INPUT, EXIT_FAULT
from ddz_training.apps.cli.outputs import OutputError, check_output, check_output_folder
from tests.rooms import ROOT, pythonpath
from tests.training.apps.terminal import ddz, done, refused

needs_posix = pytest.mark.skipif(os.name != "posix", reason="files and signals are those of POSIX")
TWO = "arena random random-staged --deals 1 --processes 1"


def cut_off() -> SystemError:
    """What a compiled call raises that ends as Ctrl-C arrives."""
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
        (MemoryError("8 GiB"), "not enough memory 8 GiB", 2),
        (KeyError("lost"), "a fault of ddz, KeyError: 'lost'; ddz --debug shows where", EXIT_FAULT),
    ],
)
@pytest.mark.parametrize("debug", [False, True])
def test_every_error_is_one_message_and_a_traceback_only_on_request(
    error: BaseException, message: str, code: int, debug: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "action_table", Mock(side_effect=error))
    result = ddz(*["--debug"] * debug, "show", "actions")
    if debug:
        assert result.exception is error or result.exit_code == EXIT_INTERRUPTED
    else:
        [found] = result.stderr.splitlines()
        assert (message in found, result.exit_code) == (True, code)


KEPT = {
    "curves/training_curves.csv": "stage,update,decisions,games,seconds\na,1,many,1,1\n",
    "day_broken.py": "class MyAgent:\n    def act(self)\n",
    "empty": "",
    "games.csv": '# {"agents": ["random", "rules"]}\ndeal,winner\n0,landlord\n',
    "old.json": "a benchmark",
    "old.onnx": "a policy",
    "old.safetensors": "weights",
    "old.txt": "positions",
}
"""Files that are there before a command that is refused, and afterwards."""

REFUSED = {
    # what Click checks
    "No such command 'arnea'. Did you mean 'arena'?": ["arnea"],
    "'selfplay'": ["train selfply --out x"],
    "'--deals'": ["arena random rules --deal 3"],
    "Missing option '--out'": ["record rules", "train dmc"],
    "0 is not in the range x>=1": ["arena random rules --deals 0", "warmup --processes 0"],
    "'many' is not a valid integer range": ["arena random rules --deals many"],
    "'chess' is not one of 'win', 'stake', 'botzone'": ["arena random rules --scoring chess"],
    # values, agents, rules and positions
    "seed is given twice: as --seed and by --set seed=": ["train selfplay --updates 1 --out x --seed 3 --set seed=4"],
    "unknown experiment 'mini-cencus' (did you mean 'mini-census'?)": ["reproduce mini-cencus"],
    "there is no option 'gmaes' (did you mean 'games'?)": ["reproduce landlord gmaes=2"],
    "no agent is called 'ghost'": [
        *("agents ghost", "arena rules ghost", "benchmark ghost", "botzone bot --agent ghost", "rate rules ghost"),
        *("botzone bundle --agent ghost --out x.zip", "play --agents ghost", "watch ghost", "web --adviser ghost"),
        *("record ghost --out new", "study equivalent ghost", "study tendency --top ghost"),
    ],
    "no agent is called 'rulez' (did you mean 'rules'?)": ["mcp --agents 'rules;rulez'"],
    "no module 'mymodule' in the current folder or on the path": ["arena mymodule:MyAgent random"],
    "cannot be imported: SyntaxError: expected ':' (day_broken.py, line 2)": ["arena day_broken:MyAgent random"],
    "'expectimax' searches whole games, of at most 18 cards: add --rules mini": ["arena expectimax rules"],
    "name one agent, or 3": ["watch rules rules"],
    "unknown rules preset 'poker'": ["arena random random --rules poker", "show rules poker"],
    "'400' is neither a move nor an action id": ["show actions 400"],
    "there is no puzzle 99999": ["puzzles 99999"],
    # what the rest of the line leaves without effect, defaults that are typed included
    ": leave out --role": ["bidding 3344567TJQQKA22BR --role peasant-up"],
    ": leave out --game": ["replay game.txt --game 1"],
    ": leave out --tendency": ["arena random rules --tendency none"],
    ": leave out --rules and --timing": ["rate --out l.sqlite --rules bidding --no-timing"],
    ": leave out --deals": ["rate --out l.sqlite --deals 200", "benchmark --check old.json --deals 3"],
    ": leave out number": ["puzzles 12 --make 3"],
    ": leave out --init": ["train imitate --out x.safetensors --init old.safetensors"],
    ": leave out --ray": ["reproduce mini-census --ray"],
    # files
    "cannot write into empty": [
        *("demo --out empty", "record rules --out empty", "train belief --out empty", "train curves --out empty"),
        *("train selfplay --out empty", "train sb3 --out empty"),
    ],
    "games.xls must end in .csv or .sqlite": [f"{TWO} --out games.xls"],
    "games.csv holds the results of an earlier run: name another file": [f"{TWO} --table games.csv"],
    "is there already: name another file": [
        *("botzone match random random random --out old.txt", "puzzles --make 1 --deal 6+6 --out old.txt"),
        *("export --half --out old.safetensors", "train imitate --out old.safetensors"),
    ],
    "a record begins with the line": ["replay empty --review"],
    "empty is empty": ["botzone log empty"],
    "old.txt:1: cannot read": ["solve --file old.txt"],
    "is not a training curve": ["train curves --out curves"],
}
"""What is said to wrong lines, of which every command has one at least."""


@pytest.mark.parametrize(("line", "message"), [(line, message) for message, lines in REFUSED.items() for line in lines])
def test_a_wrong_line_is_refused_before_anything_is_done(
    line: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needed = {"train": "sb3_contrib", "demo": "torch", "export": "torch", "web": "starlette", "mcp": "mcp"}
    pytest.importorskip({**needed, "reproduce": "matplotlib"}.get(line.split()[0], "click"))
    monkeypatch.chdir(tmp_path)
    for name, text in KEPT.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text)
    names = sorted(Path().rglob("*"))
    assert message in refused(*shlex.split(line))
    assert sorted(Path().rglob("*")) == names
    assert {name: Path(name).read_text() for name in KEPT} == KEPT


def test_every_command_has_a_wrong_line() -> None:
    tried = " ".join(line for lines in REFUSED.values() for line in lines)
    without = {"show observation"}  # it takes no values
    assert {name for _, name, _ in named_commands() if f"{name} " not in tried} == without


@needs_posix
def test_tables_may_go_to_a_device_and_replace_earlier_tables(tmp_path: Path) -> None:
    for table in (tmp_path / "table.csv", tmp_path / "table.csv", "/dev/null"):
        done(*TWO.split(), "--table", table)
    os.mkfifo(tmp_path / "pipe.csv")
    assert "is a device or a pipe: name a file" in refused(*TWO.split(), "--out", tmp_path / "pipe.csv")


def test_a_read_only_file_and_a_full_disk_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "games.csv"
    file.write_text("old")
    denied, full = OSError(errno.EACCES, "Permission denied"), OSError(errno.ENOSPC, "No space left on device")
    for where, name, error, check, path in (
        (Path, "open", denied, check_output, file),  # who may do everything may write such a file
        (os, "fsync", full, check_output, tmp_path / "new"),
        (os, "fsync", full, check_output_folder, tmp_path / "new"),
    ):
        with monkeypatch.context() as only:
            only.setattr(where, name, Mock(side_effect=error))
            with pytest.raises(OutputError, match=error.strerror):
                check(path)
    check_output(file)
    check_output_folder(tmp_path / "a" / "b")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("games.csv", "old")]


@pytest.mark.parametrize(
    ("command", "package", "extra"),
    [
        ("train selfplay --updates 1 --out out", "torch", "train"),
        ("demo --out out", "torch", "train"),
        ("web", "uvicorn", "web"),
        ("mcp", "mcp", "mcp"),
        ("reproduce mini-agents --plot x.png", "matplotlib", "plot"),
    ],
)
def test_a_missing_extra_is_named_with_its_command(command: str, package: str, extra: str, tmp_path: Path) -> None:
    code = f"import sys; sys.modules[{package!r}] = None; from ddz_training.apps.cli import main; main()"
    line, env = [sys.executable, "-c", code, *command.split()], {**os.environ, "PYTHONPATH": pythonpath()}
    ended = subprocess.run(line, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert (ended.returncode, len(ended.stderr.splitlines())) == (2, 1), ended.stderr
    assert f"pip install -e '.[{extra}" in ended.stderr
    assert not list(tmp_path.iterdir())


SLEEPS = """
import signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background has it ignored
from ddz_training.apps import tables
from ddz_training.apps.cli import main
def action_table():
    print("ready", flush=True)
    time.sleep(60)
tables.action_table = action_table
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
