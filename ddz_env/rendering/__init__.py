"""Renderers of the card table: text for terminals, pixels for videos, and a window for human viewers.

Text needs nothing; pixels need Pillow and windows pygame: ``pip install -e '.[render]'``.  Both are imported when
they are first used.  No renderer changes a game, and what a seat cannot see never reaches its picture.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from ddz_env.core.state import State
from ddz_env.core.view import View
from ddz_env.rendering.ansi import render_ansi
from ddz_env.rendering.snapshot import Snapshot, take_snapshot
from ddz_env.support.errors import InvalidPictureError, MissingDependencyError

__all__ = ["InvalidPictureError", "MissingDependencyError", "Snapshot", "Window"]
__all__ += ["render_ansi", "render_rgb", "take_snapshot"]


def render_rgb(
    game: State | View, *, perspective: int | None = None, width: int = 960, height: int = 600
) -> npt.NDArray[np.uint8]:
    """Draw a game as an RGB picture, shape ``[height, width, 3]``, uint8.

    Args:
        game: A game, or what a seat knows of it (a view shows only that).
        perspective: The seat that looks, drawn at the bottom; None shows every hand of a ``State``.
        width: Pixels across, 240..3840.
        height: Pixels down, 150..2400.

    Returns:
        The picture, shape ``[height, width, 3]``, uint8.  The same table gives the same pixels.

    Raises:
        InvalidPictureError: If there is no such seat, the perspective is not that of the view, or a size is out of
            range.
        MissingDependencyError: If Pillow is not installed.
    """
    try:
        from ddz_env.rendering.image import draw_snapshot
    except ImportError as error:
        raise MissingDependencyError("Pillow") from error
    return draw_snapshot(take_snapshot(game, perspective), width, height)


class Window:
    """An on-screen window (pygame) that shows pictures until the program or the user closes it.

    When the user closes the window, later pictures are ignored: a game that is being watched plays on.  SDL has one
    window per process, so several of these draw into the same one.  ``SDL_VIDEODRIVER=dummy`` draws without a display.

    Args:
        fps: Pictures per second at most; ``show`` waits.  0 never waits.

    Raises:
        MissingDependencyError: If pygame is not installed.

    Example:
        >>> Window().show(render_rgb(state))  # doctest: +SKIP
        True
    """

    def __init__(self, fps: float = 0) -> None:
        os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
        try:
            import pygame
        except ImportError as error:
            raise MissingDependencyError("pygame") from error
        self._pygame: Any = pygame
        self._fps = fps
        self._clock: Any = None
        self._open = True

    def show(self, rgb: npt.NDArray[np.uint8]) -> bool:
        """Show a picture in the window, which opens if necessary and takes the picture's size.

        Args:
            rgb: Shape ``[height, width, 3]``, uint8.

        Returns:
            Whether the picture was shown: False once the window is closed.

        Raises:
            InvalidPictureError: If the array is not a picture.
        """
        if rgb.ndim != 3 or rgb.shape[2] != 3 or rgb.dtype != np.uint8:
            raise InvalidPictureError(f"a picture is [height, width, 3] uint8, got {list(rgb.shape)} {rgb.dtype}")
        if not self._open:
            return False
        surface = self._surface((rgb.shape[1], rgb.shape[0]))
        if any(event.type == self._pygame.QUIT for event in self._pygame.event.get()):
            self.close()
            return False
        self._pygame.surfarray.blit_array(surface, rgb.swapaxes(0, 1))
        self._pygame.display.flip()
        if self._fps > 0:
            self._clock = self._clock or self._pygame.time.Clock()
            self._clock.tick(self._fps)
        return True

    def close(self) -> None:
        """Close the window; closing it again does nothing."""
        self._open = False
        self._pygame.display.quit()

    def _surface(self, size: tuple[int, int]) -> Any:
        """Return the window's surface at a given size, opening or resizing the window as needed."""
        display = self._pygame.display
        display.init()  # does nothing the second time
        surface = display.get_surface()
        if surface is None or surface.get_size() != size:
            surface = display.set_mode(size)
        display.set_caption("Dou Dizhu")
        return surface
