"""The source files behind a compiled kernel, and checks for changes since this process imported them.

Compiled code holds what it calls and the constants that it reads: those of its own file, and of the files that this one
imports.  Their stamp is a hash of their syntax trees, so comments, docstrings and empty lines do not count.  Parsing
takes longer than a start may, so what was read in a file is kept under a hash of the file's bytes.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ddz_env.support.folders import PACKAGES, package_folder

_PROCESS_START = time.time() - 0.02
"""When this process began to import the packages, less what the clock of a file system may be late, in seconds."""


class Import(NamedTuple):
    """A single name imported by an import statement.

    Attributes:
        dots: How many dots stand before the module.
        module: The module.
        name: What is imported from it; empty for ``import module``.
        known_as: The name that it gets.
    """

    dots: int
    module: str
    name: str
    known_as: str


class Source(NamedTuple):
    """The parts of a Python file that a compiled kernel depends on: hashes of its code, and its imports.

    Attributes:
        tree: The hash of its syntax tree.
        functions: The hash of each function's syntax tree, by the line that the function begins in.
        imports: What it imports.
    """

    tree: str
    functions: dict[str, str]
    imports: list[Import]


class KernelSources:
    """The sources of a file's kernels: the file itself and its imports from this project or its own package.

    Of a package, ``from package import name`` counts what the name is: a module, or what ``__init__`` imports under
    this name; otherwise, ``__init__`` itself.

    Args:
        module: The dotted name of the module that defines the kernels.
        file: Its source.
        memory: A folder for what is read in files, or None.

    Attributes:
        files: All of them.
        stamp: A hash of what they say, 32 hexadecimal digits.

    Raises:
        OSError: If a source cannot be read.
    """

    def __init__(self, module: str, file: Path, memory: Path | None) -> None:
        top, *below = module.split(".")
        depth = len(below) - (file.name == "__init__.py")
        self._root = Path(*file.parts[: -1 - max(depth, 0)])
        self._top, self._memory = top, memory
        self._file, self.files = file, {file: _read_source(file, memory)}
        waiting = [(file, module)]
        while waiting:
            for found, name in self._imported_files(*waiting.pop()):
                if found not in self.files:
                    self.files[found] = _read_source(found, memory)
                    waiting.append((found, name))
        trees = sorted(source.tree for source in self.files.values())
        self.stamp = _hash_text("\n".join([file.relative_to(self._root).as_posix(), *trees]))

    def find_changed_file(self) -> Path | None:
        """Return a source file that changed after this process began, or None if all are unchanged.

        ``ctime`` is no older than any edit, even one that was taken back; Windows has the time of the last write alone.
        """
        for file in self.files:
            with contextlib.suppress(OSError):
                status = file.stat()
                if (status.st_mtime if os.name == "nt" else status.st_ctime) < _PROCESS_START:
                    continue
            return file
        return None

    def function_hash(self, line: int) -> str:
        """Return the hash of the function that begins on a given line of the file."""
        source = self.files[self._file]
        return source.functions.get(str(line), source.tree)

    def _imported_files(self, file: Path, module: str) -> Iterator[tuple[Path, str]]:
        """Yield the files that a file imports, each with its dotted module name."""
        for imported in self.files[file].imports:
            yield from self._files_of_import(_absolute_name(file, module, imported), imported.name)

    def _files_of_import(self, module: str, name: str) -> Iterator[tuple[Path, str]]:
        """Yield the files that an import of a module, or of a name from the module, depends on."""
        file = self._locate_module(module)
        if file is None:
            return
        if not name:  # `import a.b` makes `a` known, too
            parts = module.split(".")
            for prefix in (".".join(parts[:end]) for end in range(1, len(parts) + 1)):
                if found := self._locate_module(prefix):
                    yield found, prefix
        elif file.name != "__init__.py":
            yield file, module
        elif below := self._locate_module(f"{module}.{name}"):
            yield below, f"{module}.{name}"
        elif origin := next((each for each in _read_source(file, self._memory).imports if each.known_as == name), None):
            yield from self._files_of_import(_absolute_name(file, module, origin), origin.name)
        else:
            yield file, module

    def _locate_module(self, module: str) -> Path | None:
        """Return the file of a module in this project or the kernels' own package, or None for any other module."""
        top, *below = module.split(".")
        if top in PACKAGES:
            return _find_module_file(package_folder(top), *below)
        if top != self._top and self._root.name in ("site-packages", "dist-packages"):
            return None  # other people's packages
        return _find_module_file(self._root, top, *below)


def _absolute_name(file: Path, module: str, imported: Import) -> str:
    """Return the absolute dotted name of an imported module, resolved relative to the importing ``module``."""
    if not imported.dots:
        return imported.module
    package = module.split(".") if file.name == "__init__.py" else module.split(".")[:-1]
    return ".".join(filter(None, [*package[: len(package) + 1 - imported.dots], imported.module]))


@functools.cache
def _find_module_file(folder: Path, *parts: str) -> Path | None:
    for file in (folder.joinpath(*parts, "__init__.py"), folder.joinpath(*parts).with_suffix(".py")):
        if file.is_file():
            return file
    return None


@functools.cache
def _read_source(file: Path, memory: Path | None) -> Source:
    """Read the hashes and imports of a file, using the cache folder if they are stored there."""
    text = file.read_bytes()
    kept = memory and memory / hashlib.sha256(sys.version.encode() + text).hexdigest()[:32]
    with contextlib.suppress(OSError, ValueError):
        digest, _, content = kept.read_text().partition("\n") if kept else ("", "", "")
        if digest == _hash_text(content):
            tree, functions, imports = json.loads(content)
            return Source(tree, functions, [Import(*each) for each in imports])
    source = _parse_source(text)
    content = json.dumps(source)
    with contextlib.suppress(OSError):  # a damaged or half-written file is read anew
        if kept:
            kept.write_text(f"{_hash_text(content)}\n{content}")
    return source


def _parse_source(text: bytes) -> Source:
    tree = ast.parse(text)
    imports = list[Import]()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            if ast.get_docstring(node, clean=False) is not None:
                del node.body[0]
        elif isinstance(node, ast.Import):
            imports += [Import(0, alias.name, "", alias.asname or alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                imports.append(Import(node.level, node.module or "", alias.name, alias.asname or alias.name))
    functions = {
        str(min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])): _hash_text(ast.dump(node))
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
    }
    return Source(_hash_text(ast.dump(tree)), functions, imports)


def _hash_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]
