"""Where a text may be broken into lines: at spaces, and never within a word, a number or its interval."""

from __future__ import annotations

import re

from rich.cells import cell_len

_ATOM = re.compile(r"\([^()]{1,24}\)\S*|\S+")
"""What is never broken: a word, a number, a short bracket."""


def widest_atom(text: str) -> int:
    """Cells of the widest part of a text that is never broken."""
    return max(map(cell_len, _ATOM.findall(text)), default=0)


def broken(text: str, width: int) -> str:
    """A text in lines of a width; a part that is wider and is never broken has a line of its own.

    Example:
        >>> print(broken("wins 62.5 (55 to 69) in all", 14))
        wins 62.5
        (55 to 69) in
        all
    """
    lines: list[str] = []
    for paragraph in text.split("\n"):
        if cell_len(paragraph) <= width:
            lines.append(paragraph)  # with its spaces
            continue
        indent = paragraph[: len(paragraph) - len(paragraph.lstrip())]
        lines.append("")
        for atom in _ATOM.findall(paragraph):
            joined = f"{lines[-1]} {atom}" if lines[-1] else indent + atom
            if lines[-1] and cell_len(joined) > width:
                lines.append(indent + atom)
            else:
                lines[-1] = joined
    return "\n".join(lines)
