"""Files of results: what a result is as cells, and the two files that hold it, an SQLite database and CSV.

The first line of a CSV file has the settings: ``pandas.read_csv(path, comment="#")`` skips it.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from ddz_env.core.errors import DouDizhuError
from ddz_env.core.whole_file import replace_file
from ddz_training.measure.claims import TAKEN
from ddz_training.measure.errors import InUseError, ResultsFileError

CSV = ".csv"
DATABASES = (".sqlite", ".db")

_Result = TypeVar("_Result")

sqlite3.register_converter("JSON", json.loads)


# --- A result as cells ------------------------------------------------------------------------------------------------


class Column(NamedTuple):
    """A field of a result.

    Attributes:
        name: Its name.
        parse: Reads a cell.
        text: Writes one.
        kind: Its type in SQLite.
    """

    name: str
    parse: Callable[[Any], Any]
    text: Callable[[Any], str]
    kind: str

    def cell(self, value: Any) -> Any:
        """The value as SQLite keeps it: numbers with all their digits, tuples as JSON."""
        if self.kind == "JSON":
            return json.dumps(value, ensure_ascii=False, default=str)
        return value if isinstance(value, (int, float)) else self.text(value)


def columns_of(kind: type[Any]) -> list[Column]:
    """The columns of a dataclass of results; ``Annotated[float, ".3f"]`` says how CSV writes a number."""
    hints = get_type_hints(kind, include_extras=True)
    return [_column(field.name, hints[field.name]) for field in dataclasses.fields(kind)]


def _column(name: str, hint: Any) -> Column:
    text: Callable[[Any], str] = str
    if get_origin(hint) is Annotated:
        hint, form = get_args(hint)
        text = f"{{:{form}}}".format
    if get_origin(hint) is tuple:  # in CSV words without blanks, or numbers
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
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise ResultsFileError(f"a line holds no result of this kind: {error!r}") from error


# --- Reading and writing ----------------------------------------------------------------------------------------------


class SavedFile(NamedTuple):
    """The contents of a file of results.

    Attributes:
        settings: What its results depend on.
        rows: Cells by column.
    """

    settings: dict[str, Any]
    rows: list[dict[str, Any]]


def read_results(path: Path) -> SavedFile:
    """Read a CSV file or a database.

    Returns:
        The settings, and the rows as cells by column.

    Raises:
        FileNotFoundError: If there is no such file.
        ResultsFileError: If it does not hold results.
        InUseError: If it is a database that another process writes.
    """
    path.stat()
    saved = read_file(path)
    if saved is None:
        raise ResultsFileError(f"{path} holds no results")
    return saved


def read_file(path: Path) -> SavedFile | None:
    """Read a file as :func:`read_results` does; None if there is nothing yet."""
    if not path.exists() or (path.is_file() and not path.stat().st_size):
        return None
    with naming_errors(path):
        if path.suffix.lower() not in DATABASES:
            return _read_csv(path)
        with closing(connect(path)) as db:
            return read_database(db)


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
        InUseError: If it is a database that another process writes.
    """
    try:
        settings, rows = read_results(path)
    except FileNotFoundError as error:
        raise ResultsFileError(f"there is no file {path}") from error
    if settings.get("format") != form:
        raise ResultsFileError(f"{path} is of the format {settings.get('format')!r}, not {form!r}")
    return settings, of_rows(kind, rows)


def connect(path: Path) -> sqlite3.Connection:
    """Open a database; what another process has locked is an error at once."""
    return sqlite3.connect(path, 0, sqlite3.PARSE_DECLTYPES)


def read_database(db: sqlite3.Connection) -> SavedFile | None:
    """Read the tables ``settings`` and ``results``; None if there are no tables yet."""
    if not db.execute("SELECT 1 FROM sqlite_master").fetchone():
        return None
    settings = {name: json.loads(value) for name, value in db.execute("SELECT name, value FROM settings")}
    found = db.execute("SELECT * FROM results ORDER BY rowid")
    columns = [name for name, *_ in found.description]
    return SavedFile(settings, [dict(zip(columns, row, strict=True)) for row in found])


def _read_csv(path: Path) -> SavedFile:
    with path.open(encoding="utf-8", newline="") as file:
        settings = _settings(file.readline())
        reader = csv.DictReader(file, strict=True)
        rows = list(reader)
    for number, row in enumerate(rows, 3):
        if None in row or None in row.values():
            raise ValueError(f"line {number} does not fit the columns {', '.join(reader.fieldnames or ())}")
    return SavedFile(settings, rows)


def _settings(first: str) -> dict[str, Any]:
    """The settings in the first line of a CSV file."""
    try:
        return dict(json.loads(first.partition("# ")[2]))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"its first line is {first[:60]!r}") from error


def holds_results(path: Path) -> bool:
    """Whether a text file holds results, as its first line says."""
    with path.open("rb") as file:
        return file.read(3) == b"# {"


def write_csv(path: Path, settings: Mapping[str, Any], kind: type[_Result], results: Iterable[_Result]) -> None:
    """Write results as CSV.

    Args:
        path: The file, which is replaced atomically.
        settings: What they depend on, for the first line.
        kind: Their dataclass.
        results: The results.

    Raises:
        ResultsFileError: If the file cannot be written.
    """
    text, columns = io.StringIO(), columns_of(kind)
    text.write(f"# {json.dumps(settings, ensure_ascii=False, default=str, sort_keys=True)}\n")
    table = csv.writer(text, lineterminator="\n")
    table.writerow([column.name for column in columns])
    table.writerows([column.text(getattr(result, column.name)) for column in columns] for result in results)
    with naming_errors(path):
        replace_file(path, text.getvalue().encode())


@contextmanager
def naming_errors(path: object) -> Iterator[None]:
    """Give SQLite's errors, and those of a file that something else has written, our names."""
    try:
        yield
    except DouDizhuError:
        raise
    except (sqlite3.Error, csv.Error, OSError, OverflowError, TypeError, ValueError) as error:
        if "locked" in str(error):
            raise InUseError(f"{path} is {TAKEN}") from error
        raise ResultsFileError(f"{path} cannot be used as a file of results: {error}") from error
