"""Stores for results: an SQLite file with the tables ``settings`` and ``results``, and an exported CSV file.

A result is a dataclass; its fields are the columns.  Each unit of work is a transaction, so a run that is killed at any
moment has each unit whole or not at all, and the same command goes on.  SQLite's lock keeps a second process out until
the run ends.  The settings name the version and the agents' files (:mod:`ddz_training.measure.provenance`).

With ``games.csv`` a run writes ``games.sqlite`` beside it, which stays, and at its end, an interrupt included,
``games.csv``.  A CSV file without a database, such as a committed one, is imported once.  The database knows what it
has exported (table ``exports``): where the CSV file is something else, as after a checkout, nothing is written.  The
first line of a CSV file has the settings: ``pandas.read_csv(path, comment="#")`` skips it.
"""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import io
import json
import math
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Generic, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from filelock import FileLock, Timeout

from ddz_env.support.atomic_files import is_stream, real_path, replace_file
from ddz_env.support.errors import DouDizhuError, short_repr
from ddz_training.measure.errors import InUseError, ResultsFileError, SettingsMismatchError
from ddz_training.measure.provenance import Provenance
from ddz_training.measure.workers import MakeWorker, RunTasks, share_in_blocks, start_workers

CSV = ".csv"
DATABASES = (".sqlite", ".db")
IN_USE_MESSAGE = "being written by another process: wait until it has ended, or name another"

UNSAVED: Mapping[str, Any] = MappingProxyType({"saved": False})
"""The metadata of a result's field that lives in memory only; it has a default and is a last one."""

Key = tuple[Any, ...]
OnProgress = Callable[[int, int], None]
"""Called with units done and units in all."""

_Result = TypeVar("_Result")

sqlite3.register_converter("JSON", json.loads)


# --- A result as cells ------------------------------------------------------------------------------------------------


class ResultColumn(NamedTuple):
    """A column of a results file, with conversions between a result's field and a cell.

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

    def to_cell(self, value: Any) -> Any:
        """Convert a value to an SQLite cell: numbers with all their digits, tuples as JSON."""
        if self.kind == "JSON":
            return json.dumps(value, ensure_ascii=False, default=str)
        return value if isinstance(value, (int, float)) else self.text(value)


def result_columns(kind: type[Any]) -> list[ResultColumn]:
    """List the columns of a results dataclass; ``Annotated[float, ".3f"]`` sets a number's format in CSV."""
    hints = get_type_hints(kind, include_extras=True)
    fields = [field for field in dataclasses.fields(kind) if field.metadata != UNSAVED]
    return [_make_column(field.name, hints[field.name]) for field in fields]


def _make_column(name: str, hint: Any) -> ResultColumn:
    text: Callable[[Any], str] = (lambda value: str(hint(value))) if hint in (int, float) else str
    if get_origin(hint) is Annotated:
        hint, form = get_args(hint)
        text = f"{{:{form}}}".format
    if get_origin(hint) is tuple:  # in CSV words without blanks, or numbers
        part = _make_column(name, get_args(hint)[0])
        return ResultColumn(
            name,
            lambda cell: tuple(map(part.parse, cell.split() if isinstance(cell, str) else cell)),
            lambda values: " ".join(map(part.text, values)),
            "JSON",
        )
    parse = getattr(hint, "parse", _parse_number if hint is float else hint)
    return ResultColumn(name, parse, text, {int: "INTEGER", float: "REAL"}.get(hint, "TEXT"))


def _parse_number(cell: Any) -> float:
    """Parse a number from a cell, where SQLite's NULL stands for NaN."""
    return math.nan if cell is None else float(cell)


def parse_rows(kind: type[_Result], rows: Iterable[Mapping[str, Any]], source: object = "the file") -> list[_Result]:
    """Parse the rows of a results file into instances of a results dataclass.

    Args:
        kind: Their dataclass.
        rows: Cells by column.
        source: Where they are from, for errors.

    Raises:
        ResultsFileError: If a cell is missing or holds something else.
    """
    columns, results = result_columns(kind), list[_Result]()
    for number, row in enumerate(rows, 1):
        try:
            results.append(kind(*[column.parse(row[column.name]) for column in columns]))
        except KeyError as error:
            raise ResultsFileError(f"result {number} of {source} lacks the column {error}") from error
        except (AttributeError, TypeError, ValueError, OverflowError) as error:
            names = ", ".join(column.name for column in columns)
            raise ResultsFileError(
                f"result {number} of {source} is not one with the columns {names}: {error}"
            ) from error
    return results


# --- Reading and writing ----------------------------------------------------------------------------------------------


class SavedFile(NamedTuple):
    """The contents of a results file: its settings, its rows and the digests of exported CSV files.

    Attributes:
        settings: What its results depend on.
        rows: Cells by column.
        exports: How many results each CSV file has that a database has exported or imported, by its digest.
    """

    settings: dict[str, Any]
    rows: list[dict[str, Any]]
    exports: Mapping[str, int] = {}


def read_results(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Read the settings and the rows of a results file, which is a CSV file or an SQLite database.

    Returns:
        The settings, and the rows as cells by column.

    Raises:
        FileNotFoundError: If there is no such file.
        ResultsFileError: If it does not hold results.
        InUseError: If it is a database that another process writes.
    """
    path.stat()
    saved = read_saved_file(path)
    if saved is None:
        raise ResultsFileError(f"{path} holds no results")
    return saved.settings, saved.rows


def read_saved_file(path: Path) -> SavedFile | None:
    """Read a results file like :func:`read_results`, or return None if the file is missing or empty."""
    if not path.exists() or (path.is_file() and not path.stat().st_size):
        return None
    if is_stream(path):
        raise ResultsFileError(f"{path} is a device or a pipe, not a file of results")
    with results_file_errors(path):
        if path.suffix.lower() not in DATABASES:
            return _read_csv(path)
        with closing(open_database(path)) as db:
            return read_database(db)


def read_format(path: Path, kind: type[_Result], form: str) -> tuple[dict[str, Any], list[_Result]]:
    """Read the settings and results of a results file, whose settings must name the given format.

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
        raise ResultsFileError(f"{path} is of the format {short_repr(settings.get('format'))}, not {form!r}")
    return settings, parse_rows(kind, rows, path)


def open_database(path: Path) -> sqlite3.Connection:
    """Open a database without waiting: access fails at once if another process has locked it."""
    return sqlite3.connect(path, 0, sqlite3.PARSE_DECLTYPES)


def read_database(db: sqlite3.Connection) -> SavedFile | None:
    """Read the tables ``settings`` and ``results``, or return None if the database has no tables yet."""
    parts = db.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
    if not parts:
        return None
    for kind, name, text in parts:  # a view, or an expression in a table, may compute for ever
        if kind not in ("table", "index") or str(text).count("(") > 1 or "VIRTUAL" in str(text).upper():
            raise ResultsFileError(
                f"the database has {short_repr(name)}, a {kind} that computes values: files of results have none"
            )
    settings = {name: json.loads(value) for name, value in db.execute("SELECT name, value FROM settings")}
    cursor = db.execute("SELECT * FROM results ORDER BY rowid")
    columns = [name for name, *_ in cursor.description]
    rows = [dict(zip(columns, row, strict=True)) for row in cursor]
    known = any(name == "exports" for _, name, _ in parts)  # there is none in databases of earlier versions
    return SavedFile(settings, rows, dict(db.execute("SELECT digest, results FROM exports")) if known else {})


def _read_csv(path: Path) -> SavedFile:
    text = path.read_bytes().decode("utf-8-sig")
    head, _, rest = text.partition("\n")
    settings = dict(json.loads(head.partition("# ")[2]))
    names, *lines = filter(None, csv.reader(io.StringIO(rest, newline=""), strict=True))
    for number, line in enumerate(lines, 3):
        if len(line) != len(names):
            raise ValueError(f"line {number} does not fit the columns {', '.join(names)}")
    rows = [dict(zip(names, line, strict=True)) for line in lines]
    return SavedFile(settings, rows, {_hash_text(text): len(rows)})


def is_results_file(path: Path) -> bool:
    """Return whether a text file holds results, judging by its first line."""
    if is_stream(path):
        return False
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        return file.read(3) == "# {"


def write_csv(path: Path, settings: Mapping[str, Any], kind: type[_Result], results: Iterable[_Result]) -> None:
    """Write results and their settings to a CSV file, replacing the file atomically.

    Args:
        path: The file, which is replaced atomically.
        settings: What they depend on, for the first line.
        kind: Their dataclass.
        results: The results.

    Raises:
        ResultsFileError: If the file cannot be written.
    """
    with results_file_errors(path):
        replace_file(path, format_csv(settings, kind, results).encode())


def format_csv(settings: Mapping[str, Any], kind: type[_Result], results: Iterable[_Result]) -> str:
    """Format results as the text of a CSV file whose first line holds their settings."""
    text, columns = io.StringIO(), result_columns(kind)
    text.write(f"# {json.dumps(settings, ensure_ascii=False, default=str, sort_keys=True)}\n")
    table = csv.writer(text, lineterminator="\n")
    table.writerow([column.name for column in columns])
    table.writerows([column.text(getattr(result, column.name)) for column in columns] for result in results)
    return text.getvalue()


def _hash_text(text: str) -> str:
    """Return the SHA-256 of a string, independent of its line endings, which git may change."""
    return hashlib.sha256("\n".join(text.splitlines()).encode()).hexdigest()


@contextmanager
def results_file_errors(path: object) -> Iterator[None]:
    """Convert errors of SQLite, CSV and file access within a ``with`` block into the package's own errors."""
    try:
        yield
    except DouDizhuError:
        raise
    except (sqlite3.Error, csv.Error, OSError, OverflowError, RecursionError, TypeError, ValueError) as error:
        if "locked" in str(error):
            raise InUseError(f"{path} is {IN_USE_MESSAGE}") from error
        raise ResultsFileError(f"{path} cannot be used as a file of results: {error}") from error


# --- The store --------------------------------------------------------------------------------------------------------


def ignore_progress(done: int, total: int) -> None:
    """Ignore a progress report; this is the default for ``on_progress``."""


class ResultStore(Generic[_Result]):
    """A store that holds results in memory, and also saves them to disk if it has a path.

    Args:
        kind: The dataclass of a result.
        path: A database (``.sqlite``, ``.db``), or a CSV file with a database beside it; None keeps the results in
            memory only.
        settings: What the results depend on; plain JSON values.
        key: The fields that name a unit of work.
        per_key: Results that make a unit complete; None where any number does.
        agents: Specifications of the agents that the results are of.
        resume: Whether an existing file is resumed; otherwise it is refused.
        free: Names of settings that may differ from those of the file, which are then kept.

    Attributes:
        path: As given.
        units: The results so far by unit of work, in the order in which they came.

    Raises:
        SettingsMismatchError: If the file was written under other settings.
        InUseError: If another process is writing the file.
        UnknownAgentError: If an agent does not exist.
        ResultsFileError: If the file is something else, cannot be written, or exists and ``resume`` is False.
    """

    def __init__(
        self,
        kind: type[_Result],
        path: str | Path | None,
        settings: Mapping[str, Any],
        key: Sequence[str],
        *,
        per_key: int | None = None,
        agents: Iterable[str] = (),
        resume: bool = True,
        free: Sequence[str] = (),
    ) -> None:
        self.path = None if path is None else Path(path)
        self.units: dict[Key, list[_Result]] = {}
        self._kind, self._columns = kind, result_columns(kind)
        self._key, self._per_key, self._free = key, per_key, free
        self._settings: dict[str, Any] = json.loads(json.dumps(settings))
        self._provenance, self._recorded = Provenance.of(agents), Provenance(())
        self._db: sqlite3.Connection | None = None
        self._process = os.getpid()
        self._csv: Path | None = None
        self._exports: Mapping[str, int] = {}
        if self.path is None:
            return
        if self.path.suffix.lower() not in (CSV, *DATABASES):
            raise ResultsFileError(f"{self.path}: results are written as {CSV} or {DATABASES[0]}")
        target = real_path(self.path)
        self._csv = target if target.suffix.lower() == CSV else None
        self._database = target if self._csv is None else target.with_suffix(".sqlite")
        file, saved = self._database, read_saved_file(self._database)
        if saved is None and self._csv is not None:
            file, saved = self._csv, read_saved_file(self._csv)
        if saved is not None and not resume:
            raise ResultsFileError(f"{file} exists: name another file, or resume it (resume=True)")
        if saved is not None:
            self._adopt_file(file, saved)
        self._is_csv_behind()  # refuses a CSV file that is something else

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that the results depend on, with the versions and agent files that produced them."""
        return {**self._settings, **(self._recorded if self._recorded.code else self._provenance).to_settings()}

    @property
    def results(self) -> list[_Result]:
        """All results in the store, in the order of their units of work."""
        return [result for results in self.units.values() for result in results]

    def results_of(self, keys: Iterable[Key]) -> list[_Result]:
        """Return the results of the given units of work, in the given order."""
        return [result for key in keys for result in self.units.get(key, ())]

    def has_units(self, keys: Iterable[Key]) -> bool:
        """Return whether the store has the results of all the given units of work."""
        return all(key in self.units for key in keys)

    def update_settings(self, **settings: Any) -> None:
        """Update settings of the results, both in memory and in the file."""
        with self.open():
            self._settings |= json.loads(json.dumps(settings))
            if self._db is not None:
                with results_file_errors(self.path), self._db as db:
                    self._write_settings(db)

    def add(self, results: Sequence[_Result]) -> None:
        """Save the results of whole units of work in one transaction, so that a killed process saves all or none.

        Raises:
            ResultsFileError: If the file cannot be written.
        """
        with self.open():
            if os.getpid() != self._process:
                raise ResultsFileError(
                    f"{self.path} belongs to the process that opened it: open another file in each child process"
                )
            if self._db is not None:
                with results_file_errors(self.path), self._db as db:
                    self._insert(db, results)
            for result in results:
                self.units.setdefault(self._key_of(result), []).append(result)

    def run_tasks(
        self, tasks: Mapping[Key, Any], start: MakeWorker, processes: int = 1, on_progress: OnProgress = ignore_progress
    ) -> list[_Result]:
        """Do the tasks that have no stored results yet, and return the results of all tasks in task order.

        Args:
            tasks: What to do, by unit.
            start: Makes a worker, which answers a task with the results of its unit.
            processes: Worker processes; the results do not depend on them.
            on_progress: Called with the units that are done and all units.

        Raises:
            WorkerDiedError: If a worker process died.
        """
        missing = len(self._missing_tasks(tasks))
        on_progress(len(tasks) - missing, len(tasks))
        if missing:
            with self.open_with_workers(start, min(processes, missing)) as share:
                self.run_missing(tasks, share, on_progress)
        self.finish_export()
        return self.results_of(tasks)

    def run_missing(
        self,
        tasks: Mapping[Key, Any],
        share: RunTasks[Any, Sequence[_Result]],
        on_progress: OnProgress = ignore_progress,
        total: int = 0,
    ) -> None:
        """Do the tasks that have no stored results yet, and store each task's results in task order.

        Args:
            tasks: As for :meth:`run_tasks`.
            share: The workers, of :meth:`open_with_workers`.
            on_progress: As for :meth:`run_tasks`.
            total: How many units there will be in all, if not only these.
        """
        missing = self._missing_tasks(tasks)
        for number, results in enumerate(share(missing), len(tasks) - len(missing) + 1):
            self.add(results)
            on_progress(number, max(total, len(tasks)))

    def _missing_tasks(self, tasks: Mapping[Key, Any]) -> list[Any]:
        return [task for key, task in tasks.items() if key not in self.units]

    @contextmanager
    def open_with_workers(self, start: MakeWorker, processes: int, block: int = 1) -> Iterator[RunTasks[Any, Any]]:
        """Keep the store's file open and workers running within a ``with`` block.

        Args:
            start: Makes a worker.
            processes: Worker processes.
            block: The most tasks that a worker gets at once, as a list, and answers with a list.
        """
        with self.open(), start_workers(start, processes) as share:
            yield share if block == 1 else share_in_blocks(share, block, processes)

    def finish_export(self) -> None:
        """Bring the CSV file up to date, for example after a run was killed before writing it."""
        if self._is_csv_behind():
            with self.open():
                pass

    @contextmanager
    def open(self) -> Iterator[None]:
        """Keep the store's file open and locked within a ``with`` block, instead of opening it for each call."""
        if self.path is None or self._db is not None:
            yield
            return
        with results_file_errors(self.path):
            self._database.parent.mkdir(parents=True, exist_ok=True)
            db = open_database(self._database)
        with closing(db):
            with results_file_errors(self.path):
                self._begin(db)
            self._db = db
            try:
                yield
            finally:
                self._db = None
                with results_file_errors(self.path):
                    db.execute("PRAGMA journal_mode = DELETE")  # leaves one file
                    if self._csv is not None and self._is_csv_behind():
                        self._export(db, self._csv)

    def _is_csv_behind(self) -> bool:
        """Return whether the store's CSV file is missing or lacks stored results.

        Raises:
            ResultsFileError: If there is one that the database has not exported: it is of another run, or of another
                checkout, and must not be lost.
        """
        if self._csv is None:
            return False
        text = self._csv.read_bytes().decode("utf-8-sig", "replace") if self._csv.is_file() else ""
        if text and _hash_text(text) not in self._exports:
            raise ResultsFileError(
                f"{self._csv} is not what {self._database} has exported: keep one of the two, and move the other away"
            )
        return len(self.results) != (self._exports[_hash_text(text)] if text else 0)

    def _export(self, db: sqlite3.Connection, path: Path) -> None:
        """Write the CSV file atomically, after recording its hash in the database."""
        text = format_csv(self.settings, self._kind, self.results)
        self._exports = {**self._exports, _hash_text(text): len(self.results)}
        with db:
            self._write_exports(db)
        replace_file(path, text.encode())

    def _begin(self, db: sqlite3.Connection) -> None:
        """Lock the database, load the results that it holds, and write all complete units of work into it."""
        for setting in ("locking_mode = EXCLUSIVE", "journal_mode = WAL", "synchronous = NORMAL"):
            db.execute(f"PRAGMA {setting}")  # from here on no other process reads or writes it
        saved = read_database(db)
        if saved is not None:
            self._adopt_file(self._database, saved)
        self._recorded = self._provenance.continue_from(self._recorded, self.path) if self.units else self._provenance
        columns = ", ".join(f'"{column.name}" {column.kind}' for column in self._columns)
        with db:
            db.execute("BEGIN")
            db.execute("CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
            db.execute(f"CREATE TABLE IF NOT EXISTS results ({columns})")
            self._write_exports(db)  # of the CSV file that is imported, if one is
            if saved is None or len(saved.rows) != len(self.results):
                db.execute("DELETE FROM results")
                self._insert(db, self.results)
            self._write_settings(db)

    def _adopt_file(self, path: Path, saved: SavedFile) -> None:
        """Load the complete units of work from a saved file, whose settings must match those of this store.

        Raises:
            SettingsMismatchError: If they were not.
        """
        provenance = Provenance.pop_from(saved.settings)
        self._settings |= {name: saved.settings[name] for name in self._free if name in saved.settings}
        different = [
            f"{name}: the file has {saved.settings.get(name)!r}, this run {self._settings.get(name)!r}"
            for name in sorted({*saved.settings, *self._settings})
            if saved.settings.get(name) != self._settings.get(name)
        ]
        if different:
            raise SettingsMismatchError(
                f"{path} was written under other settings ({'; '.join(different)}); name another file or folder"
            )
        saved_units: dict[Key, list[_Result]] = {}
        for result in parse_rows(self._kind, saved.rows, path):
            saved_units.setdefault(self._key_of(result), []).append(result)
        complete = {key: results for key, results in saved_units.items() if self._per_key in (None, len(results))}
        self.units = {**complete, **self.units}  # what is in memory has fields that no file keeps
        self._recorded = provenance if saved_units else Provenance(())
        self._exports = saved.exports

    def _key_of(self, result: _Result) -> Key:
        return tuple(getattr(result, name) for name in self._key)

    def _insert(self, db: sqlite3.Connection, results: Iterable[_Result]) -> None:
        marks = ", ".join("?" * len(self._columns))
        rows = ([column.to_cell(getattr(result, column.name)) for column in self._columns] for result in results)
        db.executemany(f"INSERT INTO results VALUES ({marks})", rows)

    def _write_exports(self, db: sqlite3.Connection) -> None:
        if self._exports:
            db.execute("CREATE TABLE IF NOT EXISTS exports (digest TEXT PRIMARY KEY, results INTEGER NOT NULL)")
            db.executemany("INSERT OR REPLACE INTO exports VALUES (?, ?)", self._exports.items())

    def _write_settings(self, db: sqlite3.Connection) -> None:
        rows = [(name, json.dumps(value, ensure_ascii=False)) for name, value in self.settings.items()]
        db.executemany("INSERT OR REPLACE INTO settings VALUES (?, ?)", rows)


# --- Files and folders that do not hold results: one process at a time writes to them ---------------------------------


def lock_path(path: Path, *, folder: bool = False) -> FileLock:
    """Lock a file or folder that does not hold results, using an operating-system lock (:mod:`filelock`).

    Args:
        path: The file or folder; it need not exist.
        folder: Whether it is a folder.

    Returns:
        The lock, which ends with this process if it is not released before.

    Raises:
        InUseError: If another process has it.
    """
    path = real_path(path)
    name = path / ".lock" if folder else path.with_name(f"{path.name}.lock")
    name.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(name, timeout=0, mode=0o666, thread_local=False, is_singleton=True)
    try:
        lock.acquire()
    except Timeout as error:
        raise InUseError(f"{path} is {IN_USE_MESSAGE}") from error
    return lock


@contextmanager
def locked_for_writing(path: Path, *, folder: bool = False) -> Iterator[Path]:
    """Lock a file or folder within a ``with`` block, and then remove any new folders that stayed empty.

    Yields:
        What is claimed: the path behind all links.  Write to this one, for a link may be changed meanwhile.

    Raises:
        InUseError: If another process has it.
    """
    real = real_path(path)
    new = [above for above in ((real, *real.parents) if folder else real.parents) if not above.exists()]
    lock = lock_path(path, folder=folder)
    try:
        yield real
    finally:
        if lock.lock_counter == 1:
            Path(lock.lock_file).unlink(missing_ok=True)  # a process that has just opened it sees that
        lock.release()
        with suppress(OSError):
            for made in new:
                made.rmdir()  # nothing was written
