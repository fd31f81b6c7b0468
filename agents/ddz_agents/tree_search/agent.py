"""The tree search agents: what they share with every search, how they grow their trees, and which games they search."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar, Generic, TypeVar, cast

import numpy as np

from ddz_agents.open_cards.solver.endgame import EndgameSolver, endgame_solver
from ddz_agents.tree_search.choice import candidates_of, choose, finishing_move, only_move
from ddz_agents.tree_search.options import RANDOM, IsUctOptions, TreeOptions
from ddz_agents.tree_search.search import Position, search, spend
from ddz_agents.tree_search.simulate_planned import Plan, new_plan
from ddz_agents.tree_search.tree import ROOT, Tree, child_of, clear, new_tree, replant
from ddz_agents.worlds.consistency import check_hands, check_start, check_turn, check_view
from ddz_agents.worlds.determinize import WorldPool, belief_of, draw_game, uniform
from ddz_agents.worlds.inference import inferred_pool
from ddz_env import Move, Rules, State, View
from ddz_env.core.engine.layout import HANDS, PLAYED, ROW_WORDS
from ddz_env.core.engine.random import key
from ddz_env.core.engine.words import add_hand
from ddz_env.core.options import takes
from ddz_env.core.owned import OwnsArrays
from ddz_env.envs.threads import usable_threads
from ddz_env.playing.agent import Decision
from ddz_env.playing.thoughts import Belief, Candidate

_LOOK, _LOOK_SLOW = 256, 16
"""Iterations between two looks at the clock; fewer of those whose simulations cost more."""

Sight = TypeVar("Sight", bound=View | State)
"""What an agent gets to see: a view, or for one that cheats the state."""


class SearchAgent(OwnsArrays, ABC, Generic[Sight]):
    """What all searches share: they refuse what they cannot search, and play at once what needs no search."""

    cheats = False
    finish = True
    """Whether a finishing move is taken at once."""
    endgame: EndgameSolver | None = None
    """What solves the worlds of an endgame in place of the search."""
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
        solved = self.endgame.decision(cast("View", view), rng) if self.endgame is not None else None
        return self._search(view, position, rng) if solved is None else solved

    @abstractmethod
    def _search(self, view: Sight, position: Position, rng: np.random.Generator) -> Decision:
        """Search a decision of several moves."""


class TreeSearchAgent(SearchAgent[Sight]):
    """Grows trees over one decision and chooses from their visits.

    Agents differ in these: which games a tree is about (``fixed``, ``_game_of_tree``), where worlds are drawn from
    (``_worlds``), whether trees go on from the last decision (``_plant_trees``), and what is seen (``cheats``).

    Args:
        *values: One object of the agent's options, or some of them in their order.
        **named: Options by name.

    Raises:
        InvalidAgentOptionError: If there is no such option, its value is not allowed, or two contradict each other.
    """

    options_type: ClassVar[type[TreeOptions]] = TreeOptions
    fixed = True
    """Whether a tree is about one game, not about determinizations."""

    def __init__(self, *values: Any, **named: Any) -> None:
        self.options = self.options_type.of(*values, **named)
        self.settings = self.options.settings(self.fixed)
        self.finish = self.options.finish
        self._policy = self.options.policy()
        self._needs_plan = bool(self.settings.simulation != RANDOM or self.settings.guided)
        self._trees: list[Tree] = []
        self._plans: list[Plan | None] = []

    @property
    def _budget(self) -> str:
        return f"{self.options.trees}x{self.options.iterations}"

    def _search(self, view: Sight, position: Position, rng: np.random.Generator) -> Decision:
        self._plant_trees(view)
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
            search(self._trees[0], game, 0, self.settings, worlds, self._plans[0], self._policy, state)  # compiles
            with ThreadPoolExecutor(threads) as workers:
                list(workers.map(grow, range(self.options.trees)))
        return choose(self._trees, position.row, position.rules, self.options.final == "value")

    def candidates(self, view: Sight) -> list[Candidate]:
        """The whole moves that the last search has tried in this position, with the line that it expects after each."""
        return candidates_of(self._trees, view.row, view.rule_words)

    def _plant_trees(self, view: Sight) -> None:
        """Make the trees ready: bare roots."""
        while len(self._trees) < self.options.trees:
            self._trees.append(new_tree(2 * self.options.iterations + 256))
            self._plans.append(new_plan() if self._needs_plan else None)
        for tree in self._trees:
            clear(tree)

    def _worlds(self, view: Sight, rng: np.random.Generator) -> WorldPool:
        """The determinizations to draw from."""
        return uniform()

    def _game_of_tree(self, position: Position, state: np.uint64) -> tuple[Position, np.uint64]:
        """What a tree searches, and the generator's state after drawing it."""
        return position, state

    def _grow_tree(self, index: int, game: Position, worlds: WorldPool, state: np.uint64, threads: int) -> None:
        """Spend one tree's budget."""
        options, plan, policy = self.options, self._plans[index], self._policy

        def run(trees: list[Tree], iterations: int, state: np.uint64) -> tuple[int, np.uint64]:
            return search(trees[0], game, iterations, self.settings, worlds, plan, policy, state)

        trees = [self._trees[index]]
        seconds = None if options.milliseconds is None else options.milliseconds / 1000 * threads / options.trees
        slow = self._needs_plan or policy is not None
        spend(run, trees, state, options.iterations, seconds, _LOOK_SLOW if slow else _LOOK)
        self._trees[index] = trees[0]


class Memory(OwnsArrays):
    """The public history of the last search, and the cards and rules it was about: where its trees go on."""

    def __init__(self) -> None:
        self._seat = -1
        self._seen: list[tuple[int, Move]] = []
        self._game: tuple[int, bytes] = (0, b"")
        self._spare: Tree | None = None

    def remember(self, view: View | State) -> None:
        """Note that the trees now stand at this position."""
        self._seat, self._seen, self._game = int(view.seat), list(view.history), _cards_and_rules(view)

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
        same = _cards_and_rules(view) == self._game and int(view.seat) == self._seat
        if not same or len(now) <= len(seen) or now[: len(seen)] != seen:
            return False
        nodes = [ROOT] * len(trees)
        for action in [action for _, move in now[len(seen) :] for action in move.actions]:
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


def _cards_and_rules(view: View | State) -> tuple[int, bytes]:
    """All cards that the seat to act has had, and the rules: they stay the same from one move of a game to the next."""
    seat = int(view.seat)
    return int(add_hand(view.row[HANDS + seat], view.row[PLAYED + seat])), view.rule_words.tobytes()


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

    def __init__(self, *values: Any, **named: Any) -> None:
        super().__init__(*values, **named)
        self._memory = Memory() if self.options.reuse else None
        self.endgame = endgame_solver(self.options.endgame, self.options.particles)

    def reset(self, seat: int, rules: Rules) -> None:
        """Forget the last game."""
        if self._memory is not None:
            self._memory = Memory()

    def _plant_trees(self, view: View) -> None:
        if self._memory is None or not self._trees or not self._memory.follow(self._trees, view):
            super()._plant_trees(view)
        if self._memory is not None:
            self._memory.remember(view)

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
