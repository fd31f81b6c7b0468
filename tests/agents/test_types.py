"""Constructors of agents are typed: a slip in an option is an error to a type checker before anything runs."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from dataclasses import MISSING
from importlib import metadata
from pathlib import Path

import pytest

from ddz_env.playing.registry import GROUP
from ddz_env.support.options import Option, find_options_type
from tests.packages import ROOT, SOURCES, pythonpath

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PLAIN = (bool, int, float, str, type(None))
OFF = {"arg-type", "assignment", "return-value"}
"""Errors of mypy that kernels make where Numba's integers stand for Python's."""
KERNEL = re.compile(r"^@\w*kernel$", re.MULTILINE)


def calls(name: str, options: tuple[Option, ...]) -> Iterator[tuple[str, bool]]:
    """Calls of an agent's class, right and wrong: each option with its default, with another type, misspelt."""
    needed = {option.name: "'text'" for option in options if option.default is MISSING}
    for option in (None, *options):
        given = dict(needed)
        if option is not None and isinstance(option.default, PLAIN):
            given[option.name] = repr(option.default)
        yield written(name, given), True
        if option is not None:
            yield written(name, needed | {option.name: "object()"}), False
            yield written(name, needed | {f"{option.name}s": repr(1)}), False
    for left_out in needed:
        yield written(name, {option: value for option, value in needed.items() if option != left_out}), False
    yield written(name, needed | {"no_such_option": "1"}), False


def written(name: str, given: dict[str, str]) -> str:
    return f"{name}({', '.join(map('='.join, given.items()))})"


@pytest.mark.long
def test_every_agent_refuses_wrong_names_and_types_of_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    api = pytest.importorskip("mypy.api")
    points = {point.name: point for point in metadata.entry_points(group=GROUP)}
    lines, wrong = [], set()
    for name in sorted(points):
        module, _, cls = points[name].value.partition(":")
        lines.append(f"from {module} import {cls}")
        declared = find_options_type(points[name].load())
        for call, right in calls(cls, declared.options() if declared else ()):
            lines.append(call)
            wrong |= set() if right else {len(lines)}
    program = tmp_path / "calls.py"
    program.write_text("\n".join(lines))
    monkeypatch.setenv("MYPYPATH", pythonpath())
    said, failed, _ = api.run(["--config-file", os.fspath(ROOT / "pyproject.toml"), os.fspath(program)])
    found = {int(line) for line in re.findall(r"calls\.py:(\d+): error: .*\[(?:call-arg|arg-type)\]", said)}
    assert not failed, said
    assert [lines[line - 1] for line in sorted(found ^ wrong)] == []
    assert said.count(": error: ") == len(found)


def test_errors_are_off_only_where_kernels_are_and_no_agent_is() -> None:
    tables = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]["overrides"]
    off = {name for table in tables if OFF & {*table.get("disable_error_code", ())} for name in table["module"]}
    agents = {point.module for point in metadata.entry_points(group=GROUP)}
    assert off
    assert not off & agents
    for module in off:
        package, *parts = module.split(".")
        assert KERNEL.search(SOURCES[package].joinpath(*parts).with_suffix(".py").read_text(encoding="utf-8")), module
