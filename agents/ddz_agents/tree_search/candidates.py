"""What trees say of whole moves: kickers included, with visits, share of wins and the line expected after each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ddz_agents.tree_search.choice import totals
from ddz_agents.tree_search.tree import ROOT, Tree, child_of
from ddz_env import Move
from ddz_env.core.actions import KICKER_BASE, MAIN_GROUPS
from ddz_env.core.engine.layout import STAGE, STAGE_KICKER
from ddz_env.core.engine.step import apply_action
from ddz_env.playing.thoughts import Candidate

Row = npt.NDArray[np.uint64]

MOST_STAGES = 16
"""Stages of an expected line."""
_TRUSTED = 10
"""Visits that a stage of an expected line needs."""


def candidates_of(trees: Sequence[Tree], row: Row, rules: Row, most_stages: int = MOST_STAGES) -> list[Candidate]:
    """Every whole move that was tried from the root, the most visited first.

    Args:
        trees: The trees of one decision; their statistics are added up.
        row: The row that was searched.
        rules: The rules array.
        most_stages: Stages (main groups and kickers) of an expected line; 0 for no lines.
    """
    found: list[Candidate] = []
    _collect(trees, [ROOT] * len(trees), row, rules, (), found, most_stages)
    return sorted(found, key=lambda one: (-one.visits, -one.chance, one.move.actions))


def _collect(
    trees: Sequence[Tree],
    nodes: Sequence[int],
    row: Row,
    rules: Row,
    begun: tuple[int, ...],
    found: list[Candidate],
    most_stages: int,
) -> None:
    """Append the moves that continue a begun one."""
    visits, rewards, _ = totals(trees, nodes)
    for action, count in visits.items():
        if not count:
            continue
        after, stages = row.copy(), (*begun, action)
        apply_action(after, np.uint64(action), rules)
        below = [child_of(tree, node, action) for tree, node in zip(trees, nodes, strict=True)]
        if int(after[STAGE]) == STAGE_KICKER:
            _collect(trees, below, after, rules, stages, found, most_stages)
        else:
            [move] = whole_moves_of(stages)
            line = tuple(whole_moves_of(_expected(trees, below, most_stages)))
            found.append(Candidate(move, count, rewards[action] / count, line))


def _expected(trees: Sequence[Tree], nodes: Sequence[int], most_stages: int) -> list[int]:
    """The most visited actions from some nodes down, as long as enough visits went there."""
    line: list[int] = []
    while len(line) < most_stages:
        visits = totals(trees, nodes).visits
        action = max(visits, key=lambda action: (visits[action], -action), default=None)
        if action is None or visits[action] < _TRUSTED:
            break
        line.append(action)
        nodes = [child_of(tree, node, action) for tree, node in zip(trees, nodes, strict=True)]
    return line


def whole_moves_of(actions: Sequence[int]) -> list[Move]:
    """The whole moves of a sequence of action ids; a last move without all its kickers is left out."""
    moves: list[Move] = []
    place = 0
    while place < len(actions):
        main = actions[place]
        wanted = MAIN_GROUPS[main].kicker_count if main < KICKER_BASE else 0
        kickers = tuple(action - KICKER_BASE for action in actions[place + 1 : place + 1 + wanted])
        if len(kickers) == wanted:
            moves.append(Move(main, kickers))
        place += 1 + wanted
    return moves
