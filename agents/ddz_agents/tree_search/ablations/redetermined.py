"""Opponents who do not know the searcher's hand: an answer to the open problem of the 2011 paper.

In information-set UCT the opponents' statistics are gathered against the searcher's true hand, as if they saw it.  Here
a second, *public* tree is grown beside the searcher's own, of which every other iteration determinizes all three hands,
the searcher's too, from what everybody knows.  In the searcher's own iterations an opponent selects by the statistics
of the public tree where it has them for all moves; the searcher plans with its true hand as before, over any number of
its own moves.  (Re-determinizing ISMCTS, Goodman 2019, re-deals the searcher's hand inside an iteration instead, which
makes the searcher forget its own hand; two trees need not.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from ddz_agents.tree_search.agent import IsUctAgent, SearchAgent
from ddz_agents.tree_search.choice import choose
from ddz_agents.tree_search.options import MOST_ITERATIONS
from ddz_agents.tree_search.search import Position, backpropagate, new_line, spend, take_tried, ucb, ucb_among_legal
from ddz_agents.tree_search.simulate import simulate_random
from ddz_agents.tree_search.tree import FULL, ROOT, Tree, add_child, child_of, clear, new_tree
from ddz_agents.worlds.determinize import Words, determinize
from ddz_env import View
from ddz_env.core.engine.compiling import inline_kernel, kernel
from ddz_env.core.engine.layout import HANDS, HIDDEN, KNOWN, LANDLORD, NO_SEAT, SEAT, STAGE, STAGE_OVER
from ddz_env.core.engine.legal import count_legal, legal_mask, nth_legal
from ddz_env.core.engine.random import advance, below, key, mix
from ddz_env.core.engine.step import apply_action
from ddz_env.core.engine.words import U0, add_hand, remove_hand
from ddz_env.core.options import Options, Range, takes
from ddz_env.core.rules import R_OPEN_HANDS
from ddz_env.playing.agent import Decision

_NOBODY = np.uint64(3)
_FINISH = np.bool_(True)


def public_row(view: Words, seat: int) -> Words:
    """What everybody knows: a view with the observer's hand among the unseen cards, but for face-up landlord cards.

    Args:
        view: The observer's row, shape ``[32]``.
        seat: The observer.
    """
    row = view.copy()
    hand = row[HANDS + seat]
    if int(row[LANDLORD]) == seat:
        hand = remove_hand(np.uint64(hand), np.uint64(row[KNOWN]))
    row[HIDDEN] = add_hand(np.uint64(row[HIDDEN]), np.uint64(hand))
    row[HANDS + seat] = 0
    return row


@inline_kernel
def _best_in_public(
    tree: Tree, public: Tree, public_node: int, usable: np.ndarray, found: int, exploration: float
) -> int:
    """The usable child that figure 2 selects by the public tree's statistics; -1 if it lacks one of them."""
    if public_node < 0:
        return np.int64(-1)
    log_parent = math.log(float(max(public.visits[public_node], 1)))
    best, best_value = np.int64(-1), np.float32(-1.0)
    for index in range(found):
        record = child_of(public, public_node, tree.action[usable[index]])
        if record < 0 or public.visits[record] == 0:
            return np.int64(-1)
        value = ucb(public, record, log_parent, exploration)
        if value > best_value:
            best, best_value = np.int64(usable[index]), value
    return best


@kernel
def search_redetermined(
    tree: Tree,
    public: Tree,
    position: Position,
    everybody: np.ndarray,
    iterations: int,
    exploration: float,
    state: np.uint64,
) -> tuple[int, np.uint64]:
    """Run pairs of iterations: one on the public tree, one on the searcher's.

    Args:
        tree: The searcher's tree, changed in place.
        public: The public tree, changed in place.
        position: Where the searcher stands, after the auction.
        everybody: The public row (:func:`public_row`).
        iterations: How many, both trees together.
        exploration: The constant ``k``.
        state: The generator's state.

    Returns:
        Iterations done (fewer only when a tree is full) and the generator's state after them.
    """
    rules, searcher, line = position.rules, np.uint64(position.seat), new_line()
    row, mask, usable = line.row, line.mask, line.usable
    for iteration in range(iterations):
        begun = state
        own = (tree.visits[ROOT] + public.visits[ROOT]) % 2 == 1
        grow = tree if own else public
        state = determinize(position.row if own else everybody, searcher if own else _NOBODY, rules, state, row)
        node, beside, depth = ROOT, ROOT, 0
        expanded = False
        while not expanded and row[STAGE] != STAGE_OVER:
            mover = row[SEAT]
            legal_mask(row, rules, mask)
            found = take_tried(grow, node, mask, usable)
            fresh = count_legal(mask)
            if fresh > U0:
                state = advance(state)
                child = add_child(grow, node, nth_legal(mask, below(mix(state), fresh)))
                if child == FULL:
                    return iteration, begun
                expanded = True
            else:
                child = np.int64(-1)
                if own and mover != searcher:
                    child = _best_in_public(grow, public, beside, usable, found, exploration)
                if child < 0:
                    child = ucb_among_legal(
                        grow, usable, found, math.log(float(max(grow.visits[node], 1))), exploration
                    )
            node = child
            if own:
                beside = child_of(public, beside, grow.action[node])
            apply_action(row, np.uint64(grow.action[node]), rules)
            depth += 1
            line.nodes[depth] = node
            line.movers[depth] = mover
        state = simulate_random(row, rules, mask, state, _FINISH)
        backpropagate(grow, line, depth)
    return iterations, state


@dataclass(frozen=True)
class RedeterminizedOptions(Options):
    """How long to search, and how widely.

    Attributes:
        iterations: Iterations a decision, both trees together.
        exploration: The constant ``k`` of figure 2, on rewards 0 (loss) to 1 (win).
    """

    iterations: Annotated[int, Range(1, MOST_ITERATIONS)] = 10_000
    exploration: Annotated[float, Range(0)] = 1.0


@takes(RedeterminizedOptions)
class RedeterminizedUctAgent(SearchAgent[View]):
    """Information-set UCT whose opponents do not know the searcher's hand.

    Before the auction has ended, and where hands are open, it is plain information-set UCT.

    Example:
        >>> from ddz_env import State
        >>> state = State.new(seed=1)
        >>> agent = RedeterminizedUctAgent(iterations=200)
        >>> agent.act(state.view(), np.random.default_rng(0)) in state.legal_moves()
        True
    """

    def __init__(self, *values: Any, **named: Any) -> None:
        self.options = RedeterminizedOptions.of(*values, **named)
        self._plain = IsUctAgent(self.options.iterations, exploration=self.options.exploration)
        self._trees = [new_tree(2 * self.options.iterations + 256) for _ in range(2)]

    @property
    def _budget(self) -> str:
        return f"1x{self.options.iterations}"

    def _search(self, view: View, position: Position, rng: np.random.Generator) -> Decision:
        if int(position.row[LANDLORD]) == NO_SEAT or position.rules[R_OPEN_HANDS]:
            return self._plain.decide(view, rng)
        everybody, exploration = public_row(position.row, position.seat), self.options.exploration

        def run(trees: list[Tree], iterations: int, state: np.uint64) -> tuple[int, np.uint64]:
            return search_redetermined(trees[0], trees[1], position, everybody, iterations, exploration, state)

        for tree in self._trees:
            clear(tree)
        state = np.uint64(key(np.uint64(rng.integers(0, 2**64, dtype=np.uint64)), np.uint64(0)))
        spend(run, self._trees, state, self.options.iterations)
        return choose(self._trees[:1], position.row, position.rules)
