"""Tables of results, with conversion to Markdown for documentation pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """A table of results: a title, column headers, text cells and a note.

    Attributes:
        title: Its title; a page has headings of its own.
        header: Heads of the columns.
        lines: The cells, line by line.
        note: The text below it.
    """

    title: str
    header: Sequence[str]
    lines: Sequence[Sequence[str]]
    note: str = ""

    def markdown(self) -> str:
        """Format the table and its note in Markdown."""
        table = format_markdown_table(self.header, self.lines)
        return f"{table}\n\n{self.note}" if self.note else table


def format_markdown_table(header: Iterable[str], lines: Iterable[Iterable[object]]) -> str:
    """Format a header and lines of cells as a Markdown table.

    Example:
        >>> print(format_markdown_table(("a", "b"), [(1, 2)]))
        | a | b |
        | --- | --- |
        | 1 | 2 |
    """
    rows = [list(header), *([str(cell) for cell in line] for line in lines)]
    rows.insert(1, ["---"] * len(rows[0]))
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)
