"""Results of an experiment on disk: saved line by line, and resumable after a kill at any byte.

The file is comma-separated values behind one line of settings (``# {...}``) and one of column names.  A last line
without a line break was cut off; it is dropped, and its unit of work is done again.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from training.arena.errors import ResultsFileError, SettingsMismatchError


class ResultTable:
    """A table that grows on disk.

    Args:
        path: The file; None keeps the lines in memory only.
        settings: What the results depend on; plain JSON values.
        columns: Names of the columns.

    Attributes:
        rows: All lines so far as dicts of text, the file's first.

    Raises:
        SettingsMismatchError: If the file was written under other settings.
        ResultsFileError: If the file is something else.
    """

    def __init__(self, path: Path | None, settings: Mapping[str, Any], columns: Sequence[str]) -> None:
        self._path = path
        self._columns = tuple(columns)
        self._head = f"# {json.dumps(dict(settings), sort_keys=True)}\n{','.join(columns)}\n"
        self.rows: list[dict[str, str]] = []
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.exists() and path.stat().st_size > 0:
                self._read(path)
            self._rewrite(path)

    def add(self, *values: Any) -> None:
        """Append one line and hand it to the operating system."""
        self.extend([values])

    def extend(self, lines: Sequence[Sequence[Any]]) -> None:
        """Append lines and hand them to the operating system at one stroke."""
        texts = [[str(value) for value in values] for values in lines]
        self.rows += [dict(zip(self._columns, cells, strict=True)) for cells in texts]
        if self._path is not None:
            with self._path.open("a", encoding="utf-8", newline="") as file:
                file.write("".join(map(_line, texts)))

    def keys(self, *columns: str) -> set[tuple[str, ...]]:
        """The values of some columns in the lines so far: what need not be done again."""
        return {tuple(row[column] for column in columns) for row in self.rows}

    def _read(self, path: Path) -> None:
        head, columns, rows = _read_lines(path)
        if f"{head}\n{','.join(columns)}\n" != self._head:
            raise SettingsMismatchError(f"{path} was written under other settings ({head[2:]}); name another file")
        self.rows = rows

    def _rewrite(self, path: Path) -> None:
        text = self._head + "".join(_line(list(row.values())) for row in self.rows)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            temporary = path.with_name(path.name + ".tmp")
            temporary.write_text(text, encoding="utf-8")
            os.replace(temporary, path)


def _line(cells: Sequence[str]) -> str:
    """One line of the file; cells with a comma are quoted."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerow(cells)
    return buffer.getvalue()


def read_results(path: Path) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """Read a file of any experiment, for reports on what is there; the file stays as it is.

    Returns:
        The settings and the complete lines, as dicts of text.

    Raises:
        ResultsFileError: If the file is none of an experiment's.
    """
    head, _, rows = _read_lines(path)
    settings: dict[str, Any] = json.loads(head[2:])
    return settings, rows


def _read_lines(path: Path) -> tuple[str, list[str], list[dict[str, str]]]:
    """The line of settings, the names of the columns and the complete lines."""
    text = path.read_text(encoding="utf-8")
    head, names = (*text.split("\n", 2), "", "")[:2]
    if not head.startswith("# {"):
        raise ResultsFileError(f"{path} is no results file of an experiment: its first line is {head[:60]!r}")
    columns = names.split(",")
    whole = text[: text.rfind("\n") + 1]
    cells = list(csv.reader(whole.splitlines()[2:]))
    if any(len(line) != len(columns) for line in cells):
        raise ResultsFileError(f"{path} has a line that does not fit its columns {names.replace(',', ', ')}")
    return head, columns, [dict(zip(columns, line, strict=True)) for line in cells]
