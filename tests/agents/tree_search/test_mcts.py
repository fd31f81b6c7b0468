"""The UCT family: what its determinizations, its trees and its choices promise."""

from __future__ import annotations

import numpy as np
import pytest

from ddz_agents.tree_search.agent import CheatingUctAgent, DeterminizedUctAgent, IsUctAgent
from ddz_agents.tree_search.options import plain
from ddz_agents.tree_search.search import Position, search
from ddz_agents.tree_search.simulate import simulate_random
from ddz_agents.tree_search.tree import ROOT, Tree, children, grown, new_tree
from ddz_agents.worlds.determinize import draw_game, uniform
from ddz_env import PRESETS, Move, State
from ddz_env.core.engine.layout import BOTTOM, HANDS, HIDDEN, ROW_WORDS, STAGE, STAGE_OVER, WINNER
from ddz_env.core.engine.random import key
from ddz_env.core.errors import IllegalMoveError, InvalidAgentOptionError
from ddz_env.core.notation import word_to_counts

SEED = np.uint64(12345)


def midgame(seed: int, moves: int, rules: str = "standard") -> State:
    """A position some moves into a random game (earlier if the game ends)."""
    state = State.new(seed, rules)
    rng = np.random.default_rng(seed)
    for _ in range(moves):
        legal = state.legal_moves()
        twin = state.copy()
        twin.step(legal[int(rng.integers(len(legal)))])
        if twin.is_over:
            break
        state = twin
    return state


def drawn(state: State, seat: int, number: int) -> np.ndarray:
    """One determinization of what a seat knows."""
    view, row = state.view(seat), np.empty(ROW_WORDS, np.uint64)
    draw_game(view.row, seat, state.rule_words, np.uint64(key(SEED, np.uint64(number))), row)
    return row


def counts(word: np.uint64) -> np.ndarray:
    return np.array(word_to_counts(int(word)))


@pytest.mark.parametrize("preset", PRESETS)
def test_determinizations_agree_with_everything_public(preset: str) -> None:
    for seed in range(8):
        state = midgame(seed, seed * 4, preset)
        for seat in range(state.rules.players):
            view = state.view(seat)
            for number in range(5):
                row = drawn(state, seat, number)
                hands = [counts(row[HANDS + other]) for other in range(state.rules.players)]
                assert (hands[seat] == view.hand.counts).all()
                assert tuple(hand.sum() for hand in hands) == view.hand_sizes
                if view.landlord is not None:
                    assert (hands[view.landlord] >= view.known_cards.counts).all()
                    assert row[BOTTOM] == state.row[BOTTOM]
                elsewhere = counts(row[HIDDEN]) + (counts(row[BOTTOM]) if view.landlord is None else 0)
                played = sum(np.array(view.played(other).counts) for other in range(state.rules.players))
                assert (sum(hands) + elsewhere + played == state.rules.deck).all()


def test_determinizations_are_uniform_over_cards() -> None:
    """A lone unseen card is each rank as often as there are unseen cards of it (chi-square, 4,000 draws).

    Uniform over rank vectors would make a joker as likely as a four, which four cards share.
    """
    state = State.from_hands(["5", "3", "334"], check_sizes=False)
    draws = sum(counts(drawn(state, 0, number)[HANDS + 1]) for number in range(4000))
    unseen = np.array(state.view(0).unseen.counts)
    expected = 4000 * unseen / unseen.sum()
    assert ((draws - expected) ** 2 / expected).sum() < 45, "14 degrees of freedom: p is about 0.00004"
    by_rank = np.full(15, 4000 / 15)
    assert ((draws - by_rank) ** 2 / by_rank).sum() > 1000 / 15, "the test can tell the two apart"


def run(state: State, iterations: int, capacity: int = 100_000, *, fixed: bool = False) -> Tree:
    tree = new_tree(capacity)
    position = Position.of(state if fixed else state.view())
    done, _ = search(tree, position, iterations, plain(fixed=fixed), uniform(), None, None, SEED)
    assert done == iterations
    return tree


@pytest.mark.parametrize("fixed", [False, True])
def test_visit_counts_add_up(fixed: bool) -> None:
    """Every iteration through a node continues to a child, except the one that made it (and ends of games)."""
    tree = run(midgame(2, 9), 3000, fixed=fixed)
    assert tree.visits[ROOT] == 3000
    nodes = [ROOT]
    inner = 0
    while nodes:
        node = nodes.pop()
        block = children(tree, node)
        below = int(tree.visits[block].sum())
        if below:
            assert below == tree.visits[node] - (0 if node == ROOT else 1)
            inner += 1
        assert (tree.reward[block] <= tree.visits[block]).all()
        assert (tree.reward[block] >= 0).all()
        assert len(set(tree.action[block].tolist())) == block.stop - block.start, "an action has one child"
        nodes.extend(range(block.start, block.stop))
    assert inner > 50


def outline(tree: Tree, node: int = ROOT) -> tuple[object, ...]:
    """A node and everything below it, wherever the records lie."""
    block = children(tree, node)
    below = tuple(outline(tree, record) for record in range(block.start, block.stop))
    return int(tree.action[node]), int(tree.visits[node]), float(tree.reward[node]), below


def test_a_seed_reproduces_the_whole_tree() -> None:
    state = midgame(4, 6)
    assert outline(run(state, 500)) == outline(run(state, 500))


def test_a_full_tree_grows_without_a_trace() -> None:
    """Running out of room stops the search between iterations; it continues in a larger copy."""
    state = midgame(4, 6)
    tree, left, rng = new_tree(64), 800, SEED
    steps = 0
    while left:
        done, rng = search(tree, Position.of(state.view()), left, plain(), uniform(), None, None, np.uint64(rng))
        left -= done
        if left:
            tree = grown(tree)
            steps += 1
    assert steps >= 3
    assert tree.visits[ROOT] == 800
    assert len(tree.action) > 64


def test_search_depends_on_public_knowledge_only() -> None:
    """Metamorphic: deal the unseen cards otherwise and the whole tree stays the same."""
    state = midgame(6, 10)
    other = state.copy()
    for number in range(50):
        other.row[:] = drawn(state, state.seat, number)
        if other.hand((state.seat + 1) % 3) != state.hand((state.seat + 1) % 3):
            break
    else:
        pytest.fail("no other deal was drawn")
    assert outline(run(state, 400)) == outline(run(other, 400))
    assert outline(run(state, 400, fixed=True)) != outline(run(other, 400, fixed=True)), "cheating does depend on them"


@pytest.mark.parametrize("agent", [IsUctAgent(300), DeterminizedUctAgent(60, trees=5)])
def test_agents_find_a_win_in_one(agent: IsUctAgent | DeterminizedUctAgent) -> None:
    state = State.from_hands(["34567", "89TJQKA2", "444555666"], check_sizes=False)
    assert str(agent.act(state.view(), np.random.default_rng(0))) == "34567"


def test_a_forced_move_returns_at_once() -> None:
    state = State.from_hands(["R3", "44", "55"], check_sizes=False)
    state.step("R")
    decision = IsUctAgent(iterations=10**8).decide(state.view(), np.random.default_rng(0))
    assert decision.move.is_pass


def test_the_landlord_keeps_a_control_to_win_in_two() -> None:
    """3 and R against peasants who hold one card each: R first, then 3 wins; 3 first loses to anything higher."""
    state = State.from_hands(["3R", "4", "5"], check_sizes=False)
    for agent in (IsUctAgent(400), DeterminizedUctAgent(60, trees=10)):
        assert str(agent.act(state.view(), np.random.default_rng(1))) == "R"


def test_kickers_are_chosen_at_their_own_stage() -> None:
    state = State.from_hands(["33345", "6789", "6789"], check_sizes=False)
    decision = IsUctAgent(2000).decide(state.view(), np.random.default_rng(1))
    assert decision.move in state.legal_moves()
    assert sum(decision.visits.values()) == 2000
    assert set(decision.visits) == set(state.legal_actions())


@pytest.mark.parametrize("preset", ["standard", "bidding", "botzone", "rlcard", "douzero", "openspiel", "half-deck"])
def test_search_agents_play_whole_games(preset: str) -> None:
    agents = [IsUctAgent(40), DeterminizedUctAgent(10, trees=4), CheatingUctAgent(10, trees=4)]
    for seed in range(2):
        state = State.new(seed, preset)
        rng = np.random.default_rng(seed)
        while not state.is_over:
            agent = agents[state.seat % 3]
            move = agent.act(state if agent.cheats else state.view(), rng)  # type: ignore[arg-type]
            state.step(move)
        assert state.is_over


def test_mini_has_two_seats() -> None:
    state = State.new(1, "mini")
    rng = np.random.default_rng(0)
    while not state.is_over:
        state.step(IsUctAgent(100).act(state.view(), rng))
    assert state.winner in (0, 1)


def test_same_seed_same_move_and_a_clock_budget() -> None:
    state = State.new(3)
    agent = IsUctAgent(300)
    first = agent.decide(state.view(), np.random.default_rng(5))
    assert agent.decide(state.view(), np.random.default_rng(5)) == first
    timed = IsUctAgent(milliseconds=20).decide(state.view(), np.random.default_rng(5))
    assert sum(timed.visits.values()) >= 256


def test_simulations_follow_the_rules_of_the_engine() -> None:
    """The light books of a simulation end in the same kind of state: one empty hand, that seat the winner."""
    mask = np.empty(7, np.uint64)
    for seed in range(200):
        row = midgame(seed, seed % 30, sorted(PRESETS)[seed % len(PRESETS)])
        rules, words = row.rule_words, row.row.copy()
        simulate_random(words, rules, mask, np.uint64(key(SEED, np.uint64(seed))), np.bool_(True))
        assert words[STAGE] == STAGE_OVER
        winner = int(words[WINNER]) - 1
        if winner < 3:
            assert words[HANDS + winner] == 0
            assert sum(int(words[HANDS + seat]) == 0 for seat in range(row.rules.players)) == 1


@pytest.mark.parametrize(
    ("agent", "options"),
    [
        (IsUctAgent, {"iterations": 0}),
        (IsUctAgent, {"iterations": "many"}),
        (IsUctAgent, {"exploration": -1.0}),
        (IsUctAgent, {"exploration": float("nan")}),
        (IsUctAgent, {"milliseconds": 0}),
        (DeterminizedUctAgent, {"trees": 0}),
    ],
)
def test_bad_budgets_are_named(agent: type, options: dict[str, object]) -> None:
    with pytest.raises(InvalidAgentOptionError, match=next(iter(options))):
        agent(**options)


def test_inconsistent_views_are_refused() -> None:
    state = State.new(1)
    with pytest.raises(IllegalMoveError, match="seat 0's turn"):
        IsUctAgent(10).act(state.view(1), np.random.default_rng(0))
    over = State.from_hands(["3", "4", "5"], check_sizes=False)
    over.step("3")
    with pytest.raises(IllegalMoveError, match="game is over"):
        IsUctAgent(10).act(over.view(0), np.random.default_rng(0))


def test_moves_of_search_are_whole_moves() -> None:
    state = State.from_hands(["333444", "6789", "6789"], check_sizes=False)
    move = IsUctAgent(200).act(state.view(), np.random.default_rng(0))
    assert isinstance(move, Move)
    assert str(move) == "333444"
