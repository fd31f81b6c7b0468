"""Tables as Markdown."""

from __future__ import annotations

from collections.abc import Iterable


def markdown_table(header: Iterable[str], lines: Iterable[Iterable[object]]) -> str:
    """Lines of cells as Markdown.

    Example:
        >>> print(markdown_table(("a", "b"), [(1, 2)]))
        | a | b |
        | --- | --- |
        | 1 | 2 |
    """
    rows = [list(header), *([str(cell) for cell in line] for line in lines)]
    rows.insert(1, ["---"] * len(rows[0]))
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)
