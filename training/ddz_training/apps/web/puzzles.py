"""What became of the puzzles: first tries, a streak and a rating, kept by the server."""

from __future__ import annotations

import contextlib
import datetime
import itertools
import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ddz_agents.open_cards.solver.puzzles import Puzzle
from ddz_env.core.whole_file import replace_file
from ddz_env.table.session import Deal

_FIRST_RATING, _STEP = 1200.0, 32.0
"""Of a person, and how far a try moves it (Elo)."""
_EASIEST, _PER_GRADE = 1000.0, 100.0
"""The rating of a puzzle without a losing move that looks right, and what each such move adds."""
_DAYS = 7919
"""How far apart the puzzles of two days are; no number of puzzles that ships shares a factor with it."""


class PuzzleBook:
    """Every puzzle's first try, in order, and which have been solved at all.

    Args:
        file: Where they are kept; what cannot be read there counts for nothing.
        puzzles: The puzzles, numbered from 1.
    """

    def __init__(self, file: Path, puzzles: Sequence[Puzzle]) -> None:
        self._file, self._puzzles, self._lock = file, puzzles, threading.Lock()
        self._numbers = {puzzle.deal().hands: number for number, puzzle in enumerate(puzzles, 1)}
        self._tries: dict[int, bool] = {}
        self._solved: set[int] = set()
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
            kept = json.loads(file.read_text(encoding="utf-8"))
            self._tries, self._solved = {int(number): bool(won) for number, won in kept["tries"]}, set(kept["solved"])

    def note(self, deal: Deal, won: bool) -> None:
        """Keep how a puzzle was decided; its first try counts.

        Raises:
            OSError: If it cannot be written.
        """
        number = self._numbers.get(deal.hands)
        if number is None or (number in self._tries and (not won or number in self._solved)):
            return
        with self._lock:
            self._tries.setdefault(number, won)
            self._solved |= {number} if won else set()
            kept = {"tries": list(self._tries.items()), "solved": sorted(self._solved)}
            replace_file(self._file, json.dumps(kept).encode())

    def shape(self) -> dict[str, Any]:
        """The puzzles, and what is known of the person."""
        rating = _FIRST_RATING
        for number, won in self._tries.items():
            harder = _EASIEST + _PER_GRADE * self._puzzles[number - 1].grade - rating
            rating += _STEP * (won - 1 / (1 + 10 ** (harder / 400)))
        return {
            "puzzles": [{"grade": puzzle.grade, "hands": puzzle.hands} for puzzle in self._puzzles],
            "daily": datetime.date.today().toordinal() * _DAYS % len(self._puzzles) + 1,
            "tried": len(self._tries),
            "first": sorted(number for number, won in self._tries.items() if won),
            "solved": sorted(self._solved),
            "streak": sum(itertools.takewhile(bool, reversed(self._tries.values()))),
            "rating": round(rating),
        }
