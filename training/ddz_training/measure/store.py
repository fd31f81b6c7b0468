"""Results of a run: one SQLite file with a table ``settings`` and a table ``results``; what is committed is CSV.

A result is a dataclass; its fields are the columns, and ``Annotated[float, ".3f"]`` says how a CSV file writes a
number.  Transactions hold whole units of work, so a run that is killed at any moment has each unit whole or not at all,
and is resumed.  SQLite's lock keeps a second process out until the run ends.  The settings name the code and the
agents' files by digest (:mod:`ddz_training.measure.provenance`).

A name that ends in ``.csv`` or ``.jsonl`` gives such a file at the end: while the run writes, and after a kill, its
results are in ``NAME.sqlite`` beside it (``games.csv.sqlite``), which then becomes ``NAME``.  The first line of either
holds the settings (``pandas.read_csv(path, comment="#")`` skips it).
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Generic, TypeVar

from ddz_env.core.whole_file import real_path
from ddz_training.measure import files
from ddz_training.measure.claims import TAKEN
from ddz_training.measure.claims import claim as claim
from ddz_training.measure.claims import writing as writing
from ddz_training.measure.errors import InUseError, ResultsFileError, SettingsMismatchError
from ddz_training.measure.files import holds_results as holds_results
from ddz_training.measure.files import of_rows as of_rows
from ddz_training.measure.files import read_results as read_results
from ddz_training.measure.provenance import Provenance, SameCode
from ddz_training.measure.workers import Share, Start, in_blocks, workers

Key = tuple[Any, ...]
OnProgress = Callable[[int, int], None]
"""Called with units done and units in all."""

_Result = TypeVar("_Result")

_MOMENT = 0.2
"""Seconds: units that take less on average are written together, for this long at most; a kill may lose these."""


def no_progress(done: int, total: int) -> None:
    """Ignore how far a run is."""


def _refuse_other(path: Path, found: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Refuse results that were written under other settings, and name these."""
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

    Its file is open in a ``with`` block, and during each call of :meth:`add` and :meth:`fill` outside one.

    Args:
        kind: The dataclass of a result.
        path: The file, with a suffix of :mod:`~ddz_training.measure.files`; None keeps the results in memory only.
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
        self._kind, self._columns = kind, files.columns_of(kind)
        self._key, self._per_key = key, per_key
        self._given: dict[str, Any] = json.loads(json.dumps(settings))
        self._free = free
        self._here = self._said = Provenance.of(agents)
        self._db: sqlite3.Connection | None = None
        self._depth = 0  # of ``with`` blocks
        self._changed = False  # since the text file was written
        self._written: dict[str, Any] = {}  # the settings in the database
        if self.path is None:
            return
        if self.path.suffix.lower() not in files.SUFFIXES:
            raise ResultsFileError(f"{self.path}: results are written as {' or '.join(files.SUFFIXES)}")
        self._text = real_path(self.path)
        self._file = files.database_of(self._text)
        if saved := files.read_file(self.path):
            if not resume:
                raise ResultsFileError(f"{self.path} exists: name another file, or resume it (resume=True)")
            self._take(self.path, saved)

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the results, with the code and the files that they are from."""
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
        """Keep the results of whole units of work: all of them or, if the process is killed meanwhile, none.

        Raises:
            OtherCodeError: If the file was written by other code and that is not allowed.
            ResultsFileError: If the file cannot be written.
        """
        if results:
            with self:
                self.sign()
                self._save(results)

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
            OtherCodeError: If something is to be done, the file was written by other code, and that is not allowed.
            WorkerDiedError: If a worker process died.
        """
        missing = [task for key, task in tasks.items() if key not in self.found]
        on_progress(len(tasks) - len(missing), len(tasks))
        if missing:
            with self.sharing(start, min(processes, len(missing)), block) as share:
                self.sign()
                self._add_all(share(missing), lambda done: on_progress(len(tasks) - len(missing) + done, len(tasks)))
        elif self.path is not None and self._file != self._text and self._file.exists():
            with self:  # a run that was killed when all was done but the text file
                pass
        return [result for key in tasks for result in self.found.get(key, ())]

    def _add_all(self, units: Iterable[Sequence[_Result]], on_progress: Callable[[int], object]) -> None:
        """Keep units as they come; short ones share transactions, each of which takes as long as a short game."""
        waiting, began = list[_Result](), time.monotonic()
        written = began
        try:
            for done, results in enumerate(units, 1):
                waiting += results
                now = time.monotonic()
                if now - written > _MOMENT or now - began > _MOMENT * done:
                    self.add(waiting)
                    waiting, written = [], now
                on_progress(done)
        finally:
            self.add(waiting)

    @contextmanager
    def sharing(self, start: Start, processes: int, block: int = 1) -> Iterator[Share[Any, Any]]:
        """Workers for the time of a ``with`` block, whose code and files are those that the results name.

        Args:
            start: Makes a worker.
            processes: Worker processes.
            block: The most tasks that a worker gets at once, as a list, and answers with a list.
        """
        with self, workers(SameCode(start, self._here), processes) as share:
            yield share if block == 1 else in_blocks(share, block, processes)

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
        files.write_text(path, self.settings, self._columns, self.results)

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
        with files.naming_errors(path):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._db = db = sqlite3.connect(self._file, 0, files.DECLARED)
            try:
                for setting in ("locking_mode = EXCLUSIVE", "journal_mode = WAL", "synchronous = NORMAL"):
                    db.execute(f"PRAGMA {setting}")  # from here on no other process reads or writes it
                if not self._file.exists():  # its run has just ended, and has taken it away
                    raise InUseError(f"{path} is {TAKEN}")
                saved = files.read_database(db)
                self._changed = saved is not None
                if saved is None and self._text != self._file and files.has_contents(self._text):
                    saved = files.read_text(self._text)
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
        with closing(db), files.naming_errors(self._file):
            if self._changed and self._text != self._file:
                self.export(self._text)
            db.execute("PRAGMA journal_mode = DELETE")
            if self._text != self._file:
                if os.name == "nt":  # which removes no open file
                    db.close()
                self._file.unlink()

    def _take(self, path: Path, saved: files.SavedFile) -> None:
        """Take the results of a file, if they were made under these settings.

        Raises:
            SettingsMismatchError: If they were not.
            AgentChangedError: If a file that an agent reads has been replaced since.
        """
        said = Provenance.take(saved.settings)
        self._given |= {name: saved.settings[name] for name in self._free if name in saved.settings}
        _refuse_other(path, saved.settings, self._given)
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

    def _save(self, results: Sequence[_Result]) -> None:
        """Keep results and, in one transaction, write them and what has changed of the settings."""
        if self._db is not None:
            settings = self.settings
            with files.naming_errors(self.path), self._db as db:
                self._insert(db, results)
                if settings != self._written:
                    self._write_settings(db)
            self._changed, self._written = True, settings
        self._keep(results)

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
