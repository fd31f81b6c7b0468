"""The search agents of the full-game experiments, as specifications for the registry: the one place that names them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Searchers:
    """The three kinds of search at the paper's budgets.

    Attributes:
        trees: Trees of determinized and of cheating UCT.
        tree_iterations: Iterations a tree; information-set UCT gets as many as all trees together.
        options: More options of every agent, such as ``finish=false``; empty for none.
    """

    trees: int = 40
    tree_iterations: int = 250
    options: str = ""

    @property
    def iterations(self) -> int:
        """Iterations a decision."""
        return self.trees * self.tree_iterations

    @property
    def determinized(self) -> str:
        """Determinized UCT."""
        return self._spec("duct", f"trees={self.trees},iterations={self.tree_iterations}")

    @property
    def cheating(self) -> str:
        """UCT on the true game."""
        return self._spec("cheating-uct", f"trees={self.trees},iterations={self.tree_iterations}")

    def information_set(self, exploration: float = 1.0, iterations: int | None = None) -> str:
        """Information-set UCT.

        Example:
            >>> Searchers().information_set(0.44, 500)
            'isuct:iterations=500,exploration=0.44'
        """
        budget = self.iterations if iterations is None else iterations
        return self._spec("isuct", f"iterations={budget},exploration={exploration:g}")

    def _spec(self, name: str, budget: str) -> str:
        return f"{name}:{budget}" + (f",{self.options}" if self.options else "")
