"""The worlds that a search plays in: weighted pools and uniform determinizations."""

from __future__ import annotations

import numpy as np
import pytest

from ddz_agents.tree_search.options import plain
from ddz_agents.tree_search.search import Position, search
from ddz_agents.tree_search.tree import children, new_tree
from ddz_agents.worlds.determinize import WorldPool, draw_world
from ddz_env import State
from ddz_env.core.engine.compiling import kernel
from ddz_env.core.engine.layout import BOTTOM, HANDS, HIDDEN, ROW_WORDS
from tests.agents.tree_search.test_mcts import drawn
from tests.oracles.figure_two import played

SEED = np.uint64(2011)


@kernel
def _draw(
    view: np.ndarray, seat: int, rules: np.ndarray, pool: WorldPool, state: np.uint64, row: np.ndarray
) -> np.uint64:
    return draw_world(view, np.uint64(seat), rules, pool, state, row)


def worlds(state: State, pool: WorldPool, number: int) -> list[np.ndarray]:
    rows, chance, view = [], SEED, state.view()
    for _ in range(number):
        row = np.empty(ROW_WORDS, np.uint64)
        chance = np.uint64(_draw(view.row, view.seat, view.rule_words, pool, chance, row))
        rows.append(row)
    return rows


def pool_of(state: State, weights: list[float]) -> WorldPool:
    """Determinizations of a position, all different."""
    where = HIDDEN if state.view().landlord is not None else BOTTOM
    rows = [drawn(state, state.seat, number) for number in range(len(weights))]
    hands = np.array([[*row[HANDS : HANDS + 3], row[where]] for row in rows], np.uint64)
    assert len(set(map(bytes, hands))) == len(weights)
    return WorldPool(hands, np.cumsum(np.array(weights) / sum(weights)))


@pytest.mark.parametrize(("moves", "preset"), [(0, "standard"), (9, "standard"), (0, "bidding"), (5, "half-deck")])
def test_a_pool_of_one_is_the_world(moves: int, preset: str) -> None:
    state = played(3, moves, preset)
    expected = drawn(state, state.seat, 0)
    for row in worlds(state, pool_of(state, [1.0]), 5):
        assert row[HANDS : HANDS + 3].tolist() == expected[HANDS : HANDS + 3].tolist()
        assert (row[HIDDEN], row[BOTTOM]) == (expected[HIDDEN], expected[BOTTOM])
        game, other = State(row, state.rules), State(expected, state.rules)
        assert game.legal_actions() == other.legal_actions()


def test_draws_follow_the_weights() -> None:
    """Chi-square of 9,000 draws, 2 degrees of freedom; the wrong weights stand out, and no weight is never."""
    state, weights = played(3, 9), np.array([0.6, 0.3, 0.1])
    pool = pool_of(state, [0.0, *weights.tolist()])
    draws = [row[HANDS : HANDS + 3].tolist() for row in worlds(state, pool, 9000)]
    never, *often = (draws.count(hands[:3].tolist()) for hands in pool.hands)
    counts = np.array(often)
    assert (never, counts.sum()) == (0, 9000)
    assert ((counts - 9000 * weights) ** 2 / (9000 * weights)).sum() < 20
    assert ((counts - 3000) ** 2 / 3000).sum() > 1000


def test_a_pool_decides_what_the_search_sees() -> None:
    """In the only world of the pool nobody can beat the lead of 4 and the next move wins."""
    state = State.from_hands(["44 K", "55", "3"], check_sizes=False)
    low, high = state.copy(), state.copy()
    for game, hands in ((low, ("33", "3")), (high, ("AA", "2"))):
        for seat, cards in enumerate(hands, start=1):
            game.row[HANDS + seat] = State.from_hands(["4", cards, "5"], check_sizes=False).row[HANDS + 1]
    values = []
    for game in (low, high):
        pool = WorldPool(np.array([[*game.row[HANDS : HANDS + 3], 0]], np.uint64), np.ones(1))
        tree, view = new_tree(20_000), state.view()
        search(tree, Position.of(view), 400, plain(), pool, None, None, SEED)
        values.append(float(tree.reward[children(tree)].sum() / 400))
    assert values[0] == 1.0
    assert values[1] < 0.5
