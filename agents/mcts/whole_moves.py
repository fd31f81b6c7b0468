"""Information-set UCT over whole moves: the ablation of the tree's levels."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from agents.mcts.agent import _TreeSearch
from agents.mcts.consistency import check_view
from agents.mcts.whole_search import Levels, WholeMoveSearch
from agents.protocol import Decision


class WholeMoveUctAgent(_TreeSearch):
    """Information-set UCT whose tree has a level a move (``"flat"``) or two (``"sets"``), not one a kicker.

    Args:
        levels: ``"sets"``: main group, then all kickers as one node; ``"flat"``: whole moves.
        iterations: Iterations a decision.
        milliseconds: Thinking time a decision instead of iterations; results then depend on the machine.
        exploration: The constant ``k`` of figure 2, on rewards 0 (loss) to 1 (win).

    Raises:
        InvalidLevelsError: If ``levels`` is unknown.
        InvalidBudgetError: If a number is out of range.

    Example:
        >>> from ddz_env import State
        >>> state = State.from_hands(["33345", "6789", "6789"], check_sizes=False)
        >>> agent = WholeMoveUctAgent("sets", iterations=300)
        >>> agent.act(state.view(), np.random.default_rng(0)) in state.legal_moves()
        True
    """

    def __init__(
        self,
        levels: Levels = "flat",
        iterations: int = 10_000,
        milliseconds: float | None = None,
        exploration: float = 1.0,
    ) -> None:
        super().__init__(1, iterations, milliseconds, exploration)
        self._search = WholeMoveSearch(levels)
        self._searched: Decision | None = None

    @property
    def name(self) -> str:
        """The agent's class, levels and budget."""
        budget = f"{self.milliseconds:g}ms" if self.milliseconds else f"{self.iterations}"
        return f"{type(self).__name__}({self._search.levels}, {budget})"

    def _decide(
        self, root: npt.NDArray[np.uint64], seat: int, rules: npt.NDArray[np.uint64], rng: np.random.Generator
    ) -> Decision:
        # The base class checks the position, plays what needs no search, and calls _run where something does.
        check_view(root, seat, rules)
        self._searched = None
        decision = super()._decide(root, seat, rules, rng)
        return self._searched or decision

    def _run(self, root: npt.NDArray[np.uint64], seat: int, rules: npt.NDArray[np.uint64], seed: np.uint64) -> None:
        seconds = None if self.milliseconds is None else self.milliseconds / 1000
        found = self._search.run(root, seat, rules, self.iterations, self.exploration, seed, seconds)
        self._searched = found.decision
