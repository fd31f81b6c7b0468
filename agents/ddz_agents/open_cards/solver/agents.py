"""The agents ``solver`` and ``determinized-solver``, which solve positions exactly."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_agents.open_cards.information_set import count_deals, information_set
from ddz_agents.open_cards.per_rules import PerRules
from ddz_agents.open_cards.solver.solver import OpenSolver
from ddz_agents.rules.agent import RulesAgent
from ddz_agents.search_agent import InferringAgent, Position, SearchAgent
from ddz_agents.worlds.determinize import Reals, Words, draw_games
from ddz_agents.worlds.inference import MOST_PARTICLES, infer_pool
from ddz_env import Move, Rules, State, View
from ddz_env.core.engine import layout as at
from ddz_env.core.engine.random import stream_state
from ddz_env.core.view import list_legal_moves
from ddz_env.playing.agent import Decision
from ddz_env.support.options import Options, Range, takes_options

_TABLE_MEGABYTES = 8
_ENUMERATED = 5000
"""With at most this many deals of cards, worlds are enumerated to see whether they are few."""


@dataclass(frozen=True)
class CheatingSolverOptions(Options):
    """How far ``solver`` searches.

    Attributes:
        nodes: Positions that a search may open; where they do not suffice, the rule agent moves.
        megabytes: Size of the transposition table.
    """

    nodes: Annotated[int, Range(1)] = 200_000
    megabytes: Annotated[float, Range(0.01, 65536)] = 16


class CheatingSolverAgent(SearchAgent[State]):
    """Solves the true state and plays a winning move; it declares that it cheats.

    Where nothing wins or a limit comes first, it follows the rule agent.

    Raises:
        InvalidAgentOptionError: If there is no such option, or its value is not allowed.

    Example:
        >>> state = State.from_hands(["3 5", "4"], check_sizes=False, rules="mini")
        >>> str(CheatingSolverAgent().act(state, np.random.default_rng(0)))
        '5'
    """

    cheats = True
    budget = "{0.nodes}"
    options: CheatingSolverOptions

    @takes_options(CheatingSolverOptions)
    def __init__(self, options: CheatingSolverOptions) -> None:
        super().__init__(options)
        self._usual = RulesAgent()
        self._solvers = PerRules(partial(OpenSolver, nodes=options.nodes, megabytes=options.megabytes))

    def _search(self, view: State, position: Position, rng: np.random.Generator) -> Decision:
        """Solve the state, then solve the position after each move until one of the moves wins."""
        usual = self._usual.act(view.view(), rng)
        if int(view.row[at.STAGE]) != at.STAGE_PLAY:
            return Decision(usual)
        solver, landlord = self._solvers[view.rules], view.seat == int(view.row[at.LANDLORD])
        solver.clear()  # under a limit of positions an answer would depend on earlier ones
        if solver.solve(view).landlord_wins != landlord:
            return Decision(usual)
        moves = (usual, *view.legal_moves())
        winning = (move for move in moves if solver.solve_after(view.row, move).landlord_wins == landlord)
        return Decision(next(winning, usual))


@dataclass(frozen=True)
class DeterminizedSolverOptions(Options):
    """Which positions ``determinized-solver`` solves, and in how many worlds.

    Attributes:
        cards: Most cards in all hands together at which worlds are solved; before that the rule agent moves.
        worlds: Worlds per decision; all that fit the view if there are not more.
        nodes: Positions that the search of one move in one world may open.
        particles: Number of determinizations from which worlds are drawn, weighted by how plausible they make the
            hidden seats' past moves; 0 draws uniform worlds. Where all worlds are solved, because there are not more
            than `worlds`, each weighs as much as plain dealing makes it likely, whatever `particles` is.
    """

    cards: Annotated[int, Range(2, 54)] = 24
    worlds: Annotated[int, Range(1, 10_000)] = 30
    nodes: Annotated[int, Range(1)] = 20_000
    particles: Annotated[int, Range(0, MOST_PARTICLES)] = 0


class Endgame(NamedTuple):
    """The legal moves of a view, and the weight of the determinizations in which each of them wins.

    Attributes:
        moves: The legal moves.
        wins: The weight of the worlds that each wins, shape ``[moves]``, float64.
        weight: The weight of all worlds solved.
    """

    moves: list[Move]
    wins: Reals
    weight: float


class DeterminizedSolverAgent(InferringAgent):
    """Solves sampled worlds near the end and plays the move that wins most; before that, the rule agent's moves.

    Every world that fits a view is a position of open cards.  A move's value is the share of worlds that it wins.

    Raises:
        InvalidAgentOptionError: If there is no such option, or its value is not allowed.
    """

    budget = "{0.worlds}"
    options: DeterminizedSolverOptions

    @takes_options(DeterminizedSolverOptions)
    def __init__(self, options: DeterminizedSolverOptions) -> None:
        super().__init__(options)
        self._usual = RulesAgent()
        self._solvers = PerRules(partial(OpenSolver, nodes=options.nodes, megabytes=_TABLE_MEGABYTES))

    def _search(self, view: View, position: Position, rng: np.random.Generator) -> Decision:
        """Return the move that wins most determinizations, with the win rate of each main group's best move."""
        usual = self._usual.act(view, rng)
        solved = self.solve(view, rng) if self.applies(view) else None
        if solved is None:
            return Decision(usual, line=usual.actions)
        moves, wins, weight = solved
        if wins[moves.index(usual)] == wins.max():
            return Decision(usual)
        return Decision.from_moves(moves, wins / weight, int(np.argmax(wins)), "chance")

    def applies(self, view: View) -> bool:
        """Return whether cards are being played and few enough of them are left for the view to be solved."""
        row = view.row
        return int(row[at.STAGE]) == at.STAGE_PLAY and sum(view.hand_sizes) <= self.options.cards

    def solve(self, view: View, rng: np.random.Generator) -> Endgame | None:
        """Solve a view's determinizations, or return None if more of them remain unsolved than solved.

        Args:
            view: What a seat that is to act knows, in the play.
            rng: The only source of randomness.
        """
        self._solvers[view.rules].clear()
        rows, weights = self._worlds_of(view, rng)
        moves = list_legal_moves(view.row, view.rule_words)
        wins, weight, unknown = np.zeros(len(moves)), 0.0, 0
        for row, share in zip(rows, weights.tolist(), strict=True):
            won = self._find_winning_moves(row, moves, view.rules)
            if won is None:
                unknown += 1
                if 2 * unknown > len(rows):
                    return None
            else:
                wins += share * won
                weight += share
        return Endgame(moves, wins, weight) if weight else None

    def _worlds_of(self, view: View, rng: np.random.Generator) -> tuple[Words, Reals]:
        """Return weighted full games that fit a view: all of them if they are few, else a sample."""
        worlds = self.options.worlds
        if view.rules.open_hands or count_deals(view.row, int(view.seat)) <= _ENUMERATED:
            states = information_set(view.row, int(view.seat), view.rules.open_hands)
            if len(states) <= worlds:
                return states.rows, states.deals.astype(np.float64)
        pool = infer_pool(view, rng, self.options.particles)
        seed = stream_state(np.uint64(rng.integers(0, 2**64, dtype=np.uint64)), np.uint64(0))
        return draw_games(view, pool, worlds, np.uint64(seed)), np.ones(worlds)

    def _find_winning_moves(self, row: Words, moves: list[Move], rules: Rules) -> npt.NDArray[np.bool_] | None:
        """Return which moves win a given full game, or None if a search limit was reached first."""
        solver, landlord = self._solvers[rules], int(row[at.SEAT]) == int(row[at.LANDLORD])
        whole = solver.solve_row(row).landlord_wins
        if whole is None:
            return None
        if whole != landlord:
            return np.zeros(len(moves), np.bool_)
        won = []
        for move in moves:
            value = solver.solve_after(row, move).landlord_wins
            if value is None:
                return None
            won.append(value == landlord)
        return np.array(won)
