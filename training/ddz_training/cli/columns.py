"""Column widths of terminal tables, and line breaks within cells that never split a name."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.cells import cell_len

_BREAK = re.compile(r"(?<=\s)|(?<=[,:/])(?=[^\W\d])")
"""Behind a blank, and behind a comma, colon or slash where a word follows: between the options of an agent."""


def column_widths(header: Sequence[str], lines: Sequence[Sequence[str]], room: int) -> list[int]:
    """Compute the width of each column of a table, in terminal character cells.

    If not all of the table has room, headings take several lines, then the cells of the widest columns; only where
    even that is not enough, columns become narrower than their longest name.

    Args:
        header: The headings.
        lines: The cells, line by line.
        room: How wide all columns may be together.
    """
    columns = [[line[column] for line in lines] for column in range(len(header))]
    least = [max(map(_longest_piece_width, (title, *cells))) for title, cells in zip(header, columns, strict=True)]
    whole = [max(map(cell_len, (title, *cells))) for title, cells in zip(header, columns, strict=True)]
    if sum(whole) > room:
        whole = [max(narrow, *map(cell_len, cells), 0) for narrow, cells in zip(least, columns, strict=True)]
    return _narrow(_narrow(whole, least, room), [1] * len(header), room)


def _narrow(widths: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """Narrow the widest columns until all columns fit the available width or reach their minimum widths."""
    narrowed = list(widths)
    for _ in range(sum(widths) - room):
        wide = [column for column, width in enumerate(narrowed) if width > least[column]]
        if wide:
            narrowed[max(wide, key=narrowed.__getitem__)] -= 1
    return narrowed


def wrap_text(text: str, width: int) -> str:
    """Wrap a text into lines of at most ``width`` cells, breaking between words or between an agent's options.

    Example:
        >>> print(wrap_text("neural-ismcts:prior=uniform,milliseconds=20", 16))
        neural-ismcts:
        prior=uniform,
        milliseconds=20
    """
    lines = [""]
    for piece in _BREAK.split(text):
        if lines[-1] and cell_len((lines[-1] + piece).rstrip()) > width:
            lines.append("")
        lines[-1] += piece
    return "\n".join(line.rstrip() for line in lines)


def _longest_piece_width(text: str) -> int:
    return max(cell_len(piece.rstrip()) for piece in _BREAK.split(text))
