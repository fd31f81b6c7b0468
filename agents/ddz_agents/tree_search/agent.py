"""The tree search agents ``isuct``, ``duct`` and ``cheating-uct``: their options, and how they grow trees."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, cast

import numpy as np
from numba.extending import is_jitted

from ddz_agents.search_agent import Milliseconds, Position, SearchAgent, ViewOrState
from ddz_agents.tree_search.choice import candidates_of, choose_from_visits
from ddz_agents.tree_search.search import new_trace, search
from ddz_agents.tree_search.tree import Tree, clear, double_capacity, new_tree
from ddz_agents.worlds.determinize import WorldPool, Worlds, belief_of, check_pool, draw_game
from ddz_agents.worlds.inference import MOST_PARTICLES, infer_pool
from ddz_env import State, View
from ddz_env.core.engine.layout import ROW_WORDS
from ddz_env.core.engine.random import stream_state
from ddz_env.playing.agent import Decision
from ddz_env.playing.search_statistics import Belief, Candidate
from ddz_env.support.clocks import Clock
from ddz_env.support.options import Options, Range, takes_options
from ddz_env.support.threads import MAX_THREADS, check_threads

_LOOK, _LOOK_SLOW = 256, 16
"""Iterations between two looks at the clock; fewer with a simulation of the user's own, which may cost more."""
MOST_ITERATIONS = 1 << 23
"""A tree adds up its rewards (1, 0 and one half) as float32, which is exact up to this sum; beyond it means fall."""
MOST_TREES = 4096

RANDOM, UCB, PARTICLES = "random", "ucb", "particles"
Policy = Callable[[Any, Any, Any, Any], Any]
"""A simulation of the user's own, compiled by Numba: ``(row, rules, mask, state)`` to the generator's new state."""
Bound = Callable[[float, float, float, float], float]
"""A tree policy of the user's own, compiled by Numba: ``(mean, visits, parent_visits, exploration)`` to a value."""


@dataclass(frozen=True)
class TreeOptions(Options):
    """How a tree search agent grows its trees.

    Attributes:
        iterations: Iterations per tree.
        trees: Trees, each with its own random numbers; their statistics are added up at the root.
        milliseconds: Thinking time per decision, instead of iterations; results then depend on the machine.
        exploration: The constant ``k`` of figure 2, on rewards from 0 (loss) to 1 (win); one half if everybody declined
            to be landlord.
        selection: Which child is visited: ``ucb``, that of figure 2, or a tree policy of your own, as text
            ``package.module.function``: a function compiled by Numba that takes (mean, visits, parent_visits,
            exploration) of a visited child and returns its value, of which the highest is selected.
        simulation: Who plays a game to its end: ``random`` moves, or a policy of your own, as text
            ``package.module.function``: a function compiled by Numba that takes (row, rules, mask, state), plays the
            row to its end and returns the generator's new state.
        finish: Take a finishing move at once, in simulations too; if false, the search is figure 2 to the letter.
        threads: Threads that grow the trees; none for all cores. Results do not depend on it.
    """

    iterations: Annotated[int, Range(1, MOST_ITERATIONS)] = 250
    trees: Annotated[int, Range(1, MOST_TREES)] = 40
    milliseconds: Milliseconds = None
    exploration: Annotated[float, Range(0)] = 1.0
    selection: str | Bound = UCB
    simulation: str | Policy = RANDOM
    finish: bool = True
    threads: Annotated[int, Range(1, MAX_THREADS)] | None = 1

    def check(self) -> None:
        """Check that the options ``simulation`` and ``selection`` name existing functions."""
        self.simulation_function()
        self.selection_function()

    def milliseconds_per_tree(self, threads: int) -> float | None:
        """Return the thinking time of one tree if as many grow at a time as there are threads, or None for no limit."""
        return None if self.milliseconds is None else self.milliseconds / math.ceil(self.trees / threads)

    def simulation_function(self) -> Policy | None:
        """Return the user's simulation function, or None if simulations are random.

        Raises:
            InvalidAgentOptionError: If there is no such simulation.
        """
        return cast("Policy | None", self._compiled_function("simulation", RANDOM))

    def selection_function(self) -> Bound | None:
        """Return the user's tree policy, or None for that of Whitehouse, Powley and Cowling (2011, figure 2).

        Raises:
            InvalidAgentOptionError: If there is no such tree policy.
        """
        return cast("Bound | None", self._compiled_function("selection", UCB))

    def _compiled_function(self, option: str, default: str) -> object:
        """Return the Numba-compiled function that an option gives, or None for the option's default."""
        function = self._resolve_function(option, default)
        if function is not None and not is_jitted(function):
            raise self.error(f"{option}={getattr(self, option)!r} is not a function compiled by Numba")
        return function

    def _resolve_function(self, option: str, default: str) -> object:
        """Return the object that an option gives directly or by its dotted name, or None for the default."""
        function: object = getattr(self, option)
        if not isinstance(function, str):
            return function
        if function == default:
            return None
        module, dot, name = function.rpartition(".")
        if not dot:
            raise self.error(f"{option}={function!r} must be {default}, or module.function")
        try:
            return cast("object", getattr(importlib.import_module(module), name))
        except (ImportError, AttributeError, ValueError, TypeError) as error:
            raise self.error(f"{option}={function!r} names no function: {error}") from error


@dataclass(frozen=True)
class IsUctOptions(TreeOptions):
    """The options of every tree search, and those that need a single tree of information sets.

    Attributes:
        particles: Number of determinizations from which worlds are drawn, weighted by how plausible they make the
            hidden seats' past moves; 0 draws uniform worlds. Weighing them takes time on top of `milliseconds`.
        worlds: Whose worlds are searched: those of ``particles``, or those of a function of your own, as text
            ``package.module.function``, that takes (view, rng) once per decision and returns a
            :class:`~ddz_agents.worlds.determinize.WorldPool`. Its time comes on top of `milliseconds`, too.
    """

    iterations: Annotated[int, Range(1, MOST_ITERATIONS)] = 10_000
    trees: Annotated[int, Range(1, MOST_TREES)] = 1
    particles: Annotated[int, Range(0, MOST_PARTICLES)] = 0
    worlds: str | Worlds = PARTICLES

    def check(self) -> None:
        """Check that the options ``simulation``, ``selection`` and ``worlds`` name existing functions."""
        super().check()
        self.world_sampler()

    def world_sampler(self) -> Worlds:
        """Return the function that draws a decision's determinizations, as the option ``worlds`` says.

        Raises:
            InvalidAgentOptionError: If there is no such function.
        """
        function = self._resolve_function("worlds", PARTICLES)
        if function is None:
            return lambda view, rng: infer_pool(view, rng, self.particles)
        if not callable(function):
            raise self.error(f"worlds={self.worlds!r} is not a function of (view, rng)")
        return cast("Worlds", function)


class TreeSearchAgent(SearchAgent[ViewOrState]):
    """Base class of agents that grow trees for one decision and choose a move by visit counts.

    Agents differ in these: which game a tree is about (``_draw_tree_game``), where its iterations draw worlds
    from (``_worlds``), and what is seen (``cheats``).
    """

    budget = "{0.trees}x{0.iterations}"
    options: TreeOptions

    def __init__(self, options: TreeOptions) -> None:
        super().__init__(options)
        self.finish = options.finish
        self._policy, self._bound = options.simulation_function(), options.selection_function()
        self._trees: list[Tree] = []

    def _search(self, view: ViewOrState, position: Position, rng: np.random.Generator) -> Decision:
        while len(self._trees) < self.options.trees:
            self._trees.append(new_tree(2 * self.options.iterations + 256))
        for tree in self._trees:
            clear(tree)
        seed = np.uint64(rng.integers(0, 2**64, dtype=np.uint64))
        worlds = self._worlds(view, rng)
        threads = min(check_threads(self.options.threads), self.options.trees)

        grow = partial(self._grow_tree, position, worlds, seed, threads)
        if threads == 1:
            for index in range(self.options.trees):
                grow(index)
        else:
            with ThreadPoolExecutor(threads) as workers:
                list(workers.map(grow, range(self.options.trees)))
        return choose_from_visits(self._trees, position.row, position.rules)

    def candidates(self, view: ViewOrState) -> list[Candidate]:
        """List the complete moves that the last search tried, each with its expected continuation."""
        return candidates_of(self._trees, view.row, view.rule_words)

    def _worlds(self, view: Any, rng: np.random.Generator) -> WorldPool | None:
        """Return the pool of determinizations to draw from, or None if each tree searches a single game."""
        return None

    def _draw_tree_game(self, position: Position, state: np.uint64) -> tuple[Position, np.uint64]:
        """Return the game that a tree searches, which some subclasses draw, and the generator's new state."""
        return position, state

    def _grow_tree(
        self, position: Position, worlds: WorldPool | None, seed: np.uint64, threads: int, index: int
    ) -> None:
        """Spend the search budget of one tree, doubling the tree's capacity whenever it is full."""
        options, tree = self.options, self._trees[index]
        game, state = self._draw_tree_game(position, np.uint64(stream_state(seed, np.uint64(index))))
        clock = Clock(options.milliseconds_per_tree(threads))
        trace, exploration = new_trace(), float(options.exploration)
        functions, look = (self._bound, worlds, self._policy), _LOOK if self._policy is None else _LOOK_SLOW
        left = options.iterations if options.milliseconds is None else look
        while left > 0:
            done, state = search(tree, trace, game, left, exploration, *functions, options.finish, np.uint64(state))
            if done < left:
                self._trees[index] = tree = double_capacity(tree)
            left -= done
            if left == 0 and not clock.is_over():
                left = look


class IsUctAgent(TreeSearchAgent[View]):
    """Information-set UCT (Whitehouse, Powley and Cowling 2011, figure 2): one tree, a fresh world each time.

    Example:
        >>> state = State.new(seed=1)
        >>> agent = IsUctAgent(iterations=200)
        >>> agent.act(state.view(), np.random.default_rng(0)) in state.legal_moves()
        True
    """

    options: IsUctOptions

    @takes_options(IsUctOptions)
    def __init__(self, options: IsUctOptions) -> None:
        super().__init__(options)

    def _worlds(self, view: View, rng: np.random.Generator) -> WorldPool:
        return check_pool(self.options.world_sampler()(view, rng), view)

    def believe(self, view: View, rng: np.random.Generator) -> Belief:
        """Return the belief about the hidden cards from which the agent's determinizations are drawn."""
        return belief_of(view, self._worlds(view, rng))


class DeterminizedUctAgent(TreeSearchAgent[View]):
    """Determinized UCT: independent trees, each on one determinization; root visits are added up (section III.D)."""

    @takes_options(TreeOptions)
    def __init__(self, options: TreeOptions) -> None:
        super().__init__(options)

    def _draw_tree_game(self, position: Position, state: np.uint64) -> tuple[Position, np.uint64]:
        row = np.empty(ROW_WORDS, np.uint64)
        state = np.uint64(draw_game(*position, state, row))
        return position._replace(row=row), state


class CheatingUctAgent(TreeSearchAgent[State]):
    """UCT on the true game, as many trees as determinized UCT has (root parallel); it declares that it cheats."""

    cheats = True

    @takes_options(TreeOptions)
    def __init__(self, options: TreeOptions) -> None:
        super().__init__(options)
