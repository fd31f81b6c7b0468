"""Cached kernels come from private folders and undamaged files only, and a cache that fails only costs time."""

from __future__ import annotations

import importlib.util
import itertools
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ddz_env.support import compile_cache, compiling, source_stamps
from ddz_env.support.compile_cache import CompileCacheWarning, KernelLock, find_privacy_fault
from tests.packages import ROOT, SOURCES

TOY = """
from ddz_env.support.compiling import kernel

@kernel
def double(number):
    return 2 * number
"""

Load = Callable[[], Any]


def forget() -> None:
    """Forget warnings, folders and sources, as in a new process."""
    compile_cache._given_notices.clear()
    for function in (compile_cache.cache_root, compile_cache.kernel_sources, compile_cache._find_folder_fault):
        function.cache_clear()


@pytest.fixture(autouse=True)
def fresh_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(compile_cache, "_given_notices", set())
    monkeypatch.setattr(source_stamps, "_PROCESS_START", float("inf"))  # the toys are written after this process began
    forget()
    yield
    forget()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("DDZ_CACHE_DIR", str(folder))
    return folder


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Import the toy module as another process would; its kernel has compiled nothing yet."""
    package = tmp_path / "toy"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "kernels.py").write_text(TOY)
    numbers = itertools.count()

    def load() -> Any:
        spec = importlib.util.spec_from_file_location(f"toy{next(numbers)}.kernels", package / "kernels.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.double

    return load


def compute(*kernels: Any) -> None:
    """Call each kernel, once with an integer and once with a float: two compilations or loads."""
    for kernel in kernels:
        assert kernel(3) == 6
        assert kernel(4.0) == 8


def hits(kernel: Any) -> int:
    return sum(kernel.stats.cache_hits.values())


def test_only_the_module_of_compiling_reads_inner_parts_of_numba() -> None:
    inner = re.compile(r"numba\.core|llvmlite|_dynfunc|arrayobj")
    files = (file for folder in SOURCES.values() for file in folder.rglob("*.py"))
    assert [file.name for file in files if inner.search(file.read_text(encoding="utf-8"))] == ["compiling.py"]


def flip(content: bytes, place: float) -> bytes:
    """Change one bit at a place between the beginning (0) and the end (1)."""
    n = int(place * (len(content) - 1))
    return content[:n] + bytes([content[n] ^ 1]) + content[n + 1 :]


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "emptied": lambda content: b"",
    "cut": lambda content: content[: len(content) // 2],
    **{f"one bit changed at {place}": lambda content, place=place: flip(content, place) for place in (0.5, 0.9, 0.98)},
}


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_files_are_compiled_anew(folder: Path, load: Load, suffix: str, damage: str) -> None:
    assert load()(3) == 6
    assert folder.stat().st_mode & 0o777 == 0o700
    (file,) = folder.rglob(f"*.{suffix}")
    file.write_bytes(DAMAGE[damage](file.read_bytes()))
    for found in (0, 1):  # the damaged file is replaced
        kernel = load()
        assert (kernel(3), hits(kernel)) == (6, found)


def test_an_index_that_names_the_code_of_other_arguments_is_damaged(folder: Path, load: Load) -> None:
    compute(load())
    (index,) = folder.rglob("*.nbi")
    index.write_bytes(index.read_bytes().replace(b".1.nbc", b".3.nbc").replace(b".2.nbc", b".1.nbc"))
    for _ in range(2):
        kernel = load()
        compute(kernel)


def test_a_full_disk_only_costs_time_and_is_said_once(
    folder: Path, load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*ignored: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(compiling._Files, "save_overload", full)
    with pytest.warns(CompileCacheWarning, match="No space left on device") as said:
        compute(load())
    assert len(said) == 1


def test_a_folder_that_others_may_write_or_own_is_not_used(
    folder: Path, load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The attack: a predictable folder, prepared by somebody else."""
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.warns(CompileCacheWarning, match="can be written by other users"):
        assert load()(3) == 6
    assert not any(folder.rglob("*.nbi"))
    folder.chmod(0o700)
    forget()
    assert load()(3) == 6
    forget()
    monkeypatch.setattr(os, "getuid", lambda: 4_321)
    owned = os.stat_result((0o40755, 1, 1, 2, 1_234, 0, 0, 0, 0, 0))
    monkeypatch.setattr(Path, "lstat", lambda self: owned)
    victim = load()
    with pytest.warns(CompileCacheWarning, match="belongs to another user"):
        victim(3)
    assert hits(victim) == 0


def test_a_link_of_another_user_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").mkdir(mode=0o700)
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "mine")
    assert find_privacy_fault(link) is None
    real = os.lstat(link)
    foreign = os.stat_result((*real[:4], 1_234, *real[5:10]))
    monkeypatch.setattr(Path, "lstat", lambda self: foreign)
    assert "belongs to another user" in str(find_privacy_fault(link))


@pytest.mark.skipif(os.name == "nt", reason="users have numbers on POSIX systems alone")
@pytest.mark.parametrize("home", ["no directory", "no account"])
def test_without_a_home_the_temporary_folder_is_private(
    home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("a home that is not a directory")
    for variable in ("DDZ_CACHE_DIR", "HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)
    monkeypatch.setattr(compile_cache.tempfile, "gettempdir", lambda: str(tmp_path))
    if home == "no directory":
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    root = compile_cache.cache_root()
    assert root is not None
    assert root.parent == tmp_path
    assert root.stat().st_mode & 0o777 == 0o700


def test_no_folder_at_all_is_said_once_with_both_reasons(
    tmp_path: Path, load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.delenv("DDZ_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(compile_cache.tempfile, "gettempdir", lambda: str(tmp_path / "file"))
    with pytest.warns(CompileCacheWarning, match=r"Not a directory.*Not a directory.*DDZ_CACHE_DIR") as said:
        compute(load(), load())
    assert len(said) == 1


def test_compiling_is_announced_once_unless_all_is_quiet(
    folder: Path, load: Load, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel = load()
    kernel(3)
    assert capsys.readouterr().err == "", "the tests are quiet"
    compile_cache._given_notices.clear()
    monkeypatch.delenv("DDZ_QUIET")
    kernel(3.0)
    kernel(3 + 0j)
    assert capsys.readouterr().err.count("Compiling toy0") == 1
    load()(3)
    assert capsys.readouterr().err == "", "a kernel that is loaded is not announced"


def test_of_two_processes_that_need_a_kernel_one_compiles_it(folder: Path, load: Load, tmp_path: Path) -> None:
    """The workers of a match begin alike: the second one waits, and loads what the first one has compiled."""
    source = "from toy.kernels import double; double(3); print(sum(double.stats.cache_hits.values()))"
    surroundings = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (tmp_path, ROOT)))}
    both = [subprocess.Popen([sys.executable, "-c", source], env=surroundings, stdout=subprocess.PIPE) for _ in "12"]
    assert sorted(process.communicate()[0].split()[0] for process in both) == [b"0", b"1"]


@pytest.mark.skipif(sys.platform == "win32", reason="no process waits there")
def test_a_process_that_was_stopped_while_it_compiles_holds_others_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("DDZ_QUIET")
    monkeypatch.setattr(compile_cache, "_SILENT_WAIT", 0.05)
    monkeypatch.setattr(KernelLock, "_patience", 0.2)
    stopped, waited = KernelLock(tmp_path / "kernel"), []
    stopped.acquire()
    for _ in range(2):
        lock, began = KernelLock(tmp_path / "kernel"), time.monotonic()
        lock.acquire()
        waited.append(time.monotonic() - began >= 0.2)
        lock.release()
    assert waited == [True, False]
    assert capsys.readouterr().err.count("Another process compiles") == 1
    stopped.release()
