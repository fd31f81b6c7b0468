"""The exact agents of Whitehouse, Powley and Cowling (2011): for Mini Dou Dizhu and small endgames.

==============================  ========================================================================================
:class:`CheatingMinimaxAgent`   minimax on the true state, ties broken by equation (1) (section III.A)
:class:`DeterminizedMinimaxAgent`  minimax on every state of the information set; each state votes for its move with its
                                probability (section III.C)
:class:`InformationSetExpectimaxAgent`  the tree of information sets (section III.E)
==============================  ========================================================================================

The last two infer nothing from the opponents' moves (``inference=None``), or apply Bayes' rule (section III.G) to a
model by its name, to the one that fits the opponent (``"correct"``) or to another, still sensible one (``"incorrect"``:
cheating minimax, and expectimax where the opponent is cheating minimax).  The paper does not say which incorrect model
it took.  All arguments but shared solvers are text, so that agents can be made by name
(``determinized-minimax:inference=rules``).

Nothing is random.  Where moves tie, the first in the engine's order (ascending by action id) is played; the paper is
silent here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from agents.exact.errors import NotSolvableError
from agents.exact.expectimax import ExpectimaxSolver
from agents.exact.inference import Inference, Story
from agents.exact.information_set import InformationSet, check_replayable, information_set
from agents.exact.minimax import MinimaxSolver, check_solvable
from agents.exact.models import OpponentModel, RulesModel
from ddz_env import Move, State, View
from ddz_env.agent import Decision
from ddz_env.engine.layout import (
    HANDS,
    HIDDEN,
    KEY,
    KNOWN,
    LANDLORD,
    OWNER,
    PASSES,
    ROW_WORDS,
    SEAT,
    SIZES,
    TARGET,
)
from ddz_env.errors import IllegalMoveError
from ddz_env.rules import Rules
from ddz_env.view import whole_moves, write_view

Row = npt.NDArray[np.uint64]
MODELS = ("cheating-minimax", "determinized-minimax", "expectimax", "rules")
"""Names of opponent models."""

_POSITION = np.array(
    [HANDS, HANDS + 1, HANDS + 2, HIDDEN, KNOWN, SIZES, SEAT, TARGET, KEY, OWNER, PASSES, LANDLORD], np.intp
)
_MEMORY = 500_000


class Solvers:
    """Solvers that several agents share, so that each position is searched once.

    Args:
        table_bits: Each solver's table has ``2 ** table_bits`` slots of 24 bytes.
        node_limit: Positions a search may visit; the solvers' own default if None.
    """

    def __init__(self, table_bits: int = 18, node_limit: int | None = None) -> None:
        self._options: dict[str, int] = {"table_bits": table_bits}
        if node_limit is not None:
            self._options["node_limit"] = node_limit
        self._minimax: dict[Rules, MinimaxSolver] = {}
        self._expectimax: dict[Rules, ExpectimaxSolver] = {}

    def minimax(self, rules: Rules) -> MinimaxSolver:
        """The minimax solver of some rules."""
        if rules not in self._minimax:
            self._minimax[rules] = MinimaxSolver(rules, **self._options)
        return self._minimax[rules]

    def expectimax(self, rules: Rules) -> ExpectimaxSolver:
        """The expectimax solver of some rules."""
        if rules not in self._expectimax:
            self._expectimax[rules] = ExpectimaxSolver(rules, **self._options)
        return self._expectimax[rules]


class ExactAgent(ABC):
    """What the exact agents share: a memory of positions already decided, and the first of the best moves."""

    cheats = False
    tolerance = 0.0
    """Values that differ by no more tie."""

    def __init__(self, solvers: Solvers | None = None) -> None:
        if not isinstance(solvers, Solvers | None):
            raise NotSolvableError(f"solvers={solvers!r} must be agents.exact.agents.Solvers, which text cannot name")
        self.solvers = solvers or Solvers()
        self._decided: dict[tuple[Any, ...], Move] = {}

    @property
    def name(self) -> str:
        """The agent's class."""
        return type(self).__name__

    def act(self, view: View, rng: np.random.Generator | None = None) -> Move:
        """The best move; the generator is not used.

        Raises:
            NotSolvableError: During an auction, a doubling round or the middle of a move.
            SearchLimitError: If the game or the information set is too large.
        """
        self._check(view)
        return self.choose(view.row, tuple(view.history), view.rules)

    def decide(self, view: View, rng: np.random.Generator | None = None) -> Decision:
        """The best move, and the value (of determinized minimax: the votes) of the best move of each main group."""
        self._check(view)
        moves, values = self._weigh(view.row, tuple(view.history), view.rules)
        groups: dict[int, float] = {}
        for move, value in zip(moves, values.tolist(), strict=True):
            groups[move.main] = max(value, groups.get(move.main, value))
        best = moves[self._first_best(values)]
        return Decision(best, {}, groups, best.actions)

    def choose(self, sight: Row, story: Story, rules: Rules) -> Move:
        """The best move from what the agent sees, unchecked.

        Args:
            sight: The seat's view (the whole row for an agent that cheats), shape ``[32]``.
            story: Every move so far.
            rules: The rules.
        """
        key = self._key(sight, story, rules)
        move = self._decided.get(key)
        if move is None:
            move, *others = whole_moves(sight, rules.words())
            if others:
                moves, values = self._weigh(sight, story, rules)
                move = moves[self._first_best(values)]
            if len(self._decided) > _MEMORY:
                self._decided.clear()
            self._decided[key] = move
        return move

    def choose_in(self, row: Row, story: Story, rules: Rules) -> Move:
        """What the agent would play in a state, from what it would see there (an opponent model)."""
        if self.cheats:
            return self.choose(row, story, rules)
        view = np.empty(ROW_WORDS, np.uint64)
        write_view(row, int(row[SEAT]), rules.words(), view)
        return self.choose(view, story, rules)

    def _first_best(self, values: npt.NDArray[np.float64]) -> int:
        return int(np.argmax(values >= values.max() - self.tolerance))

    def _check(self, view: View) -> None:
        check_solvable(view.row)
        if int(view.row[SEAT]) != view.seat:
            raise IllegalMoveError(f"seat {view.seat} is asked to act, but it is seat {int(view.row[SEAT])}'s turn")

    def _key(self, sight: Row, story: Story, rules: Rules) -> tuple[Any, ...]:
        return (rules, sight[_POSITION].tobytes())

    @abstractmethod
    def _weigh(self, sight: Row, story: Story, rules: Rules) -> tuple[Sequence[Move], npt.NDArray[np.float64]]:
        """Legal moves and what each is worth."""


class CheatingMinimaxAgent(ExactAgent):
    """Minimax on the true state with the tie-break of equation (1); it declares that it cheats.

    Example:
        >>> state = State.from_hands(["3 5", "4"], check_sizes=False, rules="mini")
        >>> str(CheatingMinimaxAgent().act(state))
        '5'
    """

    cheats = True

    def act(self, state: State, rng: np.random.Generator | None = None) -> Move:  # type: ignore[override]  # a cheat gets the State
        """The best move on the true state."""
        check_solvable(state.row)
        return self.choose(state.row, (), state.rules)

    def decide(self, state: State, rng: np.random.Generator | None = None) -> Decision:  # type: ignore[override]  # likewise
        """The best move on the true state, with the value of each main group."""
        return super().decide(state)  # type: ignore[arg-type]  # a State has what is asked of a View

    def _weigh(self, sight: Row, story: Story, rules: Rules) -> tuple[Sequence[Move], npt.NDArray[np.float64]]:
        return self.solvers.minimax(rules).move_values(sight)


class _InferringAgent(ExactAgent):
    """An agent that looks at information sets, with or without inference.

    Args:
        inference: None; ``"correct"`` or ``"incorrect"``, of ``opponent``; or a model, of ``MODELS``.
        opponent: What the other seats really are: a model of ``MODELS``, or an object.
        solvers: Solvers to share with other agents.

    Raises:
        NotSolvableError: If an argument is unknown.
    """

    def __init__(
        self,
        inference: str | None = None,
        opponent: str | OpponentModel = "expectimax",
        solvers: Solvers | None = None,
    ) -> None:
        super().__init__(solvers)
        self.inference = inference
        self.model: OpponentModel | None = None
        if inference == "correct":
            self.model = model_named(opponent, self.solvers)
        elif inference == "incorrect":
            self.model = incorrect_model(model_named(opponent, self.solvers), self.solvers)
        elif inference in MODELS:
            self.model = model_named(inference, self.solvers)
        elif inference is not None:
            known = ", ".join(("none", "correct", "incorrect", *MODELS))
            raise NotSolvableError(f"unknown inference {inference!r}; choose from {known}")
        self._inferences: dict[Rules, Inference] = {}

    @property
    def name(self) -> str:
        """The agent's class, and the model from which it infers."""
        return f"{type(self).__name__}({self.model.name if self.model else ''})"

    def states(self, sight: Row, story: Story, rules: Rules) -> InformationSet:
        """The states that the agent thinks possible, from its seat's view in which it is to act."""
        seat = int(sight[SEAT])
        if self.model is None or rules.open_hands:
            return information_set(sight, seat, rules.open_hands)
        if rules not in self._inferences:
            model = self.model
            self._inferences[rules] = Inference(rules, lambda row, past: model.choose_in(row, past, rules))
        return self._inferences[rules].states(sight, seat, story)

    def _check(self, view: View) -> None:
        super()._check(view)
        if self.model is not None:
            check_replayable(view)

    def _key(self, sight: Row, story: Story, rules: Rules) -> tuple[Any, ...]:
        key = super()._key(sight, story, rules)
        return key if self.model is None else (*key, story)


class DeterminizedMinimaxAgent(_InferringAgent):
    """Minimax on every state of the information set; each votes with its probability (section III.C)."""

    def _weigh(self, sight: Row, story: Story, rules: Rules) -> tuple[Sequence[Move], npt.NDArray[np.float64]]:
        states = self.states(sight, story, rules)
        weights = states.deals.astype(np.float64)  # whole numbers: their sums are exact, and so are ties
        moves, votes = self.solvers.minimax(rules).votes(states.rows, weights)
        return moves, votes / weights.sum()


class InformationSetExpectimaxAgent(_InferringAgent):
    """Expectimax on the tree of information sets (section III.E); see :mod:`agents.exact.expectimax` for its values.

    With inference the probabilities at the root are the inferred ones, and within the tree they follow from them.
    """

    tolerance = 1e-9
    """Far above rounding (which depends on the root from which an information set was first searched)."""

    def _weigh(self, sight: Row, story: Story, rules: Rules) -> tuple[Sequence[Move], npt.NDArray[np.float64]]:
        states = self.states(sight, story, rules)
        inferred = self.model is not None and any(seat != int(sight[SEAT]) for seat, _ in story)
        return self.solvers.expectimax(rules).move_values(
            states.rows, states.deals.astype(np.float64), inferred=inferred
        )


def model_named(opponent: str | OpponentModel, solvers: Solvers) -> OpponentModel:
    """An agent without inference by its name; an object is passed through.

    Raises:
        NotSolvableError: If the name is unknown.
    """
    if callable(getattr(opponent, "choose_in", None)):
        return cast("OpponentModel", opponent)
    if opponent == "cheating-minimax":
        return CheatingMinimaxAgent(solvers)
    if opponent == "determinized-minimax":
        return DeterminizedMinimaxAgent(solvers=solvers)
    if opponent == "expectimax":
        return InformationSetExpectimaxAgent(solvers=solvers)
    if opponent == "rules":
        return RulesModel()
    raise NotSolvableError(f"unknown opponent model {opponent!r}; choose from {', '.join(MODELS)}")


def incorrect_model(opponent: OpponentModel, solvers: Solvers) -> OpponentModel:
    """A sensible model that is not the opponent's algorithm: cheating minimax, or expectimax for cheating minimax."""
    return model_named("expectimax" if isinstance(opponent, CheatingMinimaxAgent) else "cheating-minimax", solvers)
