"""Two processes and one file: the second is told which process the first is, and nothing is lost."""

from __future__ import annotations

import errno
import gc
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from ddz_env.core.whole_file import append, replace_file, replacing
from ddz_training.measure.league.store import LeagueStore
from ddz_training.measure.match import one_writer
from ddz_training.measure.match.errors import InUseError, ResultsFileError
from ddz_training.measure.match.one_writer import claim, writing
from ddz_training.measure.match.round_robin import Arena, run_arena
from tests.training.apps.terminal import ddz

HOLDER = """
import sys
from pathlib import Path
from ddz_training.measure.match.one_writer import claim

held = [claim(Path(name)) for name in ("games.csv", "a.safetensors", "a.sqlite", "a.txt")]
held += [claim(Path("run"), folder=True)]
print("held", flush=True)
sys.stdin.read()
"""

ARENA = Arena(("random", "random-staged"), timing=False)


@pytest.fixture(scope="module")
def holder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, subprocess.Popen[str]]]:
    """Another process that writes ``games.csv``, ``a.safetensors``, ``a.sqlite``, ``a.txt`` and into ``run``."""
    folder = tmp_path_factory.mktemp("shared")
    run_arena(ARENA, 2, store=ARENA.store(folder / "games.csv"))
    gc.collect()
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield folder, process
        process.kill()


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_second_process_is_told_who_the_first_is(holder: tuple[Path, subprocess.Popen[str]]) -> None:
    folder, process = holder
    before = (folder / "games.csv").read_bytes()
    for _ in range(2):  # being refused takes nothing from the holder
        with pytest.raises(InUseError, match=rf"games\.csv.*process {process.pid} on {socket.gethostname()} since 20"):
            ARENA.store(folder / "games.csv", resume=True)
    assert (folder / "games.csv").read_bytes() == before


@pytest.mark.parametrize(
    "command",
    [
        "arena random random-staged --out games.csv --resume",
        "reproduce mini-census --out games.csv",
        "rate random random-staged --out a.sqlite",
        "train selfplay --out run --updates 1 --resume",
        "train sb3 --out run --timesteps 1",
        "train imitate --out a.safetensors",
    ],
)
def test_every_command_that_writes_results_refuses_to_be_the_second(
    command: str, holder: tuple[Path, subprocess.Popen[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    if command.startswith("train"):
        pytest.importorskip("sb3_contrib")
    folder, process = holder
    monkeypatch.chdir(folder)
    before = names(folder), names(folder / "run")
    result = ddz(*command.split(), width=200)
    assert (result.exit_code, f"process {process.pid} on" in " ".join(result.output.split())) == (2, True)
    assert (names(folder), names(folder / "run")) == before


def test_the_lock_of_a_killed_process_blocks_nobody_and_its_files_go(tmp_path: Path) -> None:
    code = HOLDER.replace("sys.stdin.read()", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.DEVNULL, check=False)
    assert {"games.csv.lock", "games.csv.owner"} <= names(tmp_path)
    assert len(run_arena(ARENA, 1, store=ARENA.store(tmp_path / "games.csv"))) == 2
    with writing(tmp_path / "run", folder=True), ExitStack() as held:
        for name in ("a.safetensors", "a.sqlite", "a.txt"):
            held.enter_context(writing(tmp_path / name))
        assert str(os.getpid()) in (tmp_path / "run" / ".owner").read_text()
    gc.collect()
    assert names(tmp_path) == {"games.csv", "run"}
    assert names(tmp_path / "run") == set()


def test_a_folder_that_was_made_for_nothing_goes_with_the_lock(tmp_path: Path) -> None:
    with writing(tmp_path / "kept" / "empty" / "empty", folder=True), writing(tmp_path / "kept" / "file"):
        (tmp_path / "kept" / "file").touch()
    gc.collect()
    assert names(tmp_path) == {"kept"}
    assert names(tmp_path / "kept") == {"file"}


@pytest.mark.parametrize(
    ("write", "name"),
    [
        (lambda path: ARENA.store(path, resume=True), "games.csv"),
        (lambda path: LeagueStore(path, ARENA, resume=True), "league.sqlite"),
        (lambda path: replace_file(path, b"weights"), "student.safetensors"),
    ],
)
def test_a_link_stays_one_and_leads_every_process_to_the_same_lock(
    write: Callable[[Path], object], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "store").mkdir()
    link, target = tmp_path / name, tmp_path / "store" / name
    link.symlink_to(target)  # to nothing yet
    with writing(link) as file:
        assert file == target
        held = write(link)
        assert link.is_symlink()
        assert target.is_file()
        monkeypatch.setattr(one_writer, "_claims", {})  # another process
        for other in (link, target):
            with pytest.raises(InUseError):
                claim(other)
        del held


def test_what_is_claimed_is_what_is_written_wherever_a_link_leads_meanwhile(tmp_path: Path) -> None:
    link, first, second = tmp_path / "games.csv", tmp_path / "first.csv", tmp_path / "second.csv"
    link.symlink_to(first)
    store = ARENA.store(link)
    link.unlink()
    link.symlink_to(second)
    assert len(run_arena(ARENA, 1, store=store)) == 2
    assert not second.exists()
    assert len(ARENA.store(first, resume=True).results) == 2


def test_a_file_with_two_names_would_have_two_locks_and_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "games.csv"
    run_arena(ARENA, 1, store=ARENA.store(path))
    os.link(path, tmp_path / "other.csv")
    for name in (path, tmp_path / "other.csv"):
        with pytest.raises(ResultsFileError, match="has 2 names"):
            ARENA.store(name, resume=True)


def full(*arguments: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def write_half(path: Path) -> None:
    """Write as a library does that runs out of room."""
    with replacing(path) as temporary:
        temporary.write_text("new")
        full()


def test_a_full_disk_leaves_what_was_there_and_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, added = tmp_path / "games.csv", tmp_path / "curves.csv"
    path.write_text("old")
    added.write_text("line\n")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        for write in (lambda: replace_file(path, b"new"), lambda: write_half(path)):
            with pytest.raises(OSError, match=r"games\.csv"):
                write()
    assert path.read_text() == "old"
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    was = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, before[1]))
        with pytest.raises(OSError, match=r"curves\.csv"):
            append(added, b"a line that is cut off\n" * 4)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, was)
    assert added.read_text() == "line\n"
    assert names(tmp_path) == {"games.csv", "curves.csv"}


def test_one_process_may_open_a_file_twice_and_leaves_no_lock_behind(tmp_path: Path) -> None:
    path = tmp_path / "new" / "games.csv"
    held = [ARENA.store(path), ARENA.store(path, resume=True)]
    for files in ({"games.csv", "games.csv.lock", "games.csv.owner"}, {"games.csv"}):
        del held[0]
        gc.collect()
        assert names(path.parent) == files


def test_a_file_can_be_read_where_no_lock_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_arena(ARENA, 1, store=ARENA.store(tmp_path / "games.csv"))

    def refuse(path: Path, base: str, made: Sequence[Path]) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(one_writer, "Claim", refuse)
    assert claim(tmp_path / "games.csv") is None
    assert len(ARENA.store(tmp_path / "games.csv", resume=True).results) == 2
