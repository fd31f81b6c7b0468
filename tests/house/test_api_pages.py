"""The pages of the Python interface: signatures as callers write them, and first paragraphs, read from the modules."""

from __future__ import annotations

import importlib
import re

import pytest

import api_pages
import generate
from tests.packages import ROOT, SOURCES

PAGES = ROOT / "docs" / "reference" / "api"


def test_every_package_has_a_page_and_every_page_its_modules() -> None:
    assert {page.stem for page in PAGES.glob("*.md")} == api_pages.MODULES.keys()
    modules = [module for page in api_pages.MODULES.values() for module in page]
    assert len(modules) == len({*modules})
    assert {module.partition(".")[0] for module in modules} == SOURCES.keys()
    for name in api_pages.MODULES:
        assert f"<!-- table: api-{name} -->" in (PAGES / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", api_pages.MODULES)
def test_a_page_says_nothing_that_changes_from_run_to_run(name: str) -> None:
    assert not re.search(r" at 0x|ForwardRef", generate.table(f"api-{name}"))


def lines(module: str) -> dict[str, str]:
    """The texts of a module's list by their signatures, and of its members by their classes' names as well."""
    section, found, kind = api_pages.section(importlib.import_module(module)), {}, ""
    for below, signature, about in re.findall(r"(?m)^( *)- `(.*?)`: (.*)$", section):
        kind = kind if below else signature.removeprefix("class ").partition("(")[0]
        found[f"{kind}.{signature}" if below else signature] = about
    return found


def test_a_function_a_class_a_method_and_a_constant_are_listed() -> None:
    games, state = lines("ddz_env.peers.botzone.games"), lines("ddz_env")
    assert games["find_botzone_game(name: str) -> BotzoneGame"].startswith("Return the Botzone game")
    assert games["class Combination(category: str, rank: int, length: int, kickers: int)"]  # a named tuple
    assert games["GAMES"].startswith("The games by name")
    assert state["State.step(move: Move | str) -> None"].startswith("Play a whole move")
    assert state["PRESETS"].startswith("Every preset")  # from another module


def test_an_agent_that_takes_options_shows_them_as_its_parameters() -> None:
    assert any(line.startswith("class RolloutAgent(iterations:") for line in lines("ddz_agents.tree_search.rollout"))
