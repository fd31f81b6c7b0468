"""The server's record of puzzle attempts, with a streak and a rating computed from first tries."""

from __future__ import annotations

import contextlib
import datetime
import functools
import itertools
import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ddz_env.saved_games import Deal
from ddz_env.support.atomic_files import read_text, replace_file
from ddz_play.puzzles import Puzzle, compute_rating

_DAILY_STRIDE = 7919
"""How far apart the puzzles of two days are; no number of puzzles that ships shares a factor with it."""


class PuzzleRecord:
    """A person's puzzle results: the first loss and the first win of each puzzle, in the order of play.

    Args:
        file: Where they are kept; one that cannot be read is kept as ``FILE.unread``.
        puzzles: The puzzles, numbered from 1.
    """

    def __init__(self, file: Path, puzzles: Sequence[Puzzle]) -> None:
        self._file, self._puzzles, self._lock = file, puzzles, threading.Lock()
        self._results = _read_results(file)

    @functools.cached_property
    def _numbers_by_hands(self) -> dict[Any, int]:
        """The puzzle numbers keyed by the puzzles' hands, computed on first use because dealing compiles code."""
        return {puzzle.deal().hands: number for number, puzzle in enumerate(self._puzzles, 1)}

    def record_result(self, deal: Deal, won: bool) -> None:
        """Record whether a puzzle was won or lost, and save the record to its file.

        Raises:
            OSError: If it cannot be written.
        """
        end = self._numbers_by_hands.get(deal.hands, 0), won
        with self._lock:
            if end[0] and end not in self._results:
                replace_file(self._file, json.dumps([*self._results, end]).encode())
                self._results.append(end)

    def to_json(self) -> dict[str, Any]:
        """Return the puzzles, and the person's results and rating over first tries, as JSON values."""
        ends = [end for end in self._results if 0 < end[0] <= len(self._puzzles)]  # another version may have others
        tries: dict[int, bool] = {}
        for number, won in ends:
            tries.setdefault(number, won)
        return {
            "puzzles": [{"grade": puzzle.grade, "hands": puzzle.hands} for puzzle in self._puzzles],
            "daily": datetime.date.today().toordinal() * _DAILY_STRIDE % len(self._puzzles) + 1,
            "tried": len(tries),
            "first": [number for number, won in tries.items() if won],
            "solved": [number for number, won in ends if won],
            "streak": sum(itertools.takewhile(bool, reversed(tries.values()))),
            "rating": round(compute_rating((self._puzzles[number - 1].grade, won) for number, won in tries.items())),
        }


def _read_results(file: Path) -> list[tuple[int, bool]]:
    """Read puzzle results from a file, and set the file aside if it cannot be read."""
    try:
        return [(int(number), bool(won)) for number, won in json.loads(read_text(file))]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, TypeError, OverflowError, RecursionError):
        with contextlib.suppress(OSError):
            file.replace(file.with_name(f"{file.name}.unread"))
        return []
