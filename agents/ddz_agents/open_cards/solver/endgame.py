"""Endgames with hidden hands: worlds are solved instead of played out.

Every world that fits a view is a position of open cards.  A move's value is the share of worlds that it wins.  Where
all worlds that fit were solved, not a sample of them, and a move wins them all, it is proven.
"""

from __future__ import annotations

from math import comb
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_agents.mini.information_set import information_set
from ddz_agents.open_cards.solver.solver import OpenSolver
from ddz_agents.worlds.determinize import draw_world
from ddz_agents.worlds.inference import inferred_pool
from ddz_env import Move, Rules, View
from ddz_env.core.engine import layout as at
from ddz_env.core.engine.random import key
from ddz_env.core.owned import OwnsArrays
from ddz_env.core.view import whole_moves
from ddz_env.playing.agent import Decision

_TABLE_MEGABYTES = 8
_ENUMERATED = 5000
"""Deals of cards up to which worlds are listed, to see whether they are few."""
_CARDS, _WORLDS, _NODES = 20, 30, 5000
"""Of the option ``endgame=solver``: most cards in all hands, worlds, and positions of one search."""


class Endgame(NamedTuple):
    """What solving the worlds of a view has shown.

    Attributes:
        moves: The legal moves.
        wins: The weight of the worlds that each wins, shape ``[moves]``, float64.
        weight: The weight of all worlds solved.
        complete: Whether the worlds are all that fit the view, and all were solved.
    """

    moves: list[Move]
    wins: npt.NDArray[np.float64]
    weight: float
    complete: bool

    @property
    def proven(self) -> bool:
        """Whether the best move wins every world that fits."""
        return bool(self.complete and self.wins.max() == self.weight)

    def decision(self) -> Decision:
        """The move that wins most, with the share of wins of the best move of each main group."""
        return Decision.of_moves(self.moves, self.wins / self.weight, int(np.argmax(self.wins)), "chance")


class EndgameSolver(OwnsArrays):
    """Solves the worlds of views.

    Args:
        cards: Most cards in all hands together; with more it leaves the decision to others.
        worlds: Worlds a decision, at most.
        nodes: Positions that the search of one move in one world may open.
        particles: Determinizations from which worlds are drawn by what they make of the play; 0 draws them uniformly.
        sure: Decide only where a move wins every world; leave the others to the search.
    """

    def __init__(self, cards: int, worlds: int, nodes: int, particles: int = 0, sure: bool = False) -> None:
        self.cards, self.worlds, self.nodes, self.particles, self.sure = cards, worlds, nodes, particles, sure
        self._solvers: dict[Rules, OpenSolver] = {}

    def applies(self, view: View) -> bool:
        """Whether a decision is one of the play, with few enough cards left."""
        row = view.row
        return int(row[at.STAGE]) == at.STAGE_PLAY and cards_left(row, int(view.seat)) <= self.cards

    def decision(self, view: View, rng: np.random.Generator) -> Decision | None:
        """The move that wins most worlds; None where too many cards are left, or too few worlds could be solved.

        Args:
            view: What a seat that is to act knows.
            rng: The only source of randomness.
        """
        if not self.applies(view):
            return None
        if self.sure:
            return self._sure_decision(view, rng)
        solved = self.solve(view, rng)
        return None if solved is None else solved.decision()

    def _sure_decision(self, view: View, rng: np.random.Generator) -> Decision | None:
        """The longest move that wins every world; None as soon as no move is left that may.

        A move that wins most worlds only may win fewer when played: the solver finds the best reply in each world, but
        a player does not know in which it is (strategy fusion).  There the search decides.
        """
        rows, _, _ = self._worlds_of(view, rng)
        moves = whole_moves(view.row, view.rule_words)
        for row in rows:
            won = self._won(row, moves, view.rules)
            if won is None or not won.any():
                return None
            moves = [move for move, wins in zip(moves, won.tolist(), strict=True) if wins]
        best = max(moves, key=lambda move: len(move.cards))
        return Decision(best, {}, {move.main: 1.0 for move in moves}, best.actions)

    def solve(self, view: View, rng: np.random.Generator) -> Endgame | None:
        """Solve the worlds of a view; None if more were left unsolved than solved.

        Args:
            view: What a seat that is to act knows, in the play.
            rng: The only source of randomness.
        """
        rows, weights, every = self._worlds_of(view, rng)
        moves = whole_moves(view.row, view.rule_words)
        wins, weight, unknown = np.zeros(len(moves)), 0.0, 0
        for row, share in zip(rows, weights.tolist(), strict=True):
            won = self._won(row, moves, view.rules)
            if won is None:
                unknown += 1
                if 2 * unknown > len(rows):
                    return None
            else:
                wins += share * won
                weight += share
        return Endgame(moves, wins, weight, every and not unknown) if weight else None

    def _worlds_of(
        self, view: View, rng: np.random.Generator
    ) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.float64], bool]:
        """Worlds, their weights, and whether they are all that fit."""
        if view.rules.open_hands or most_states(view.row, int(view.seat)) <= _ENUMERATED:
            states = information_set(view.row, int(view.seat), view.rules.open_hands)
            if len(states) <= self.worlds:
                return states.rows, states.deals.astype(np.float64), True
        pool = inferred_pool(view, rng, self.particles)
        rows = np.empty((self.worlds, at.ROW_WORDS), np.uint64)
        state = np.uint64(key(np.uint64(rng.integers(0, 2**64, dtype=np.uint64)), np.uint64(0)))
        for row in rows:
            state = np.uint64(draw_world(view.row, np.uint64(view.seat), view.rule_words, pool, state, row))
        return rows, np.ones(self.worlds), False

    def _won(self, row: npt.NDArray[np.uint64], moves: list[Move], rules: Rules) -> npt.NDArray[np.bool_] | None:
        """Which moves win a world; None if a limit came first."""
        if rules not in self._solvers:
            self._solvers[rules] = OpenSolver(rules, nodes=self.nodes, megabytes=_TABLE_MEGABYTES)
        solver, landlord = self._solvers[rules], int(row[at.SEAT]) == int(row[at.LANDLORD])
        whole = solver.solve_row(row).landlord_wins
        if whole is None:
            return None
        if whole != landlord:
            return np.zeros(len(moves), np.bool_)
        won = []
        for move in moves:
            value = solver.after(row, move).landlord_wins
            if value is None:
                return None
            won.append(value == landlord)
        return np.array(won)


def most_states(row: npt.NDArray[np.uint64], seat: int) -> int:
    """Ways to deal the unseen cards of a view to the other seats: at least as many as there are worlds."""
    left, ways = int(row[at.HIDDEN]).bit_count(), 1
    for other in range(3):
        size = (int(row[at.SIZES]) >> (8 * other)) & 255 if other != seat else 0
        if size and other == int(row[at.LANDLORD]):
            size -= int(row[at.KNOWN]).bit_count()
        ways *= comb(left, max(0, size))
        left -= size
    return ways


def endgame_solver(option: str, particles: int) -> EndgameSolver | None:
    """What the option ``endgame`` of a search stands for: None for ``search``.

    Args:
        option: ``search``, ``solver`` or ``sure``.
        particles: Determinizations from which the search draws its worlds.
    """
    if option == "search":
        return None
    return EndgameSolver(_CARDS, _WORLDS, _NODES, particles, sure=option == "sure")


def cards_left(row: npt.NDArray[np.uint64], seat: int) -> int:
    """Cards in all hands, from a view's row or a full one."""
    sizes = int(row[at.SIZES])
    if not sizes:
        return sum(int(row[at.HANDS + other]).bit_count() for other in range(3))
    hidden = sum((sizes >> (8 * other)) & 255 for other in range(3) if other != seat)
    return int(row[at.HANDS + seat]).bit_count() + hidden
