"""Results as files hold them: rows of a database while a run writes, lines of CSV or JSON where people read."""

from __future__ import annotations

import csv
import dataclasses
import functools
import io
import json
import math
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from ddz_env.core.errors import DouDizhuError
from ddz_env.core.whole_file import real_path, replace_file
from ddz_training.measure.claims import TAKEN
from ddz_training.measure.errors import InUseError, ResultsFileError

DATABASES = (".sqlite", ".db")
"""Suffixes of files that stay SQLite."""
SUFFIXES = (".csv", ".jsonl", *DATABASES)
"""Suffixes of all files of results."""
DECLARED = sqlite3.PARSE_DECLTYPES
"""Let SQLite give a column of the kind ``JSON`` as what it holds."""

_LONGEST = 1 << 20
"""More characters than any line of settings has."""
_SMALLEST = 512
"""Bytes of the smallest database; SQLite takes a file of one byte for an empty one."""

_Result = TypeVar("_Result")

_write_json = json.JSONEncoder(ensure_ascii=False, default=str).encode
sqlite3.register_converter("JSON", json.loads)


# --- A result as cells ------------------------------------------------------------------------------------------------


class Column(NamedTuple):
    """A field of a result."""

    name: str
    parse: Callable[[Any], Any]
    text: Callable[[Any], str]
    kind: str
    """Its type in SQLite."""

    def cell(self, value: Any) -> Any:
        """The value as SQLite keeps it."""
        if self.kind == "JSON":
            return _write_json(value)
        return value if isinstance(value, (int, float, str)) else self.text(value)


def columns_of(kind: type[Any]) -> tuple[Column, ...]:
    """The columns of a dataclass of results."""
    hints = get_type_hints(kind, include_extras=True)
    return tuple(_column(field.name, hints[field.name]) for field in dataclasses.fields(kind))


def _column(name: str, hint: Any) -> Column:
    text: Callable[[Any], str] = str
    if get_origin(hint) is Annotated:
        hint, form = get_args(hint)
        text = f"{{:{form}}}".format
    if get_origin(hint) is tuple:
        part = _column(name, get_args(hint)[0])
        return Column(
            name,
            lambda cell: tuple(map(part.parse, cell.split() if isinstance(cell, str) else cell)),
            lambda values: " ".join(map(part.text, values)),
            "JSON",
        )
    parse = getattr(hint, "parse", _number if hint is float else hint)
    return Column(name, parse, text, {int: "INTEGER", float: "REAL"}.get(hint, "TEXT"))


def _number(cell: Any) -> float:
    """A number; SQLite keeps NaN as NULL."""
    return math.nan if cell is None else float(cell)


def of_rows(kind: type[_Result], rows: Iterable[Mapping[str, Any]]) -> list[_Result]:
    """The results that the rows of a file hold.

    Args:
        kind: Their dataclass.
        rows: Cells by column.

    Raises:
        ResultsFileError: If a cell is missing or holds something else.
    """
    columns = columns_of(kind)
    try:
        return [kind(**{column.name: column.parse(row[column.name]) for column in columns}) for row in rows]
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ResultsFileError(f"a line holds no result of this kind: {error!r}") from error


# --- Reading ----------------------------------------------------------------------------------------------------------


class SavedFile(NamedTuple):
    """The contents of a file of results.

    Attributes:
        settings: What its results depend on.
        rows: Cells by column.
        cut: Whether the last row was cut off, and left out.
    """

    settings: dict[str, Any]
    rows: list[dict[str, Any]]
    cut: bool = False


def read_results(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Read a file of results, of a run or a committed one.

    Returns:
        The settings, and the rows as cells by column.

    Raises:
        FileNotFoundError: If there is no such file.
        ResultsFileError: If it does not hold results.
        InUseError: If another process is writing it.
    """
    saved = read_file(path) or read_text(path)
    return saved.settings, saved.rows


def read_format(path: Path, kind: type[_Result], form: str) -> tuple[dict[str, Any], list[_Result]]:
    """Read a file whose settings name a format.

    Args:
        path: The file.
        kind: The dataclass of a result.
        form: The format.

    Returns:
        The settings, and the results in the order of the file.

    Raises:
        ResultsFileError: If there is no such file, or it is of another format.
        InUseError: If another process is writing it.
    """
    try:
        settings, rows = read_results(path)
    except FileNotFoundError as error:
        raise ResultsFileError(f"there is no file {path}") from error
    if settings.get("format") != form:
        raise ResultsFileError(f"{path} is of the format {settings.get('format')!r}, not {form!r}")
    return settings, of_rows(kind, rows)


def read_file(path: Path) -> SavedFile | None:
    """Read a file of any kind; None if there is nothing yet."""
    text = real_path(path)
    file = database_of(text)
    if has_contents(file):
        if file.stat().st_size < _SMALLEST:
            raise ResultsFileError(f"{path} is not a database")
        with naming_errors(path), closing(sqlite3.connect(file, 0, DECLARED)) as db:
            if saved := read_database(db):
                return saved
    return read_text(path) if text != file and has_contents(text) else None


def read_database(db: sqlite3.Connection) -> SavedFile | None:
    """Read a database; None if it has no tables yet."""
    if not db.execute("SELECT 1 FROM sqlite_master").fetchone():
        return None
    settings = {name: json.loads(value) for name, value in db.execute("SELECT name, value FROM settings")}
    found = db.execute("SELECT * FROM results ORDER BY rowid")
    columns = [name for name, *_ in found.description]
    return SavedFile(settings, [dict(zip(columns, row, strict=True)) for row in found])


def read_text(path: Path) -> SavedFile:
    """Read a text file; a last line without an end was cut off."""
    *lines, rest = path.read_bytes().decode("utf-8", errors="replace").split("\n")
    settings = _settings(path, lines[0] if lines else "")
    first, read = 2, json.loads
    if not is_json(path):
        first, read = 3, functools.partial(_csv_row, "".join(lines[1:2]).split(","))
    rows: list[dict[str, Any]] = []
    for number, line in enumerate(lines[first - 1 :], first):
        try:
            rows.append(read(line))
        except (ValueError, StopIteration, RecursionError, csv.Error) as error:
            raise ResultsFileError(f"{path}, line {number} cannot be read: {error}") from error
    return SavedFile(settings, rows, bool(rest))


def _csv_row(columns: Sequence[str], line: str) -> dict[str, str]:
    cells = next(csv.reader([line]))
    if len(cells) != len(columns):
        raise ValueError(f"it does not fit the columns {', '.join(columns)}")
    return dict(zip(columns, cells, strict=True))


def _settings(path: Path, first: str) -> dict[str, Any]:
    """The settings in the first line of a text file."""
    try:
        settings = json.loads(first if is_json(path) else first.partition("# ")[2])
        return dict(settings["settings"] if is_json(path) else settings)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise ResultsFileError(f"{path} is not a results file: its first line is {first[:60]!r}") from error


def holds_results(path: Path) -> bool:
    """Whether a text file holds results, as its first line says."""
    with path.open(encoding="utf-8", errors="replace") as file, suppress(ResultsFileError):
        return _settings(path, file.readline(_LONGEST)) is not None
    return False


def write_text(path: Path, settings: Mapping[str, Any], columns: Sequence[Column], results: Sequence[Any]) -> None:
    """Write results as CSV or, where the name ends in ``.jsonl``, as JSON lines.

    Args:
        path: The file, which is replaced atomically.
        settings: What they depend on, for the first line.
        columns: Their fields.
        results: The results.

    Raises:
        ResultsFileError: If the file cannot be written.
    """
    text = io.StringIO()
    write = functools.partial(json.dumps, ensure_ascii=False, default=str, sort_keys=True)
    if is_json(path):
        text.write(write({"settings": settings}) + "\n")
        text.writelines(_write_json(vars(result)) + "\n" for result in results)
    else:
        text.write(f"# {write(settings)}\n")
        table = csv.writer(text, lineterminator="\n")
        table.writerow([column.name for column in columns])
        table.writerows([column.text(getattr(result, column.name)) for column in columns] for result in results)
    with naming_errors(path):
        replace_file(path, text.getvalue().encode())


def is_json(path: Path) -> bool:
    """Whether a text file has JSON lines, by its name."""
    return path.suffix.lower() == ".jsonl"


def has_contents(path: Path) -> bool:
    """Whether there is something at a path; an empty file does not count."""
    return path.exists() and (not path.is_file() or path.stat().st_size > 0)


def database_of(path: Path) -> Path:
    """The SQLite file that a run uses until it is saved under a name."""
    return path if path.suffix.lower() in DATABASES else path.with_name(f"{path.name}.sqlite")


@contextmanager
def naming_errors(path: object) -> Iterator[None]:
    """Give SQLite's errors, and those of a file that something else has written, our names."""
    try:
        yield
    except DouDizhuError:
        raise
    except (sqlite3.Error, OSError, OverflowError, TypeError, ValueError, RecursionError) as error:
        if "locked" in str(error):
            raise InUseError(f"{path} is {TAKEN}") from error
        raise ResultsFileError(f"{path} cannot be used as a file of results: {error}") from error
