"""Settings that every test shares."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

# Before anything imports pygame: draw without a display.
os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
os.environ.setdefault("SDL_AUDIODRIVER", "dummy")
os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
# Several workers share the cores: their libraries must not start one thread per core each.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# What a command prints does not depend on whether its kernels were compiled before.
os.environ.setdefault("DDZ_QUIET", "1")

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from tests.play.web.web_page import Page

# The developer's own settings of games and terminals are not what is tested.
for own in ("CLICOLOR_FORCE", "DDZ_DEBUG", "DDZ_LANG", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
    os.environ.pop(own, None)

# derandomize: the same examples in every run; no deadline: the first call of a kernel compiles it.
settings.register_profile("ddz", derandomize=True, deadline=None)
settings.load_profile("ddz")

# Programs that do what they are for on import: train with other libraries, answer as a bot.
collect_ignore_glob = ["integrations/*/*.py", "data/bots/*.py"]


def pytest_configure(config: pytest.Config) -> None:
    """RLCard unpacks its data at the first import, and fails in two processes at once: here before workers start."""
    if not hasattr(config, "workerinput"):
        with contextlib.suppress(ImportError):
            import rlcard.games.doudizhu  # noqa: F401


OPTIONAL = set(
    "douzero mcp nbformat onnx playwright pwd pyspiel rlcard safetensors sb3_contrib starlette torch".split()  # noqa: SIM905
)
"""Packages of extras, and of other systems: a file of tests that imports one is skipped where it is not installed."""


class _MayLack(pytest.Module):
    def _getobj(self) -> Any:
        try:
            return super()._getobj()
        except pytest.Collector.CollectError as error:
            missing = getattr(error.__cause__, "name", None)
            if isinstance(error.__cause__, ModuleNotFoundError) and missing in OPTIONAL:
                pytest.skip(f"{missing} is not installed", allow_module_level=True)
            raise


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module:
    return _MayLack.from_parent(parent, path=module_path)


@pytest.fixture(scope="session")
def installed() -> Callable[[], Any]:
    """The entry points of all installed agents, looked for once: that takes longer than a request."""
    from ddz_env.playing import registry

    return functools.cache(registry._find_entry_points)


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: Callable[[], Any]) -> Page:
    """A page that talks to ``ddz web``."""
    from tests.play.web.web_page import Page

    monkeypatch.setattr("ddz_env.playing.registry._find_entry_points", installed)
    return Page(tmp_path / "games")
