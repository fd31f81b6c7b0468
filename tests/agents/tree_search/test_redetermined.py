"""Opponents who do not know the searcher's hand: what is public, what the two trees hold, and what it changes."""

from __future__ import annotations

import numpy as np
import pytest

from ddz_agents.open_cards.minimax import MinimaxSolver
from ddz_agents.tree_search.ablations.redetermined import RedeterminizedUctAgent, public_row, search_redetermined
from ddz_agents.tree_search.agent import IsUctAgent
from ddz_agents.tree_search.options import plain
from ddz_agents.tree_search.search import Position
from ddz_agents.tree_search.tree import ROOT, Tree, children, grown, new_tree
from ddz_agents.worlds.determinize import draw_game
from ddz_env import PRESETS, Hand, Move, State
from ddz_env.core.engine.layout import HANDS, HIDDEN, PLAYED, ROW_WORDS
from ddz_env.core.engine.random import key
from tests.agents.tree_search.test_mcts import all_played, counts, drawn
from tests.agents.tree_search.test_search_options import compiled, thought
from tests.oracles.figure_two import SEED, played, records, statistics_of

NOBODY = 3


def everybody(state: State, seat: int | None = None) -> np.ndarray:
    view = state.view(seat)
    return public_row(view.row, view.seat)


@pytest.mark.parametrize("seat", [0, 1, 2])
@pytest.mark.parametrize("moves", [0, 7, 10])
def test_the_public_row_is_the_same_for_every_hand_that_the_others_think_possible(seat: int, moves: int) -> None:
    """Deal again what another seat cannot see, the observer's hand with it: nothing public changes."""
    state, other_hands = played(6, moves), 0
    for watcher in {0, 1, 2} - {seat}:
        for number in range(10):
            twin = state.copy()
            twin.row[:] = drawn(state, watcher, number)
            other_hands += twin.hand(seat) != state.hand(seat)
            assert everybody(twin, seat).tolist() == everybody(state, seat).tolist()
    assert other_hands > 10


@pytest.mark.parametrize("preset", [name for name in PRESETS if name != "perfect"])
def test_everybody_knows_the_same_and_cards_are_conserved(preset: str) -> None:
    """Whoever looks, but for landlord cards, which stand in the landlord's hand or apart.

    In games drawn from it these stay with the landlord, and the searcher's hand too is drawn afresh.
    """
    face_up, row = 0, np.empty(ROW_WORDS, np.uint64)
    for seed in range(8):
        state = played(seed, 4 * (seed % 4), preset)
        view, known = state.view(), np.array(state.view().known_cards.counts)
        face_up += known.any()
        for seat in range(state.rules.players):
            public, hands_seen = everybody(state, seat), set[int]()
            assert public[HIDDEN] == everybody(state, 0)[HIDDEN]
            assert public[HANDS + seat] == 0
            assert (counts(public[HIDDEN]) + all_played(state) + known == state.rules.deck).all()
            for number in range(5):
                if view.landlord is None:
                    break
                chance = np.uint64(key(SEED, np.uint64(number)))
                draw_game(public, NOBODY, state.rule_words, chance, row)
                hands = [counts(row[HANDS + other]) for other in range(state.rules.players)]
                assert tuple(int(hand.sum()) for hand in hands) == view.hand_sizes
                assert (hands[view.landlord] >= known).all()
                assert (sum(hands) + counts(row[HIDDEN]) + all_played(state) == state.rules.deck).all()
                hands_seen.add(int(row[HANDS + seat]))
            assert len(hands_seen) > 1 or view.landlord is None or view.hand_sizes[seat] - known.sum() <= 3
    assert face_up > 1 or preset in ("mini", "micro", "half-deck")


def trees_of(state: State, iterations: int, capacity: int = 100_000) -> tuple[Tree, Tree]:
    own, public, chance = new_tree(capacity), new_tree(capacity), SEED
    view, left = state.view(), iterations
    row = public_row(view.row, view.seat)
    while left:
        done, after = search_redetermined(own, public, Position.of(view), row, left, 1.0, np.uint64(chance))
        chance, left = np.uint64(after), left - done
        if left:
            own, public = grown(own), grown(public)
    return own, public


@pytest.mark.parametrize("iterations", [1, 2, 401, 1000])
@pytest.mark.parametrize("preset", ["standard", "mini"])
def test_the_visits_of_both_trees_add_up_to_the_iterations(iterations: int, preset: str) -> None:
    for moves in (0, 6):
        own, public = trees_of(played(6, moves, preset), iterations)
        assert int(own.visits[ROOT]) == iterations // 2
        assert int(public.visits[ROOT]) == iterations - iterations // 2
        for tree in (own, public):
            for node in records(tree).values():
                block = children(tree, node)
                assert tree.visits[block].sum() in (0, tree.visits[node] - (0 if node == ROOT else 1))
                assert (tree.reward[block] <= tree.visits[block]).all()
                assert len(set(tree.action[block].tolist())) == block.stop - block.start


def test_the_searchers_own_tree_holds_its_legal_moves_the_public_one_those_of_other_hands_too() -> None:
    state = played(6, 10)
    own, public = (set(tree.action[children(tree)].tolist()) for tree in trees_of(state, 3000))
    assert own == set(state.legal_actions())
    assert public - own


def test_the_public_tree_does_not_depend_on_the_searchers_hand() -> None:
    """It is the same whatever the searcher holds: its first iterations, before the searcher's own draw anything."""
    state = played(6, 10)
    twin = state.copy()
    rows = (drawn(state, (state.seat + 1) % 3, number) for number in range(20))
    twin.row[:] = next(row for row in rows if row[HANDS + state.seat] != state.row[HANDS + state.seat])
    assert statistics_of(trees_of(state, 1)[1]) == statistics_of(trees_of(twin, 1)[1])
    own, other = (statistics_of(trees_of(game, 400)[0]) for game in (state, twin))
    assert own != other, "the searcher's own does"


def test_results_do_not_depend_on_the_first_capacity() -> None:
    roomy, tiny = (trees_of(played(6, 9), 600, capacity) for capacity in (100_000, 8))
    assert [statistics_of(tree) for tree in roomy] == [statistics_of(tree) for tree in tiny]


def three_and_five() -> State:
    """Mini, near the end: the landlord holds 3 and 5, the other 446B; of the cards unseen nobody holds two 4s.

    A lead of 3 leaves the 5 as the landlord's last card, which beats a 4 and wins, but neither a 6 nor the joker.
    """
    state = State.from_hands(["35", "446B"], rules="mini", check_sizes=False)
    undealt = Hand.parse("44")
    used = np.array(undealt.counts) + state.hand(0).counts + state.hand(1).counts
    state.row[PLAYED + 1] = Hand(tuple((np.array(state.rules.deck) - used).tolist())).word
    state.row[HIDDEN] = undealt.word
    return state


def shares(tree: Tree, node: int) -> dict[str, float]:
    """How the visits of a node are shared out among the moves (none of them has kickers)."""
    block = children(tree, node)
    visits = tree.visits[block]
    names = [str(Move(action)) for action in tree.action[block].tolist()]
    return dict(zip(names, (visits / visits.sum()).tolist(), strict=True))


def after(tree: Tree, move: str, node: int = ROOT) -> int:
    block = children(tree, node)
    return block.start + tree.action[block].tolist().index(Move.parse(move).main)


def test_opponents_answer_by_the_public_tree() -> None:
    """Who knows the 5 answers 3 with 6 or B; who does not is as content with 4, since 3 is led from the worst hands."""
    state = three_and_five()
    answers = state.copy()
    answers.step("3")
    moves, values = MinimaxSolver(state.rules, 0.0, table_bits=12).move_values(answers.row)
    won = {str(move): value > 0 for move, value in zip(moves, values.tolist(), strict=True)}
    assert won == {"pass": False, "4": False, "6": True, "B": True}
    knowing = compiled(state, 3000, plain())
    own, public = trees_of(state, 6000)
    seen, unseen = shares(knowing, after(knowing, "3")), shares(own, after(own, "3"))
    assert seen["4"] < 0.1
    assert unseen["4"] > 0.5
    four = after(public, "4", after(public, "3"))
    assert public.reward[four] / public.visits[four] > 0.9
    rates = [float(tree.reward[after(tree, "3")] / tree.visits[after(tree, "3")]) for tree in (knowing, own)]
    assert rates[0] < 0.2, "the searcher thinks that it is seen through"
    assert rates[1] > 0.6


@pytest.mark.parametrize("preset", ["bidding", "openspiel", "perfect"])
def test_before_the_auction_has_ended_and_with_open_hands_it_is_plain_search(preset: str) -> None:
    plainly, here = (thought(agent, State.new(2, preset)) for agent in (IsUctAgent(300), RedeterminizedUctAgent(300)))
    assert here == plainly
