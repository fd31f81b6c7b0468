"""The package's README: its example runs, what it names exists, its links lead somewhere."""

from __future__ import annotations

import importlib
import re

from ddz_training.cli.app import list_commands
from tests.packages import SOURCES
from tests.readmes import dead_links, examples_run

README = SOURCES["ddz_play"] / "README.md"
TEXT = README.read_text(encoding="utf-8")


def test_the_example_runs() -> None:
    assert examples_run(README) == 10


def test_every_command_and_module_exists() -> None:
    named = TEXT.partition("## Commands and modules")[2].partition("## An example")[0]
    commands = {*re.findall(r"`ddz (\w+)`", named)}
    assert len(commands) == 8
    assert commands <= {name for _, name, _ in list_commands()}
    for module in re.findall(r"`(ddz_play\.\w+)`", named):
        assert importlib.import_module(module).__doc__


def test_links_lead_somewhere() -> None:
    assert dead_links(README) == []
