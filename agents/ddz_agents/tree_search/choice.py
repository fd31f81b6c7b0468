"""The choice of a move from the statistics of the root's children after a search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_agents.search_agent import count_kickers
from ddz_agents.tree_search.tree import ROOT, Tree, child_of, children
from ddz_agents.worlds.determinize import Words
from ddz_env import Move
from ddz_env.core.actions import KICKER_BASE
from ddz_env.core.engine.layout import STAGE, STAGE_KICKER
from ddz_env.core.engine.step import apply_action
from ddz_env.core.view import list_legal_actions
from ddz_env.playing.agent import Decision
from ddz_env.playing.search_statistics import Candidate

PriorsOfTrees = Sequence[npt.NDArray[np.float32]]


class ChildStatistics(NamedTuple):
    """The visits, rewards and priors of one node's children by action, added up over the trees.

    Attributes:
        visits: Visits, the actions ascending.
        rewards: Rewards of the side that chooses.
        priors: Priors; in searches without a prior the number of trees that have the child.
    """

    visits: dict[int, int]
    rewards: dict[int, float]
    priors: dict[int, float]


def sum_child_statistics(
    trees: Sequence[Tree], nodes: Sequence[int], priors_of: PriorsOfTrees | None = None
) -> ChildStatistics:
    """Add up the visits, rewards and priors of one node's children over several trees.

    Args:
        trees: The trees.
        nodes: The node's record in each, -1 where a tree does not have it.
        priors_of: The prior of every record of each tree; None for equal ones.
    """
    visits: dict[int, int] = {}
    rewards: dict[int, float] = {}
    priors: dict[int, float] = {}
    for index, (tree, node) in enumerate(zip(trees, nodes, strict=True)):
        if node < 0:
            continue
        block = children(tree, node)
        actions, counts, sums = tree.action[block].tolist(), tree.visits[block].tolist(), tree.reward[block].tolist()
        weights = [1.0] * len(actions) if priors_of is None else priors_of[index][block].tolist()
        for action, count, reward, prior in zip(actions, counts, sums, weights, strict=True):
            visits[action] = visits.get(action, 0) + count
            rewards[action] = rewards.get(action, 0.0) + reward
            priors[action] = priors.get(action, 0.0) + prior
    return ChildStatistics(dict(sorted(visits.items())), rewards, priors)


def choose_from_visits(
    trees: Sequence[Tree], root: Words, rules: Words, decided: int | None = None, priors: PriorsOfTrees | None = None
) -> Decision:
    """Choose a move by the most visited action of each step, with ties broken by prior, then by lowest id.

    Args:
        trees: The trees, whose root statistics are added up.
        root: The row that was searched.
        rules: The rules array.
        decided: The first stage's action, where the search has chosen it already.
        priors: The prior of every record of each tree; None for equal ones.
    """
    nodes: Sequence[int] = [ROOT] * len(trees)
    first = sum_child_statistics(trees, nodes, priors)
    row = root.copy()
    line: list[int] = []
    action = _best_action_of_stage(first, row, rules) if decided is None else decided
    while True:
        line.append(action)
        apply_action(row, np.uint64(action), rules)
        if int(row[STAGE]) != STAGE_KICKER:
            break
        nodes = [child_of(tree, node, action) for tree, node in zip(trees, nodes, strict=True)]
        action = _best_action_of_stage(sum_child_statistics(trees, nodes, priors), row, rules)
    values = {action: first.rewards[action] / count for action, count in first.visits.items() if count}
    main, kickers = line[0], tuple(action - KICKER_BASE for action in line[1:])
    return Decision(Move(main, kickers), first.visits, values, tuple(line))


def _best_action_of_stage(statistics: ChildStatistics, row: Words, rules: Words) -> int:
    """Return the most visited action of a node, or the lowest legal action if the node has no children."""
    visits, _, priors = statistics
    return max(
        visits, key=lambda action: (visits[action], priors[action], -action), default=list_legal_actions(row, rules)[0]
    )


MOST_STAGES = 16
"""Stages of an expected line."""
_TRUSTED_VISITS = 10
"""Visits that a stage of an expected line needs."""


def candidates_of(trees: Sequence[Tree], row: Words, rules: Words, most_stages: int = MOST_STAGES) -> list[Candidate]:
    """List every complete move that was tried from the root, the most visited first.

    Args:
        trees: The trees of one decision; their statistics are added up.
        row: The row that was searched.
        rules: The rules array.
        most_stages: Stages (main groups and kickers) of an expected line; 0 for no lines.
    """
    candidates: list[Candidate] = []
    _collect_candidates(trees, [ROOT] * len(trees), row, rules, (), candidates, most_stages)
    return sorted(candidates, key=lambda each: (-each.visits, -each.chance, each.move.actions))


def _collect_candidates(
    trees: Sequence[Tree],
    nodes: Sequence[int],
    row: Words,
    rules: Words,
    begun: tuple[int, ...],
    candidates: list[Candidate],
    most_stages: int,
) -> None:
    """Append a candidate for every tried complete move that begins with the given actions."""
    visits, rewards, _ = sum_child_statistics(trees, nodes)
    for action, count in visits.items():
        if not count:
            continue
        after, stages = row.copy(), (*begun, action)
        apply_action(after, np.uint64(action), rules)
        below = [child_of(tree, node, action) for tree, node in zip(trees, nodes, strict=True)]
        if int(after[STAGE]) == STAGE_KICKER:
            _collect_candidates(trees, below, after, rules, stages, candidates, most_stages)
        else:
            [move] = whole_moves_of(stages)
            line = tuple(whole_moves_of(_expected_line(trees, below, most_stages)))
            candidates.append(Candidate(move, count, rewards[action] / count, line))


def _expected_line(trees: Sequence[Tree], nodes: Sequence[int], most_stages: int) -> list[int]:
    """Return the most visited actions below the given nodes, as long as they have enough visits."""
    line: list[int] = []
    while len(line) < most_stages:
        visits = sum_child_statistics(trees, nodes).visits
        action = max(visits, key=lambda action: (visits[action], -action), default=None)
        if action is None or visits[action] < _TRUSTED_VISITS:
            break
        line.append(action)
        nodes = [child_of(tree, node, action) for tree, node in zip(trees, nodes, strict=True)]
    return line


def whole_moves_of(actions: Sequence[int]) -> list[Move]:
    """Join a sequence of action ids into complete moves, dropping a last move that lacks kickers."""
    moves: list[Move] = []
    first = 0
    while first < len(actions):
        main, following = actions[first], first + 1 + count_kickers(actions[first])
        kickers = tuple(action - KICKER_BASE for action in actions[first + 1 : following])
        if following <= len(actions):
            moves.append(Move(main, kickers))
        first = following
    return moves
