"""The package's README: its example runs, what it names exists, its links lead somewhere."""

from __future__ import annotations

import importlib
import re

import pytest

from tests.packages import SOURCES
from tests.readmes import dead_links, examples_run

README = SOURCES["ddz_agents"] / "README.md"
TEXT = README.read_text(encoding="utf-8")


def test_the_example_runs() -> None:
    assert examples_run(README) > 5


@pytest.mark.parametrize("public", re.findall(r"\| `(\w+)` of `([\w.]+)` \|", TEXT), ids=".".join)
def test_every_public_name_exists(public: tuple[str, str]) -> None:
    name, module = public
    if module.endswith("torch_model"):
        pytest.importorskip("torch")
    assert callable(getattr(importlib.import_module(module), name))


def test_every_folder_is_listed_below_those_that_it_imports() -> None:
    listed = re.findall(r"(?m)^\| `(\w+)/` \|", TEXT)
    assert {*listed} == {file.parent.name for file in README.parent.glob("*/__init__.py")}
    for number, folder in enumerate(listed):
        sources = " ".join(file.read_text(encoding="utf-8") for file in (README.parent / folder).rglob("*.py"))
        imported = {*re.findall(r"(?m)^\s*from ddz_agents\.(\w+)\.", sources)}
        assert imported & {*listed[number + 1 :]} == set(), folder


def test_links_lead_somewhere() -> None:
    assert dead_links(README) == []
