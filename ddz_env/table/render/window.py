"""A window on the screen that shows pictures (pygame; ``SDL_VIDEODRIVER=dummy`` draws without a display)."""

from __future__ import annotations

import os
from typing import Any, ClassVar
from weakref import WeakSet

import numpy as np
import numpy.typing as npt

from ddz_env.core.errors import InvalidPictureError, MissingDependencyError


class Window:
    """Shows pictures until it or its user closes it.

    When the user closes the window, later pictures are ignored: a game that is being watched plays on.  SDL has one
    window a process, so several of these draw into the same one; it disappears with the last of them.

    Args:
        title: The window's title.
        fps: Pictures a second at most; ``show`` waits.  0 never waits.

    Raises:
        MissingDependencyError: If pygame is not installed.

    Example:
        >>> with Window() as window:  # doctest: +SKIP
        ...     window.show(render_rgb(state))
        True
    """

    _alive: ClassVar[WeakSet[Window]] = WeakSet()

    def __init__(self, title: str = "Dou Dizhu", *, fps: float = 0) -> None:
        os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
        try:
            import pygame
        except ImportError as error:
            raise MissingDependencyError("pygame") from error
        self._pygame: Any = pygame
        self._title = title
        self._fps = fps
        self._clock: Any = None
        self._open = True
        self._alive.add(self)

    @property
    def is_open(self) -> bool:
        """False once the window was closed, by :meth:`close` or by the user."""
        return self._open

    def show(self, rgb: npt.NDArray[np.uint8]) -> bool:
        """Show a picture; the window appears with the first and takes the size of each.

        Args:
            rgb: Shape ``[height, width, 3]``, uint8.

        Returns:
            Whether the picture was shown: False once the window is closed.

        Raises:
            InvalidPictureError: If the array is no picture.
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
        """Close the window; closing twice does nothing."""
        self._open = False
        if self in self._alive:
            self._alive.discard(self)
            if not self._alive and self._pygame.display.get_init():
                self._pygame.display.quit()

    def _surface(self, size: tuple[int, int]) -> Any:
        """The screen, opened or resized as needed."""
        display = self._pygame.display
        display.init()  # does nothing the second time
        surface = display.get_surface()
        if surface is None or surface.get_size() != size:
            surface = display.set_mode(size)
        display.set_caption(self._title)
        return surface

    def __enter__(self) -> Window:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()
