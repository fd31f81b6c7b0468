"""Root parallelism: several trees for one decision, whose statistics are added up at the root.

Each tree has its own random numbers; what their leaves wait for is answered for all of them in one call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from ddz_agents.neural.model import Floats
from ddz_agents.neural_search.descent import (
    Descents,
    Priors,
    continue_descents,
    descend,
    double_prior_capacity,
    expand_and_backpropagate,
    new_descents,
    new_priors,
    new_searcher,
    update_prior,
)
from ddz_agents.neural_search.leaf_games import GAME_OVER, NEEDS_PLAYER, LeafBatch
from ddz_agents.tree_search.choice import ChildStatistics, sum_child_statistics, whole_moves_of
from ddz_agents.tree_search.tree import ROOT, Tree, clear, double_capacity, new_tree
from ddz_agents.worlds.determinize import Words, WorldPool
from ddz_env import Move, View
from ddz_env.core.actions import MAX_KICKERS
from ddz_env.core.engine.layout import MOVES, SEAT
from ddz_env.playing.agent import Agent
from ddz_env.playing.many import WaitingGames, request_moves
from ddz_env.support.arrays import WritableAfterUnpickling

_FIRST_ROOM = 1 << 14
"""Records of a new tree; trees grow when they are full."""


class RootParallelTrees(WritableAfterUnpickling):
    """The trees of a root-parallel search for one decision, and the descents in progress in them.

    Args:
        count: How many trees.
        batch: Descents in flight per tree.
        exploration: PUCT's constant below the root.
        players: The seats that are not searched: the agent that moves for each.

    Attributes:
        trees: The trees.
        priors: The priors of each.
        batch: Descents in flight per tree.
        descents: Those in flight, ``batch`` of each tree.
    """

    def __init__(self, count: int, batch: int, exploration: float, players: Mapping[int, Agent]) -> None:
        self.trees: list[Tree] = [new_tree(_FIRST_ROOM) for _ in range(count)]
        self.priors: list[Priors] = [new_priors(_FIRST_ROOM) for _ in range(count)]
        self.batch = batch
        self.descents = new_descents(count * batch)
        self._exploration, self._players = exploration, players

    def begin(self, view: View, log_priors: Floats, pool: WorldPool, states: Sequence[np.uint64]) -> None:
        """Begin a decision with trees that hold only the root's moves and their priors.

        Args:
            view: What the searcher knows.
            log_priors: Logarithms of the root's prior, shape ``[400]``, float32.
            pool: Weighted determinizations to draw from; empty for uniform ones.
            states: The state of each tree's generator.
        """
        self.clear()
        played = np.array([seat in self._players for seat in range(3)], np.uint8)
        self._searcher = new_searcher(view, pool, played, self._exploration)
        self._view, self._states, self._deals = view, list(states), list(states)
        for tree, priors in zip(self.trees, self.priors, strict=True):
            update_prior(tree, priors, ROOT, log_priors)

    def clear(self) -> None:
        """Empty all trees and forget the descents of the last decision."""
        self.descents.games.waits.fill(GAME_OVER)
        for tree in self.trees:
            clear(tree)

    def select(self, firsts: npt.NDArray[np.int16], rng: np.random.Generator) -> LeafBatch:
        """Descend every tree, ask agents for their seats' moves on the way, and return the leaves reached.

        Args:
            firsts: The root's action of each descent of a tree; at most ``batch``.
            rng: The players' generator.

        Returns:
            Copies of the positions where they stop, tree by tree.

        Raises:
            AgentFaultError: If a player raises.
            IllegalAgentMoveError: If a player's answer is not a legal move.
        """
        share = len(firsts)
        self._parts = [
            self.descents.part(slice(i * self.batch, i * self.batch + share)) for i in range(len(self.trees))
        ]
        for index, part in enumerate(self._parts):
            self._descend(index, part, firsts)
        while self._players and self._ask_players(rng):
            pass
        waiting = [index * self.batch + np.flatnonzero(part.games.waits) for index, part in enumerate(self._parts)]
        return LeafBatch(self.descents.games.part(np.concatenate(waiting)), self._view.rules)

    def backpropagate(self, log_priors: Floats, landlords: Words, landlord_chances: Floats) -> None:
        """Expand the leaves of the last :meth:`select`, and backpropagate their values.

        Args:
            log_priors: Logarithms of their priors, shape ``[n, 400]``, float32.
            landlords: The landlord of each, in an auction the one of its playout, shape ``[n]``, uint64.
            landlord_chances: The landlord's chances there, 0 to 1, shape ``[n]``, float32.
        """
        first = 0
        for index, part in enumerate(self._parts):
            leaves = slice(first, first + int(np.count_nonzero(part.games.waits)))
            first = leaves.stop
            answers = log_priors[leaves], landlords[leaves], landlord_chances[leaves]
            if not expand_and_backpropagate(self.trees[index], self.priors[index], part, *answers):
                self._grow(index)

    def root_statistics(self) -> ChildStatistics:
        """Return the visits, rewards and priors of the root's actions, added up over the trees."""
        return sum_child_statistics(self.trees, [ROOT] * len(self.trees))

    def _descend(self, index: int, part: Descents, firsts: npt.NDArray[np.int16]) -> None:
        """Run the descents of one tree, growing the tree when it is full."""
        while True:
            tree, priors, deal, state = self.trees[index], self.priors[index], self._deals[index], self._states[index]
            done, state = descend(tree, priors, self._searcher, part, firsts, deal, state)
            self._states[index] = np.uint64(state)
            if done == len(firsts):
                return
            self._grow(index)
            part, firsts = part.part(slice(done, None)), firsts[done:]

    def _ask_players(self, rng: np.random.Generator) -> bool:
        """Ask one player for its moves in all games that wait for it, and return whether any game did."""
        games = self.descents.games
        numbers = np.flatnonzero(games.waits == NEEDS_PLAYER)
        if not len(numbers):
            return False
        seat = games.rows[numbers[0], SEAT]
        numbers = numbers[games.rows[numbers, SEAT] == seat]
        waiting = WaitingGames(
            games.rows[numbers], games.rings[numbers], self._view.rules, lambda _: rng, self._move_logs(numbers)
        )
        moves = _actions_of_moves(request_moves(self._players[int(seat)], waiting))
        for index, part in enumerate(self._parts):
            own = numbers // self.batch == index
            self._play_answers(index, part, numbers[own] - index * self.batch, moves[own])
        return True

    def _play_answers(
        self, index: int, part: Descents, chosen: npt.NDArray[np.intp], moves: npt.NDArray[np.int16]
    ) -> None:
        """Play the moves of other players in the descents of a tree, growing the tree when it is full."""
        while True:
            tree, priors, state = self.trees[index], self.priors[index], self._states[index]
            done, state = continue_descents(tree, priors, self._searcher, part, chosen, moves, state)
            self._states[index] = np.uint64(state)
            if done == len(chosen):
                return
            self._grow(index)
            chosen, moves = chosen[done:], moves[done:]

    def _move_logs(self, numbers: npt.NDArray[np.intp]) -> Words:
        """Return all moves so far in the games of the given descents, shape ``[k, moves, 2]``, uint64."""
        counts = self.descents.games.rows[numbers, MOVES].astype(np.int64)
        logs = np.zeros((len(numbers), int(counts.max()), 2), np.uint64)
        for place, (number, count) in enumerate(zip(numbers.tolist(), counts.tolist(), strict=True)):
            depth = int(self.descents.depth[number])
            actions, movers = (part[number, :depth].tolist() for part in (self.descents.path, self.descents.movers))
            history = list(self._view.history)
            for move in whole_moves_of(actions):
                history.append((movers[0], move))
                del movers[: len(move.actions)]
            for slot, (seat, move) in enumerate(history[len(history) - count :]):  # a new deal begins a new history
                logs[place, slot] = move.cards.word, move.main | seat << 16
        return logs

    def _grow(self, index: int) -> None:
        self.trees[index], self.priors[index] = (
            double_capacity(self.trees[index]),
            double_prior_capacity(self.priors[index]),
        )


def _actions_of_moves(moves: npt.NDArray[np.uint64]) -> npt.NDArray[np.int16]:
    """Return the actions of complete moves, padded with -1, shape ``[k, 1 + MAX_KICKERS]``."""
    stages = np.full((len(moves), 1 + MAX_KICKERS), -1, np.int16)
    for number, (main, kickers) in enumerate(moves.tolist()):
        actions = Move.from_words(main, kickers).actions
        stages[number, : len(actions)] = actions
    return stages
