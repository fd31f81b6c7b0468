"""Information-set UCT over whole moves: the ablation of the tree's levels."""

from __future__ import annotations

import numpy as np

from agents.mcts.ablations.whole_search import Levels, WholeMoveSearch
from agents.mcts.agent import TreeSearchAgent
from ddz_env import State, View
from ddz_env.agent import Decision


class WholeMoveUctAgent(TreeSearchAgent):
    """Information-set UCT whose tree has a level a move (``"flat"``) or two (``"sets"``), not one a kicker.

    Args:
        levels: ``"sets"``: main group, then all kickers as one node; ``"flat"``: whole moves.
        iterations: Iterations a decision.
        milliseconds: Thinking time a decision instead of iterations; results then depend on the machine.
        exploration: The constant ``k`` of figure 2, on rewards 0 (loss) to 1 (win).

    Raises:
        InvalidLevelsError: If ``levels`` is unknown.
        InvalidBudgetError: If a number is out of range, or one that counts is not whole.

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
        super().__init__(iterations, trees=1, milliseconds=milliseconds, exploration=exploration)
        self._moves = WholeMoveSearch(levels)

    @property
    def name(self) -> str:
        """The agent's class, levels and budget."""
        budget = f"{self.milliseconds:g}ms" if self.milliseconds else f"{self.iterations}"
        return f"{type(self).__name__}({self._moves.levels}, {budget})"

    def _search(self, view: View | State, rng: np.random.Generator) -> Decision:
        seed = np.uint64(rng.integers(0, 2**64, dtype=np.uint64))
        seconds = None if self.milliseconds is None else self.milliseconds / 1000
        exploration = float(self.settings.exploration)
        return self._moves.run(
            view.row, int(view.seat), view.rule_words, self.iterations, exploration, seed, seconds
        ).decision
