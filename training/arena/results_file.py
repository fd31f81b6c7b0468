"""Results of an arena on disk: saved deal by deal, and resumable after a kill at any byte.

A file begins with one line of settings and goes on with one line a game: comma-separated values (``.csv``, the
settings behind ``#``) or JSON lines (``.jsonl``).  Everything up to the last complete deal counts; what follows was cut
off and is played again.  Readers skip the first line: ``pandas.read_csv(path, comment="#")``.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from training.arena.duplicate import RECORD_FIELDS, GameRecord
from training.arena.errors import ResultsFileError, SettingsMismatchError

FORMAT = "ddz-arena-1"
SUFFIXES = (".csv", ".jsonl")

_RETURNS = ("win", "stake", "botzone")
_INTEGERS = ("deal", "game", "landlord", "moves", "decisions_a", "decisions_b")
_MILLISECONDS = ("ms_a", "ms_b")


def _csv_line(values: Iterable[Any]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerow(values)
    return buffer.getvalue()


def _cells(record: GameRecord) -> list[Any]:
    return [
        " ".join(f"{value:g}" for value in getattr(record, name)) if name in _RETURNS else getattr(record, name)
        for name in RECORD_FIELDS
    ]


def _record(cells: Mapping[str, Any]) -> GameRecord:
    values = {name: cells[name] for name in RECORD_FIELDS}
    for name in _RETURNS:
        parts = values[name].split() if isinstance(values[name], str) else values[name]
        values[name] = tuple(float(part) for part in parts)
    values.update({name: int(values[name]) for name in _INTEGERS})
    values.update({name: float(values[name]) for name in _MILLISECONDS})
    return GameRecord(**values)


def format_record(record: GameRecord, suffix: str) -> str:
    """One game as one line, with its line break."""
    if suffix == ".csv":
        return _csv_line(_cells(record))
    return json.dumps({name: getattr(record, name) for name in RECORD_FIELDS}, ensure_ascii=False) + "\n"


def _parse_csv(line: str) -> GameRecord:
    cells = next(csv.reader([line]))
    if len(cells) != len(RECORD_FIELDS):
        raise ValueError(f"{len(cells)} cells instead of {len(RECORD_FIELDS)}")
    return _record(dict(zip(RECORD_FIELDS, cells, strict=True)))


def _parse_json(line: str) -> GameRecord:
    return _record(json.loads(line))


class ResultsFile:
    """A results file that is open for writing.

    Args:
        path: ``.csv`` or ``.jsonl``.
        settings: What the results depend on; plain JSON values.
        games_per_deal: Games that make a deal complete.
        resume: Whether to go on with an existing file.

    Attributes:
        kept: The records of the complete deals that the file already held.

    Raises:
        ResultsFileError: If the suffix is unknown, the file exists and ``resume`` is False, or it cannot be read.
        SettingsMismatchError: If the file was written under other settings.
    """

    def __init__(
        self, path: str | Path, settings: Mapping[str, Any], games_per_deal: int, resume: bool = False
    ) -> None:
        self.path = Path(path)
        self._suffix = self.path.suffix.lower()
        if self._suffix not in SUFFIXES:
            raise ResultsFileError(f"{self.path}: results are written as {' or '.join(SUFFIXES)}")
        self._settings = {"format": FORMAT, **settings}
        self._games_per_deal = games_per_deal
        self.kept: list[GameRecord] = []
        exists = self.path.exists() and self.path.stat().st_size > 0
        if exists and not resume:
            raise ResultsFileError(f"{self.path} exists: add --resume to go on with it, or name another file")
        if exists:
            self.kept = self._read()
        self._rewrite()
        self._file: TextIO = self.path.open("a", encoding="utf-8", newline="")

    def write(self, records: Sequence[GameRecord]) -> None:
        """Append the games of one deal and hand them to the operating system."""
        self._file.write("".join(format_record(record, self._suffix) for record in records))
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> ResultsFile:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _head(self) -> str:
        settings = json.dumps(self._settings, ensure_ascii=False, sort_keys=True)
        if self._suffix == ".csv":
            return f"# {settings}\n{_csv_line(RECORD_FIELDS)}"
        return json.dumps({"settings": self._settings}, ensure_ascii=False, sort_keys=True) + "\n"

    def _rewrite(self) -> None:
        """Replace the file by its settings and complete deals at one stroke, unless it is just that."""
        text = self._head() + "".join(format_record(record, self._suffix) for record in self.kept)
        data = text.encode()
        if self.path.exists() and self.path.read_bytes() == data:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            temporary = self.path.with_name(self.path.name + ".tmp")
            temporary.write_bytes(data)
            os.replace(temporary, self.path)
        except OSError as error:
            raise ResultsFileError(f"cannot write {self.path}: {error}") from error

    def _read(self) -> list[GameRecord]:
        text = self.path.read_bytes().decode("utf-8", errors="replace")
        lines = text.split("\n")[:-1]  # a last line without its line break was cut off
        if not lines:
            if self._head().startswith(text):
                return []
            raise ResultsFileError(f"{self.path} is no results file of an arena")
        self._check_settings(lines[0])
        first = 2 if self._suffix == ".csv" else 1
        parse: Callable[[str], GameRecord] = _parse_csv if self._suffix == ".csv" else _parse_json
        records = []
        for number, line in enumerate(lines[first:], first + 1):
            try:
                records.append(parse(line))
            except (ValueError, KeyError, TypeError) as error:
                raise ResultsFileError(f"{self.path}, line {number} cannot be read: {error}") from error
        return self._complete(records)

    def _check_settings(self, line: str) -> None:
        try:
            found = json.loads(line.removeprefix("#"))
            found = found.get("settings", found)
            known = found["format"] == FORMAT
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ResultsFileError(
                f"{self.path} is no results file of an arena: its first line is {line[:60]!r}"
            ) from error
        if not known:
            raise ResultsFileError(f"{self.path} has the format {found['format']!r}; this version reads {FORMAT!r}")
        wanted = json.loads(json.dumps(self._settings))
        different = [name for name in sorted({*found, *wanted}) if found.get(name) != wanted.get(name)]
        if different:
            details = "; ".join(
                f"{name}: the file has {found.get(name)!r}, this run {wanted.get(name)!r}" for name in different
            )
            raise SettingsMismatchError(f"{self.path} was written under other settings ({details})")

    def _complete(self, records: Sequence[GameRecord]) -> list[GameRecord]:
        """The records whose deals are complete, in the file's order, each once."""
        deals: dict[tuple[int, str, str], dict[int, GameRecord]] = {}
        for record in records:
            deals.setdefault(record.key, {})[record.game] = record
        complete = set(range(self._games_per_deal))
        return [record for games in deals.values() if set(games) == complete for _, record in sorted(games.items())]
