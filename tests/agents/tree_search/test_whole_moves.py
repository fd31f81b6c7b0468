"""Search over whole moves: against figure 2 in plain Python on moves instead of stages, and what the agent promises."""

from __future__ import annotations

import numpy as np
import pytest

from ddz_agents.tree_search.ablations.whole_moves import (
    MAX_CHILDREN,
    Levels,
    Searched,
    WholeMoveSearch,
    key_of,
    kickers_of,
    new_key_tree,
)
from ddz_agents.tree_search.search import Position
from ddz_agents.tree_search.tree import ROOT, Tree, add_child, children
from ddz_env import PRESETS, Hand, Move, Rules, State
from ddz_env.core.actions import KICKER_BASE, MAIN_GROUPS
from ddz_env.core.engine.layout import HANDS, SEAT, STAGE, STAGE_OVER
from ddz_env.core.engine.moves import list_moves
from ddz_env.core.engine.step import apply_action
from ddz_env.core.view import whole_moves
from tests.agents.tree_search.test_search_options import endgame
from tests.oracles.figure_two import (
    SEED,
    Chance,
    Node,
    Path,
    backpropagate,
    played,
    select,
    statistics,
    statistics_of,
)

LEVELS: tuple[Levels, ...] = ("sets", "flat")


def searched(state: State, levels: Levels, iterations: int, *, fixed: bool = False) -> tuple[Searched, Tree]:
    searcher = WholeMoveSearch(levels, fixed=fixed)
    return searcher.run(Position.of(state if fixed else state.view()), iterations, SEED), searcher.tree


def has_kickers(main: int) -> bool:
    return main < KICKER_BASE and MAIN_GROUPS[main].kicker_count > 0


def key(move: Move) -> int:
    """A move's key, written down from its definition."""
    return move.main << 24 | sum(rank << (20 - 4 * index) for index, rank in enumerate(move.kickers))


def reference(state: State, levels: Levels, iterations: int, *, fixed: bool) -> dict[Path, Node]:
    """Figure 2 with whole moves as edges, or main groups and then their kickers; edges are keys."""
    chance, rules = Chance(), state.rule_words
    tree = {(): Node()}
    for _ in range(iterations):
        row = chance.game(state, fixed=fixed)
        path: Path = ()
        movers: list[int] = []
        half_built: int | None = None
        expanded = False
        while not expanded and row[STAGE] != STAGE_OVER:
            moves = {key(move): move for move in whole_moves(row, rules)}
            if half_built is not None:
                moves = {whole: move for whole, move in moves.items() if move.main == half_built}
            legal = list(moves)
            if levels == "sets" and half_built is None:
                legal = sorted({move.main << 24 for move in moves.values()})
            untried = [edge for edge in legal if edge not in tree[path].tried]
            if untried:
                edge = chance.choose(untried)
                tree[path].tried.append(edge)
                tree[(*path, edge)] = Node()
                expanded = True
            else:
                edge = select(tree, path, [tried for tried in tree[path].tried if tried in legal], 1.0)
            path = (*path, edge)
            movers.append(int(row[SEAT]))
            if levels == "sets" and half_built is None and has_kickers(edge >> 24):
                half_built = edge >> 24
            else:
                for action in moves[edge].actions:
                    apply_action(row, np.uint64(action), rules)
                half_built = None
        if half_built is not None:
            apply_action(row, np.uint64(half_built), rules)
        chance.play_out(row, rules)
        backpropagate(tree, path, movers, row)
    return tree


POSITIONS = {
    "landlord leads": State.new(5),
    "peasant follows": played(3, 1),
    "in the middle": played(10, 12),
    "peasant late": played(7, 20),
    "repeated kickers": played(3, 2, "rlcard"),
    "merged planes": endgame("333444555", "666777JJ", "9TTT", rules="douzero"),
    "shuttles": endgame("333344446789", "555566677", "TTTJJJQQ", rules=Rules.preset("botzone2", bidding="fixed")),
    "auction": State.new(1, "bidding"),
    "mini": State.new(5, "mini"),
}


@pytest.mark.parametrize("levels", LEVELS)
@pytest.mark.parametrize(
    ("name", "fixed"), [*((name, False) for name in POSITIONS), ("in the middle", True), ("mini", True)]
)
def test_the_compiled_tree_is_figure_2(name: str, fixed: bool, levels: Levels) -> None:
    state = POSITIONS[name]
    expected = statistics(reference(state, levels, 400, fixed=fixed))
    assert max(map(len, expected)) > 1
    assert statistics_of(searched(state, levels, 400, fixed=fixed)[1]) == expected


@pytest.mark.parametrize("preset", PRESETS)
def test_keys_ascend_with_the_moves_and_give_them_back(preset: str) -> None:
    for seed in range(4):
        state = played(seed, 3 * seed, preset)
        moves = state.legal_moves()
        keys = [int(key_of(np.uint64(move.main), np.uint64(Hand(move.kicker_counts).word))) for move in moves]
        assert keys == sorted({key(move) for move in moves})
        plays = [number for number in keys if number >> 24 < 379]
        back = [Move.from_words(number >> 24, int(kickers_of(np.uint64(number)))) for number in plays]
        assert back == [move for move in moves if move.main < 379]


@pytest.mark.parametrize("preset", PRESETS)
def test_no_node_can_need_more_children_than_it_has_room_for(preset: str) -> None:
    """As many as there are moves: the whole deck in one hand has them all, but for openspiel's chains beside quads."""
    rules = PRESETS[preset].replace(bidding="fixed", doubling=False)
    state, nowhere = State.new(1, rules), np.empty(0, np.uint64)
    state.row[HANDS + state.seat] = Hand(rules.deck).word
    assert list_moves(state.row, state.rule_words, nowhere, nowhere) + len(MAIN_GROUPS) < MAX_CHILDREN


def test_a_node_may_have_thousands_of_children() -> None:
    tree = new_key_tree(20_000)
    expected = [number << 20 for number in range(1, 5001)]
    for number in expected:
        add_child(tree, ROOT, np.uint64(number))
    assert tree.action[children(tree)].tolist() == expected
    assert tree.visits[ROOT] == 0


def test_a_full_tree_grows_without_a_trace() -> None:
    """The search continues in a larger copy as if there had been room: the same tree as in a large one."""
    state, used = played(10, 12), WholeMoveSearch("flat")
    arguments = Position.of(state.view()), 3000, SEED
    used.run(*arguments)
    grew = statistics_of(used.tree)
    assert used.tree.action.size > 3000
    used.run(*arguments)
    assert statistics_of(used.tree) == grew


@pytest.mark.parametrize("levels", LEVELS)
@pytest.mark.parametrize("name", POSITIONS)
def test_visits_add_up_and_the_moves_found_are_the_legal_moves(name: str, levels: Levels) -> None:
    state = POSITIONS[name]
    result, legal = searched(state, levels, 3000)[0], state.legal_moves()
    assert result.decision.visits == result.main_visits
    assert result.decision.line == result.move.actions
    assert sum(result.main_visits.values()) == 3000
    assert all(0 <= value <= 1 for value in [*result.values.values(), *result.main_values.values()])
    for main, visits in result.main_visits.items():
        moves = [move for move in result.visits if move.main == main]
        built_later = levels == "sets" and has_kickers(main)
        found = visits - (1 if built_later else 0)
        assert sum(result.visits[move] for move in moves) == found, "the first visit of a main group ends there"
        possible = {move for move in legal if move.main == main}
        assert set(moves) <= possible
        assert set(moves) == possible or visits <= len(possible)
    assert {move.main for move in legal} == set(result.main_visits)
    if levels == "flat":
        assert set(result.visits) == set(legal)


def test_the_most_visited_move_is_chosen() -> None:
    state = POSITIONS["in the middle"]
    sets, flat = (searched(state, levels, 4000)[0] for levels in LEVELS)
    least = searched(state, "sets", 1)[0]
    assert flat.visits[flat.move] == max(flat.visits.values())
    assert sets.main_visits[sets.move.main] == max(sets.main_visits.values())
    assert sets.move in state.legal_moves()
    assert least.move in state.legal_moves(), "a budget that reaches no kickers still gives a whole move"
