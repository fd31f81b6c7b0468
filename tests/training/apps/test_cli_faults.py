"""What a person reads when something is wrong: one line, and before the first game where that is possible."""

from __future__ import annotations

import errno
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import click
import pytest

from ddz_env.core.errors import InvalidMoveError
from ddz_training.apps.cli import info, named_commands
from ddz_training.apps.cli.command import EXIT_BAD_INPUT, EXIT_FAULT, fault_of
from ddz_training.apps.cli.outputs import OutputError, check_output, check_output_folder
from ddz_training.apps.cli.signals import EXIT_INTERRUPTED, answering, finishing, interrupt
from tests.rooms import ROOT, pythonpath
from tests.training.apps.terminal import ddz, done, refused

needs_posix = pytest.mark.skipif(os.name != "posix", reason="files and signals are those of POSIX")
GAMES = ("arena", "random", "random-staged", "--deals", "1", "--processes", "1")


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
        (ModuleNotFoundError("No module named 'matplotlib'", name="matplotlib"), "pip install -e '.[plot]'", 2),
        (ModuleNotFoundError("No module named 'mine'", name="mine"), "No module named 'mine'", 2),
        (PermissionError(errno.EACCES, "Permission denied", "x.csv"), "x.csv: Permission denied", 2),
        (OSError(errno.ENOSPC, "No space left on device"), "No space left on device", 2),
        (MemoryError("8 GiB"), "not enough memory 8 GiB", 2),
        (KeyError("lost"), "a fault of ddz, KeyError: 'lost'; --debug shows where", EXIT_FAULT),
    ],
)
@pytest.mark.parametrize("debug", [False, True])
def test_every_error_is_one_message_and_a_traceback_only_on_request(
    error: BaseException, message: str, code: int, debug: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(info.RulesCommand, "run", Mock(side_effect=error))
    monkeypatch.setenv("DDZ_DEBUG", "1" if debug else "0")
    result = ddz("rules")
    if debug:
        assert result.exception is error or result.exit_code == EXIT_INTERRUPTED
    else:
        [found] = result.stderr.splitlines()
        assert (message in found, result.exit_code) == (True, code)


def test_debug_reaches_the_commands_of_a_group(tmp_path: Path) -> None:
    for arguments in (("--debug", "reproduce", "mini-agents"), ("reproduce", "mini-agents", "--debug")):
        assert type(ddz(*arguments, "--out", tmp_path).exception) is OutputError


def test_what_the_command_line_says_itself_is_left_to_it() -> None:
    for error in (click.exceptions.Exit(3), click.Abort(), click.BadParameter("x"), SystemExit(4), BrokenPipeError()):
        assert fault_of(error) is None


KEPT = {
    "curves/training_curves.csv": "stage,update,decisions,games,seconds\na,1,many,1,1\n",
    "day_broken.py": "class MyAgent:\n    def act(self)\n",
    "empty": "",
    "games.csv": '# {"agents": ["random", "rules"]}\ndeal,winner\n0,landlord\n',
    "games.jsonl": '{"settings": {"format": "ddz-games-1"}}\n',
    "garbage/training_curves.csv": "update,decisions\n\x00\n",
    "old.json": "a benchmark",
    "old.onnx": "a policy",
    "old.safetensors": "weights",
    "old.txt": "positions",
}
"""Files that are there before a command that is refused, and afterwards."""

TWO = "arena random random-staged --deals 1 --processes 1"
NO_FILE = [f"train {name} --out empty" for name in ("belief", "curves", "dmc", "sb3", "selfplay")]
REFUSED = {
    # values
    "--scoring='chess' must be one of win, stake, botzone": ["arena random rules --scoring chess"],
    "--deals=0 must be a whole number of at least 1": ["arena random rules --deals 0"],
    "--processes=0 must be a whole number of at least 1": ["warmup --processes 0"],
    "--deals='many' must be a whole number of at least 1": ["arena random rules --deals many"],
    "must be one of none, landlord, peasants (did you mean 'peasants'?)": ["arena random rules --tendency peasant"],
    "--method='fast' must be one of sequential, binary": ["study equivalent rules --method fast"],
    "NUMBER='first' must be a whole number of at least 1": ["puzzles first"],
    "--seed=2.5 must be a whole number": ["train selfplay --out x --seed 2.5"],
    "seed is given twice: as --seed and by --set seed=": [
        *("train selfplay --updates 1 --out x --seed 3 --set seed=4", "train sb3 --out x --seed 3 --set seed=4"),
    ],
    # agents, rules and positions
    "no agent is called 'ghost'": [
        *("agents ghost", "arena rules ghost", "benchmark ghost", "botzone bot --agent ghost"),
        *("botzone bundle --agent ghost --out x.zip", "play --agents ghost", "watch ghost", "web --adviser ghost"),
    ],
    "no agent is called 'rulez' (did you mean 'rules'?)": ["mcp --agents 'rules;rulez'"],
    "address='localhost' must begin with http:// or https://": ["arena chat:localhost,model=stub random"],
    "a record begins with the line": ["review empty"],
    "no module 'mymodule' in the current folder or on the path": ["arena mymodule:MyAgent random"],
    "no module 'json.nosuch' in the current folder or on the path": ["arena json.nosuch:Foo random"],
    "did you mean 'botzone'?": ["arena botzon:./bot random"],
    "'mine.py' is a file; an agent's module is written mine:MyAgent": ["arena mine.py:MyAgent random"],
    "cannot be imported: SyntaxError: expected ':' (day_broken.py, line 2)": ["arena day_broken:MyAgent random"],
    "'expectimax' searches whole games, of at most 18 cards: add --rules mini": [
        *("arena expectimax rules", "benchmark expectimax"),
        *("record expectimax --out new", "study equivalent expectimax", "study tendency --top expectimax"),
    ],
    "milliseconds replaces iterations: leave one of the two out": ["arena isuct:iterations=9,milliseconds=9 rules"],
    "--options must not name iterations, which --tree-iterations sets": ["reproduce landlord --options iterations=50"],
    "two agents": ["arena random", "rate rules"],
    "empty or given twice": ["arena a=random a=rules"],
    "a match has 3 seats": ["botzone match rules"],
    "3 agents for 2 other seats": ["play --agents random;random;random"],
    "name one agent, or 3": ["watch rules rules"],
    "ddz play is for people": ["watch person"],
    "there is no option 'iterations'": ["study equivalent rules --search rules"],
    "unknown rules preset 'poker'": ["arena random random --rules poker", "rules poker"],
    "unknown language 'fr'": ["play --lang fr"],
    "--seat=2 must be an integer in 0..1": ["play --seat 2 --rules mini"],
    "cannot read 'Z' in 'zebra'": ["actions zebra"],
    "'400' is neither a move nor an action id": ["actions 400"],
    "is not a move": ["actions 34J"],
    "seat 0 has 2 cards": ["bidding 34"],
    "there is no puzzle 99999": ["puzzles 99999"],
    "two or three hands separated by '+'": ["puzzles --make 2 --deal 8"],
    # what the rest of the line leaves without effect, defaults that are typed included
    ": leave out --role": ["bidding 3344567TJQQKA22BR --role peasant-up"],
    ": leave out --bid": [
        "bidding 3344567TJQQKA22BR --bottom 359 --bid 0",
        "bidding 3344567TJQQKA22BR --bottom 359 --bid 2 --rules standard,doubling=true",
    ],
    ": leave out --game": ["replay game.txt --game 1"],
    ": leave out --tendency": ["arena random rules --tendency none"],
    ": leave out --rules and --timing": ["rate --out l.sqlite --rules bidding --no-timing"],
    ": leave out --deals": ["rate --out l.sqlite --deals 200", "benchmark --check old.json --deals 3"],
    ": leave out --landlord": ["solve '35 / 4' --landlord 2"],
    ": leave out NUMBER": ["puzzles 12 --make 3"],
    ": leave out --answer": ["puzzles --make 3 --answer", "puzzles --answer"],
    ": leave out --deal": ["puzzles --deal 9+9"],
    ": leave out --out": ["puzzles 12 --out q.txt"],
    ": leave out --all": ["benchmark rules --all --deals 1"],
    ": leave out --name": ["benchmark --field --name mine"],
    ": leave out --init": ["train imitate --out x.safetensors --init old.safetensors"],
    ": leave out --ray": ["demo --ray", "rules --ray", "observation --ray", "reproduce mini-census --ray"],
    # files
    "cannot write into empty": ["demo --out empty", "record rules --out empty", *NO_FILE],
    "is a folder": ["export --out .", "study tendency --out .", "train imitate --out .", f"{TWO} --table ."],
    "cannot write empty/below/t.json": [f"{TWO} --table empty/below/t.json"],
    "games.xls must end in .csv or .jsonl": [f"{TWO} --out games.xls"],
    "must end in .png or .pdf or .svg": ["reproduce mini-agents --plot x.txt", "reproduce mini-agents --plot x"],
    "old.safetensors must end in .csv or .json": [f"{TWO} --table old.safetensors"],
    "games.jsonl must end in .csv or .json": [f"{TWO} --table games.jsonl"],
    "new.sqlite must end in .csv or .json": ["rate random rules --out new.sqlite --table new.sqlite"],
    "old.json must end in .csv": ["benchmark random --out old.json"],
    "games.jsonl must end in .safetensors": ["train imitate --out games.jsonl"],
    "old.safetensors must end in .onnx": ["export --out old.safetensors"],
    "--out and --table are both new.csv: name two files": [f"{TWO} --out new.csv --table ./new.csv"],
    "--out and --deal-file are both": [f"{TWO} --deal-file games.csv --out linked.csv"],
    "POLICY and --out are both old.onnx: name two files": ["export old.onnx --out old.onnx"],
    "games.csv holds the results of an earlier run: name another file": [f"{TWO} --table games.csv"],
    "is there already: name another file": [
        *("botzone match random random random --out old.txt", "puzzles --make 1 --deal 6+6 --out old.txt"),
        *("export --half --out old.safetensors", "train imitate --out old.safetensors"),
    ],
    "there is no such file": ["train selfplay --updates 1 --out new --resume"],
    "there is no file nowhere": ["replay nowhere"],
    "no such page": ["docs nowhere.md"],
    "empty is empty": ["botzone log empty"],
    "no position in empty": ["solve --file empty"],
    "old.txt:1: cannot read": ["solve --file old.txt"],
    "empty": ["export empty --out x.onnx"],
    "is not a training curve": ["train curves --out curves", "train curves --out garbage"],
}
"""What is said to wrong lines, of which every command has one at least."""
if os.name == "posix":
    REFUSED |= {
        "pipe.csv is a device or a pipe: name a file": [f"{TWO} --out pipe.csv"],
        "Too many levels of symbolic links": [f"{TWO} --out loop.csv"],
        "File name too long": [f"{TWO} --out {'n' * length}.csv" for length in (251, 245)],  # or that of its lock
    }


@pytest.mark.parametrize(("line", "message"), [(line, message) for message, lines in REFUSED.items() for line in lines])
def test_a_wrong_line_is_refused_in_one_line_before_anything_is_done(
    line: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needed = {"train": "sb3_contrib", "demo": "torch", "export": "torch", "web": "starlette", "mcp": "mcp"}
    needed |= {"reproduce": "matplotlib"}
    pytest.importorskip(needed.get(line.split()[0], "click"))
    monkeypatch.chdir(tmp_path)
    for name, text in KEPT.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text)
    os.link("games.csv", "linked.csv")
    if os.name == "posix":
        os.mkfifo("pipe.csv")
        Path("loop.csv").symlink_to("loop.csv")
    names = sorted(Path().rglob("*"))
    assert message in refused(*shlex.split(line))
    assert sorted(Path().rglob("*")) == names
    assert {name: Path(name).read_text() for name in KEPT} == KEPT


def test_every_command_has_a_wrong_line() -> None:
    tried = [line for lines in REFUSED.values() for line in lines]
    assert [name for _, name, _ in named_commands() if not any(line.startswith(f"{name} ") for line in tried)] == []


@needs_posix
def test_tables_may_go_to_a_device_and_replace_earlier_tables(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    for _ in range(2):
        done(*GAMES, "--table", table)
    done(*GAMES, "--table", "/dev/null")


def test_a_hint_keeps_its_brackets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ddz_training.measure.plotting.can_plot", lambda: False)
    said = refused("reproduce", "mini-agents", "--plot", tmp_path / "x.png")
    assert "pip install -e '.[plot]' (in a clone of ddz-env)" in said


def test_a_read_only_file_and_a_full_disk_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "games.csv"
    file.write_text("old")
    denied = PermissionError(errno.EACCES, os.strerror(errno.EACCES), "/somewhere/tmpabc")
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    for where, name, error, check, path, said in (
        (Path, "open", denied, check_output, file, "Permission denied"),  # who may do everything may write such a file
        (os, "fsync", full, check_output, tmp_path / "new", "No space left on device"),
        (os, "fsync", full, check_output_folder, tmp_path / "new", "No space left on device"),
        (tempfile, "TemporaryFile", denied, check_output, tmp_path / "x", f"cannot write {tmp_path / 'x'}: Permission"),
    ):
        with monkeypatch.context() as only:
            only.setattr(where, name, Mock(side_effect=error))
            with pytest.raises(OutputError, match=re.escape(said)):
                check(path)
    assert file.read_text() == "old"
    check_output(file)
    check_output_folder(tmp_path / "a" / "b")
    assert [path.name for path in tmp_path.iterdir()] == ["games.csv"]


@pytest.fixture
def imported_anew() -> Iterator[None]:
    """What the commands import is imported in the test, and is afterwards as it was before."""

    def ours() -> dict[str, Any]:
        names = re.compile(r"ddz_(agents|training)\b(?!\.apps\.cli)")
        return {name: module for name, module in sys.modules.items() if names.match(name)}

    before = ours()
    for name in before:
        del sys.modules[name]
    yield
    for name in ours():
        del sys.modules[name]
    sys.modules.update(before)


@pytest.mark.parametrize(
    ("command", "package", "extra"),
    [
        ("train selfplay --updates 1 --out out", "torch", "train"),
        ("train imitate --out out.safetensors", "torch", "train"),
        ("export --out out.onnx", "torch", "train"),
        ("demo --out out", "torch", "train"),
        ("web", "uvicorn", "web"),
        ("mcp", "mcp", "mcp"),
    ],
)
def test_a_missing_extra_is_named_with_its_command(
    command: str, package: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, imported_anew: None
) -> None:
    for name in [name for name in sys.modules if name.startswith(f"{package}.")] + [package]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.chdir(tmp_path)
    assert f"pip install -e '.[{extra}" in refused(*command.split())
    assert not list(tmp_path.iterdir())


@needs_posix
@pytest.mark.parametrize(
    ("before", "command", "code", "said"),
    [
        ("", "rules >&-", 2, "standard output is closed"),
        ("", "play --agents random --lang en <&-", 0, "your move>"),
        ("mkdir gone; cd gone; rmdir ../gone", "--help", 2, "this folder is not there any more"),
        ("", r"arena --out $(printf 'bad\377\376name')", 2, r"bad\\xff\\xfename: names are text in UTF-8"),
    ],
)
def test_what_a_shell_takes_away_is_made_up_for_or_named(
    before: str, command: str, code: int, said: str, tmp_path: Path
) -> None:
    script = ["sh", "-c", f"{before}\n{shlex.quote(sys.executable)} -m ddz_training {command}"]
    environment = {**os.environ, "PYTHONPATH": pythonpath(), "COLUMNS": "200"}
    ended = subprocess.run(script, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (ended.returncode, "Traceback" in ended.stderr) == (code, False), ended.stderr
    assert re.search(said, ended.stdout + ended.stderr, re.DOTALL), ended.stdout + ended.stderr


def test_elsewhere_than_in_the_main_thread_signals_are_left_alone() -> None:
    def work() -> None:
        with answering(interrupt), finishing(print) as ended:
            found.append(ended())

    found: list[bool] = []
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [False]


SLOW_IMPORT = """
import sys, types
class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "ddz_training.apps.cli":
            import time
            print("ready", flush=True)
            time.sleep(60)
sys.meta_path.insert(0, Slow())
from ddz_training.__main__ import main
main()
"""
NEVER_RETURNS = """
import ctypes
from ddz_training.apps.cli import signals
signals.PATIENCE = 0.1
signals.watch()
library = ctypes.CDLL(None)  # its calls let other threads run, and go on after a signal, as compiled code does
library.PyThread_allocate_lock.restype = ctypes.c_void_p
lock = ctypes.c_void_p(library.PyThread_allocate_lock())
library.PyThread_acquire_lock(lock, 1)
with signals.answering(signals.interrupt):
    print("ready", flush=True)
    library.PyThread_acquire_lock(lock, 1)
"""
LOST_IN_A_CALLBACK = """
import ctypes, sys, time
from ddz_training.apps.cli import signals
signals.watch()
def called_back():
    print("ready", flush=True)
    time.sleep(60)
try:
    with signals.answering(signals.interrupt):
        ctypes.CFUNCTYPE(None)(called_back)()  # as a compiler does; nothing can be raised there
        time.sleep(60)
except KeyboardInterrupt:
    sys.exit(signals.EXIT_INTERRUPTED)
"""


@needs_posix
@pytest.mark.parametrize(
    ("source", "number", "said"),
    [
        pytest.param(SLOW_IMPORT, signal.SIGINT, "interrupted\n", id="Ctrl-C while modules are imported"),
        pytest.param(SLOW_IMPORT, signal.SIGTERM, "interrupted\n", id="a polite kill while modules are imported"),
        pytest.param(NEVER_RETURNS, signal.SIGINT, "interrupted\n", id="compiled code that never returns"),
        pytest.param(LOST_IN_A_CALLBACK, signal.SIGINT, "", id="an interruption that a callback loses comes again"),
    ],
)
def test_an_interruption_ends_everything_without_a_traceback(source: str, number: signal.Signals, said: str) -> None:
    """A program, sent a signal when it says that it is ready.

    It hears Ctrl-C even where this test runs in the background of a shell, which has it ignored.
    """
    source = f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n{source}"
    process = subprocess.Popen([sys.executable, "-c", source], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    time.sleep(0.05)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors.decode()) == (EXIT_INTERRUPTED, said)


def test_curves_and_evaluations_are_written_as_scalars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a killed run wrote after its last checkpoint is hidden by what the resumed run writes."""
    pytest.importorskip("torch")
    from ddz_training.learn.errors import MissingTensorBoardError
    from ddz_training.learn.loop import RunLog

    with monkeypatch.context() as only:
        only.setitem(sys.modules, "torch.utils.tensorboard", None)
        with pytest.raises(MissingTensorBoardError, match=r"pip install -e '\.\[tensorboard\]'"):
            RunLog({}, None, tmp_path)
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    from ddz_training.learn.imitation import ImitationLine
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


def test_plots_start_at_zero_and_name_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    from ddz_training.experiments.experiment import read_saved
    from ddz_training.experiments.registry import load_experiment

    drawn: list[Any] = []
    results = ROOT / "docs" / "results"
    monkeypatch.setattr(Figure, "savefig", lambda figure, path: drawn.extend(figure.axes))
    for experiment in map(load_experiment, ("mini-uct", "mini-agents")):
        assert experiment.plot is not None
        experiment.plot(read_saved(experiment.result, results / f"{experiment.file}.csv"), tmp_path / "x.png")
    assert [axes.get_ylim()[0] for axes in drawn] == [0, 0]
    assert [text.get_text() for text in drawn[1].texts].count("not played") == 1
    assert len(drawn[1].patches) == 25
