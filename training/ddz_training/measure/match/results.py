"""Results on disk: the one store of the arena and of the experiments, resumable after a kill at any byte.

A file is a line of settings, a line of column names, and a line a result: comma-separated values (``.csv``, the
settings behind ``#``) or JSON lines (``.jsonl``, without names).  Results are dataclasses; their fields are the
columns, and ``Annotated[float, ".3f"]`` says how a number is written.  A last line without a line break was cut off; it
is dropped, and its unit of work is done again.  The settings name the code and the agents' files by digest
(:mod:`ddz_training.measure.match.provenance`), and one process at a time has the file
(:mod:`ddz_training.measure.match.one_writer`).

Readers skip the first line: ``pandas.read_csv(path, comment="#")``.
"""

from __future__ import annotations

import csv
import dataclasses
import functools
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, Generic, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from ddz_env import Rules
from ddz_env.core.errors import InvalidRulesError, shown
from ddz_env.core.whole_file import append, real_path, replace_file
from ddz_training.measure.match.errors import ResultsFileError, SettingsMismatchError
from ddz_training.measure.match.one_writer import Claim, claim
from ddz_training.measure.match.ordered_map import Worker, ordered_map
from ddz_training.measure.match.provenance import Provenance, SameCode

SUFFIXES = (".csv", ".jsonl")

_LONGEST = 1 << 20
"""More characters than any line of settings has."""

Key = tuple[Any, ...]
Rows = Sequence[Mapping[str, Any]]
OnProgress = Callable[[int, int], None]
"""Called with units done and units in all."""

Start = Callable[[], Worker[Any, Any]]
"""Makes a worker, which answers a task with the results of its unit."""

_Result = TypeVar("_Result")


def no_progress(done: int, total: int) -> None:
    """Ignore how far a run is."""


class _Column(NamedTuple):
    """A field of a result as a cell of a line."""

    name: str
    parse: Callable[[Any], Any]
    text: Callable[[Any], str]


def _columns(kind: type[Any]) -> tuple[_Column, ...]:
    hints = get_type_hints(kind, include_extras=True)
    return tuple(_column(field.name, hints[field.name]) for field in dataclasses.fields(kind))


def _column(name: str, hint: Any) -> _Column:
    form = ""
    if get_origin(hint) is Annotated:
        hint, form = get_args(hint)
    if get_origin(hint) is not tuple:
        return _Column(name, getattr(hint, "parse", hint), lambda value: format(value, form))
    part = _column(name, get_args(hint)[0])
    return _Column(
        name,
        lambda cell: tuple(map(part.parse, cell.split() if isinstance(cell, str) else cell)),
        lambda values: " ".join(map(part.text, values)),
    )


def of_rows(kind: type[_Result], rows: Iterable[Mapping[str, Any]]) -> list[_Result]:
    """The results that the lines of a file hold.

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


def as_rows(kind: type[_Result], results: Iterable[_Result]) -> list[dict[str, Any]]:
    """Results as cells by column, numbers as they are and the rest as text: the inverse of :func:`of_rows`."""
    columns = _columns(kind)
    return [{column.name: _cell(column, getattr(result, column.name)) for column in columns} for result in results]


def _cell(column: _Column, value: Any) -> Any:
    return value if isinstance(value, (int, float)) else column.text(value)


def check_settings(path: object, found: Mapping[str, Any], wanted: Mapping[str, Any], place: str = "file") -> None:
    """Refuse results that were written under other settings, and name these.

    Args:
        path: Names the results in the message.
        found: Their settings.
        wanted: Those of the run that wants to add to them.
        place: What a person names for them.

    Raises:
        SettingsMismatchError: If they differ.
    """
    wanted = json.loads(json.dumps(wanted))
    different = [
        f"{name}: the file has {found.get(name)!r}, this run {wanted.get(name)!r}"
        for name in sorted({*found, *wanted})
        if found.get(name) != wanted.get(name)
    ]
    if different:
        raise SettingsMismatchError(
            f"{path} was written under other settings ({'; '.join(different)}); name another {place}"
        )


def claimed(path: Path, what: str, suffixes: Sequence[str], resume: bool) -> tuple[Path, Claim | None]:
    """Claim a file of results.

    Args:
        path: The file.
        what: What is written, in an error's words.
        suffixes: What its name may end with.
        resume: Whether it may have contents.

    Returns:
        What to write to, whatever a link is made to lead to meanwhile; and the claim, which ends with its object.

    Raises:
        ResultsFileError: If it has another suffix, is no file, or has contents that are not to be resumed.
        InUseError: If another process has it.
    """
    if path.suffix.lower() not in suffixes:
        raise ResultsFileError(f"{path}: {what} written as {' or '.join(suffixes)}")
    file = real_path(path)
    held = claim(file)
    if not resume and file.exists() and file.stat().st_size:
        raise ResultsFileError(f"{path} exists: add --resume to resume it, or name another file")
    return file, held


class ResultStore(Generic[_Result]):
    """Results that grow in memory, and on disk where a file is named.

    Args:
        kind: The dataclass of a result.
        path: The file; None keeps the results in memory only.
        settings: What the results depend on; plain JSON values.
        key: The fields that name a unit of work.
        agents: Specifications of the agents that the results are of.
        per_key: Results that make a unit complete; None where any number does.
        resume: Whether an existing file is resumed; otherwise it is refused.
        place: What a person names for the results: the file, or the folder in which it has a name of its own.

    Attributes:
        path: As given.
        settings: As given, with the code and the agents' files that the results are from.
        found: The results so far by unit, the file's first.

    Raises:
        SettingsMismatchError: If the file was written under other settings.
        AgentChangedError: If a file that an agent reads has been replaced since.
        InUseError: If another process has the file.
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
        agents: Iterable[str] = (),
        per_key: int | None = None,
        resume: bool = True,
        place: str = "file",
    ) -> None:
        self._given, self._place = dict(settings), place
        self._here = self._said = Provenance.of(agents)
        self.found: dict[Key, list[_Result]] = {}
        self.path = None if path is None else Path(path)
        self._kind, self._columns, self._key = kind, _columns(kind), tuple(key)
        if self.path is not None:
            self._open(self.path, per_key, resume)

    @property
    def settings(self) -> dict[str, Any]:
        """What the results depend on, and the code and files that they are from."""
        return {**self._given, **self._said.settings()}

    @property
    def results(self) -> list[_Result]:
        """All results so far."""
        return [result for results in self.found.values() for result in results]

    def add(self, results: Sequence[_Result]) -> None:
        """Append the results of a unit of work and hand them to the operating system in one piece.

        Raises:
            OtherCodeError: If the file was written by other code and that is not allowed.
        """
        if results:
            self._sign()
        self._keep(results)
        if self.path is not None and results:
            append(self._file, "".join(map(self._line, results)).encode())

    def fill(
        self, tasks: Mapping[Key, Any], start: Start, processes: int = 1, on_progress: OnProgress = no_progress
    ) -> list[_Result]:
        """Do the tasks whose units are not there yet, and return the results of all in the order of the tasks.

        Args:
            tasks: What to do, by unit.
            start: Makes a worker (:func:`ddz_training.measure.match.ordered_map.ordered_map`).
            processes: Worker processes; the results do not depend on them.
            on_progress: Told how many units are done.

        Raises:
            OtherCodeError: If something is to be done, the file was written by other code, and that is not allowed.
        """
        missing = [task for key, task in tasks.items() if key not in self.found]
        self.gather(missing, start, processes, on_progress, len(tasks) - len(missing))
        return [result for key in tasks for result in self.found.get(key, ())]

    def gather(self, tasks: Sequence[Any], start: Start, processes: int, on_progress: OnProgress, done: int) -> None:
        """Do tasks and save the results of each as soon as it and all before it are done.

        Args:
            tasks: What is to do.
            start: Makes a worker.
            processes: Worker processes.
            on_progress: Told how many tasks are done, those done before included.
            done: How many were done before.

        Raises:
            OtherCodeError: If there are tasks, the file was written by other code, and that is not allowed.
        """
        if tasks:
            self._sign()
        total = done + len(tasks)
        on_progress(done, total)
        with closing(ordered_map(SameCode(start, self._here), tasks, processes)) as found:
            for number, results in enumerate(found, done + 1):
                self.add(results)
                on_progress(number, total)

    def _keep(self, results: Iterable[_Result]) -> None:
        for result in results:
            self.found.setdefault(tuple(getattr(result, name) for name in self._key), []).append(result)

    def _open(self, given: Path, per_key: int | None, resume: bool) -> None:
        self._file, self._claim = claimed(given, "results are", SUFFIXES, resume)
        path = self._file
        old = path.read_bytes() if path.exists() else b""
        new = self._head().encode()
        if not new.startswith(old):
            settings, names, rows = _read(path)
            said = Provenance.take(settings)
            # The names of the columns are settings, too, where the file has them.
            columns = [column.name for column in self._columns]
            found, wanted = {**settings, "columns": names or columns}, {**self._given, "columns": columns}
            check_settings(given, found, wanted, self._place)
            self._keep(of_rows(self._kind, rows))
            if per_key is not None:
                self.found = {key: found for key, found in self.found.items() if len(found) == per_key}
            elif self.found and not old.endswith(b"\n"):
                self.found.popitem()  # it may have been cut off between two of its results
            if self.found:
                self._here.check_files(said, given)
                self._said = said
            if rows and len(self.results) == len(rows):
                new = old[: old.rfind(b"\n") + 1]
            else:
                new = (self._head() + "".join(map(self._line, self.results))).encode()
        if new != old:
            _replace(path, new)

    def _sign(self) -> None:
        """Name the code and the agents of this process in the file, before anything is added."""
        signed = self._here if self._said == self._here else self._here.after(self._said, self.path)
        if signed != self._said:
            self._said = signed
            if self.path is not None:
                _, _, body = self._file.read_bytes().partition(b"\n")
                _replace(self._file, self._first_line().encode() + body)

    def _first_line(self) -> str:
        settings = {"settings": self.settings} if self._is_json else self.settings
        text = json.dumps(settings, ensure_ascii=False, sort_keys=True)
        return f"{text}\n" if self._is_json else f"# {text}\n"

    def _head(self) -> str:
        names = "" if self._is_json else _csv_line([column.name for column in self._columns])
        return self._first_line() + names

    def _line(self, result: _Result) -> str:
        values = {column.name: getattr(result, column.name) for column in self._columns}
        if self._is_json:
            return json.dumps(values, ensure_ascii=False) + "\n"
        return _csv_line([column.text(values[column.name]) for column in self._columns])

    @property
    def _is_json(self) -> bool:
        return self.path is not None and self.path.suffix.lower() == ".jsonl"


def read_results(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Read a file of results as it is, for reports; a line that was cut off is left out.

    Returns:
        The settings, and the lines as cells by column.

    Raises:
        ResultsFileError: If the file is none of results.
    """
    settings, _, rows = _read(path)
    return settings, rows


def holds_results(path: Path) -> bool:
    """Whether a file is one of results, as its first line says."""
    with path.open(encoding="utf-8", errors="replace") as file:
        first = file.readline(_LONGEST)
    try:
        _settings(path, first)
    except ResultsFileError:
        return False
    return True


def _settings(path: Path, first: str) -> dict[str, Any]:
    """What the first line of a file says."""
    is_json = path.suffix.lower() == ".jsonl"
    try:
        settings = json.loads(first if is_json else first.partition("# ")[2])
        return dict(settings["settings"] if is_json else settings)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise ResultsFileError(f"{path} is no results file: its first line is {first[:60]!r}") from error


def _read(path: Path) -> tuple[dict[str, Any], list[str], list[dict[str, Any]]]:
    """Settings, names of the columns (none in JSON lines) and complete lines of a file."""
    lines = path.read_bytes().decode("utf-8", errors="replace").split("\n")[:-1]
    settings = _settings(path, lines[0] if lines else "")
    if path.suffix.lower() == ".jsonl":
        return settings, [], [_parsed(path, number, line, json.loads) for number, line in enumerate(lines[1:], 2)]
    names = "".join(lines[1:2]).split(",")
    parse = functools.partial(_csv_row, names)
    return settings, names, [_parsed(path, number, line, parse) for number, line in enumerate(lines[2:], 3)]


def _csv_row(names: Sequence[str], line: str) -> dict[str, str]:
    cells = next(csv.reader([line]))
    if len(cells) != len(names):
        raise ValueError(f"it does not fit the columns {', '.join(names)}")
    return dict(zip(names, cells, strict=True))


def _parsed(path: Path, number: int, line: str, parse: Callable[[str], dict[str, Any]]) -> dict[str, Any]:
    try:
        return parse(line)
    except (ValueError, StopIteration, RecursionError, csv.Error) as error:
        raise ResultsFileError(f"{path}, line {number} cannot be read: {error}") from error


def _csv_line(cells: Sequence[str]) -> str:
    """One line of the file; cells with a comma are quoted."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerow(cells)
    return buffer.getvalue()


def _replace(path: Path, data: bytes) -> None:
    try:
        replace_file(path, data)
    except OSError as error:
        raise ResultsFileError(f"cannot write {path}: {error.strerror or error}") from error


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
