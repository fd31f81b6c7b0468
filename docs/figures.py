"""Figures in sentences: each is a cell of a generated table, or says where and when it was measured.

``<!-- figure: TABLE; ROW; COLUMN -->64.0 % (63.5–64.5)<!-- end -->`` is written anew from the table's cell, as
``<!-- figure: TABLE; ROW; COLUMN; short -->64 %<!-- end -->`` is, without its interval.  ROW is how the row begins,
and no other one: its first cell, or several cells joined by ``&``.  A paragraph with any other figure ends with one of
two marks: ``<!-- measured: COMMIT -->``, the commit that last wrote the sentence, or ``<!-- quoted -->`` for figures
that nothing here measured: those of papers, settings, and made-up examples.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

MARK = re.compile(r"<!-- figure: (?P<place>[^>]+?) -->(?P<text>[^<]*)<!-- end -->")
SOURCE = re.compile(r"<!-- (?:measured: [0-9a-f]{8}|quoted) -->")
"""What says of a paragraph where its figures are from."""

_AMOUNT = r"[+−-]?\d[\d,]*(?:\.\d+)?"
_FIGURE = re.compile(
    rf"(?<![\w.])(?!(?:95|50|100) %)(?:{_AMOUNT} ?(?:%|Elo\b|ms\b|µs)"
    rf"|{_AMOUNT} (?:points?|percent)\b|± ?\d|{_AMOUNT} \(\d[\d.]*–\d"
    rf"|{_AMOUNT} \w*\s*(?:/s\b|(?:a|per)\s+second\b))"
)
"""What a measurement looks like in a sentence: a rate, a speed, a rating, an interval."""
_OUTSIDE_PROSE = re.compile(r"<!-- table:.*?<!-- end -->|^```.*?^```|^\|.*?$|^---\n.*?^---$", re.DOTALL | re.MULTILINE)
_INTERVAL = re.compile(r"(?P<mean>[+−-]?[\d.,]+) (?P<rest>\(.*\))")


def figure(place: str, table: Callable[[str], str]) -> str:
    r"""Return a figure as a sentence has it.

    Args:
        place: Table, row and column, joined by semicolons; with ``short`` behind them, without the interval.
        table: Makes a table as Markdown from its name.

    Raises:
        SystemExit: If there is no such cell, or more than one.

    Example:
        >>> table = "| agents | win % |\n| --- | --- |\n| `a` v `b` | 64.0 (63.5–64.5) |"
        >>> figure("rates; a v b; win %", lambda name: table), figure("rates; a v b; win %; short", lambda name: table)
        ('64.0 % (63.5–64.5)', '64.0 %')
    """
    name, row, column, *form = (part.strip() for part in place.split(";"))
    wanted = [cell.strip() for cell in row.split("&")]
    found = [line for line in _rows(table(name)) if list(line.values())[: len(wanted)] == wanted]
    if len(found) != 1 or column not in found[0]:
        raise SystemExit(f"no single figure is at {place!r}: {len(found)} rows of the table {name!r} begin so")
    return _as_text(found[0][column], "%" if "%" in column else "", short=form == ["short"])


def _rows(markdown: str) -> Iterator[Mapping[str, str]]:
    """The lines of a table, their cells by the heads of the columns, without the marks of code."""
    lines = [line for line in markdown.splitlines() if line.startswith("|")]
    cells = [[cell.strip().replace("`", "") for cell in line.strip("|").split("|")] for line in lines]
    for line in cells[2:]:
        yield dict(zip(cells[0], line, strict=True))


def _as_text(cell: str, unit: str, *, short: bool) -> str:
    """A cell with its unit, and its interval if that is wanted."""
    parts = _INTERVAL.fullmatch(cell)
    mean, rest = (parts["mean"], f" {parts['rest']}") if parts else (cell, "")
    return f"{mean} {unit}".strip() + ("" if short else rest)


def with_figures(text: str, table: Callable[[str], str]) -> str:
    """A page with the figures in its sentences written again."""
    return MARK.sub(lambda mark: f"<!-- figure: {mark['place']} -->{figure(mark['place'], table)}<!-- end -->", text)


def unsourced(text: str) -> list[str]:
    r"""Return the paragraphs of a page with figures that are neither generated nor marked.

    Example:
        >>> unsourced("It wins 64.0 % of its games.\n\nIt wins 64.0 % of them. <!-- measured: 0123abcd -->")
        ['It wins 64.0 % of its games.']
        >>> unsourced("It wins <!-- figure: rates; a v b; win % -->64.0 % (63.5–64.5)<!-- end -->.")
        []
    """
    prose = _OUTSIDE_PROSE.sub("\n", text)
    paragraphs = re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", prose)
    return [
        paragraph.strip()
        for paragraph in paragraphs
        if not SOURCE.search(paragraph) and _FIGURE.search(MARK.sub("", paragraph))
    ]
