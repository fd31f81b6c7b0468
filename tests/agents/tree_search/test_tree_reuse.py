"""Tree reuse: what is kept from one move to the next, and what never is."""

from __future__ import annotations

from typing import Any

import pytest

from ddz_agents.tree_search.agent import IsUctAgent, Memory
from ddz_agents.tree_search.options import plain
from ddz_agents.tree_search.search import Position, search
from ddz_agents.tree_search.tree import ROOT, Tree, children
from ddz_agents.worlds.determinize import uniform
from ddz_env import State
from tests.agents.tree_search.test_search_options import FORMS, RNG, compiled, options_of, thought
from tests.oracles.figure_two import SEED, records


def outline(tree: Tree, node: int = ROOT) -> list[tuple[Any, ...]]:
    """Everything that is kept below a node, in its order, wherever the records lie."""
    kept = (tree.visits, tree.reward, tree.used, tree.settled, tree.available, tree.prior)
    return [(path, *(array[record].item() for array in kept)) for path, record in records(tree, node).items() if path]


def follow_the_tree(tree: Tree, state: State, moves: int) -> int:
    """Play the most visited legal moves; the record that they lead to."""
    node = ROOT
    while moves:
        block = children(tree, node)
        visits = dict(zip(tree.action[block].tolist(), tree.visits[block].tolist(), strict=True))
        action = max(set(visits) & set(state.legal_actions()), key=lambda a: visits[a])
        state.step_action(action)
        node = block.start + list(visits).index(action)
        moves -= state.stage != "kicker"
    return node


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", [1, 4, 12])
def test_the_tree_that_is_kept_is_the_old_one_below_the_moves_played(form: str, seed: int) -> None:
    state, memory = State.new(seed), Memory()
    trees = [compiled(state, 4000, options_of(1.0, form)) for _ in range(2)]
    memory.remember(state.view())
    node = follow_the_tree(trees[0], state, 3)
    visits, kept = int(trees[0].visits[node]), outline(trees[0], node)
    assert kept
    assert memory.follow(trees, state.view())
    for tree in trees:
        assert int(tree.visits[ROOT]) == visits
        assert outline(tree) == kept


def test_a_kept_tree_can_be_searched_on_and_added_to() -> None:
    state, memory = State.new(4), Memory()
    tree = compiled(state, 4000, plain())
    memory.remember(state.view())
    follow_the_tree(tree, state, 3)
    assert memory.follow([tree], state.view())
    kept, view = int(tree.visits[ROOT]), state.view()
    done, _ = search(tree, Position.of(view), 500, plain(), uniform(), None, None, SEED)
    assert done == 500
    assert int(tree.visits[ROOT]) == kept + 500
    places = list(records(tree).values())
    assert len(places) == len(set(places)), "no record belongs to two nodes"
    assert max(places) < int(tree.free[-1]) <= tree.action.size
    assert tree.visits[children(tree)].sum() == kept + 500 - 1, "all but the one that made it"


def test_nothing_is_kept_for_another_seat_position_or_line() -> None:
    state, memory = State.new(4), Memory()
    tree = compiled(state, 20, plain())
    before = outline(tree)
    assert not memory.follow([tree], state.view()), "nothing was searched yet"
    memory.remember(state.view())
    assert not memory.follow([tree], state.view()), "the same position is no later one"
    childless = tree.action[children(tree)][tree.used[children(tree)] == 0]
    state.step(next(move for move in state.legal_moves() if move.main in childless and not move.kickers))
    assert not memory.follow([tree], state.view()), "another seat"
    while state.seat != 0:
        state.step("pass")
    assert not memory.follow([tree], state.view()), "moves that the tree does not hold"
    assert outline(tree) == before


def test_reuse_adds_to_what_is_known_until_reset_forgets_or_another_game_begins() -> None:
    """Two landlords can lead the red joker: without ``reset``, the moves of one game lie in the tree of the other."""
    games = [State.new(seed) for seed in range(20)]
    first, second = [state for state in games if "R" in map(str, state.legal_moves())][:2]
    keeping, reset, misled = (IsUctAgent(3000, reuse=True) for _ in range(3))
    for agent in (keeping, reset, misled):
        thought(agent, first)
    for state in (first, second):
        for move in ("R", "pass", "pass"):
            state.step(move)
    reset.reset(0, first.rules)
    assert sum(thought(keeping, first).visits.values()) > 3000
    assert sum(thought(reset, first).visits.values()) == 3000
    decision = thought(misled, second)
    assert decision == thought(IsUctAgent(3000, reuse=True), second)
    assert set(decision.visits) <= set(second.legal_actions())


@pytest.mark.parametrize("seed", range(4))
def test_landlord_cards_end_what_an_auction_knew(seed: int) -> None:
    """The tree of an auction holds leads with cards that the landlord turns out not to have: none may be chosen."""
    state = State.new(seed, "bidding")
    agent = IsUctAgent(2000, reuse=True)
    thought(agent, state)
    state.step(state.legal_moves()[-1])
    assert state.stage == "play"
    assert state.view().landlord == state.seat
    decision = thought(agent, state)
    assert set(decision.visits) <= set(state.legal_actions())
    assert decision.move in state.legal_moves()


def test_memory_does_not_grow_over_a_game() -> None:
    agents = [IsUctAgent(400, reuse=True) for _ in range(3)]
    state, rng, sizes = State.new(11), RNG(11), []
    while not state.is_over:
        state.step(agents[state.seat].act(state.view(), rng))
        sizes.append(max(tree.action.size for agent in agents for tree in agent._trees))
    assert len(sizes) > 20
    assert max(sizes) <= 4 * (2 * 400 + 256)
