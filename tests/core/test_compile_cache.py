"""Cached kernels come from private folders and undamaged files only, and a cache that fails only costs time."""

from __future__ import annotations

import ast
import importlib.util
import itertools
import os
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ddz_env.core.engine import cache
from ddz_env.core.engine.cache import CompileCacheWarning, why_not_private
from tests.rooms import ROOT, SOURCES

TOY = """
from ddz_env.core.engine.compiling import kernel

@kernel
def double(number):
    return 2 * number
"""

Load = Callable[[], Any]


def forget() -> None:
    """As a new process: nothing said, no folder looked at."""
    cache._told.clear()
    for function in (cache.cache_root, cache._why_unusable):
        function.cache_clear()


@pytest.fixture(autouse=True)
def fresh_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(cache, "_told", set())
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


def test_a_kernel_is_stale_when_anything_that_it_imports_changes(tmp_path: Path) -> None:
    """It reads a table of another package through a third file; one file it does not import."""
    for name, source in {
        "mine/__init__.py": "",
        "mine/kernels.py": "from mine import (\n    steps,\n)\n",
        "mine/steps.py": "def late():\n    import os, theirs.tables as tables\n    return tables\n",
        "mine/other.py": "import mine.kernels\n",
        "theirs/__init__.py": "",
        "theirs/tables.py": "from .numbers import ONE\n",
        "theirs/numbers.py": "ONE = 1\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(source)

    def stamp() -> str:
        for function in (cache._imports, cache._file_hash, cache.source_stamp):
            function.cache_clear()
        return cache.source_stamp(str(tmp_path / "mine" / "kernels.py"))

    for edited in ("mine/kernels.py", "mine/steps.py", "theirs/tables.py", "theirs/numbers.py", "mine/other.py"):
        before = stamp()
        with (tmp_path / edited).open("a") as file:
            file.write("TWO = 2\n")
        assert (stamp() != before) is (edited != "mine/other.py"), edited


def test_every_import_of_a_kernels_file_is_found() -> None:
    """Beside Python's own parser, for every file of ours."""
    for file in (file for folder in SOURCES.values() for file in folder.rglob("*.py")):
        names = []
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                assert node.level == 0
                names += [str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)]
            elif isinstance(node, ast.Import):
                names += [alias.name for alias in node.names]
        places = (
            SOURCES[top].joinpath(*below) for top, *below in (name.split(".") for name in names) if top in SOURCES
        )
        expected = {path for place in places for path in (place.with_suffix(".py"), place / "__init__.py")}
        assert {path for path in expected if path.is_file()} <= cache._imports(file), file


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "emptied": lambda content: b"",
    "one byte changed": lambda content: content[:-9] + b"\0" + content[-8:],
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


class Planted:
    """A pickle that runs a command of its author when it is read."""

    def __init__(self, witness: Path) -> None:
        self.witness = witness

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.witness),)


def test_a_planted_pickle_without_its_digest_never_runs(folder: Path, load: Load, tmp_path: Path) -> None:
    assert load()(3) == 6
    for file in folder.rglob("*.nb?"):
        file.write_bytes(pickle.dumps(Planted(tmp_path / "run")))
    assert load()(3) == 6
    assert not (tmp_path / "run").exists()


def test_a_full_disk_only_costs_time_and_is_said_once(
    folder: Path, load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*ignored: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache._CheckedFiles, "_open_for_write", full)
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
    assert why_not_private(link) is None
    real = os.lstat(link)
    foreign = os.stat_result((*real[:4], 1_234, *real[5:10]))
    monkeypatch.setattr(Path, "lstat", lambda self: foreign)
    assert "belongs to another user" in str(why_not_private(link))


@pytest.mark.skipif(os.name == "nt", reason="users have numbers on POSIX systems alone")
@pytest.mark.parametrize("home", ["no directory", "no account"])
def test_without_a_home_the_temporary_folder_is_private(
    home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("a home that is not a directory")
    for variable in ("DDZ_CACHE_DIR", "HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)
    monkeypatch.setattr(cache.tempfile, "gettempdir", lambda: str(tmp_path))
    if home == "no directory":
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    root = cache.cache_root()
    assert root is not None
    assert root.parent == tmp_path
    assert root.stat().st_mode & 0o777 == 0o700


def test_no_folder_at_all_is_said_once_with_both_reasons(
    tmp_path: Path, load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.delenv("DDZ_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(cache.tempfile, "gettempdir", lambda: str(tmp_path / "file"))
    with pytest.warns(CompileCacheWarning, match=r"Not a directory.*Not a directory.*DDZ_CACHE_DIR") as said:
        compute(load(), load())
    assert len(said) == 1


@pytest.mark.parametrize("root", [True, False], ids=["with a cache", "without"])
def test_compiling_is_announced_once_unless_all_is_quiet(
    root: bool, folder: Path, load: Load, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if not root:
        folder.write_text("no directory")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CompileCacheWarning)
        kernel = load()
        kernel(3)
        assert capsys.readouterr().err == "", "the tests are quiet"
        cache._told.clear()
        monkeypatch.delenv("DDZ_QUIET")
        kernel(3.0)
        assert capsys.readouterr().err.count("Compiling toy0") == 1
        kernel(3 + 0j)
        assert capsys.readouterr().err == ""
        cache._told.clear()
        load()(3)
        assert bool(capsys.readouterr().err) is not root, "a kernel that is loaded is not announced"


def announce() -> None:
    """What a worker of several does first: compile."""
    cache._told.clear()
    os.environ.pop("DDZ_QUIET")
    cache._announce("toys")


def test_where_only_workers_compile_the_first_says_so() -> None:
    """As in the worker processes of a vector environment, whose main process plays nothing."""
    source = (
        "import multiprocessing; from tests.core.test_compile_cache import announce\n"
        "if __name__ == '__main__':\n"
        "    workers = [multiprocessing.get_context('spawn').Process(target=announce) for _ in range(3)]\n"
        "    [worker.start() for worker in workers]; [worker.join() for worker in workers]\n"
    )
    done = subprocess.run([sys.executable, "-c", source], cwd=ROOT, check=True, timeout=300, capture_output=True)
    assert done.stderr.count(b"Compiling toys") == 1


def test_of_two_processes_that_need_a_kernel_one_compiles_it(folder: Path, load: Load, tmp_path: Path) -> None:
    """The workers of a match begin alike: the second one waits, and loads what the first one has compiled."""
    source = "from toy.kernels import double; double(3); print(sum(double.stats.cache_hits.values()))"
    surroundings = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (tmp_path, ROOT)))}
    both = [subprocess.Popen([sys.executable, "-c", source], env=surroundings, stdout=subprocess.PIPE) for _ in "12"]
    assert sorted(process.communicate()[0].split()[0] for process in both) == [b"0", b"1"]
