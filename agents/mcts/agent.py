"""Search agents: compositions of the kernels, built over a handful of options."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from agents.mcts.determinize import draw_game
from agents.mcts.search import search
from agents.mcts.simulate import finishing_action
from agents.mcts.tree import ROOT, Tree, children, clear, grown, new_tree
from agents.protocol import Decision
from ddz_env import Move, State, View
from ddz_env.actions import KICKER_BASE, MAIN_GROUPS
from ddz_env.engine.layout import HANDS, ROW_WORDS, SEAT, STAGE, STAGE_KICKER, STAGE_PLAY
from ddz_env.engine.legal import legal_mask, nth_legal
from ddz_env.engine.random import key
from ddz_env.engine.step import apply_action, main_cards
from ddz_env.engine.tables import MASK_WORDS
from ddz_env.engine.words import remove_hand
from ddz_env.errors import DouDizhuError, IllegalMoveError

_TIME_SLICE = 256
"""Iterations between two looks at the clock."""


class InvalidBudgetError(DouDizhuError):
    """A search budget or constant outside its range."""


def _check(name: str, value: float, least: float) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= least or value == float("inf"):
        raise InvalidBudgetError(f"{name}={value!r} must be a number of at least {least}")


class _TreeSearch:
    """Trees over one decision and the choice from their visits; the agents below say which games they search.

    Args:
        trees: Trees, each with its own share of the budget.
        iterations: Iterations a tree.
        milliseconds: Thinking time a decision instead of iterations; results then depend on the machine.
        exploration: The constant ``k`` of figure 2, on rewards 0 (loss) to 1 (win).

    Raises:
        InvalidBudgetError: If an argument is out of range.
    """

    cheats = False
    _fixed = True

    def __init__(
        self, trees: int, iterations: int, milliseconds: float | None = None, exploration: float = 1.0
    ) -> None:
        _check("trees", trees, 1)
        _check("iterations", iterations, 1)
        _check("exploration", exploration, 0)
        if milliseconds is not None:
            _check("milliseconds", milliseconds, 0.1)
        self.trees = int(trees)
        self.iterations = int(iterations)
        self.milliseconds = milliseconds
        self.exploration = float(exploration)
        self._pool: list[Tree] = []

    @property
    def name(self) -> str:
        """The agent's class and budget."""
        budget = f"{self.milliseconds:g}ms" if self.milliseconds else f"{self.trees}x{self.iterations}"
        return f"{type(self).__name__}({budget})"

    def act(self, view: View, rng: np.random.Generator) -> Move:
        """Search and return the most visited move."""
        return self._decide(view.row, view.seat, view.rule_words, rng).move

    def decide(self, view: View, rng: np.random.Generator) -> Decision:
        """Search and return the move with the statistics of the search."""
        return self._decide(view.row, view.seat, view.rule_words, rng)

    def _decide(
        self, root: npt.NDArray[np.uint64], seat: int, rules: npt.NDArray[np.uint64], rng: np.random.Generator
    ) -> Decision:
        if int(root[SEAT]) != seat:
            raise IllegalMoveError(f"seat {seat} is asked to act, but it is seat {int(root[SEAT])}'s turn")
        mask = np.empty(MASK_WORDS, np.uint64)
        legal_mask(root, rules, mask)
        total = sum(int(word).bit_count() for word in mask)
        if total == 0:
            raise IllegalMoveError("there is no legal move: the game is over")
        forced = int(nth_legal(mask, np.uint64(0)))
        if total == 1 and not (forced < KICKER_BASE and MAIN_GROUPS[forced].kicker_count):
            return Decision(Move(forced), {}, {}, ())
        finish = _finishing_move(root, seat, mask)
        if finish is not None:
            return Decision(finish, {}, {}, finish.actions)
        seed = np.uint64(rng.integers(0, 2**64, dtype=np.uint64))
        self._run(root, seat, rules, seed)
        return _choose(self._pool, root, rules)

    def _root(
        self, root: npt.NDArray[np.uint64], seat: int, rules: npt.NDArray[np.uint64], state: np.uint64
    ) -> tuple[npt.NDArray[np.uint64], np.uint64]:
        """The row that a tree searches from, and the generator's state after drawing it."""
        return root, state

    def _run(self, root: npt.NDArray[np.uint64], seat: int, rules: npt.NDArray[np.uint64], seed: np.uint64) -> None:
        share = None if self.milliseconds is None else self.milliseconds / self.trees / 1000
        for index in range(self.trees):
            if index == len(self._pool):
                self._pool.append(new_tree(2 * self.iterations + 256))
            clear(self._pool[index])
            state = np.uint64(key(seed, np.uint64(index)))
            row, state = self._root(root, seat, rules, state)
            self._grow_tree(index, row, seat, rules, state, share)

    def _grow_tree(
        self,
        index: int,
        root: npt.NDArray[np.uint64],
        seat: int,
        rules: npt.NDArray[np.uint64],
        state: np.uint64,
        seconds: float | None,
    ) -> None:
        """Run one tree's budget, growing its arrays when they are full."""
        stop = time.perf_counter() + (seconds or 0.0)
        left = self.iterations if seconds is None else _TIME_SLICE
        while left > 0:
            done, state = search(self._pool[index], root, seat, rules, left, self.exploration, self._fixed, state)
            state = np.uint64(state)
            if done < left:
                self._pool[index] = grown(self._pool[index])
            left -= done
            if left == 0 and seconds is not None and time.perf_counter() < stop:
                left = _TIME_SLICE


class IsUctAgent(_TreeSearch):
    """Information-set UCT (Whitehouse, Powley and Cowling 2011, figure 2): one tree, a fresh determinization each time.

    Example:
        >>> state = State.new(seed=1)
        >>> agent = IsUctAgent(iterations=200)
        >>> agent.act(state.view(), np.random.default_rng(0)) in state.legal_moves()
        True
    """

    _fixed = False

    def __init__(self, iterations: int = 10_000, milliseconds: float | None = None, exploration: float = 1.0) -> None:
        super().__init__(1, iterations, milliseconds, exploration)


class DeterminizedUctAgent(_TreeSearch):
    """Determinized UCT: independent trees, each on one determinization; root visits are added up (section III.D)."""

    def __init__(
        self,
        trees: int = 40,
        iterations: int = 250,
        milliseconds: float | None = None,
        exploration: float = 1.0,
    ) -> None:
        super().__init__(trees, iterations, milliseconds, exploration)

    def _root(
        self, root: npt.NDArray[np.uint64], seat: int, rules: npt.NDArray[np.uint64], state: np.uint64
    ) -> tuple[npt.NDArray[np.uint64], np.uint64]:
        row = np.empty(ROW_WORDS, np.uint64)
        return row, np.uint64(draw_game(root, seat, rules, state, row))


class CheatingUctAgent(DeterminizedUctAgent):
    """UCT on the true game, as many trees as determinized UCT has (root parallel); it declares that it cheats."""

    cheats = True

    def act(self, state: State, rng: np.random.Generator) -> Move:  # type: ignore[override]  # a cheat gets the State
        """Search the true game and return the most visited move."""
        return self._decide(state.row, state.seat, state.rule_words, rng).move

    def decide(self, state: State, rng: np.random.Generator) -> Decision:  # type: ignore[override]  # likewise
        """Search the true game and return the move with the statistics of the search."""
        return self._decide(state.row, state.seat, state.rule_words, rng)

    def _root(
        self, root: npt.NDArray[np.uint64], seat: int, rules: npt.NDArray[np.uint64], state: np.uint64
    ) -> tuple[npt.NDArray[np.uint64], np.uint64]:
        return root, state


def _finishing_move(root: npt.NDArray[np.uint64], seat: int, mask: npt.NDArray[np.uint64]) -> Move | None:
    """A legal move that empties the hand: no search can find a better one."""
    if int(root[STAGE]) != STAGE_PLAY:
        return None
    hand = root[HANDS + seat]
    main = np.uint64(finishing_action(hand, mask))
    return Move.from_words(int(main), int(remove_hand(hand, main_cards(main)))) if main else None


def _totals(trees: Sequence[Tree], nodes: Sequence[int]) -> tuple[dict[int, int], dict[int, float]]:
    """Visits and rewards of the children of one node in every tree, added up by action, ascending."""
    visits: dict[int, int] = {}
    rewards: dict[int, float] = {}
    for tree, node in zip(trees, nodes, strict=True):
        if node < 0:
            continue
        block = children(tree, node)
        for action, count, reward in zip(
            tree.action[block].tolist(), tree.visits[block].tolist(), tree.reward[block].tolist(), strict=True
        ):
            visits[action] = visits.get(action, 0) + count
            rewards[action] = rewards.get(action, 0.0) + reward
    return dict(sorted(visits.items())), rewards


def _descend(trees: Sequence[Tree], nodes: Sequence[int], action: int) -> list[int]:
    """The record of an action's child in every tree, -1 where it does not exist."""
    found = []
    for tree, node in zip(trees, nodes, strict=True):
        record = -1
        if node >= 0:
            block = children(tree, node)
            matches = np.flatnonzero(tree.action[block] == action)
            record = block.start + int(matches[0]) if matches.size else -1
        found.append(record)
    return found


def _choose(trees: Sequence[Tree], root: npt.NDArray[np.uint64], rules: npt.NDArray[np.uint64]) -> Decision:
    """The most visited move, stage by stage; the lowest action wins a tie."""
    nodes: Sequence[int] = [ROOT] * len(trees)
    visits, rewards = _totals(trees, nodes)
    row = root.copy()
    line: list[int] = []
    action = _next_action(visits, row, rules)
    while True:
        line.append(action)
        apply_action(row, np.uint64(action), rules)
        if int(row[STAGE]) != STAGE_KICKER:
            break
        nodes = _descend(trees, nodes, action)
        action = _next_action(_totals(trees, nodes)[0], row, rules)
    values = {action: rewards[action] / count for action, count in visits.items() if count}
    main, kickers = line[0], tuple(action - KICKER_BASE for action in line[1:])
    return Decision(Move(main, kickers), visits, values, tuple(line))


def _next_action(visits: dict[int, int], row: npt.NDArray[np.uint64], rules: npt.NDArray[np.uint64]) -> int:
    """The most visited action; the lowest legal one where the budget never reached this stage."""
    if visits:
        return max(visits, key=lambda action: (visits[action], -action))
    mask = np.empty(MASK_WORDS, np.uint64)
    legal_mask(row, rules, mask)
    return int(nth_legal(mask, np.uint64(0)))
