"""The house of docs and design: imports only ever point down, and every package says what it is.

Nothing is imported here: the sources are parsed, so an import inside a function or under ``TYPE_CHECKING`` counts too.
"""

from __future__ import annotations

import ast
import functools
import graphlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.packages import ROOT, SOURCES

PACKAGES = tuple(SOURCES)
BELOW = {
    "ddz_env": set(),
    "ddz_agents": {"ddz_env"},
    "ddz_training": {"ddz_env", "ddz_agents"},
    "ddz_play": {"ddz_env", "ddz_agents", "ddz_training"},
    "ddz_papers": {"ddz_env", "ddz_agents", "ddz_training"},  # and the last two do not know each other
}
"""Which other packages each may import."""

# The inner folders of ddz_env, each with what it may import: the game itself, and its tools.
INNER_FOLDERS = {"ddz_env.support": ("ddz_env.support",), "ddz_env.core": ("ddz_env.core", "ddz_env.support")}
INNER_DEPENDENCIES = {"numpy", "numba", "typing_extensions"}  # the last for mypy alone


@functools.cache
def _modules() -> dict[str, Path]:
    found = {}
    for package, folder in SOURCES.items():
        for file in sorted(folder.rglob("*.py")):
            parts = (package, *file.relative_to(folder).with_suffix("").parts)
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


@functools.cache
def _parsed(module: str) -> ast.Module:
    return ast.parse(_modules()[module].read_bytes())


@functools.cache
def _imports(module: str) -> dict[str, str]:
    """What a module imports, each with the place."""
    file, found = _modules()[module].relative_to(ROOT).as_posix(), {}
    for node in ast.walk(_parsed(module)):
        if not isinstance(node, (ast.Import, ast.ImportFrom)):
            continue
        where = f"{file}:{node.lineno}"
        if isinstance(node, ast.Import):
            found |= {alias.name: where for alias in node.names}
        else:
            assert not node.level, f"{where}: imports are absolute"
            # `from package import module` imports the module; `from module import name` imports the module it names.
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            found |= {name if name in _modules() else str(node.module): where for name in names}
    return found


def _within(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_imports_only_those_to_its_left(package: str) -> None:
    refused = {*PACKAGES, "notebooks", "tests", "docs", "benchmarks"} - {package} - BELOW[package]
    wrong = [
        f"{where} imports {target}"
        for module in _modules()
        if _within(module, package)
        for target, where in _imports(module).items()
        if target.split(".")[0] in refused
    ]
    assert not wrong


@pytest.mark.parametrize("folder", INNER_FOLDERS)
def test_an_inner_folder_imports_numpy_numba_and_what_lies_below_it(folder: str) -> None:
    allowed = INNER_DEPENDENCIES | sys.stdlib_module_names
    outward = [
        f"{where} imports {target}"
        for module in _modules()
        if _within(module, folder)
        for target, where in _imports(module).items()
        if not any(_within(target, below) for below in INNER_FOLDERS[folder]) and target.split(".")[0] not in allowed
    ]
    assert not outward


def _edges() -> Iterator[tuple[str, str]]:
    """Which module imports which."""
    for module in _modules():
        yield from ((module, target) for target in _imports(module) if target in _modules())


def _cycle(edges: Iterator[tuple[str, str]]) -> list[str]:
    """A cycle of the graph; empty if there is none."""
    graph: dict[str, set[str]] = {}
    for source, target in edges:
        graph.setdefault(source, set()).add(target)
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return list(reversed(error.args[1]))
    return []


def test_no_import_cycles() -> None:
    """Modules that import each other have no order from the bottom up, even inside a function."""
    assert not _cycle(_edges())


def test_scripts_of_the_page_do_not_import_each_other() -> None:
    scripts = [file for folder in SOURCES.values() for file in sorted(folder.rglob("*.js"))]
    assert scripts
    imported = [
        (file, (file.parent / name).resolve())
        for file in scripts
        for name in re.findall(r'(?m)^import\b[^;]*?"(\.[^"]*)";$', file.read_text(encoding="utf-8"))
    ]
    assert {target for _, target in imported} < set(scripts)
    cycle = _cycle((file.name, target.name) for file, target in imported)
    assert not cycle


def _folder(module: str) -> str:
    """The folder of a module; a module beside the folders of a package stands for itself."""
    folder = module if _modules()[module].name == "__init__.py" else module.rpartition(".")[0]
    return module if folder in PACKAGES else folder


def test_folders_do_not_import_each_other() -> None:
    """Folders have an order too; a folder may import its own folders and be imported by them."""
    folders = ((_folder(source), _folder(target)) for source, target in _edges())
    assert not _cycle((one, other) for one, other in folders if not (_within(one, other) or _within(other, one)))


def test_every_file_has_a_docstring_that_says_what_it_is_and_none_is_named_utils() -> None:
    silent = [module for module in _modules() if not ast.get_docstring(_parsed(module))]
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
    """The texts of ours, wherever the tree came from (a checkout or a source distribution)."""
    folders = [
        ROOT / name
        for name in (*(folder.relative_to(ROOT).parts[0] for folder in SOURCES.values()), "tests", "notebooks", "docs")
    ]
    files = [*ROOT.iterdir(), *(file for folder in folders for file in folder.rglob("*"))]
    return [file for file in files if file.suffix in {".py", ".md", ".toml", ".ipynb", ".json", ".csv", ".txt"}]


def test_no_file_names_a_path_of_somebodys_machine() -> None:
    path = re.compile(r"/(home|Users|root)/\w|\b[A-Z]:\\{1,2}Users\b|/site-packages/\w|" + re.escape(f"{ROOT}/"))
    texts = (file for file in _texts() if file != Path(__file__))
    assert not [file for file in texts if path.search(file.read_text(encoding="utf-8", errors="replace"))]


def test_the_scripts_of_the_page_import_what_there_is() -> None:
    """A browser loads no script at all of a page of which one asks for a name that another does not export."""
    scripts = {file.name: file.read_text(encoding="utf-8") for root in SOURCES.values() for file in root.rglob("*.js")}
    declared = re.compile(r"(?m)^export (?:async )?(?:function|const|let|class) (\w+)")
    exported = {name: set(declared.findall(text)) for name, text in scripts.items()}
    wanted = {
        (name, part.strip(), source)
        for name, text in scripts.items()
        for parts, source in re.findall(r'import \{([^}]*)\} from "\./([\w.]+)"', text)
        for part in parts.split(",")
    }
    assert len(wanted) > 50
    assert {each for each in wanted if each[1] not in exported[each[2]]} == set()
