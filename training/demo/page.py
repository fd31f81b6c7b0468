"""A report as one HTML file that needs no other, and its pictures as files of their own."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from training.demo.errors import ReportError

PAGE = "report.html"

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; margin: 1rem 0; font-size: 0.9rem; }
th, td { padding: 0.3rem 0.7rem; border-bottom: 1px solid #ddd; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
img { max-width: 100%; }
pre { background: #f5f5f5; padding: 0.8rem; white-space: pre-wrap; overflow-wrap: anywhere; }
"""


@dataclass(frozen=True)
class Section:
    """A heading and what stands below it.

    Attributes:
        title: The heading.
        text: Paragraphs.
        picture: File name of a picture; empty for none.
        headings: Headings of a table's columns.
        rows: Its cells, row by row.
        commands: Lines for a shell.
    """

    title: str
    text: Sequence[str] = ()
    picture: str = ""
    headings: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    commands: Sequence[str] = ()

    def html(self, pictures: Mapping[str, bytes]) -> str:
        """The section; a picture stands in it as data, and is left out where there is none."""
        parts = [f"<h2>{escape(self.title)}</h2>", *(f"<p>{escape(text)}</p>" for text in self.text)]
        if self.picture in pictures:
            data = base64.b64encode(pictures[self.picture]).decode()
            parts.append(f'<img alt="{escape(self.title)}" src="data:image/png;base64,{data}">')
        if self.rows:
            parts += ["<table>", _row("th", self.headings), *(_row("td", row) for row in self.rows), "</table>"]
        if self.commands:
            parts.append(f"<pre>{escape(chr(10).join(self.commands))}</pre>")
        return "\n".join(parts)


def _row(tag: str, cells: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"


@dataclass(frozen=True)
class Page:
    """A report.

    Attributes:
        title: Its title.
        sections: What it says.
        pictures: File name to PNG.
    """

    title: str
    sections: Sequence[Section]
    pictures: Mapping[str, bytes] = field(default_factory=dict)

    def html(self) -> str:
        """The whole page."""
        head = f'<meta charset="utf-8"><title>{escape(self.title)}</title><style>{_STYLE}</style>'
        lines = [
            "<!doctype html>",
            f'<html lang="en"><head>{head}</head><body>',
            f"<h1>{escape(self.title)}</h1>",
            *(section.html(self.pictures) for section in self.sections),
            "</body></html>",
        ]
        return "\n".join(lines) + "\n"

    def write(self, folder: Path) -> Path:
        """Write pictures and page, the page last, each at one stroke.

        Returns:
            The page's path.

        Raises:
            ReportError: If a file cannot be written.
        """
        for name, picture in self.pictures.items():
            _replace(folder / name, picture)
        _replace(folder / PAGE, self.html().encode())
        return folder / PAGE


def _replace(path: Path, data: bytes) -> None:
    temporary = path.with_name(path.name + ".tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(data)
        os.replace(temporary, path)
    except OSError as error:
        raise ReportError(f"cannot write {path}: {error}") from error
