"""The package's README: its examples run, what it names exists, its folders are all there, its links lead somewhere."""

from __future__ import annotations

import importlib
import re

import pytest

from tests.packages import SOURCES
from tests.readmes import dead_links, examples_run

README = SOURCES["ddz_training"] / "README.md"
TEXT = README.read_text(encoding="utf-8")


def test_the_examples_run() -> None:
    assert examples_run(README) > 10


@pytest.mark.parametrize("public", re.findall(r"\| `(\w+)` of `([\w.]+)` \|", TEXT), ids=".".join)
def test_every_public_name_exists(public: tuple[str, str]) -> None:
    name, module = public
    if ".sb3." in module:
        pytest.importorskip("stable_baselines3")
    assert callable(getattr(importlib.import_module(module), name))


def test_every_folder_is_listed() -> None:
    listed = re.findall(r"(?m)^\| `(\w+)/` \|", TEXT)
    assert sorted(listed) == sorted(file.parent.name for file in README.parent.glob("*/__init__.py"))


def test_links_lead_somewhere() -> None:
    assert dead_links(README) == []
