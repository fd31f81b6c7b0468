"""What an environment shows: text, a picture or a window, by its render mode."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import Any

import gymnasium

from ddz_env.core.checks import check_choice
from ddz_env.core.state import State
from ddz_env.core.view import View

RENDER_MODES = ("ansi", "rgb_array", "human")
_NEEDED = {"ansi": (), "rgb_array": ("PIL",), "human": ("PIL", "pygame")}
"""Modules that a mode needs; they are looked for, and not imported."""


def usable_modes(modes: Sequence[str] = RENDER_MODES) -> list[str]:
    """Those of some render modes whose packages are installed: what an environment declares, checkers try."""
    return [mode for mode in modes if all(map(importlib.util.find_spec, _NEEDED[mode]))]


class Screen:
    """Shows positions; a window opens with the first one.

    A mode whose packages are missing is refused by ``show``, not before: SB3's ``make_vec_env`` asks for pictures that
    nobody looks at, and learning needs no Pillow.

    Args:
        mode: ``"ansi"``, ``"rgb_array"``, ``"human"`` or None.
        modes: Those that the environment has.

    Raises:
        InvalidOptionError: If the mode is unknown.
    """

    def __init__(self, mode: str | None, modes: Sequence[str] = RENDER_MODES) -> None:
        self._mode = None if mode is None else check_choice("render_mode", mode, modes)
        self._window: Any = None

    def show(self, position: State | View, fps: float) -> Any:
        """Text or a picture of a position, shape ``[height, width, 3]``, uint8; a window shows it and returns None.

        Raises:
            MissingDependencyError: If a package that the mode needs is not installed.
        """
        from ddz_env.table import render

        if self._mode is None:
            gymnasium.logger.warn("render() was called without a render_mode; name one when making the environment")
            return None
        if self._mode == "ansi":
            return render.render_ansi(position)
        picture = render.render_rgb(position)
        if self._mode == "rgb_array":
            return picture
        if self._window is None:
            self._window = render.Window(fps=fps)
        self._window.show(picture)
        return None

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._window is not None:
            self._window.close()
            self._window = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_window": None}  # a window belongs to its process
