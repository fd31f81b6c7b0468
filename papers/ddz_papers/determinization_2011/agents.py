"""The exact agents of Whitehouse, Powley and Cowling (2011), for Mini Dou Dizhu and small endgames.

* :class:`CheatingMinimaxAgent`: minimax on the true state, ties broken by equation (1) (section III.A).
* :class:`DeterminizedMinimaxAgent`: minimax on every state of the information set; each state votes for its move with
  its probability (section III.C).
* :class:`InformationSetExpectimaxAgent`: the tree of information sets (section III.E).

The last two infer nothing from the opponents' moves (``inference=None``), or apply Bayes' rule (section III.G) to a
model by its name, to the one that fits the opponent (``"correct"``) or to another, still sensible one (``"incorrect"``:
cheating minimax, and expectimax where the opponent is cheating minimax).  The paper does not say which incorrect model
it took.

Nothing is random.  Where moves tie even by equation (1), the first in the engine's order (ascending by action id) is
played; the paper is silent here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from ddz_agents.open_cards.information_set import InformationSet, check_replayable, information_set
from ddz_agents.open_cards.per_rules import PerRules
from ddz_agents.search_agent import check_turn
from ddz_agents.worlds.determinize import Reals, Words
from ddz_env import Move, State, View
from ddz_env.core.engine import layout as at
from ddz_env.core.rules import Rules
from ddz_env.core.view import list_legal_moves, write_view
from ddz_env.playing.agent import Decision
from ddz_env.support.options import Options, takes_options
from ddz_papers.determinization_2011.expectimax import ExpectimaxSolver
from ddz_papers.determinization_2011.inference import History, Inference, OpponentModel, RulesOpponent
from ddz_papers.determinization_2011.minimax import NODE_LIMIT, MinimaxSolver, check_solvable

Model = Literal["cheating-minimax", "determinized-minimax", "expectimax", "rules"]
"""Names of opponent models."""

_HANDS = (at.HANDS, at.HANDS + 1, at.HANDS + 2, at.HIDDEN, at.KNOWN, at.SIZES)
_POSITION = np.array([*_HANDS, at.SEAT, at.TARGET, at.KEY, at.OWNER, at.PASSES, at.LANDLORD])
"""Words of a row that a decision depends on."""
_MAX_DECISIONS = 500_000


class SharedSolvers:
    """Solvers that several agents share, so that each position is searched once.

    Args:
        table_bits: Each solver's table has ``2 ** table_bits`` slots of 24 bytes.
        node_limit: Positions a search may visit.
    """

    def __init__(self, table_bits: int = 18, node_limit: int = NODE_LIMIT) -> None:
        self.minimax = PerRules(partial(MinimaxSolver, table_bits=table_bits, node_limit=node_limit))
        self.expectimax = PerRules(partial(ExpectimaxSolver, table_bits=table_bits, node_limit=node_limit))


@dataclass(frozen=True)
class ExactOptions(Options):
    """Options of an exact agent that infers nothing.

    Attributes:
        solvers: Solvers to share with other agents, an object that text cannot name; its own by default.
    """

    solvers: SharedSolvers | None = None


@dataclass(frozen=True)
class InferringOptions(ExactOptions):
    """Options of an exact agent that may infer from the other seats' moves.

    Attributes:
        inference: Whose moves it takes the hidden seats' for: a model by its name, the ``opponent`` (``correct``), or
            another, still sensible one (``incorrect``).  Without any it infers nothing.
        opponent: What the other seats really are: a model by its name, or an object.
    """

    inference: Literal["correct", "incorrect"] | Model | None = None
    opponent: Model | OpponentModel = "expectimax"


class ExactAgent(ABC):
    """The base class of the exact agents, which cache their decisions and play the first among equally good moves."""

    cheats = False
    max_cards = 18
    """Cards of the largest deck whose games it can search from the deal: Mini's."""
    tolerance = 0.0
    """Values that differ by at most this are ties."""
    unit: Literal["chance", "score"] = "score"
    """The unit of its values (:class:`ddz_env.playing.agent.Decision`)."""

    def __init__(self, solvers: SharedSolvers | None = None) -> None:
        self.solvers = solvers or SharedSolvers()
        self._decided: dict[tuple[Any, ...], Move] = {}

    @property
    def name(self) -> str:
        """The agent's name, which is its class name."""
        return type(self).__name__

    def act(self, view: View | State, rng: np.random.Generator | None = None) -> Move:
        """Return the best move, and among equals the first; the random generator is not used.

        Raises:
            NotSolvableError: During an auction, a doubling round or the middle of a move.
            SearchLimitError: If the game or the information set is too large.
        """
        self._check(view)
        return self.choose(view.row, tuple(view.history), view.rules)

    def decide(self, view: View | State, rng: np.random.Generator | None = None) -> Decision:
        """Choose the best move, and give each main group's best value (in determinized minimax, its votes)."""
        self._check(view)
        moves, values = self._weigh_moves(view.row, tuple(view.history), view.rules)
        return Decision.from_moves(moves, values, self._first_best(values), self.unit)

    def choose(self, visible_row: Words, history: History, rules: Rules) -> Move:
        """Choose the best move from the game-state array that the agent may see, without checking the array.

        Args:
            visible_row: The seat's view (the whole row for an agent that cheats), shape ``[32]``.
            history: Every move so far.
            rules: The rules.
        """
        key = self._key(visible_row, history, rules)
        move = self._decided.get(key)
        if move is None:
            move, *others = list_legal_moves(visible_row, rules.words())
            if others:
                moves, values = self._weigh_moves(visible_row, history, rules)
                move = moves[self._first_best(values)]
            if len(self._decided) > _MAX_DECISIONS:
                self._decided.clear()
            self._decided[key] = move
        return move

    def choose_in_state(self, row: Words, history: History, rules: Rules) -> Move:
        """Choose a move in a full state from the acting seat's view of it, for use as an opponent model."""
        if self.cheats:
            return self.choose(row, history, rules)
        view = np.empty(at.ROW_WORDS, np.uint64)
        write_view(row, int(row[at.SEAT]), rules.words(), view)
        return self.choose(view, history, rules)

    def _first_best(self, values: Reals) -> int:
        return int(np.argmax(values >= values.max() - self.tolerance))

    def _check(self, view: View | State) -> None:
        check_solvable(view.row)
        check_turn(view.row, int(view.seat))

    def _key(self, visible_row: Words, history: History, rules: Rules) -> tuple[Any, ...]:
        return (rules, visible_row[_POSITION].tobytes())

    @abstractmethod
    def _weigh_moves(self, visible_row: Words, history: History, rules: Rules) -> tuple[Sequence[Move], Reals]:
        """Return the legal moves, and the values or votes by which the agent chooses among them."""


class CheatingMinimaxAgent(ExactAgent):
    """A cheating agent that plays minimax on the true state, with the tie-break of equation (1).

    Example:
        >>> state = State.from_hands(["3 5", "4"], check_sizes=False, rules="mini")
        >>> str(CheatingMinimaxAgent().act(state))
        '5'
    """

    cheats = True

    @takes_options(ExactOptions)
    def __init__(self, options: ExactOptions) -> None:
        super().__init__(options.solvers)

    def _weigh_moves(self, visible_row: Words, history: History, rules: Rules) -> tuple[Sequence[Move], Reals]:
        return self.solvers.minimax[rules].move_values(visible_row)


class _InferringAgent(ExactAgent):
    """The base class of agents that reason about all possible states, with or without inference from moves."""

    @takes_options(InferringOptions)
    def __init__(self, options: InferringOptions) -> None:
        super().__init__(options.solvers)
        believed: Model | OpponentModel | None
        if options.inference == "correct":
            believed = options.opponent
        elif options.inference == "incorrect":
            of_minimax = isinstance(make_model(options.opponent, self.solvers), CheatingMinimaxAgent)
            believed = "expectimax" if of_minimax else "cheating-minimax"
        else:
            believed = options.inference
        self.model = None if believed is None else make_model(believed, self.solvers)
        self._inferences = PerRules(partial(Inference, model=self.model))

    @property
    def name(self) -> str:
        """The agent's class name, with the opponent model from which the agent infers."""
        return f"{type(self).__name__}({self.model.name if self.model else ''})"

    def states(self, visible_row: Words, history: History, rules: Rules) -> InformationSet:
        """Return the states that the seat to act considers possible, given its view and the history."""
        seat = int(visible_row[at.SEAT])
        if self.model is None or rules.open_hands:
            return information_set(visible_row, seat, rules.open_hands)
        return self._inferences[rules].states(visible_row, seat, history)

    def _check(self, view: View | State) -> None:
        super()._check(view)
        if self.model is not None and isinstance(view, View):
            check_replayable(view)

    def _key(self, visible_row: Words, history: History, rules: Rules) -> tuple[Any, ...]:
        key = super()._key(visible_row, history, rules)
        return key if self.model is None else (*key, history)


class DeterminizedMinimaxAgent(_InferringAgent):
    """Minimax on every state of the information set, each voting with its probability (section III.C)."""

    unit = "chance"

    def _weigh_moves(self, visible_row: Words, history: History, rules: Rules) -> tuple[Sequence[Move], Reals]:
        states = self.states(visible_row, history, rules)
        weights = states.deals.astype(np.float64)  # whole numbers: their sums are exact, and so are ties
        moves, votes = self.solvers.minimax[rules].votes(states.rows, weights)
        return moves, votes / weights.sum()


class InformationSetExpectimaxAgent(_InferringAgent):
    """Expectimax on the tree of information sets (section III.E).

    Its values: :mod:`ddz_papers.determinization_2011.expectimax`.

    With inference the probabilities at the root are the inferred ones, and within the tree they follow from them.
    """

    tolerance = 1e-12
    """Far above rounding (which depends on the root from which an information set was first searched)."""

    def _weigh_moves(self, visible_row: Words, history: History, rules: Rules) -> tuple[Sequence[Move], Reals]:
        states = self.states(visible_row, history, rules)
        weights = states.deals.astype(np.float64)
        return self.solvers.expectimax[rules].move_values(states.rows, weights, inferred=self.model is not None)


def make_model(opponent: Model | OpponentModel, solvers: SharedSolvers) -> OpponentModel:
    """Make an opponent model from its name; return a model object unchanged."""
    if opponent == "cheating-minimax":
        return CheatingMinimaxAgent(solvers)
    if opponent == "determinized-minimax":
        return DeterminizedMinimaxAgent(solvers=solvers)
    if opponent == "expectimax":
        return InformationSetExpectimaxAgent(solvers=solvers)
    return RulesOpponent() if opponent == "rules" else opponent
