"""Tree reuse: the part of the last search that lies below the moves played since."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ddz_agents.tree_search.tree import ROOT, Tree, child_of, new_tree, replant
from ddz_env import Move, State, View
from ddz_env.core.engine.layout import HANDS, PLAYED
from ddz_env.core.engine.words import add_hand
from ddz_env.core.owned import OwnsArrays


class Memory(OwnsArrays):
    """The public history of the last search, and the cards and rules it was about."""

    def __init__(self) -> None:
        self._seat = -1
        self._seen: list[tuple[int, Move]] = []
        self._game: tuple[int, bytes] = (0, b"")
        self._spare: Tree | None = None

    def remember(self, view: View | State) -> None:
        """Note that the trees now stand at this position."""
        self._seat, self._seen, self._game = int(view.seat), list(view.history), _game(view)

    def follow(self, trees: Sequence[Tree], view: View | State) -> bool:
        """Make each tree the part of it below the moves since the last search, in place.

        Args:
            trees: The trees.
            view: The position now.

        Returns:
            False, trees untouched, if the game or the seat is another one, if the seat has taken up landlord cards
            since (the trees hold moves with cards that might have been them) or if the moves lead out of a tree.
        """
        seen, now = self._seen, list(view.history)
        if (
            _game(view) != self._game
            or int(view.seat) != self._seat
            or len(now) <= len(seen)
            or now[: len(seen)] != seen
        ):
            return False
        actions = [action for _, move in now[len(seen) :] for action in move.actions]
        nodes = [ROOT] * len(trees)
        for action in actions:
            nodes = [child_of(tree, node, action) for tree, node in zip(trees, nodes, strict=True)]
        if min(nodes) < 0:
            return False
        for tree, node in zip(trees, nodes, strict=True):
            self._replant(tree, node)
        return True

    def _replant(self, tree: Tree, node: int) -> None:
        if self._spare is None or self._spare.action.size < tree.action.size:
            self._spare = new_tree(tree.action.size)
        replant(tree, node, self._spare)
        pairs: list[tuple[Any, Any]] = list(zip(tree, self._spare, strict=True))
        for mine, copied in pairs:
            mine[...] = copied[: mine.size]


def _game(view: View | State) -> tuple[int, bytes]:
    """All cards that the seat to act has had, and the rules: they stay the same from one move of a game to the next."""
    seat = int(view.seat)
    return int(add_hand(view.row[HANDS + seat], view.row[PLAYED + seat])), view.rule_words.tobytes()
