"""Search agents: compositions of the kernels, built over a handful of options."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from numba.extending import is_jitted

from agents.mcts.choice import choose, finishing_move, only_move
from agents.mcts.errors import InvalidSearchOptionError, check_budget, check_choice, check_count
from agents.mcts.reuse import Memory
from agents.mcts.search import search
from agents.mcts.settings import COUNTS, FINAL, PRIORS, SELECTIONS, SIMULATIONS, Settings
from agents.mcts.simulate_planned import Plan, new_plan
from agents.mcts.tree import Tree, clear, grown, new_tree
from agents.worlds.consistency import check_start, check_view
from agents.worlds.determinize import draw_game
from agents.worlds.inferred import MOST_PARTICLES, inferred_pool
from agents.worlds.pool import Pool, uniform
from ddz_env import Move, Rules, State, View
from ddz_env.agent import Decision
from ddz_env.engine.layout import ROW_WORDS, SEAT
from ddz_env.engine.random import key
from ddz_env.errors import IllegalMoveError
from ddz_env.threads import usable_threads

MOST_ITERATIONS = 100_000_000
"""More are an error: compiled code counts records, up to four an iteration, in 32 bits and does not check them."""
_TIME_SLICE = 256
"""Iterations between two looks at the clock."""
_SLICE_GUIDED = 16
"""The same for simulations that cost more."""

Policy = Callable[[Any, Any, Any, Any], Any]


class TreeSearchAgent:
    """Trees over one decision and the choice from their visits; the agents below say which games they search.

    Args:
        iterations: Iterations a tree, at most 100,000,000; the agent's own number if None.
        trees: Trees, each with its own random numbers; their statistics are added up at the root.
        milliseconds: Thinking time a decision instead of iterations; results then depend on the machine.
        exploration: The constant ``k`` of figure 2 (or PUCT's), on rewards 0 (loss) to 1 (win).
        simulation: ``random``, ``planned`` or ``rules``, or a policy of your own: a function compiled by Numba that
            takes (row, rules, mask, state), plays the row to its end and returns the generator's new state; as text
            ``package.module.function``.
        selection: ``ucb`` (figure 2) or ``puct``.
        counts: What the logarithm of UCB counts: ``parent`` (figure 2) or ``availability``.
        prior: PUCT's prior: ``uniform``, or ``rules`` for the rule agent's move first.
        final: Choose the move with most ``visits``, or with the best ``value`` among those with enough.
        finish: Take a finishing move at once, in simulations too; without it the search is figure 2 to the letter.
        threads: Threads that grow the trees; the result does not depend on them.

    Raises:
        InvalidBudgetError: If a number is out of range, or one that counts is not whole.
        InvalidSearchOptionError: If an option's value does not exist, or another option contradicts it.
    """

    cheats = False
    _fixed = True
    _trees = 40
    _iterations = 250

    def __init__(
        self,
        iterations: int | None = None,
        *,
        trees: int | None = None,
        milliseconds: float | None = None,
        exploration: float = 1.0,
        simulation: str | Policy = "random",
        selection: str = "ucb",
        counts: str = "parent",
        prior: str = "uniform",
        final: str = "visits",
        finish: bool = True,
        threads: int = 1,
    ) -> None:
        chosen = self._iterations if iterations is None else iterations
        self.iterations = check_count("iterations", chosen, 1, MOST_ITERATIONS)
        self.trees = check_count("trees", self._trees if trees is None else trees, 1)
        check_budget("exploration", exploration, 0)
        check_budget("milliseconds", 1 if milliseconds is None else milliseconds, 0.1)
        self.milliseconds = milliseconds
        self.threads = usable_threads(threads)
        self._policy = _policy(simulation)
        puct = check_choice("selection", selection, SELECTIONS) == 1
        availability = check_choice("counts", counts, COUNTS) == 1
        guided = check_choice("prior", prior, PRIORS) == 1
        self._by_value = check_choice("final", final, FINAL) == 1
        if puct and availability:
            raise InvalidSearchOptionError("counts='availability' is a form of UCB: not with selection='puct'")
        if guided and not puct:
            raise InvalidSearchOptionError("prior='rules' needs selection='puct'")
        simulated = 0 if self._policy else SIMULATIONS.index(str(simulation))
        self.finish = bool(finish)
        self.settings = Settings(
            np.float64(exploration),
            np.bool_(self._fixed),
            np.bool_(finish),
            np.int64(simulated),
            np.bool_(puct),
            np.bool_(availability),
            np.bool_(guided),
        )
        self._needs_plan = bool(simulated or guided)
        self._slice = _SLICE_GUIDED if self._needs_plan or self._policy else _TIME_SLICE
        self._grown: list[Tree] = []
        self._plans: list[Plan | None] = []

    @property
    def name(self) -> str:
        """The agent's class and budget."""
        budget = f"{self.milliseconds:g}ms" if self.milliseconds else f"{self.trees}x{self.iterations}"
        return f"{type(self).__name__}({budget})"

    def act(self, view: View, rng: np.random.Generator) -> Move:
        """Search and return the chosen move."""
        return self.decide(view, rng).move

    def decide(self, view: View, rng: np.random.Generator) -> Decision:
        """Search and return the move with the statistics of the search."""
        return self._decide(view, rng)

    def _decide(self, view: View | State, rng: np.random.Generator) -> Decision:
        root, seat, rules = view.row, int(view.seat), view.rule_words
        if self.cheats:
            check_start(root)
        else:
            check_view(root, seat, rules)
        if int(root[SEAT]) != seat:
            raise IllegalMoveError(f"seat {seat} is asked to act, but it is seat {int(root[SEAT])}'s turn")
        move = only_move(root, rules)
        if move is not None:
            return Decision(move)
        move = finishing_move(root, seat, rules) if self.finish else None
        if move is not None:
            return Decision(move, line=move.actions)
        return self._search(view, rng)

    def _search(self, view: View | State, rng: np.random.Generator) -> Decision:
        """Search a decision of several moves."""
        root, rules = view.row, view.rule_words
        self._prepare(view)
        seed = np.uint64(rng.integers(0, 2**64, dtype=np.uint64))
        self._grow_all(root, int(view.seat), rules, self._pool(view, rng), seed)
        return choose(self._grown[: self.trees], root, rules, self._by_value)

    def _prepare(self, view: View | State) -> None:
        """Make the trees ready: bare roots."""
        while len(self._grown) < self.trees:
            self._grown.append(new_tree(2 * self.iterations + 256))
            self._plans.append(new_plan() if self._needs_plan else None)
        for tree in self._grown:
            clear(tree)

    def _pool(self, view: View | State, rng: np.random.Generator) -> Pool:
        """The determinizations to draw from."""
        return uniform()

    def _root(
        self, root: npt.NDArray[np.uint64], seat: int, rules: npt.NDArray[np.uint64], state: np.uint64
    ) -> tuple[npt.NDArray[np.uint64], np.uint64]:
        """The row that a tree searches from, and the generator's state after drawing it."""
        return root, state

    def _grow_all(
        self, root: npt.NDArray[np.uint64], seat: int, rules: npt.NDArray[np.uint64], pool: Pool, seed: np.uint64
    ) -> None:
        """Grow every tree from its own random numbers, on as many threads as wanted."""
        share = (
            None if self.milliseconds is None else self.milliseconds / 1000 * min(self.threads, self.trees) / self.trees
        )

        def grow(index: int) -> None:
            row, state = self._root(root, seat, rules, np.uint64(key(seed, np.uint64(index))))
            self._grow_tree(index, row, seat, rules, pool, state, share)

        if self.threads == 1 or self.trees == 1:
            for index in range(self.trees):
                grow(index)
            return
        grow(0)  # compiles, where nothing is compiled yet
        with ThreadPoolExecutor(min(self.threads, self.trees)) as workers:
            list(workers.map(grow, range(1, self.trees)))

    def _grow_tree(
        self,
        index: int,
        root: npt.NDArray[np.uint64],
        seat: int,
        rules: npt.NDArray[np.uint64],
        pool: Pool,
        state: np.uint64,
        seconds: float | None,
    ) -> None:
        """Run one tree's budget, growing its arrays when they are full."""
        stop = time.perf_counter() + (seconds or 0.0)
        left = self.iterations if seconds is None else self._slice
        plan = self._plans[index]
        while left > 0:
            done, state = search(
                self._grown[index], root, seat, rules, left, self.settings, pool, plan, self._policy, state
            )
            state = np.uint64(state)
            if done < left:
                self._grown[index] = grown(self._grown[index])
            left -= done
            if left == 0 and seconds is not None and time.perf_counter() < stop:
                left = self._slice


class IsUctAgent(TreeSearchAgent):
    """Information-set UCT (Whitehouse, Powley and Cowling 2011, figure 2): one tree, a fresh determinization each time.

    Besides the options of every search:

    Args:
        reuse: Keep the part of the tree below the moves that were played.
        particles: Draw determinizations from so many, weighted by how plausible the hidden seats' past moves are
            (:mod:`agents.worlds`); 0 for uniform ones.

    Example:
        >>> state = State.new(seed=1)
        >>> agent = IsUctAgent(iterations=200)
        >>> agent.act(state.view(), np.random.default_rng(0)) in state.legal_moves()
        True
    """

    _fixed = False
    _trees = 1
    _iterations = 10_000

    def __init__(
        self,
        iterations: int | None = None,
        *,
        trees: int | None = None,
        milliseconds: float | None = None,
        exploration: float = 1.0,
        simulation: str | Policy = "random",
        selection: str = "ucb",
        counts: str = "parent",
        prior: str = "uniform",
        final: str = "visits",
        finish: bool = True,
        threads: int = 1,
        reuse: bool = False,
        particles: int = 0,
    ) -> None:
        super().__init__(
            iterations,
            trees=trees,
            milliseconds=milliseconds,
            exploration=exploration,
            simulation=simulation,
            selection=selection,
            counts=counts,
            prior=prior,
            final=final,
            finish=finish,
            threads=threads,
        )
        self.particles = check_count("particles", particles, 0, MOST_PARTICLES)
        self._memory = Memory() if reuse else None

    def reset(self, seat: int, rules: Rules) -> None:
        """Forget the last game."""
        if self._memory is not None:
            self._memory = Memory()

    def _prepare(self, view: View | State) -> None:
        super_trees = self._grown[: self.trees]
        if self._memory is None or not super_trees or not self._memory.follow(super_trees, view):
            super()._prepare(view)
        if self._memory is not None:
            self._memory.remember(view)

    def _pool(self, view: View | State, rng: np.random.Generator) -> Pool:
        return inferred_pool(view, rng, self.particles) if isinstance(view, View) else uniform()


class DeterminizedUctAgent(TreeSearchAgent):
    """Determinized UCT: independent trees, each on one determinization; root visits are added up (section III.D)."""

    def _root(
        self, root: npt.NDArray[np.uint64], seat: int, rules: npt.NDArray[np.uint64], state: np.uint64
    ) -> tuple[npt.NDArray[np.uint64], np.uint64]:
        row = np.empty(ROW_WORDS, np.uint64)
        return row, np.uint64(draw_game(root, seat, rules, state, row))


class CheatingUctAgent(TreeSearchAgent):
    """UCT on the true game, as many trees as determinized UCT has (root parallel); it declares that it cheats."""

    cheats = True

    def act(self, state: State, rng: np.random.Generator) -> Move:  # type: ignore[override]  # a cheat gets the State
        """Search the true game and return the chosen move."""
        return self._decide(state, rng).move

    def decide(self, state: State, rng: np.random.Generator) -> Decision:  # type: ignore[override]  # likewise
        """Search the true game and return the move with the statistics of the search."""
        return self._decide(state, rng)


def _policy(simulation: str | Policy) -> Policy | None:
    """A simulation policy of the user's own, itself or by its dotted name; None for one of ours."""
    found: object = simulation
    if isinstance(simulation, str) and "." in simulation:
        module, _, name = simulation.rpartition(".")
        try:
            found = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError, ValueError, TypeError) as error:
            raise InvalidSearchOptionError(f"simulation={simulation!r} names no function: {error}") from error
    elif not callable(simulation):
        check_choice("simulation", simulation, SIMULATIONS)
        return None
    if not is_jitted(found):
        raise InvalidSearchOptionError(f"simulation={simulation!r} is no function compiled by Numba")
    return cast("Policy", found)
