"""Two processes and one file: the second is told which process the first is, and nothing is lost."""

from __future__ import annotations

import gc
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

from training.arena import one_writer
from training.arena.errors import InUseError
from training.arena.one_writer import claim, writing
from training.arena.round_robin import Arena, run_arena
from training.cli import app

HOLDER = """
import sys
from pathlib import Path
from training.arena.one_writer import claim

held = [claim(Path(name)) for name in ("games.csv", "a.safetensors", "a.sqlite")]
held += [claim(Path("run"), folder=True)]
print("held", flush=True)
sys.stdin.read()
"""

ARENA = Arena(("random", "random-staged"), timing=False)


@pytest.fixture(scope="module")
def holder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, subprocess.Popen[str]]]:
    """Another process that writes ``games.csv``, ``a.safetensors`` and into ``run``."""
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
    path = folder / "games.csv"
    before = path.read_bytes()
    for _ in range(2):  # being refused takes nothing from the holder
        with pytest.raises(InUseError, match=rf"games\.csv.*process {process.pid} on {socket.gethostname()} since 20"):
            ARENA.store(path, resume=True)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "command",
    [
        ("arena", "random", "random-staged", "--out", "games.csv", "--resume"),
        ("reproduce", "mini-census", "--out", "games.csv"),
        ("rate", "random", "random-staged", "--out", "a.sqlite"),
        ("train", "selfplay", "--out", "run", "--updates", "1", "--resume"),
        ("train", "sb3", "--out", "run", "--timesteps", "1"),
        ("train", "imitate", "--out", "a.safetensors"),
    ],
    ids=" ".join,
)
def test_every_command_that_writes_results_refuses_to_be_the_second(
    command: tuple[str, ...], holder: tuple[Path, subprocess.Popen[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    if command[0] == "train":
        pytest.importorskip("sb3_contrib")
    folder, process = holder
    monkeypatch.chdir(folder)
    before = names(folder), names(folder / "run")
    result = CliRunner().invoke(app, command, env={"COLUMNS": "200"})
    assert result.exit_code == 2, result.output
    assert f"process {process.pid} on" in " ".join(result.output.split())
    assert (names(folder), names(folder / "run")) == before


def test_the_lock_of_a_killed_process_blocks_nobody_and_its_files_go(tmp_path: Path) -> None:
    code = HOLDER.replace("sys.stdin.read()", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.DEVNULL, check=False)
    assert {"games.csv.lock", "games.csv.owner"} <= names(tmp_path)
    assert len(run_arena(ARENA, 1, store=ARENA.store(tmp_path / "games.csv"))) == 2
    with writing(tmp_path / "run", folder=True), writing(tmp_path / "a.safetensors"), writing(tmp_path / "a.sqlite"):
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


def test_one_process_may_open_a_file_twice_and_leaves_no_lock_behind(tmp_path: Path) -> None:
    path = tmp_path / "new" / "games.csv"
    first = ARENA.store(path)
    second = ARENA.store(path, resume=True)
    assert names(path.parent) == {"games.csv", "games.csv.lock", "games.csv.owner"}
    del first
    gc.collect()
    assert "games.csv.lock" in names(path.parent)
    del second
    gc.collect()
    assert names(path.parent) == {"games.csv"}


def test_a_file_can_be_read_where_no_lock_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_arena(ARENA, 1, store=ARENA.store(tmp_path / "games.csv"))

    def refuse(path: Path, base: str, made: Sequence[Path]) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(one_writer, "Claim", refuse)
    assert claim(tmp_path / "games.csv") is None
    assert len(ARENA.store(tmp_path / "games.csv", resume=True).results) == 2
