"""Settings that every test shares."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

# Before anything imports pygame: draw without a display.
os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
os.environ.setdefault("SDL_AUDIODRIVER", "dummy")
os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from tests.web_page import Page

# derandomize: the same examples in every run; no deadline: the first call of a kernel compiles it.
settings.register_profile("ddz", derandomize=True, deadline=None)
settings.load_profile("ddz")

# Programs that do what they are for on import: train with other libraries, answer as a bot.
collect_ignore_glob = ["integrations/*/*.py", "data/bots/*.py"]


@pytest.fixture(scope="session", autouse=True)
def _games_of_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Games that name no file are not kept among the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DDZ_GAMES_DIR", str(tmp_path_factory.mktemp("games")))
        yield


@pytest.fixture(scope="session")
def installed() -> Callable[[], Any]:
    """The entry points of all installed agents, looked for once: that takes longer than a request."""
    from ddz_env import registry

    return functools.cache(registry._entry_points)


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: Callable[[], Any]) -> Page:
    """A page that talks to ``ddz web``."""
    from tests.web_page import Page

    monkeypatch.setattr("ddz_env.registry._entry_points", installed)
    return Page(tmp_path / "games")


_TOPICS = {
    "searches": r"mcts|whole_moves|redetermined|rollouts|search_options|tree_reuse|worlds|hand_inf|full|agents",
    "learning": r"neural|ppo|sb3|learned_inference|policy_strength|search_gains|demo|bench_training",
}
"""Tests that call the same kernels, by the beginning of their files' names."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give a topic, or else a file, to one worker: two that need the same new kernels would both compile them."""
    for item in items:
        if next(item.iter_markers("xdist_group"), None) is None:
            name = item.path.stem.removeprefix("test_")
            topics = (topic for topic, files in _TOPICS.items() if re.match(files, name))
            item.add_marker(pytest.mark.xdist_group(next(topics, name)))
