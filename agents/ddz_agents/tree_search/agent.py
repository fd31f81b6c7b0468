"""The tree search agents: what they share with every search, how they grow their trees, and which games they search."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from ddz_agents.tree_search.choice import candidates_of, choose, finishing_move, only_move
from ddz_agents.tree_search.options import IsUctOptions, TreeOptions
from ddz_agents.tree_search.search import Position, search
from ddz_agents.tree_search.tree import Tree, clear, grown, new_tree
from ddz_agents.worlds.consistency import check_hands, check_start, check_turn, check_view
from ddz_agents.worlds.determinize import WorldPool, belief_of, draw_game, uniform
from ddz_agents.worlds.inference import inferred_pool
from ddz_env import Move, State, View
from ddz_env.core.engine.layout import ROW_WORDS
from ddz_env.core.engine.random import key
from ddz_env.core.options import takes
from ddz_env.core.owned import OwnsArrays
from ddz_env.envs.threads import usable_threads
from ddz_env.playing.agent import Decision
from ddz_env.playing.thoughts import Belief, Candidate

_LOOK, _LOOK_SLOW = 256, 16
"""Iterations between two looks at the clock; fewer with a simulation of the user's own, which may cost more."""

Sight = TypeVar("Sight", bound=View | State)
"""What an agent gets to see: a view, or for one that cheats the state."""


class SearchAgent(OwnsArrays, ABC, Generic[Sight]):
    """What all searches share: they refuse what they cannot search, and play at once what needs no search."""

    cheats = False
    finish = True
    """Whether a finishing move is taken at once."""
    options: Any

    @property
    def name(self) -> str:
        """The agent's class and budget."""
        milliseconds = getattr(self.options, "milliseconds", None)
        return f"{type(self).__name__}({f'{milliseconds:g}ms' if milliseconds else self._budget})"

    @property
    def _budget(self) -> str:
        """The budget where it is no time."""
        return str(self.options.iterations)

    def act(self, view: Sight, rng: np.random.Generator) -> Move:
        """Search and return the chosen move."""
        return self.decide(view, rng).move

    def decide(self, view: Sight, rng: np.random.Generator) -> Decision:
        """Search and return the move with the statistics of the search.

        Raises:
            IllegalMoveError: If it is another seat's turn, a move is half built, or the game is over.
            InconsistentViewError: If no deal agrees with the view, or a search that cheats is shown one.
        """
        position = Position.of(view)
        if self.cheats:
            check_start(position.row)
            check_hands(position.row, position.rules)
        else:
            check_view(*position)
        check_turn(position.row, position.seat)
        move = only_move(position.row, position.rules)
        if move is None and self.finish:
            move = finishing_move(*position)
        if move is not None:
            return Decision(move, line=move.actions)
        return self._search(view, position, rng)

    @abstractmethod
    def _search(self, view: Sight, position: Position, rng: np.random.Generator) -> Decision:
        """Search a decision of several moves."""


class TreeSearchAgent(SearchAgent[Sight]):
    """Grows trees over one decision and chooses from their visits.

    Agents differ in these: which games a tree is about (``fixed``, ``_game_of_tree``), where worlds are drawn from
    (``_worlds``), and what is seen (``cheats``).

    Args:
        *values: One object of the agent's options, or some of them in their order.
        **named: Options by name.

    Raises:
        InvalidAgentOptionError: If there is no such option, or its value is not allowed.
    """

    options_type: ClassVar[type[TreeOptions]] = TreeOptions
    fixed = True
    """Whether a tree is about one game, not about determinizations."""

    def __init__(self, *values: Any, **named: Any) -> None:
        self.options = self.options_type.of(*values, **named)
        self.settings = self.options.settings(self.fixed)
        self.finish = self.options.finish
        self._policy = self.options.policy()
        self._trees: list[Tree] = []

    @property
    def _budget(self) -> str:
        return f"{self.options.trees}x{self.options.iterations}"

    def _search(self, view: Sight, position: Position, rng: np.random.Generator) -> Decision:
        while len(self._trees) < self.options.trees:
            self._trees.append(new_tree(2 * self.options.iterations + 256))
        for tree in self._trees:
            clear(tree)
        seed = np.uint64(rng.integers(0, 2**64, dtype=np.uint64))
        worlds = self._worlds(view, rng)
        threads = min(usable_threads(self.options.threads), self.options.trees)

        def grow(index: int) -> None:
            game, state = self._game_of_tree(position, np.uint64(key(seed, np.uint64(index))))
            self._grow_tree(index, game, worlds, state, threads)

        if threads == 1:
            for index in range(self.options.trees):
                grow(index)
        else:
            game, state = self._game_of_tree(position, seed)
            search(self._trees[0], game, 0, self.settings, worlds, self._policy, state)  # compiles
            with ThreadPoolExecutor(threads) as workers:
                list(workers.map(grow, range(self.options.trees)))
        return choose(self._trees, position.row, position.rules)

    def candidates(self, view: Sight) -> list[Candidate]:
        """The whole moves that the last search has tried in this position, with the line that it expects after each."""
        return candidates_of(self._trees, view.row, view.rule_words)

    def _worlds(self, view: Sight, rng: np.random.Generator) -> WorldPool:
        """The determinizations to draw from."""
        return uniform()

    def _game_of_tree(self, position: Position, state: np.uint64) -> tuple[Position, np.uint64]:
        """What a tree searches, and the generator's state after drawing it."""
        return position, state

    def _grow_tree(self, index: int, game: Position, worlds: WorldPool, state: np.uint64, threads: int) -> None:
        """Spend one tree's budget, giving the tree twice the room whenever it is full."""
        options, tree = self.options, self._trees[index]
        seconds = None if options.milliseconds is None else options.milliseconds / 1000 * threads / options.trees
        stop, look = time.perf_counter() + (seconds or 0.0), _LOOK if self._policy is None else _LOOK_SLOW
        left = options.iterations if seconds is None else look
        while left > 0:
            done, state = search(tree, game, left, self.settings, worlds, self._policy, np.uint64(state))
            if done < left:
                self._trees[index] = tree = grown(tree)
            left -= done
            if left == 0 and seconds is not None and time.perf_counter() < stop:
                left = look


@takes(IsUctOptions)
class IsUctAgent(TreeSearchAgent[View]):
    """Information-set UCT (Whitehouse, Powley and Cowling 2011, figure 2): one tree, a fresh determinization each time.

    Example:
        >>> state = State.new(seed=1)
        >>> agent = IsUctAgent(iterations=200)
        >>> agent.act(state.view(), np.random.default_rng(0)) in state.legal_moves()
        True
    """

    fixed = False

    def believe(self, view: View, rng: np.random.Generator) -> Belief:
        """Where the worlds that it searches have the hidden cards."""
        return belief_of(view, self._worlds(view, rng))

    def _worlds(self, view: View, rng: np.random.Generator) -> WorldPool:
        return inferred_pool(view, rng, self.options.particles)


@takes(TreeOptions)
class DeterminizedUctAgent(TreeSearchAgent[View]):
    """Determinized UCT: independent trees, each on one determinization; root visits are added up (section III.D)."""

    def _game_of_tree(self, position: Position, state: np.uint64) -> tuple[Position, np.uint64]:
        row = np.empty(ROW_WORDS, np.uint64)
        state = np.uint64(draw_game(*position, state, row))
        return position._replace(row=row), state


@takes(TreeOptions)
class CheatingUctAgent(TreeSearchAgent[State]):
    """UCT on the true game, as many trees as determinized UCT has (root parallel); it declares that it cheats."""

    cheats = True
