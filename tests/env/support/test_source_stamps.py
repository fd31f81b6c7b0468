"""A stored kernel is of the sources that made it, and an edit costs only the kernels that depend on it."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ddz_env.support import source_stamps
from ddz_env.support.compiling import kernel
from ddz_env.support.source_stamps import KernelSources
from tests.packages import ROOT, SOURCES

TOY = {
    "__init__.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from toy.lazy import one as uno\n",
    "kernels.py": '"""Text."""\n'
    "import toy.plain\n"
    "from toy import tables, uno\n"
    "from toy.below import two\n"
    "from . import near\n"
    "def late():\n"
    '    """Text."""\n'
    "    from .far import three\n",
    "below/__init__.py": "two = 2\n",
    "below/beside.py": "",
    "tables.py": "from toy.deep import four\n",
    **{f"{name}.py": "" for name in ("plain", "lazy", "near", "far", "deep", "stranger")},
}
"""A package whose kernels import in every way."""


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    for name, text in TOY.items():
        (tmp_path / "toy" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "toy" / name).write_text(text)
    return tmp_path / "toy"


@pytest.fixture
def stamp(toy: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], str]]:
    """The stamp of the toy's kernels, as a new process takes it."""
    (toy.parent / "memory").mkdir()

    def stamp() -> str:
        source_stamps._read_source.cache_clear()
        source_stamps._find_module_file.cache_clear()
        return KernelSources("toy.kernels", toy / "kernels.py", toy.parent / "memory").stamp

    yield stamp
    source_stamps._find_module_file.cache_clear()


@pytest.mark.parametrize(
    ("file", "old", "new", "stale"),
    [
        ("kernels.py", '"""Text."""\nimport', '"""Another text,\n\nlonger."""\n# and a comment\nimport', False),
        ("kernels.py", '    """Text."""', '    """Another text."""', False),
        ("kernels.py", "late", "later", True),
        ("plain.py", "", "FIVE = 5", True),  # import package.module
        ("tables.py", "four", "four, five", True),  # from package import module
        ("deep.py", "", "FIVE = 5", True),  # imported by what is imported
        ("lazy.py", "", "FIVE = 5", True),  # from package import a name that the package imports for a checker
        ("below/__init__.py", "2", "3", True),  # from package import a name that the package defines
        ("near.py", "", "FIVE = 5", True),  # from . import module
        ("far.py", "", "FIVE = 5", True),  # from .module import name, in a function
        ("below/beside.py", "", "FIVE = 5", False),  # beside what is imported
        ("stranger.py", "", "FIVE = 5", False),
    ],
)
def test_the_stamp_is_of_what_the_kernels_import(
    toy: Path, stamp: Callable[[], str], file: str, old: str, new: str, stale: bool
) -> None:
    before = stamp()
    assert stamp() == before, "what is remembered of a file says the same"
    text = (toy / file).read_text()
    (toy / file).write_text(text.replace(old, new, 1))
    assert (stamp() != before) == stale
    (toy / file).write_text(text)
    assert stamp() == before


def test_what_is_remembered_of_a_file_is_read_anew_if_it_is_damaged(toy: Path, stamp: Callable[[], str]) -> None:
    before = stamp()
    for file in (toy.parent / "memory").iterdir():
        file.write_text(file.read_text().replace("plain", "pluin"))
    assert stamp() == before


@pytest.mark.parametrize(
    ("module", "independent"),
    [
        ("ddz_env.core.engine.step", ("ddz_play", "ddz_env.peers", "ddz_env.envs", "ddz_agents")),
        ("ddz_env.envs.learner_games", ("ddz_play", "ddz_env.peers", "ddz_agents")),
        ("ddz_agents.neural.compiled_policy", ("ddz_agents.tree_search", "ddz_agents.rules.rules", "ddz_play")),
        ("ddz_agents.rules.rules", ("ddz_agents.tree_search", "ddz_agents.neural", "ddz_play")),
        ("ddz_agents.open_cards.solver.search", ("ddz_agents.tree_search", "ddz_agents.neural", "ddz_play")),
        ("ddz_agents.tree_search.search", ("ddz_agents.neural", "ddz_agents.open_cards", "ddz_play")),
    ],
)
def test_kernels_do_not_depend_on_what_they_do_not_need(module: str, independent: tuple[str, ...]) -> None:
    top, *below = module.split(".")
    sources = KernelSources(module, SOURCES[top].joinpath(*below).with_suffix(".py"), None)
    tops = sorted((source.parent for source in SOURCES.values()), key=lambda top: -len(top.parts))
    paths = [file.relative_to(next(top for top in tops if file.parent.is_relative_to(top))) for file in sources.files]
    names = {path.with_suffix("").as_posix().replace("/", ".") for path in paths}
    assert module in names
    assert not [name for name in names if name.startswith(independent)]


def test_no_two_kernels_share_a_file() -> None:
    """Within a file, kernels of one name differ in their syntax trees."""
    for folder in SOURCES.values():
        for file in folder.rglob("*.py"):
            source = source_stamps._read_source(file, None)
            names = [
                (node.name, source.functions[str(min(part.lineno for part in (node, *node.decorator_list)))])
                for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
                if isinstance(node, ast.FunctionDef)
                and any("kernel" in ast.unparse(part) for part in node.decorator_list)
            ]
            assert len(names) == len(set(names)), file


CHILD = """
import sys
for line in sys.stdin:
    exec(line)
    print(flush=True)
"""


class Child:
    """A Python process that does one line of a program after another."""

    def __init__(self, folder: Path) -> None:
        surroundings = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
        surroundings["DDZ_CACHE_DIR"] = str(folder / "cache")
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", CHILD],
            env=surroundings, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def run(self, line: str) -> str:
        """Run a line; what it prints."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()

    def end(self) -> None:
        self._process.communicate()


def test_no_kernel_of_another_state_of_the_sources_is_kept(tmp_path: Path) -> None:
    """A process that lives while a file is edited, and the edit is taken back or stays: a new process is right.

    The edited file is called or holds a table; it is imported before the edit or after it.  Two processes began before
    it, one of which compiles everything (as ``ddz warmup`` does) while the other one goes on.
    """
    cases = [
        (edited, early, back) for edited in ("called", "table") for early in (True, False) for back in (True, False)
    ]
    for number in range(len(cases)):
        folder = tmp_path / f"toy{number}"
        folder.mkdir()
        (folder / "__init__.py").write_text("")
        head = "from ddz_env.support.compiling import kernel\n"
        (folder / "called.py").write_text(f"{head}@kernel\ndef called(x):\n    return x + 1\n")
        (folder / "table.py").write_text("import numpy as np\nTABLE = np.array([10, 20])\n")
        (folder / "caller.py").write_text(
            f"{head}from toy{number}.called import called\nfrom toy{number}.table import TABLE\n"
            "@kernel\ndef caller(x):\n    return called(x) + TABLE[x]\n"
        )
    old, warmup = Child(tmp_path), Child(tmp_path)
    for child in (old, warmup):
        child.run("import ddz_env")
    right, edits = list[str](), {"called": ("x + 1", "x + 100"), "table": ("[10,", "[900,")}
    for number, (edited, early, back) in enumerate(cases):
        file = tmp_path / f"toy{number}" / f"{edited}.py"
        text = file.read_text()
        if early:
            old.run(f"import toy{number}.called, toy{number}.table")
        file.write_text(text.replace(*edits[edited]))
        seen = {
            child.run(f"from toy{number}.caller import caller; print(caller(0), end='')") for child in (old, warmup)
        }
        changed = {"called": "110", "table": "901"}[edited]
        assert seen == ({"11", changed} if early else {changed}), "each process computes with what it imported"
        if back:
            file.write_text(text)
        right.append("11" if back else changed)
    new = Child(tmp_path)
    assert [
        new.run(f"from toy{number}.caller import caller; print(caller(0), end='')") for number in range(len(cases))
    ] == right
    newest = Child(tmp_path)
    hits = "from toy0.caller import caller; caller(0); print(sum(caller.stats.cache_hits.values()), end='')"
    assert newest.run(hits) == "1", "what the new process compiled is kept"
    for child in (old, warmup, new, newest):
        child.end()


@kernel
def twice(number: int) -> int:
    return 2 * number


def test_kernels_of_other_packages_have_stamps_of_their_own_imports() -> None:
    files = KernelSources(__name__, Path(__file__), None).files
    assert ROOT / "tests" / "packages.py" in files
    assert twice(3) == 6
