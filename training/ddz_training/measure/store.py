"""Results of a run: one SQLite file with a table ``settings`` and a table ``results``, and the CSV that is made of it.

A result is a dataclass; its fields are the columns.  Each unit of work is a transaction, so a run that is killed at any
moment has each unit whole or not at all, and the same command goes on.  SQLite's lock keeps a second process out until
the run ends.  The settings name the version and the agents' files (:mod:`ddz_training.measure.provenance`).

With ``games.csv`` a run writes ``games.sqlite`` beside it, which stays, and at its end, an interrupt included,
``games.csv``.  It resumes from what both hold together: from a committed CSV alone, too.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Generic, TypeVar

from ddz_env.core.whole_file import real_path
from ddz_training.measure import files
from ddz_training.measure.claims import claim as claim
from ddz_training.measure.claims import writing as writing
from ddz_training.measure.errors import ResultsFileError, SettingsMismatchError
from ddz_training.measure.files import holds_results as holds_results
from ddz_training.measure.files import of_rows as of_rows
from ddz_training.measure.files import read_results as read_results
from ddz_training.measure.provenance import Provenance
from ddz_training.measure.workers import Share, Start, in_blocks, workers

Key = tuple[Any, ...]
OnProgress = Callable[[int, int], None]
"""Called with units done and units in all."""

_Result = TypeVar("_Result")


def no_progress(done: int, total: int) -> None:
    """Ignore how far a run is."""


class ResultStore(Generic[_Result]):
    """Results that grow in memory, and on disk where a file is named.

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
        found: The results so far by unit, in the order in which they came.

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
        self.found: dict[Key, list[_Result]] = {}
        self._kind, self._columns = kind, files.columns_of(kind)
        self._key, self._per_key, self._free = key, per_key, free
        self._given: dict[str, Any] = json.loads(json.dumps(settings))
        self._here, self._said = Provenance.of(agents), Provenance(())
        self._db: sqlite3.Connection | None = None
        self._exported = 0  # results that the CSV file has
        if self.path is None:
            return
        if self.path.suffix.lower() not in (files.CSV, *files.DATABASES):
            raise ResultsFileError(f"{self.path}: results are written as {files.CSV} or {files.DATABASES[0]}")
        self._text = real_path(self.path)
        self._file = self._text if self.path.suffix.lower() != files.CSV else self._text.with_suffix(".sqlite")
        for file in dict.fromkeys((self._text, self._file)):
            saved = files.read_file(file)
            if saved is not None and not resume:
                raise ResultsFileError(f"{file} exists: name another file, or resume it (resume=True)")
            if saved is not None:
                self._take(file, saved)
            if file == self._text:
                self._exported = len(self.results)

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the results, with the versions and the files that they are from."""
        return {**self._given, **(self._said if self._said.code else self._here).settings()}

    @property
    def results(self) -> list[_Result]:
        """All results so far."""
        return [result for results in self.found.values() for result in results]

    def note(self, **settings: Any) -> None:
        """Change settings, here and in the file."""
        with self.open():
            self._given |= json.loads(json.dumps(settings))
            if self._db is not None:
                with files.naming_errors(self.path), self._db as db:
                    self._write_settings(db)

    def add(self, results: Sequence[_Result]) -> None:
        """Keep the results of whole units of work: all of them or, if the process is killed meanwhile, none.

        Raises:
            ResultsFileError: If the file cannot be written.
        """
        with self.open():
            if self._db is not None:
                with files.naming_errors(self.path), self._db as db:
                    self._insert(db, results)
            for result in results:
                self.found.setdefault(self._key_of(result), []).append(result)

    def fill(
        self,
        tasks: Mapping[Key, Any],
        start: Start,
        processes: int = 1,
        on_progress: OnProgress = no_progress,
        block: int = 1,
    ) -> list[_Result]:
        """Do the tasks whose units are missing, and return the results of all tasks in their order.

        Args:
            tasks: What to do, by unit.
            start: Makes a worker, which answers a task with the results of its unit.
            processes: Worker processes; the results do not depend on them.
            on_progress: Called with the units that are done and all units.
            block: As for :meth:`sharing`.

        Raises:
            WorkerDiedError: If a worker process died.
        """
        missing = [task for key, task in tasks.items() if key not in self.found]
        done = len(tasks) - len(missing)
        on_progress(done, len(tasks))
        if missing:
            with self.sharing(start, min(processes, len(missing)), block) as share:
                for number, results in enumerate(share(missing), done + 1):
                    self.add(results)
                    on_progress(number, len(tasks))
        elif self.path is not None and self._exported != len(self.results):
            with self.open():  # a run that was killed when all was done but the CSV file
                pass
        return [result for key in tasks for result in self.found.get(key, ())]

    @contextmanager
    def sharing(self, start: Start, processes: int, block: int = 1) -> Iterator[Share[Any, Any]]:
        """Workers for the time of a ``with`` block, in which the file is open.

        Args:
            start: Makes a worker.
            processes: Worker processes.
            block: The most tasks that a worker gets at once, as a list, and answers with a list.
        """
        with self.open(), workers(start, processes) as share:
            yield share if block == 1 else in_blocks(share, block, processes)

    def export(self, path: Path) -> None:
        """Write all results as CSV.

        Raises:
            ResultsFileError: If the file cannot be written.
        """
        files.write_csv(path, self.settings, self._kind, self.results)

    @contextmanager
    def open(self) -> Iterator[None]:
        """Keep the file open and locked for the time of a ``with`` block; each call opens it by itself otherwise."""
        if self.path is None or self._db is not None:
            yield
            return
        with files.naming_errors(self.path):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            db = files.connect(self._file)
        with closing(db):
            with files.naming_errors(self.path):
                self._begin(db)
            self._db = db
            try:
                yield
            finally:
                self._db = None
                with files.naming_errors(self.path):
                    db.execute("PRAGMA journal_mode = DELETE")  # leaves one file
                if self._text != self._file and self._exported != len(self.results):
                    self.export(self._text)
                    self._exported = len(self.results)

    def _begin(self, db: sqlite3.Connection) -> None:
        """Lock the file, take over what it holds by now, and let it hold all complete units; make it if it is new."""
        for setting in ("locking_mode = EXCLUSIVE", "journal_mode = WAL", "synchronous = NORMAL"):
            db.execute(f"PRAGMA {setting}")  # from here on no other process reads or writes it
        saved = files.read_database(db)
        if saved is not None:
            self._take(self._file, saved)
        self._said = self._here.resuming(self._said, self.path) if self.found else self._here
        columns = ", ".join(f'"{column.name}" {column.kind}' for column in self._columns)
        with db:
            db.execute("BEGIN")
            db.execute("CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
            db.execute(f"CREATE TABLE IF NOT EXISTS results ({columns})")
            if saved is None or len(saved.rows) != len(self.results):
                db.execute("DELETE FROM results")
                self._insert(db, self.results)
            self._write_settings(db)

    def _take(self, path: Path, saved: files.SavedFile) -> None:
        """Take the complete units of a file beyond those that are known, if they were made under these settings.

        Raises:
            SettingsMismatchError: If they were not.
        """
        said = Provenance.take(saved.settings)
        self._given |= {name: saved.settings[name] for name in self._free if name in saved.settings}
        different = [
            f"{name}: the file has {saved.settings.get(name)!r}, this run {self._given.get(name)!r}"
            for name in sorted({*saved.settings, *self._given})
            if saved.settings.get(name) != self._given.get(name)
        ]
        if different:
            raise SettingsMismatchError(
                f"{path} was written under other settings ({'; '.join(different)}); name another file or folder"
            )
        units: dict[Key, list[_Result]] = {}
        for result in files.of_rows(self._kind, saved.rows):
            units.setdefault(self._key_of(result), []).append(result)
        complete = {key: own for key, own in units.items() if self._per_key in (None, len(own))}
        if units:
            self._said = self._said.joined(said)
        self.found = {**complete, **self.found}  # the order of the file; what is known counts

    def _key_of(self, result: _Result) -> Key:
        return tuple(getattr(result, name) for name in self._key)

    def _insert(self, db: sqlite3.Connection, results: Iterable[_Result]) -> None:
        marks = ", ".join("?" * len(self._columns))
        rows = ([column.cell(getattr(result, column.name)) for column in self._columns] for result in results)
        db.executemany(f"INSERT INTO results VALUES ({marks})", rows)

    def _write_settings(self, db: sqlite3.Connection) -> None:
        rows = [(name, json.dumps(value, ensure_ascii=False)) for name, value in self.settings.items()]
        db.executemany("INSERT OR REPLACE INTO settings VALUES (?, ?)", rows)
