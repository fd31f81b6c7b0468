"""Agents that solve: one that sees every hand, and one that solves the worlds that it thinks possible."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from ddz_agents.open_cards.solver.endgame import EndgameSolver
from ddz_agents.open_cards.solver.solver import OpenSolver
from ddz_agents.rules.agent import RulesAgent
from ddz_agents.worlds.consistency import check_turn
from ddz_agents.worlds.inference import MOST_PARTICLES
from ddz_env import Move, Rules, State, View
from ddz_env.core.engine import layout as at
from ddz_env.core.options import Options, Range, takes
from ddz_env.playing.agent import Decision


@dataclass(frozen=True)
class CheatingSolverOptions(Options):
    """How far the agent searches.

    Attributes:
        nodes: Positions that a search may open; where they do not suffice, the rule agent moves.
        megabytes: Size of the transposition table.
    """

    nodes: Annotated[int, Range(1)] = 200_000
    megabytes: Annotated[float, Range(0.01, 65536)] = 16


@takes(CheatingSolverOptions)
class CheatingSolverAgent:
    """Solves the true state and plays a move that wins, the rule agent's if it does; it declares that it cheats.

    Where nothing wins or a limit comes first, it follows the rule agent.

    Raises:
        InvalidAgentOptionError: If there is no such option, or its value is not allowed.

    Example:
        >>> state = State.from_hands(["3 5", "4"], check_sizes=False, rules="mini")
        >>> str(CheatingSolverAgent().act(state, np.random.default_rng(0)))
        '5'
    """

    cheats = True

    def __init__(self, *values: Any, **named: Any) -> None:
        self.options = CheatingSolverOptions.of(*values, **named)
        self._rules = RulesAgent()
        self._solvers: dict[Rules, OpenSolver] = {}

    @property
    def name(self) -> str:
        """The agent's class and budget."""
        return f"{type(self).__name__}({self.options.nodes})"

    def act(self, view: State, rng: np.random.Generator) -> Move:
        """Solve and return a move.

        Raises:
            IllegalMoveError: If a move is half built, or the game is over.
        """
        check_turn(view.row, int(view.seat))
        usual = self._rules.act(view.view(), rng)
        if int(view.row[at.STAGE]) != at.STAGE_PLAY:
            return usual
        if view.rules not in self._solvers:
            options = {"nodes": self.options.nodes, "megabytes": self.options.megabytes}
            self._solvers[view.rules] = OpenSolver(view.rules, **options)
        solver, landlord = self._solvers[view.rules], view.seat == int(view.row[at.LANDLORD])
        if solver.solve(view).landlord_wins != landlord:
            return usual
        moves = (usual, *view.legal_moves())
        winning = (move for move in moves if solver.after(view.row, move).landlord_wins == landlord)
        return next(winning, usual)


@dataclass(frozen=True)
class DeterminizedSolverOptions(Options):
    """Which positions are solved, and in how many worlds.

    Attributes:
        cards: Most cards in all hands together at which worlds are solved; before that the rule agent moves.
        worlds: Worlds a decision; all that fit if they are no more.
        nodes: Positions that the search of one move in one world may open.
        particles: Number of determinizations from which worlds are drawn, weighted by how plausible they make the
            hidden seats' past moves; 0 draws uniform worlds, and all of them where they are few.
    """

    cards: Annotated[int, Range(2, 54)] = 24
    worlds: Annotated[int, Range(1, 10_000)] = 30
    nodes: Annotated[int, Range(1)] = 20_000
    particles: Annotated[int, Range(0, MOST_PARTICLES)] = 0


@takes(DeterminizedSolverOptions)
class DeterminizedSolverAgent:
    """Solves sampled worlds exactly near the end and plays the move that wins most; before, the rule agent's moves.

    Raises:
        InvalidAgentOptionError: If there is no such option, or its value is not allowed.
    """

    cheats = False

    def __init__(self, *values: Any, **named: Any) -> None:
        self.options = DeterminizedSolverOptions.of(*values, **named)
        options = self.options
        self._rules = RulesAgent()
        self._endgame = EndgameSolver(options.cards, options.worlds, options.nodes, options.particles)

    @property
    def name(self) -> str:
        """The agent's class and budget."""
        return f"{type(self).__name__}({self.options.worlds})"

    def act(self, view: View, rng: np.random.Generator) -> Move:
        """Solve and return the chosen move."""
        return self.decide(view, rng).move

    def decide(self, view: View, rng: np.random.Generator) -> Decision:
        """The chosen move, and the share of worlds that the best move of each main group wins.

        Raises:
            IllegalMoveError: If it is not the seat's turn, or the game is over.
        """
        usual = self._rules.act(view, rng)
        if self._endgame.applies(view) and len(view.legal_moves()) > 1:
            solved = self._endgame.solve(view, rng)
            if solved is not None:
                tied = [move for move, wins in zip(solved.moves, solved.wins, strict=True) if wins == solved.wins.max()]
                return Decision(usual) if usual in tied else solved.decision()
        return Decision(usual, line=usual.actions)
