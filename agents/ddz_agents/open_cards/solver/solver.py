"""The open-card solver: the winner, the value of each move, the stake, and a line to the end."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from ddz_agents.open_cards.solver.goals import WIN
from ddz_agents.open_cards.solver.memory import DONE, NO_ROOM, Techniques, new_solver_memory
from ddz_agents.open_cards.solver.moves import fewest_turns
from ddz_agents.open_cards.solver.search import run_search, set_root
from ddz_agents.worlds.determinize import Words
from ddz_env import Hand, Move, Rules, State
from ddz_env.core.engine import layout as at
from ddz_env.core.engine.step import play_move
from ddz_env.core.view import list_legal_moves
from ddz_env.support.arrays import WritableAfterUnpickling
from ddz_env.support.checks import check_choice
from ddz_env.support.errors import DouDizhuError, short_repr

Technique = Literal["table", "both_bounds", "quick_wins", "threats", "ranks", "tighten", "order"]
"""The techniques of :class:`~ddz_agents.open_cards.solver.memory.Techniques`."""
TECHNIQUES: tuple[Technique, ...] = get_args(Technique)
_WAYS = ("1", "2", "4", "8", "16")
_SLICE = 20_000
"""Nodes between two looks at the clock and at Ctrl-C."""


class UnsolvablePositionError(DouDizhuError):
    """Raised when the solver does not accept a position; the message says which positions it accepts."""


@dataclass(frozen=True)
class Solution:
    """The result of a search: the winner, or the reason why none was found.

    Attributes:
        landlord_wins: Whether the landlord reaches the goal; None if a limit came first.
        reason: Why it is not known: ``nodes``, ``seconds`` or ``memory``; empty if it is.
        nodes: Positions opened.
        seconds: Time taken.
        hits: Of these, how many had their value in the transposition table.
        evictions: Entries of the table that gave way to other positions.
    """

    landlord_wins: bool | None
    reason: str
    nodes: int
    seconds: float
    hits: int = 0
    evictions: int = 0


class OpenSolver(WritableAfterUnpickling):
    """A solver of open-card positions under one set of rules, which reuses proven results across calls.

    Args:
        rules: The rules of the positions.
        nodes: Positions that a search may open; None for any number.
        megabytes: Size of the transposition table, rounded down to a power of two.
        techniques: The techniques that it uses: all but those that a comparison leaves out.  None changes a verdict.
        ways: Entries per bucket of the transposition table (rehash): 1, 2, 4, 8 or 16.

    Raises:
        MemoryError: If the table does not fit into memory.
        InvalidOptionError: If there is no such technique or number of entries.

    Example:
        >>> from ddz_agents.open_cards.solver.position import open_position
        >>> state = open_position("KK5543 / 225543")
        >>> OpenSolver(state.rules, megabytes=1).solve(state).landlord_wins
        True
    """

    def __init__(
        self,
        rules: Rules,
        nodes: int | None = None,
        megabytes: float = 64,
        techniques: Collection[Technique] = TECHNIQUES,
        ways: int = 4,
    ) -> None:
        self.rules, self.nodes = rules, nodes
        self._words = rules.words()
        used = {check_choice("technique", name, TECHNIQUES) for name in techniques}
        switches = {name: np.bool_(name in used) for name in TECHNIQUES}
        size = np.uint64(check_choice("ways", str(ways), _WAYS))
        self._search = new_solver_memory(self._words, megabytes, Techniques(**switches, ways=size))

    def clear(self) -> None:
        """Forget every stored position, so that the next search takes as long as the first one did."""
        self._search.table[...] = 0

    def solve(self, state: State, *, goal: int = WIN, seconds: float | None = None) -> Solution:
        """Determine whether the landlord's side wins, or reaches a given goal, from a state.

        Args:
            state: A position between two moves, of the solver's rules.
            goal: What the landlord shall reach: 1 to win, more to win by that many less one doublings, 0 or less not
                to lose by more than that many (:mod:`ddz_agents.open_cards.solver.goals`).
            seconds: A limit of time; None for none.

        Raises:
            UnsolvablePositionError: If it is not such a position.
        """
        self._check_state(state)
        return self.solve_row(state.row, goal, _deadline(seconds))

    def solve_row(self, row: Words, goal: int = WIN, stop: float | None = None) -> Solution:
        """Determine which side wins from a game-state array, without checking the array.

        Args:
            row: The position, shape ``[32]``, uint64.
            goal: As in :meth:`solve`.
            stop: When the search stops, by ``time.perf_counter``.
        """
        search = self._search._replace(landlord=np.int64(row[at.LANDLORD]))
        control = search.control[0]
        start, nodes = time.perf_counter(), self.nodes
        set_root(search, row, goal)
        wins, reason = None, ""
        while wins is None and not reason:
            budget = _SLICE if nodes is None else min(_SLICE, nodes - int(control["nodes"]))
            status = run_search(search, budget)
            if status == DONE:
                wins = bool(control["value"])
            elif status == NO_ROOM:
                reason = "memory"
            elif nodes is not None and int(control["nodes"]) >= nodes:
                reason = "nodes"
            elif stop is not None and time.perf_counter() >= stop:
                reason = "seconds"
        counts = int(control["hits"]), int(control["evictions"])
        return Solution(wins, reason, int(control["nodes"]), time.perf_counter() - start, *counts)

    def solve_after(self, row: Words, move: Move, stop: float | None = None) -> Solution:
        """Determine which side wins after a given move from the position in a game-state array.

        Args:
            row: The position before it, shape ``[32]``.
            move: A legal move.
            stop: When the search stops, by ``time.perf_counter``.
        """
        row = row.copy()
        play_move(row, *move.words, self._words)
        return self.solve_row(row, stop=stop)

    def move_values(self, state: State, seconds: float | None = None) -> list[tuple[Move, bool | None]]:
        """List every legal move with whether it wins for its player, or None where a limit was reached first.

        Args:
            state: A position between two moves.
            seconds: Time for all of them together.

        Raises:
            UnsolvablePositionError: If it is not such a position.
        """
        self._check_state(state)
        landlord = state.seat == int(state.row[at.LANDLORD])
        stop = _deadline(seconds)
        values = list[tuple[Move, bool | None]]()
        for move in list_legal_moves(state.row, self._words):
            wins = self.solve_after(state.row, move, stop).landlord_wins
            values.append((move, None if wins is None else wins == landlord))
        return values

    def line(self, state: State, seconds: float | None = None) -> list[tuple[int, Move]]:
        """Return a line to the end in which the winner plays winning moves and the loser its first non-pass move.

        Args:
            state: A position between two moves.
            seconds: Time for all searches together.

        Returns:
            ``(seat, move)`` for each; they stop short of the end where a limit came first.
        """
        self._check_state(state)
        stop = _deadline(seconds)
        game, line = state.copy(), list[tuple[int, Move]]()
        won = self.solve_row(game.row, stop=stop).landlord_wins
        while won is not None and not game.is_over:
            move = self._find_move(game, won, stop)
            if move is None:
                break
            line.append((game.seat, move))
            game.step(move)
        return line

    def _find_move(self, game: State, landlord_wins: bool, stop: float | None) -> Move | None:
        """Choose a line's next move, which must win for the winner, or return None if a limit was reached first."""
        moves = sorted(list_legal_moves(game.row, self._words), key=lambda move: -len(move.cards))
        if (game.seat == int(game.row[at.LANDLORD])) != landlord_wins:
            return next((move for move in sorted(moves, key=lambda move: move.main) if move.main), moves[0])
        return next(
            (move for move in moves if self.solve_after(game.row, move, stop).landlord_wins == landlord_wins), None
        )

    def fewest_moves(self, hand: Hand) -> int:
        """Return the fewest moves in which a hand can be played out if all others pass, 0 for an empty hand."""
        search = self._search
        return int(fewest_turns(search.turns, search.moves, 0, np.uint64(hand.word), self._words)) if len(hand) else 0

    def stake(self, state: State, seconds: float | None = None) -> int | None:
        """Return the landlord's winnings from each peasant with best play, in base stakes.

        The search first finds out who wins, and then, from the doublings so far, whether one more is certain; few games
        have any.

        Every bomb and rocket doubles it, those that were played included, and so does spring; bids and answers to
        doubling are left out, because they multiply every result alike.

        Args:
            state: A position between two moves.
            seconds: Time for all searches together.

        Returns:
            A power of two, negative if the landlord loses; None if a limit came first.
        """
        self._check_state(state)
        stop = _deadline(seconds)
        won = self.solve_row(state.row, stop=stop).landlord_wins
        doublings, reached = int(state.row[at.BOMBS]), won
        while reached is not None:
            goal = doublings + 2 if won else -doublings  # to win by one more, or to lose by no more
            reached = self.solve_row(state.row, goal, stop).landlord_wins
            if reached != won and reached is not None:
                return int(2**doublings) if won else -int(2**doublings)
            doublings += 1
        return None

    def _check_state(self, state: State) -> None:
        if not isinstance(state, State):
            raise UnsolvablePositionError(f"the solver takes a State, with all hands, not {short_repr(state)}")
        if int(state.row[at.STAGE]) not in (at.STAGE_PLAY, at.STAGE_OVER):
            raise UnsolvablePositionError(
                f"the solver takes a State between two moves of the play: its stage is {state.stage}"
            )
        if state.rules != self.rules:
            raise UnsolvablePositionError(f"this solver is for {self.rules.name} rules, not {state.rules.name}")


def _deadline(seconds: float | None) -> float | None:
    return None if seconds is None else time.perf_counter() + seconds
