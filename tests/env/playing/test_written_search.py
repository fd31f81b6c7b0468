"""The search of the tutorial: it is a search, and it beats random play."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ddz_env import State
from ddz_env.playing.agent import Agent
from ddz_env.playing.game import make_seat_generators, play_game
from ddz_env.playing.registry import make_agent
from tests.packages import ROOT

PAGE = ROOT / "docs" / "tutorials" / "write-a-search.md"


_BLOCKS = re.findall(r"(?s)```python\n(.*?)```", PAGE.read_text(encoding="utf-8"))
PROGRAMS = dict(zip(("mysearch", "myparts", "variants"), _BLOCKS, strict=True))
"""The page's programs by the names that it gives them."""


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page's programs, saved where Python finds them."""
    for name, text in PROGRAMS.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.fixture(params=["mysearch:MySearch", "variants:Availability"])
def search(request: pytest.FixtureRequest, programs: None) -> Callable[..., Agent]:
    module, name = request.param.split(":")
    made: Callable[..., Agent] = getattr(importlib.import_module(module), name)
    return made


def test_the_search_of_the_tutorial_beats_random_play(search: Callable[..., Agent]) -> None:
    """Each of ten deals from both sides; random play as the landlord wins a third of its games against itself."""
    mine, other, won = search(iterations=100), make_agent("random"), 0
    for game in range(10):
        for landlord in (True, False):
            state = State.new(30, game=game)
            agents = [mine if (seat == state.seat) == landlord else other for seat in range(3)]
            over = play_game(state, agents, make_seat_generators([30, game], 3))
            won += (over.winner is not None and over.role(over.winner) == "landlord") == landlord
    assert won >= 17


def test_the_search_is_shown_no_hidden_card(search: Callable[..., Agent]) -> None:
    """Deals that differ only in cards that its seat does not see get the same move, with and without kickers."""
    hands = ["3334567", "889", "TTJ"]
    views = [State.from_hands([hands[0], *rest], check_sizes=False).view() for rest in (hands[1:], hands[:0:-1])]
    assert len({search(iterations=60).act(view, np.random.default_rng(1)) for view in views}) == 1


def test_the_search_decides_in_an_auction(search: Callable[..., Agent]) -> None:
    """Also when all others have declined, so that one more means a new deal."""
    for seed in range(6):
        state = State.new(seed, rules="bidding")
        for _ in range(3):
            view = state.view()
            assert search(iterations=20).act(view, np.random.default_rng(0)) in view.legal_moves()
            state.step(state.legal_moves()[0])


@pytest.mark.usefixtures("programs")
def test_the_parts_of_the_page_are_taken_by_the_compiled_search() -> None:
    agent = make_agent("isuct:iterations=200,selection=myparts.bound,worlds=myparts.worlds")
    state = State.new(3)
    assert agent.act(state.view(), np.random.default_rng(0)) in state.legal_moves()
