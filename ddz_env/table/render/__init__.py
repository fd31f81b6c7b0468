"""Pictures of a table: text for terminals, pixels for videos, a window for people.

Text needs nothing; pixels need Pillow and windows pygame: ``pip install -e '.[render]'``.  Both are imported when
they are first used.  No renderer changes a game, and what a seat cannot see never reaches its picture.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddz_env.core.errors import InvalidPictureError, MissingDependencyError
from ddz_env.table.render.ansi import render_ansi
from ddz_env.table.render.table import Snapshot, table_of
from ddz_env.table.render.window import Window

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from ddz_env.core.state import State
    from ddz_env.core.view import View

__all__ = ["InvalidPictureError", "MissingDependencyError", "Snapshot", "Window"]
__all__ += ["render_ansi", "render_rgb", "table_of"]


def render_rgb(
    game: State | View, *, perspective: int | None = None, width: int = 960, height: int = 600
) -> npt.NDArray[np.uint8]:
    """Draw the table.

    Args:
        game: A game, or what a seat knows of it (a view shows only that).
        perspective: The seat that looks, drawn at the bottom; None shows every hand of a ``State``.
        width: Pixels across, 240..3840.
        height: Pixels down, 150..2400.

    Returns:
        The picture, shape ``[height, width, 3]``, uint8.  The same table gives the same pixels.

    Raises:
        InvalidPictureError: If there is no such seat, a view is asked for another seat's perspective, or a size is
            out of range.
        MissingDependencyError: If Pillow is not installed.
    """
    try:
        from ddz_env.table.render.image import draw_table
    except ImportError as error:
        raise MissingDependencyError("Pillow") from error
    return draw_table(table_of(game, perspective), width, height)
