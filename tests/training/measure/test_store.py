"""The store of results: after kills, damage and double openings nothing is lost, mixed up or there twice."""

from __future__ import annotations

import codecs
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from ddz_env.support.atomic_files import append_bytes, replace_file
from ddz_papers.experiments.registry import load_experiment
from ddz_training.measure.contest import Arena, run_arena
from ddz_training.measure.errors import ResultsFileError, SettingsMismatchError
from ddz_training.measure.store import UNSAVED, ResultStore, locked_for_writing, parse_rows, read_results
from tests.packages import ROOT
from tests.training.cli.terminal import ddz

POSIX = pytest.mark.skipif(os.name != "posix", reason="processes are forked and killed")
SUFFIXES = (".csv", ".sqlite")
ARENA = Arena(("random", "random-staged"), timing=False)
TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), max_size=5)


@dataclass(frozen=True)
class Line:
    unit: int
    part: int = 0
    text: str = ""
    number: Annotated[float, ".17g"] = 0.0
    many: tuple[str, ...] = ()


@dataclass(frozen=True)
class Other:
    unit: int
    letter: str


def store(path: Path | None, kind: type[Any] = Line, seed: int = 1, **options: Any) -> ResultStore[Any]:
    return ResultStore(kind, path, {"seed": seed, "agents": ["a", "b"]}, ("unit",), **options)


def unit(number: int) -> list[Line]:
    return [Line(number, part, f"{number}, {part}", number / 7, ("x", str(part))) for part in range(3)]


@dataclass(frozen=True)
class Share:
    unit: int
    share: float


@dataclass(frozen=True)
class Timed:
    unit: int
    seconds: float = field(default=0.0, metadata=UNSAVED)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("suffix", SUFFIXES)
@settings(max_examples=25, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(
    lines=st.lists(
        st.builds(
            Line,
            st.integers(0, 9),
            st.integers(-(2**63), 2**63 - 1),
            TEXTS,
            st.floats().map(lambda number: number + 0.0),
            st.tuples(TEXTS, TEXTS),
        ),
        min_size=1,
    )
)
def test_what_is_read_is_what_was_kept(
    suffix: str, lines: list[Line], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("round") / f"lines{suffix}"
    if suffix == ".csv":  # whose tuples are words
        lines = [line for line in lines if all(line.many)] or [Line(1)]
    saved = store(path)
    with saved.open():
        for line in lines:
            saved.add([line])
    for file in (path, path.with_suffix(".sqlite")):
        about, rows = read_results(file)
        assert (about["seed"], about["agents"]) == (1, ["a", "b"])
        found = parse_rows(Line, rows)
        assert repr(sorted(found, key=repr)) == repr(sorted(lines, key=repr))  # NaN is not equal to itself
    assert repr(store(path).units) == repr(saved.units)
    assert names(path.parent) == {path.name, "lines.sqlite"}


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_run_that_ends_early_is_resumed_and_does_only_what_is_missing(suffix: str, tmp_path: Path) -> None:
    path, whole, told = tmp_path / f"cut{suffix}", tmp_path / f"whole{suffix}", list[tuple[int, int]]()
    tasks = {(number,): number for number in range(6)}

    def interrupt(done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store(path).run_tasks(tasks, Unit, on_progress=interrupt)
    assert list(store(path).units) == [(0,), (1,)]
    found = store(path).run_tasks(tasks, Unit, processes=2, on_progress=lambda *done: told.append(done))
    assert found == store(whole).run_tasks(tasks, Unit) == [line for number in range(6) for line in unit(number)]
    assert told == [(done, 6) for done in range(2, 7)]
    assert parse_rows(Line, read_results(path)[1]) == found
    if suffix == ".csv":
        assert path.read_bytes() == whole.read_bytes()


class Unit:
    def work(self, task: int) -> list[Line]:
        return unit(task)

    def close(self) -> None:
        pass


def test_a_run_goes_on_from_the_database_and_a_csv_file_without_one_is_imported(tmp_path: Path) -> None:
    path, database = tmp_path / "lines.csv", tmp_path / "lines.sqlite"
    store(path).add(unit(0))
    database.unlink()  # a committed file
    store(path).add(unit(1))
    assert list(store(path).units) == list(store(database).units) == [(0,), (1,)]
    two = path.read_bytes()
    store(path).add(unit(2))
    path.write_bytes(two.replace(b"\n", b"\r\n"))  # as a kill leaves it, or git on Windows
    three = {(number,): number for number in range(3)}
    assert store(path).run_tasks(three, Unit) == [line for number in range(3) for line in unit(number)]
    assert parse_rows(Line, read_results(path)[1]) == store(database).results
    path.unlink()
    assert store(path).run_tasks(three, Unit) == parse_rows(Line, read_results(path)[1])
    path.write_text(path.read_text().replace('"seed": 1', '"seed": 2'))
    with pytest.raises(SettingsMismatchError, match=r"lines\.sqlite.*seed: the file has 1, this run 2"):
        store(path, seed=2)


def test_a_csv_file_that_its_database_has_not_exported_is_never_written_over(tmp_path: Path) -> None:
    """It is that of another checkout, before a run or in the middle of one."""
    path, other = tmp_path / "lines.csv", tmp_path / "other.csv"
    both = r"lines\.csv is not what .*lines\.sqlite has exported: keep one of the two"
    store(path).add(unit(0))
    store(other).run_tasks({(number,): number for number in (0, 5)}, Unit)
    path.write_bytes(other.read_bytes())
    with pytest.raises(ResultsFileError, match=both):
        store(path)
    (path.with_suffix(".sqlite")).unlink()  # one of the two
    saved = store(path)
    assert list(saved.units) == [(0,), (5,)]
    elsewhere = path.read_bytes().replace(b"5", b"6")

    def check_out(done: int, total: int) -> None:
        path.write_bytes(elsewhere)

    with pytest.raises(ResultsFileError, match=both):
        saved.run_tasks({(1,): 1}, Unit, on_progress=check_out)
    assert path.read_bytes() == elsewhere
    path.unlink()
    assert list(store(path).units) == [(0,), (5,), (1,)]


@POSIX
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # a fork of a process with threads
def test_kills_at_random_moments_lose_nothing_and_leave_no_half_of_a_unit(tmp_path: Path) -> None:
    path, moments, last = tmp_path / "lines.csv", random.Random(1), 0
    for kill in range(40):
        if kill >= 12 and last > 50:
            break
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            saved = store(path)
            with saved.open():
                for number in range(last, 10**6):
                    saved.add(unit(number))
                    os.write(writer, b".")
            os._exit(0)
        os.close(writer)
        time.sleep(moments.uniform(0, min(1.0, 0.02 * 1.2**kill)))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        with open(reader, "rb") as told:
            reported = last + len(told.read())
        found = store(path).units
        assert list(found.values()) == [unit(number) for number in range(len(found))]
        assert len(found) in (reported, reported + 1)
        last = len(found)
    assert last
    store(path).add(unit(last))
    assert names(tmp_path) == {path.name, "lines.sqlite"}
    assert len(parse_rows(Line, read_results(path)[1])) == 3 * (last + 1)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_files_of_others_and_damaged_ones_are_refused_by_name_and_left_alone(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"lines{suffix}"
    store(path).add(unit(1))
    before = path.read_bytes()
    for other, error, message in (
        ({"seed": 2}, SettingsMismatchError, "seed: the file has 1, this run 2"),
        ({"kind": Other}, ResultsFileError, "letter"),
        ({"resume": False}, ResultsFileError, "exists: name another file"),
    ):
        with pytest.raises(error, match=message):
            store(path, **other)  # type: ignore[arg-type]
    assert path.read_bytes() == before
    (tmp_path / "lines.sqlite").unlink()
    for content in (b"my diary\n", b"\x80\x81", bytes(4096), b"# " + b"[" * 100_000, before[:40]):
        path.write_bytes(content)
        with pytest.raises(ResultsFileError, match=r"lines\."):
            store(path)
        assert path.read_bytes() == content


@pytest.mark.parametrize(
    "change",
    [
        "DROP TABLE results; CREATE VIEW results AS "
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n",
        "CREATE TRIGGER more AFTER INSERT ON results BEGIN INSERT INTO results VALUES (1, 2); END",
        "CREATE TABLE more (i, j AS (length(zeroblob(1000000000))))",
        "CREATE VIRTUAL TABLE more USING fts5(i)",
    ],
)
def test_a_database_that_computes_is_refused(change: str, tmp_path: Path) -> None:
    path = tmp_path / "lines.sqlite"
    store(path).add(unit(1))
    with closing(sqlite3.connect(path)) as db:
        db.executescript(change)
    with pytest.raises(ResultsFileError, match="that computes values"):
        store(path)


def test_a_byte_order_mark_is_no_part_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "lines.csv"
    store(path).add(unit(1))
    path.with_suffix(".sqlite").unlink()
    path.write_bytes(codecs.BOM_UTF8 + path.read_bytes())
    assert list(store(path).units) == [(1,)]


@POSIX
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # a fork of a process with threads
def test_a_child_of_the_process_that_opened_a_store_is_refused(tmp_path: Path) -> None:
    saved = store(tmp_path / "lines.sqlite")
    with saved.open():
        saved.add(unit(1))
        child = os.fork()
        if child == 0:
            try:
                saved.add(unit(2))
            except ResultsFileError:
                os._exit(7)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert list(store(tmp_path / "lines.sqlite").units) == [(1,)]


def test_units_of_which_lines_are_missing_are_done_again(tmp_path: Path) -> None:
    path, tasks = tmp_path / "lines.csv", {(number,): number for number in range(3)}
    store(path).run_tasks(tasks, Unit)
    whole = path.read_bytes()
    path.write_bytes(whole[: whole[:-1].rindex(b"\n") + 1])
    (tmp_path / "lines.sqlite").unlink()
    assert list(store(path, per_key=3).units) == [(0,), (1,)]
    store(path, per_key=3).run_tasks(tasks, Unit)
    assert path.read_bytes() == whole


def test_opening_a_committed_file_leaves_it_as_it_is(tmp_path: Path) -> None:
    """Also where a number was written in another form than it would be today."""
    kind, committed = load_experiment("mini-census").result, "mini_census.csv"
    path, before = tmp_path / committed, (ROOT / "docs" / "results" / committed).read_bytes()
    path.write_bytes(before)
    saved = ResultStore[Any](kind, path, read_results(path)[0], (fields(kind)[0].name,))
    with pytest.warns(match="of version unknown"), saved.open():
        assert saved.results
    assert path.read_bytes() == before


def test_a_whole_number_is_written_alike_whether_it_was_computed_or_read_back(tmp_path: Path) -> None:
    first, second = [Share(0, 0)], [Share(1, True)]
    for name, parts in (("cut.csv", (first, second)), ("whole.csv", (first + second,))):
        for part in parts:
            store(tmp_path / name, Share).add(part)
    assert (tmp_path / "cut.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_what_no_file_keeps_stays_in_memory(tmp_path: Path) -> None:
    saved, lines = store(tmp_path / "lines.csv", Timed), [Timed(0, 1.5), Timed(1, 2.5)]
    for line in lines:
        saved.add([line])
    assert saved.results == lines
    assert store(tmp_path / "lines.csv", Timed).results == [Timed(0), Timed(1)]


# --- Two processes ----------------------------------------------------------------------------------------------------

HOLDER = """
import sys
from pathlib import Path
from ddz_training.measure.league import LeagueStore
from ddz_training.measure.store import lock_path
from tests.training.measure.test_store import ARENA

with ARENA.store("games.csv", resume=True).open(), LeagueStore("a.sqlite", ARENA).open():
    held = [lock_path(Path(name)) for name in ("a.safetensors", "a.onnx", "a.txt", "a.zip", "run/training_curves.csv")]
    held += [lock_path(Path("run"), folder=True)]
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder in which another process writes ``games.csv``, files that are called ``a``, and into ``run``."""
    folder = tmp_path_factory.mktemp("shared")
    run_arena(ARENA, 2, store=ARENA.store(folder / "games.csv"))
    (folder / "run").mkdir()
    (folder / "run" / "curves.csv").write_text("update,decisions,games,seconds\n1,1,1,1\n")
    (folder / "run" / "evaluations.csv").write_text("update,opponent,deals,wins,low,high\n")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER],
        cwd=folder,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield folder
        process.kill()


@pytest.mark.parametrize(
    "command",
    [
        "arena random random-staged --no-timing --out games.csv",
        "rate --out a.sqlite",
        "train selfplay --out run --updates 1 --resume",
        "train imitate --out a.safetensors",
        "train curves run",
        "demo --out run",
        "watch random --out a.txt",
        "play --out a.txt",
        "botzone match random random random --out a.txt",
        "botzone bundle --out a.zip",
        "export --out a.onnx",
        "arena random random-staged --table a.txt",
    ],
)
def test_every_command_that_writes_results_refuses_to_be_the_second(
    command: str, held: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(held)
    before = names(held), names(held / "run"), (held / "games.csv").read_bytes()
    result = ddz(*command.split(), width=200)
    assert (result.exit_code, "written by another process" in " ".join(result.output.split())) == (2, True)
    assert (names(held), names(held / "run"), (held / "games.csv").read_bytes()) == before


def test_a_claim_ends_with_its_process_or_its_block(tmp_path: Path) -> None:
    code = "import os, signal; from pathlib import Path; from ddz_training.measure.store import lock_path\n"
    code += "held = lock_path(Path('a.txt')), lock_path(Path('run'), folder=True); os.kill(os.getpid(), signal.SIGKILL)"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=False)
    assert (tmp_path / "run" / ".lock").exists()
    with (
        locked_for_writing(tmp_path / "run", folder=True),
        locked_for_writing(tmp_path / "a.txt"),
        locked_for_writing(tmp_path / "a.txt"),
    ):
        check = [sys.executable, "-c", "from ddz_training.measure.store import *; lock_path(Path('run'), folder=True)"]
        done = subprocess.run(check, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert "run is being written by another process" in done.stderr
    assert names(tmp_path) == {"run"}  # it was there before the block
    assert not list((tmp_path / "run").iterdir())
    with locked_for_writing(tmp_path / "new", folder=True):
        pass
    assert names(tmp_path) == {"run"}


# --- Files of the operating system ------------------------------------------------------------------------------------


def test_a_full_disk_leaves_what_was_there_and_is_named(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    path, added, lines = tmp_path / "games.csv", tmp_path / "curves.csv", tmp_path / "lines.csv"
    path.write_text("old")
    added.write_text("line\n")
    store(lines).add(unit(1))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    was = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, before[1]))
        for file, write, error in (
            (path, lambda: replace_file(path, bytes(99)), OSError),
            (added, lambda: append_bytes(added, b"a line that is cut off\n" * 4), OSError),
            (lines, lambda: store(lines).add(unit(2)), ResultsFileError),
        ):
            with pytest.raises(error, match=file.name):
                write()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, was)
    assert (path.read_text(), added.read_text()) == ("old", "line\n")
    assert names(tmp_path) == {"games.csv", "curves.csv", "lines.csv", "lines.sqlite"}
    assert store(lines).run_tasks({(number,): number for number in (1, 2)}, Unit) == [*unit(1), *unit(2)]
