"""Endgame puzzles (残局): open hands in which exactly one first move wins.

A puzzle is graded by how many losing moves look right: those after which the hand needs no more moves than after the
winning one.  ``puzzles.txt`` ships some, one per line: the hands, the winning move and the grade.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from ddz_agents.open_cards.per_rules import PerRules
from ddz_agents.open_cards.solver.position import InvalidPositionError, deal_position
from ddz_agents.open_cards.solver.solver import OpenSolver
from ddz_env import Hand, Move, Rules, State
from ddz_env.core.engine.layout import HANDS
from ddz_env.core.engine.step import play_move
from ddz_env.saved_games import Deal

PUZZLES_FILE = Path(__file__).with_name("puzzles.txt")
PUZZLE_RULES = "standard,players=2,open_hands=true"
"""The rules of a puzzle that is played."""
_MIN_MOVES = 6
"""The fewest legal first moves of a puzzle."""
_MAX_FAILED_DEALS = 10_000
_START_RATING, _RATING_STEP = 1200.0, 32.0
"""Of a person, and how far a try moves it."""
_LOWEST_RATING, _RATING_PER_GRADE = 1000.0, 100.0
"""The rating of a puzzle without a losing move that looks right, and what each such move adds."""


@dataclass(frozen=True)
class Puzzle:
    """A position of two hands in which the first hand leads and wins by exactly one move.

    Attributes:
        hands: The position as :func:`ddz_agents.open_cards.solver.position.open_position` reads it.
        move: The winning move.
        grade: How many losing moves look right.
    """

    hands: str
    move: str
    grade: int

    def __str__(self) -> str:
        return f"{self.hands} | {self.move} | {self.grade}"

    def deal(self) -> Deal:
        """Return the puzzle as a deal with open hands, on which the solver can play and advise."""
        hands = tuple(Hand.parse(part) for part in self.hands.split("/"))
        return Deal(Rules.preset(PUZZLE_RULES), hands=hands, bottom=Hand.parse(""), endgame=True)

    @classmethod
    def parse(cls, line: str) -> Puzzle:
        """Parse a line ``hands | move | grade`` of a puzzle file.

        Raises:
            InvalidPositionError: If it is none.
        """
        parts = [part.strip() for part in line.split("|")]
        if len(parts) != 3 or not parts[2].isdecimal():
            raise InvalidPositionError(f"a puzzle is 'hands | move | grade', not {line!r}")
        return cls(parts[0], parts[1], int(parts[2]))


def load_puzzles() -> list[Puzzle]:
    """Load the puzzles that come with the package."""
    return [Puzzle.parse(line) for line in PUZZLES_FILE.read_text(encoding="utf-8").splitlines() if line]


def verdict(state: State, seat: int) -> str | None:
    """Return ``lost`` if a seat can no longer win a puzzle, ``won`` if it can no longer lose, and else None."""
    if state.is_over:
        return "won" if state.returns()[seat] > 0 else "lost"
    solver, landlord = OpenSolver(state.rules), state.role(seat) == "landlord"
    if solver.solve(state).landlord_wins != landlord:
        return "lost"
    for move in state.legal_moves():
        after = state.copy()
        after.step(move)
        lost = not after.is_over and solver.solve(after).landlord_wins != landlord
        if lost or state.seat != seat:
            return None
    return "won"


def compute_rating(tries: Iterable[tuple[int, bool]]) -> float:
    """Compute a person's Elo rating from puzzle attempts, each with the puzzle's grade and whether it was solved."""
    rating = _START_RATING
    for grade, won in tries:
        rating += _RATING_STEP * (won - 1 / (1 + 10 ** ((_LOWEST_RATING + _RATING_PER_GRADE * grade - rating) / 400)))
    return rating


def make_puzzles(sizes: Sequence[int], rng: np.random.Generator) -> Iterator[Puzzle]:
    """Yield puzzles without end, made from random deals in which exactly one first move wins.

    Args:
        sizes: Cards of each hand.
        rng: The only source of randomness.

    Raises:
        InvalidPositionError: If no such hands can be dealt, or 10,000 deals in a row make no puzzle.
    """
    solvers, in_vain = PerRules(partial(OpenSolver, megabytes=8)), 0
    while in_vain < _MAX_FAILED_DEALS:
        state = deal_position(sizes, rng)
        puzzle = _make_puzzle(state, solvers[state.rules])
        in_vain = in_vain + 1 if puzzle is None else 0
        if puzzle is not None:
            yield puzzle
    hands = "+".join(map(str, sizes))
    raise InvalidPositionError(
        f"{_MAX_FAILED_DEALS:,} deals of {hands} cards and no puzzle among them: deal more cards"
    )


def _make_puzzle(state: State, solver: OpenSolver) -> Puzzle | None:
    """Make a puzzle of a position in which exactly one move wins; return None for any other position."""
    moves = state.legal_moves()
    if len(moves) < _MIN_MOVES or not solver.solve(state).landlord_wins:
        return None
    winning: Move | None = None
    needed: dict[Move, int] = {}
    for move in moves:
        row = state.row.copy()
        play_move(row, *move.words, state.rule_words)
        needed[move] = solver.fewest_moves(Hand.from_word(int(row[HANDS + state.seat])))
        if solver.solve_row(row).landlord_wins:
            if winning is not None:
                return None
            winning = move
    if winning is None or not needed[winning]:
        return None
    grade = sum(count <= needed[winning] for count in needed.values()) - 1
    hands = " / ".join(str(state.hand(seat)) for seat in range(state.rules.players))
    return Puzzle(hands, str(winning), grade)
