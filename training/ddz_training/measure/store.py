"""Results of a run: one SQLite file with a table ``settings`` and a table ``results``; what is committed is CSV.

A result is a dataclass; its fields are the columns, and ``Annotated[float, ".3f"]`` says how a CSV file writes a
number.  A unit of work is one transaction, so a run that is killed at any moment has each unit whole or not at all, and
is resumed.  SQLite's lock keeps a second process out until the run ends.  The settings name the code and the agents'
files by digest (:mod:`ddz_training.measure.provenance`).

A name that ends in ``.csv`` or ``.jsonl`` gives such a file at the end: while the run writes, and after a kill, its
results are in ``NAME.sqlite`` beside it (``games.csv.sqlite``), which then becomes ``NAME``.  The first line of either
holds the settings (``pandas.read_csv(path, comment="#")`` skips it).
"""

from __future__ import annotations

import csv
import dataclasses
import functools
import io
import json
import math
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, Generic, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from filelock import FileLock, Timeout

from ddz_env import Rules
from ddz_env.core.errors import DouDizhuError, InvalidRulesError, shown
from ddz_env.core.whole_file import real_path, replace_file
from ddz_training.measure.errors import InUseError, ResultsFileError, SettingsMismatchError
from ddz_training.measure.provenance import Provenance, SameCode
from ddz_training.measure.workers import Share, Start, workers

SUFFIXES = (".csv", ".jsonl")
"""Of files that people read."""
DATABASES = (".sqlite", ".db")
"""Of files that stay SQLite."""

_LONGEST = 1 << 20
"""More characters than any line of settings has."""
_SMALLEST = 512
"""Bytes of the smallest database; SQLite takes a file of one byte for an empty one."""
_TAKEN = "being written by another process: wait until it has ended, or name another"
_TYPED: dict[str, Any] = {"detect_types": sqlite3.PARSE_DECLTYPES}

Key = tuple[Any, ...]
OnProgress = Callable[[int, int], None]
"""Called with units done and units in all."""

_Result = TypeVar("_Result")

sqlite3.register_converter("JSON", json.loads)


def no_progress(done: int, total: int) -> None:
    """Ignore how far a run is."""


# --- A result as cells ------------------------------------------------------------------------------------------------


class _Column(NamedTuple):
    """A field of a result."""

    name: str
    parse: Callable[[Any], Any]
    text: Callable[[Any], str]
    kind: str
    """Its type in SQLite."""

    def cell(self, value: Any) -> Any:
        """The value as SQLite keeps it."""
        if self.kind == "JSON":
            return json.dumps(value, ensure_ascii=False, default=str)
        return value if isinstance(value, (int, float)) else self.text(value)


def _columns(kind: type[Any]) -> tuple[_Column, ...]:
    hints = get_type_hints(kind, include_extras=True)
    return tuple(_column(field.name, hints[field.name]) for field in dataclasses.fields(kind))


def _column(name: str, hint: Any) -> _Column:
    form = ""
    if get_origin(hint) is Annotated:
        hint, form = get_args(hint)
    if get_origin(hint) is tuple:
        part = _column(name, get_args(hint)[0])
        return _Column(
            name,
            lambda cell: tuple(map(part.parse, cell.split() if isinstance(cell, str) else cell)),
            lambda values: " ".join(map(part.text, values)),
            "JSON",
        )
    parse = getattr(hint, "parse", _number if hint is float else hint)
    return _Column(name, parse, lambda value: format(value, form), {int: "INTEGER", float: "REAL"}.get(hint, "TEXT"))


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
    columns = _columns(kind)
    try:
        return [kind(**{column.name: column.parse(row[column.name]) for column in columns}) for row in rows]
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ResultsFileError(f"a line holds no result of this kind: {error!r}") from error


# --- Reading ----------------------------------------------------------------------------------------------------------


class Saved(NamedTuple):
    """What a file holds.

    Attributes:
        settings: What its results depend on.
        columns: Names of the columns; None where no line names them (JSON lines).
        rows: Cells by column.
        cut: Whether the last row was cut off, and left out.
    """

    settings: dict[str, Any]
    columns: Sequence[str] | None
    rows: list[dict[str, Any]]
    cut: bool = False


def read_results(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Read a file of results, of a run or a committed one.

    Returns:
        The settings, and the rows as cells by column.

    Raises:
        ResultsFileError: If the file does not hold results.
        InUseError: If another process is writing it.
    """
    saved = _read(path) or _of_text(path)
    return saved.settings, saved.rows


def _read(path: Path) -> Saved | None:
    """What a file holds; None while there is nothing."""
    text = real_path(path)
    file = _database(text)
    if _has_contents(file):
        if file.stat().st_size < _SMALLEST:
            raise ResultsFileError(f"{path} is not a database")
        with _errors(path), closing(sqlite3.connect(file, 0, **_TYPED)) as db:
            if saved := _of_database(db):
                return saved
    return _of_text(path) if text != file and _has_contents(text) else None


def _of_database(db: sqlite3.Connection) -> Saved | None:
    """What a database holds; None where it has no tables yet."""
    if not db.execute("SELECT 1 FROM sqlite_master").fetchone():
        return None
    settings = {name: json.loads(value) for name, value in db.execute("SELECT name, value FROM settings")}
    found = db.execute("SELECT * FROM results ORDER BY rowid")
    columns = [name for name, *_ in found.description]
    return Saved(settings, columns, [dict(zip(columns, row, strict=True)) for row in found])


def _of_text(path: Path) -> Saved:
    """What a text file holds; a last line without an end was cut off."""
    *lines, rest = path.read_bytes().decode("utf-8", errors="replace").split("\n")
    settings = _settings(path, lines[0] if lines else "")
    columns = None if path.suffix.lower() == ".jsonl" else "".join(lines[1:2]).split(",")
    rows: list[dict[str, Any]] = []
    for number, line in enumerate(lines[1 if columns is None else 2 :], 2 if columns is None else 3):
        try:
            rows.append(json.loads(line) if columns is None else _csv_row(columns, line))
        except (ValueError, StopIteration, RecursionError, csv.Error) as error:
            raise ResultsFileError(f"{path}, line {number} cannot be read: {error}") from error
    return Saved(settings, columns, rows, bool(rest))


def holds_results(path: Path) -> bool:
    """Whether a text file holds results, as its first line says."""
    with path.open(encoding="utf-8", errors="replace") as file:
        first = file.readline(_LONGEST)
    try:
        _settings(path, first)
    except ResultsFileError:
        return False
    return True


def _settings(path: Path, first: str) -> dict[str, Any]:
    """What the first line of a text file says."""
    is_json = path.suffix.lower() == ".jsonl"
    try:
        settings = json.loads(first if is_json else first.partition("# ")[2])
        return dict(settings["settings"] if is_json else settings)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise ResultsFileError(f"{path} is not a results file: its first line is {first[:60]!r}") from error


def _csv_row(names: Sequence[str], line: str) -> dict[str, str]:
    cells = next(csv.reader([line]))
    if len(cells) != len(names):
        raise ValueError(f"it does not fit the columns {', '.join(names)}")
    return dict(zip(names, cells, strict=True))


def _has_contents(path: Path) -> bool:
    return path.exists() and (not path.is_file() or path.stat().st_size > 0)


def _database(path: Path) -> Path:
    """The SQLite file of a run that is saved under a name."""
    return path if path.suffix.lower() in DATABASES else path.with_name(f"{path.name}.sqlite")


@contextmanager
def _errors(path: Path) -> Iterator[None]:
    """Give SQLite's errors, and those of a file that something else has written, our names."""
    try:
        yield
    except DouDizhuError:
        raise
    except (sqlite3.Error, OSError, OverflowError, TypeError, ValueError, RecursionError) as error:
        if "locked" in str(error):
            raise InUseError(f"{path} is {_TAKEN}") from error
        raise ResultsFileError(f"{path} cannot be used as a file of results: {error}") from error


# --- Writing ----------------------------------------------------------------------------------------------------------


def check_settings(path: object, found: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Refuse results that were written under other settings, and name these.

    Args:
        path: Names the results in the message.
        found: Their settings.
        wanted: Those of the run that wants to add to them.

    Raises:
        SettingsMismatchError: If they differ.
    """
    different = [
        f"{name}: the file has {found.get(name)!r}, this run {wanted.get(name)!r}"
        for name in sorted({*found, *wanted})
        if found.get(name) != wanted.get(name)
    ]
    if different:
        raise SettingsMismatchError(
            f"{path} was written under other settings ({'; '.join(different)}); name another file or folder"
        )


class ResultStore(Generic[_Result]):
    """Results that grow in memory, and on disk where a file is named.

    Its file is open in a ``with`` block, and in each call of :meth:`add` and :meth:`fill` outside one.

    Args:
        kind: The dataclass of a result.
        path: The file, with one of :data:`SUFFIXES` or :data:`DATABASES`; None keeps the results in memory only.
        settings: What the results depend on; plain JSON values.
        key: The fields that name a unit of work.
        per_key: Results that make a unit complete; None where any number does.
        agents: Specifications of the agents that the results are of.
        resume: Whether an existing file is resumed; otherwise it is refused.
        free: Names of settings that may differ from those of the file, which are then kept.

    Attributes:
        path: As given.
        found: The results so far by unit, in the order in which they came.

    Raises:
        SettingsMismatchError: If the file was written under other settings.
        AgentChangedError: If a file that an agent reads has been replaced since.
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
        self.found: dict[Key, list[_Result]] = {}
        self._kind, self._columns, self._key, self._per_key = kind, _columns(kind), tuple(key), per_key
        self._given: dict[str, Any] = json.loads(json.dumps(settings))
        self._here = self._said = Provenance.of(agents)
        self._free, self._depth, self._changed = tuple(free), 0, False
        self._db: sqlite3.Connection | None = None
        self._written: dict[str, Any] = {}
        if self.path is None:
            return
        if self.path.suffix.lower() not in (*SUFFIXES, *DATABASES):
            raise ResultsFileError(f"{self.path}: results are written as {' or '.join((*SUFFIXES, *DATABASES))}")
        self._text = real_path(self.path)
        self._file = _database(self._text)
        if saved := _read(self.path):
            if not resume:
                raise ResultsFileError(f"{self.path} exists: name another file, or resume it (resume=True)")
            self._take(self.path, saved)

    @property
    def settings(self) -> dict[str, Any]:
        """What the results depend on, and the code and files that they are from."""
        return {**self._given, **self._said.settings()}

    @property
    def results(self) -> list[_Result]:
        """All results so far."""
        return [result for results in self.found.values() for result in results]

    def note(self, **settings: Any) -> None:
        """Change settings, here and in the file."""
        with self:
            self._given |= json.loads(json.dumps(settings))
            self._save(())

    def add(self, results: Sequence[_Result]) -> None:
        """Keep the results of a unit of work: all of them or, if the process is killed meanwhile, none.

        Raises:
            OtherCodeError: If the file was written by other code and that is not allowed.
            ResultsFileError: If the file cannot be written.
        """
        if results:
            with self:
                self.sign()
                self._save(results)
                self._keep(results)

    def fill(
        self, tasks: Mapping[Key, Any], start: Start, processes: int = 1, on_progress: OnProgress = no_progress
    ) -> list[_Result]:
        """Do the tasks whose units are not there yet, and return the results of all in the order of the tasks.

        Args:
            tasks: What to do, by unit.
            start: Makes a worker, which answers a task with the results of its unit.
            processes: Worker processes; the results do not depend on them.
            on_progress: Called with the units that are done and all units.

        Raises:
            OtherCodeError: If something is to be done, the file was written by other code, and that is not allowed.
            WorkerDiedError: If a worker process died.
        """
        missing = [task for key, task in tasks.items() if key not in self.found]
        self.gather(missing, start, processes, on_progress, len(tasks) - len(missing))
        return [result for key in tasks for result in self.found.get(key, ())]

    def gather(self, tasks: Sequence[Any], start: Start, processes: int, on_progress: OnProgress, done: int) -> None:
        """Do tasks and keep the results of each as soon as it and all before it are done.

        Args:
            tasks: What is to do.
            start: As for :meth:`fill`.
            processes: Worker processes.
            on_progress: Called with the tasks that are done and all tasks, ``done`` included.
            done: How many were done before.
        """
        total = done + len(tasks)
        on_progress(done, total)
        if tasks:
            with self.sharing(start, min(processes, len(tasks))) as share:
                self.sign()
                for number, results in enumerate(share(tasks), done + 1):
                    self.add(results)
                    on_progress(number, total)

    @contextmanager
    def sharing(self, start: Start, processes: int) -> Iterator[Share[Any, Any]]:
        """Workers for the time of a ``with`` block, whose code and files are those that the results name."""
        with self, workers(SameCode(start, self._here), processes) as share:
            yield share

    def sign(self) -> None:
        """Name the code and the agents of this process, before anything is added.

        Raises:
            OtherCodeError: If the file was written by other code and that is not allowed.
        """
        if self._said != self._here:
            self._said = self._here.after(self._said, self.path)

    def export(self, path: Path) -> None:
        """Write all results as CSV or, where the name ends in ``.jsonl``, as JSON lines.

        Raises:
            ResultsFileError: If the file cannot be written.
        """
        text = io.StringIO()
        write = functools.partial(json.dumps, ensure_ascii=False, default=str)
        if path.suffix.lower() == ".jsonl":
            text.write(write({"settings": self.settings}, sort_keys=True) + "\n")
            text.writelines(write(vars(result)) + "\n" for result in self.results)
        else:
            text.write(f"# {write(self.settings, sort_keys=True)}\n")
            table = csv.writer(text, lineterminator="\n")
            table.writerow([column.name for column in self._columns])
            table.writerows(
                [column.text(getattr(result, column.name)) for column in self._columns] for result in self.results
            )
        with _errors(path):
            replace_file(path, text.getvalue().encode())

    def __enter__(self) -> ResultStore[_Result]:
        if self.path is not None and self._depth == 0:
            self._open(self.path)
        self._depth += 1
        return self

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if self._db is not None and self._depth == 0:
            self._close(self._db)

    def _open(self, path: Path) -> None:
        """Lock the file and take over what it holds by now; make it if there is none."""
        with _errors(path):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._db = db = sqlite3.connect(self._file, 0, **_TYPED)
            try:
                for setting in ("locking_mode = EXCLUSIVE", "journal_mode = WAL", "synchronous = NORMAL"):
                    db.execute(f"PRAGMA {setting}")  # from here on no other process reads or writes it
                if not self._file.exists():  # its run has just ended, and has taken it away
                    raise InUseError(f"{path} is {_TAKEN}")
                saved = _of_database(db)
                self._changed = saved is not None
                if saved is None and self._text != self._file and _has_contents(self._text):
                    saved = _of_text(self._text)
                if saved is not None:
                    self._take(path, saved)
                self._begin(db)
            except BaseException:
                db.close()
                self._db = None
                raise

    def _begin(self, db: sqlite3.Connection) -> None:
        """Make the tables, and let them hold the complete units."""
        columns = ", ".join(f'"{column.name}" {column.kind}' for column in self._columns)
        with db:
            db.execute("BEGIN")
            db.execute("CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
            db.execute(f"CREATE TABLE IF NOT EXISTS results ({columns})")
            if db.execute("SELECT count(*) FROM results").fetchone()[0] != len(self.results):
                db.execute("DELETE FROM results")
                self._insert(db, self.results)
            self._write_settings(db)
        self._written = self.settings

    def _close(self, db: sqlite3.Connection) -> None:
        """Leave one file: the database, or the text file that it becomes."""
        self._db = None
        with closing(db), _errors(self._file):
            if self._changed and self._text != self._file:
                self.export(self._text)
            db.execute("PRAGMA journal_mode = DELETE")
            if self._text != self._file:
                if os.name == "nt":  # which removes no open file
                    db.close()
                self._file.unlink()

    def _take(self, path: Path, saved: Saved) -> None:
        """Take the results of a file, if they were made under these settings.

        Raises:
            SettingsMismatchError: If they were not.
            AgentChangedError: If a file that an agent reads has been replaced since.
        """
        said, names = Provenance.take(saved.settings), [column.name for column in self._columns]
        self._given |= {name: saved.settings[name] for name in self._free if name in saved.settings}
        found, wanted = {**saved.settings, "columns": saved.columns or names}, {**self._given, "columns": names}
        check_settings(path, found, wanted)
        results = of_rows(self._kind, saved.rows)
        if results:
            self._here.check_files(said, path)
            self._said = said
        self.found = {}
        self._keep(results)
        if self._per_key is not None:
            self.found = {key: own for key, own in self.found.items() if len(own) == self._per_key}
        elif saved.cut and self.found:
            self.found.popitem()  # it may have been cut off between two of its results

    def _save(self, results: Iterable[_Result]) -> None:
        """Write results, and what the settings are by now, in one transaction."""
        if self._db is not None and self.path is not None:
            with _errors(self.path), self._db as db:
                self._insert(db, results)
                if self.settings != self._written:
                    self._write_settings(db)
            self._changed, self._written = True, self.settings

    def _keep(self, results: Iterable[_Result]) -> None:
        for result in results:
            self.found.setdefault(tuple(getattr(result, name) for name in self._key), []).append(result)

    def _insert(self, db: sqlite3.Connection, results: Iterable[_Result]) -> None:
        marks = ", ".join("?" * len(self._columns))
        rows = ([column.cell(getattr(result, column.name)) for column in self._columns] for result in results)
        db.executemany(f"INSERT INTO results VALUES ({marks})", rows)

    def _write_settings(self, db: sqlite3.Connection) -> None:
        rows = [(name, json.dumps(value, ensure_ascii=False)) for name, value in self.settings.items()]
        db.executemany("INSERT OR REPLACE INTO settings VALUES (?, ?)", rows)


# --- Files and folders of other kinds ---------------------------------------------------------------------------------


def claim(path: Path, *, folder: bool = False) -> FileLock:
    """Claim a file or a folder that does not hold results: a lock of the operating system (:mod:`filelock`).

    Args:
        path: The file or folder; it need not exist.
        folder: Whether it is a folder.

    Returns:
        The lock, which ends with this process if it is not released before.

    Raises:
        InUseError: If another process has it.
    """
    path = real_path(path)
    (path if folder else path.parent).mkdir(parents=True, exist_ok=True)
    lock = FileLock(
        path / ".lock" if folder else f"{path}.lock", timeout=0, mode=0o666, thread_local=False, is_singleton=True
    )
    try:
        lock.acquire()
    except Timeout as error:
        raise InUseError(f"{path} is {_TAKEN}") from error
    return lock


@contextmanager
def writing(path: Path, *, folder: bool = False) -> Iterator[Path]:
    """:func:`claim` a file or a folder for the time of a ``with`` block; folders that are made and stay empty go again.

    Yields:
        What is claimed: the path behind all links.  Write to this one, for a link may be changed meanwhile.

    Raises:
        InUseError: If another process has it.
    """
    path = real_path(path)
    inner = path if folder else path.parent
    made = [each for each in (inner, *inner.parents) if not each.exists()]
    lock = claim(path, folder=folder)
    try:
        yield path
    finally:
        if lock.lock_counter == 1:
            Path(lock.lock_file).unlink(missing_ok=True)  # a process that has just opened it sees that
        lock.release()
        with suppress(OSError):  # the first one that is not empty, and all above it, stay
            for each in made:
                each.rmdir()


# --- Rules as settings ------------------------------------------------------------------------------------------------

_STANDARD = Rules()


def rules_settings(rules: Rules) -> dict[str, Any]:
    """Rules as plain values.

    Example:
        >>> rules_settings(Rules.preset("bidding"))
        {'name': 'bidding', 'bidding': 'once', 'scoring': 'stake'}
    """
    fields = [field.name for field in dataclasses.fields(Rules)]
    different = {name: getattr(rules, name) for name in fields if getattr(rules, name) != getattr(_STANDARD, name)}
    return {"name": rules.name, **different}


def read_rules_settings(values: Any) -> Rules:
    """The inverse of :func:`rules_settings`, also after a way through JSON.

    Raises:
        InvalidRulesError: If the values are no rules.
    """
    if not isinstance(values, dict):
        raise InvalidRulesError(f"rules are names with values, not {shown(values)}")
    changes = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    return _STANDARD.replace(**changes)
