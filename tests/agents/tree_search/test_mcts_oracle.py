"""Figure 2 of the 2011 paper in plain Python, and its multiple-observer form, against the compiled search.

The paper assumes that the opponents see what the searcher sees.  Multiple-observer ISMCTS (Cowling, Powley and
Whitehouse 2012) drops that: every player has a tree of what that player observes, all of them are descended together,
each player selects in its own and all are updated.  Only hidden *moves* could make the trees differ, and Dou Dizhu has
none: given the same random numbers, each tree holds the statistics of the single-observer tree, node for node.

A tree is a dictionary from the actions observed since the root (:mod:`tests.oracles.figure_two`).
"""

from __future__ import annotations

import numpy as np
import pytest

from ddz_agents.tree_search.options import plain
from ddz_agents.tree_search.search import Position, search
from ddz_agents.tree_search.tree import Tree, new_tree
from ddz_agents.worlds.determinize import uniform
from ddz_env import State
from ddz_env.core.actions import KICKER_BASE, MAIN_GROUPS
from ddz_env.core.engine.layout import SEAT, STAGE, STAGE_KICKER, STAGE_OVER
from ddz_env.core.engine.step import apply_action
from tests.oracles.figure_two import (
    SEED,
    Book,
    Chance,
    Node,
    Path,
    Statistics,
    figure_2,
    grown_by_hand,
    legal_actions,
    played,
    reward,
    select,
    statistics,
    statistics_of,
)


def multiple_observer(state: State, iterations: int, k: float) -> list[Book]:
    """One tree for each player.  A player sees its own stages, and the moves of others when they lie on the table."""
    chance, rules, players = Chance(), state.rule_words, range(state.rules.players)
    trees: list[Book] = [{(): Node()} for _ in players]
    for _ in range(iterations):
        row = chance.game(state, fixed=False)
        path: Path = ()
        movers: list[int] = []
        seen: list[list[Path]] = [[()] for _ in players]  # by player: the nodes of its tree on the way
        expanded = False
        while not expanded and row[STAGE] != STAGE_OVER:
            mover = int(row[SEAT])
            own, here = trees[mover], seen[mover][-1]
            legal = legal_actions(row, rules)
            untried = [action for action in legal if action not in own[here].tried]
            if untried:
                action = chance.choose(untried)
                own[here].tried.append(action)
                expanded = True
            else:
                action = select(own, here, [tried for tried in own[here].tried if tried in legal], k)
            apply_action(row, np.uint64(action), rules)
            path = (*path, action)
            movers.append(mover)
            for player in players:
                if player == mover or int(row[STAGE]) != STAGE_KICKER:
                    trees[player].setdefault(path, Node())
                    seen[player].append(path)
        chance.play_out(row, rules)
        for player in players:
            for node in seen[player]:
                trees[player][node].visits += 1
                if node:
                    trees[player][node].reward += reward(row, movers[len(node) - 1])
    return trees


def compiled(state: State, iterations: int, k: float, *, fixed: bool = False) -> Tree:
    """The tree of the search that the agents run."""
    tree = new_tree(8 * iterations + 64)
    position = Position.of(state if fixed else state.view())
    done, _ = search(tree, position, iterations, plain(k, fixed=fixed), uniform(), None, None, SEED)
    assert done == iterations
    return tree


def observed(whole: Statistics, state: State, player: int) -> Statistics:
    """What of a tree a player observes: all but the half-built moves of others.

    The turn passes on with every whole move: who leads after the passes is next in order anyway.
    """
    found = {}
    for path, numbers in whole.items():
        moves, left = -1, 0
        for action in path:
            if action >= KICKER_BASE:
                left -= 1
            else:
                moves, left = moves + 1, MAIN_GROUPS[action].kicker_count
        if not left or (state.seat + moves) % state.rules.players == player:
            found[path] = numbers
    return found


POSITIONS = {
    "landlord leads": (State.new(1), 1000, 1.0),
    "landlord leads, little exploration": (State.new(2), 1000, 0.1),
    "peasant down follows": (played(3, 1), 1000, 1.0),
    "peasant up follows": (played(3, 2), 1000, 0.44),
    "landlord in the middle, with kickers": (played(10, 12), 1000, 1.0),
    "peasant in the middle": (played(5, 13), 1500, 2.0),
    "peasant late": (played(7, 20), 1500, 1.0),
    "endgame": (State.from_hands(["36", "44457", "8889JJ"], check_sizes=False), 1500, 1.0),
    "repeated kickers": (State.new(3, "rlcard"), 1000, 1.0),
    "merged planes": (
        State.from_hands(["333444555", "666777JJ", "9TTT"], rules="douzero", check_sizes=False),
        500,
        1.0,
    ),
    "mini leads": (State.new(5, "mini"), 1500, 1.0),
    "mini follows": (played(6, 3, "mini"), 1500, 0.5),
}
"""Positions with iterations and exploration constant."""


@pytest.mark.parametrize("name", POSITIONS)
def test_the_compiled_search_is_figure_2_and_what_every_player_observes_of_it_is_that_players_tree(name: str) -> None:
    state, iterations, k = POSITIONS[name]
    found = statistics_of(compiled(state, iterations, k))
    assert found == statistics(grown_by_hand(state, iterations, figure_2(k)))
    assert found[()][0] == iterations
    assert max(map(len, found)) > 3
    trees = multiple_observer(state, iterations, k)
    for player, tree in enumerate(trees):
        assert statistics(tree) == observed(found, state, player)
    assert set().union(*trees) == set(found), "every node is observed by somebody"


@pytest.mark.parametrize("name", ["landlord leads", "peasant in the middle", "endgame", "mini leads"])
def test_with_a_known_game_the_compiled_search_is_uct(name: str) -> None:
    state, iterations, k = POSITIONS[name]
    expected = statistics(grown_by_hand(state, iterations, figure_2(k), fixed=True))
    assert statistics_of(compiled(state, iterations, k, fixed=True)) == expected
