"""The house of docs and design: imports only ever point down, and every package says what it is.

Nothing is imported here: the sources are parsed, so an import inside a function or under ``TYPE_CHECKING`` counts too.
"""

from __future__ import annotations

import ast
import functools
import graphlib
import itertools
import os
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.rooms import ROOT, SOURCES

PACKAGES = tuple(SOURCES)

# The room of ddz_env that holds the game itself: it imports nothing of the other rooms.
INNER_ROOM = "ddz_env.core"
INNER_DEPENDENCIES = {"numpy", "numba", "typing_extensions"}  # the last for mypy alone

# What each package must not import: everything above it.
ABOVE = {
    "ddz_env": {"ddz_agents", "ddz_training", "notebooks", "tests"},
    "ddz_agents": {"ddz_training", "notebooks", "tests"},
    "ddz_training": {"notebooks", "tests"},
}


@dataclass(frozen=True)
class Import:
    target: str
    file: Path
    line: int
    at_import_time: bool

    def __str__(self) -> str:
        return f"{self.file.relative_to(ROOT).as_posix()}:{self.line} imports {self.target}"


def _within(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")


@functools.cache
def _modules() -> dict[str, Path]:
    found = {}
    for package in PACKAGES:
        for file in sorted(SOURCES[package].rglob("*.py")):
            parts = file.relative_to(SOURCES[package].parent).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def _is_type_checking(test: ast.expr) -> bool:
    return getattr(test, "attr", getattr(test, "id", "")) == "TYPE_CHECKING"


def _nodes(node: ast.AST, at_import_time: bool = True) -> Iterator[tuple[ast.AST, bool]]:
    """All nodes below ``node``, each with whether it runs when the module is imported."""
    for child in ast.iter_child_nodes(node):
        runs = at_import_time
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) or (
            isinstance(child, ast.If) and _is_type_checking(child.test)
        ):
            runs = False
        yield child, runs
        yield from _nodes(child, runs)


def _imports_of_source(source: str, module: str, file: Path, known: set[str]) -> list[Import]:
    found = []
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    for node, at_import_time in _nodes(ast.parse(source)):
        targets: list[str] = []
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*parents, node.module] if node.module else parents)
            # `from package import module` imports the module; `from module import name` imports the module it names.
            names = [f"{base}.{alias.name}" for alias in node.names]
            targets = [name if name in known else base for name in names]
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in {"import_module", "__import__"} and isinstance(node.args[0].value, str):
                targets = [node.args[0].value]
        found += [Import(target, file, getattr(node, "lineno", 0), at_import_time) for target in dict.fromkeys(targets)]
    return found


@functools.cache
def _imports(module: str) -> list[Import]:
    file = _modules()[module]
    return _imports_of_source(file.read_text(encoding="utf-8"), module, file, set(_modules()))


def test_the_parser_sees_every_form_of_import() -> None:
    source = """
import ddz_training.measure.benchmark
from ddz_training.apps import cli
from . import sibling
from .deeper.room import thing
from .. import outside
def lazily():
    from ddz_agents.tree_search import uct
    importlib.import_module("ddz_agents.rules")
if TYPE_CHECKING:
    import torch
"""
    known, here = {"ddz_training.apps.cli", "ddz_env.table.render.sibling"}, "ddz_env.table.render.table"
    file = SOURCES["ddz_env"] / "table" / "render" / "table.py"
    seen = [(found.target, found.at_import_time) for found in _imports_of_source(source, here, file, known)]
    first = ("ddz_training.measure.benchmark", "ddz_training.apps.cli", "ddz_env.table.render.sibling")
    at_once = (*first, "ddz_env.table.render.deeper.room", "ddz_env.table")
    later = ("ddz_agents.tree_search", "ddz_agents.rules", "torch")
    assert seen == [*((target, True) for target in at_once), *((target, False) for target in later)]


@pytest.mark.parametrize("package", PACKAGES)
def test_imports_point_down(package: str) -> None:
    upward = [
        str(found)
        for module in _modules()
        if _within(module, package)
        for found in _imports(module)
        if found.target.split(".")[0] in ABOVE[package]
    ]
    assert not upward


def test_the_inner_room_imports_numpy_numba_and_itself_only() -> None:
    inner = [module for module in _modules() if _within(module, INNER_ROOM)]
    assert "ddz_env.core.engine" in inner
    outward = []
    for found in (found for module in inner for found in _imports(module)):
        top = found.target.split(".")[0]
        ours = _within(found.target, INNER_ROOM)
        if not ours and top not in INNER_DEPENDENCIES and top not in sys.stdlib_module_names:
            outward.append(str(found))
    assert not outward


def _cycle(edges: dict[str, set[str]]) -> tuple[str, ...]:
    """A cycle of the graph, its first node once more at the end; empty if there is none."""
    try:
        graphlib.TopologicalSorter(edges).prepare()
    except graphlib.CycleError as error:
        return tuple(reversed(error.args[1]))
    return ()


def _package(module: str) -> str:
    """The folder of a module: a package is a room of its own, and so is a module beside packages."""
    parts = module.split(".")
    folder = module if _modules()[module].name == "__init__.py" else ".".join(parts[:-1])
    return module if folder in PACKAGES else folder


def _package_edges(imports: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    """Which package imports which; a folder may import its own folders and be imported by them."""
    edges: dict[str, set[str]] = {}
    for module, target in imports:
        one, other = _package(module), _package(target)
        if not (_within(one, other) or _within(other, one)):
            edges.setdefault(one, set()).add(other)
    return edges


def test_no_import_cycles() -> None:
    """Modules that import each other have no order from the bottom up, even inside a function."""
    modules = _modules()
    edges = {module: {found.target for found in _imports(module) if found.target in modules} for module in modules}
    assert not _cycle(edges)


def test_packages_do_not_import_each_other() -> None:
    """Folders have an order too, and imports inside functions and for the type checker count."""
    modules = _modules()
    inside = [(module, found) for module in modules for found in _imports(module) if found.target in modules]
    cycle = _cycle(_package_edges((module, found.target) for module, found in inside))
    pairs = set(itertools.pairwise(cycle))
    culprits = [str(found) for module, found in inside if (_package(module), _package(found.target)) in pairs]
    assert not cycle, "\n".join([" -> ".join(cycle), *culprits])


def test_a_cycle_of_packages_is_found() -> None:
    agent, worlds = "ddz_agents.tree_search.agent", "ddz_agents.worlds.determinize"
    assert {agent, worlds} <= set(_modules())
    inner, outer = "ddz_agents.open_cards.textbook.search", "ddz_agents.open_cards.stack"
    assert not _cycle(_package_edges([(agent, worlds), (inner, outer), (outer, inner)]))
    first, *others = _cycle(_package_edges([(agent, worlds), (worlds, agent)]))
    assert sorted(others) == ["ddz_agents.tree_search", "ddz_agents.worlds"]
    assert others[-1] == first
    assert [_package(name) for name in ("ddz_agents.random", "ddz_agents.tree_search")] == [
        "ddz_agents.random",
        "ddz_agents.tree_search",
    ]


def test_every_file_has_a_docstring_that_says_what_it_is_and_none_is_named_utils() -> None:
    silent = [module for module, file in _modules().items() if not ast.get_docstring(ast.parse(file.read_bytes()))]
    assert not silent
    vague = [file for file in _texts() if file.stem in {"utils", "util", "helpers", "misc", "common"}]
    assert not vague


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_are_typed(package: str) -> None:
    assert (SOURCES[package] / "py.typed").is_file()
    folders = {file.parent for file in SOURCES[package].rglob("*.py")}
    assert not [folder for folder in folders if not (folder / "__init__.py").is_file()]


@functools.cache
def _texts() -> list[Path]:
    """All text files of ours, wherever the tree came from (a checkout or a source distribution)."""
    suffixes = {"", ".py", ".md", ".toml", ".txt", ".cff", ".ipynb", ".json", ".csv", ".yml", ".yaml", ".sh", ".svg"}
    folders = [ROOT / name for name in ("ddz_env", "agents", "training", "tests", "notebooks", "docs", ".ci")]
    files = [file for file in ROOT.iterdir() if file.is_file()]
    files += [file for folder in folders for file in folder.rglob("*") if file.is_file()]
    return sorted(file for file in files if file.suffix in suffixes and "__pycache__" not in file.parts)


def test_no_file_names_a_path_of_somebodys_machine() -> None:
    places = [r"/home/\w", r"/Users/\w", r"/root/\w", r"\b[A-Z]:\\{1,2}Users\b", r"/site-packages/\w"]
    image = (ROOT / "Dockerfile").read_text(encoding="utf-8") if (ROOT / "Dockerfile").is_file() else ""
    for path in (ROOT, Path(os.path.expanduser("~"))):
        # Neither a folder at the root, /ddz for one, which may be a word in a page, nor that of our own image.
        if len(path.parts) >= 3 and str(path) not in image:
            places.append(rf"(?<![\w.]){re.escape(str(path))}(?!\w)")
    pattern = re.compile("|".join(places))
    named = [
        f"{file.relative_to(ROOT).as_posix()}:{number}: {line.strip()[:100]}"
        for file in _texts()
        if file != Path(__file__)
        for number, line in enumerate(file.read_text(encoding="utf-8", errors="replace").splitlines(), start=1)
        if pattern.search(line)
    ]
    assert not named
