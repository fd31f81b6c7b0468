"""The options of the search, read as promises: what each does to the tree, and what none of them may change."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pytest

from ddz_agents.search_agent import Position
from ddz_agents.tree_search.agent import CheatingUctAgent, DeterminizedUctAgent, IsUctAgent, TreeOptions
from ddz_agents.tree_search.search import new_trace, search, simulate_random
from ddz_agents.tree_search.tree import Tree, children, double_capacity, new_tree
from ddz_agents.worlds.determinize import WorldPool, uniform_pool
from ddz_env import Rules, State, View
from ddz_env.core.engine.layout import HANDS, HIDDEN, LANDLORD, WINNER
from ddz_env.core.engine.random import stream_state
from ddz_env.playing.agent import Decision, agent_input
from ddz_env.playing.registry import make_agent
from ddz_env.support.compiling import pure_kernel
from ddz_env.support.errors import InvalidAgentOptionError
from tests.oracles.figure_two import SEED, figure_2, grown_by_hand, played, statistics, statistics_of

RNG = np.random.default_rng


def endgame(*hands: str, rules: str | Rules = "standard") -> State:
    return State.from_hands(hands, rules=rules, check_sizes=False)


def thought(agent: Any, state: State, seed: int = 0) -> Decision:
    decision: Decision = agent.decide(agent_input(agent, state), RNG(seed))
    return decision


@pytest.mark.parametrize("kind", [IsUctAgent, DeterminizedUctAgent, CheatingUctAgent])
def test_threads_change_nothing(kind: type) -> None:
    state = State.new(9)
    one, *more = [thought(kind(150, trees=4, threads=threads), state) for threads in (1, 2, 4)]
    assert sum(one.visits.values()) == 600
    assert all(decision == one for decision in more)


def test_the_statistics_are_the_sum_of_the_trees() -> None:
    """Each tree is a search of its own, from random numbers keyed by the seed and its number."""
    state, visits, rewards = played(4, 9), Counter[int](), defaultdict[int, float](float)
    seed = np.uint64(RNG(7).integers(0, 2**64, dtype=np.uint64))
    for index in range(4):
        tree = new_tree(10_000)
        chance = np.uint64(stream_state(seed, np.uint64(index)))
        search(tree, new_trace(), Position.of(state.view()), 150, 1.0, None, uniform_pool(), None, True, chance)
        for record in range(children(tree).start, children(tree).stop):
            visits[int(tree.action[record])] += int(tree.visits[record])
            rewards[int(tree.action[record])] += float(tree.reward[record])
    decision = thought(IsUctAgent(150, trees=4), state, seed=7)
    assert decision.visits == visits
    assert decision.values == {action: rewards[action] / visits[action] for action in visits}
    assert decision.move.main == max(visits, key=lambda action: (visits[action], -action))


@pytest.mark.parametrize(
    ("spec", "name", "least"),
    [
        ("isuct:milliseconds=20", "IsUctAgent(20ms)", 256),
        ("rollout:milliseconds=20", "RolloutAgent(20ms)", 12),
    ],
)
def test_a_clock_ends_a_search_once_it_has_looked_around(spec: str, name: str, least: int) -> None:
    agent, state = make_agent(spec), State.new(1)
    assert agent.name == name
    decision = thought(agent, state)
    assert sum(decision.visits.values()) >= least
    assert min(decision.visits.values()) >= 1
    assert decision.move in state.legal_moves()


@pytest.mark.parametrize(
    ("milliseconds", "trees", "threads", "each"),
    [(None, 3, 2, None), (60, 3, 2, 30), (60, 4, 2, 30), (60, 4, 1, 15), (60, 4, 4, 60)],
)
def test_trees_that_grow_in_turn_share_the_time(
    milliseconds: float | None, trees: int, threads: int, each: float | None
) -> None:
    assert TreeOptions(milliseconds=milliseconds, trees=trees).milliseconds_per_tree(threads) == each


def compiled(state: State, iterations: int, k: float = 1.0, *, fixed: bool = False, capacity: int = 20_000) -> Tree:
    tree, left, chance = new_tree(capacity), iterations, SEED
    position, worlds = Position.of(state if fixed else state.view()), None if fixed else uniform_pool()
    while left:
        done, after = search(tree, new_trace(), position, left, k, None, worlds, None, True, np.uint64(chance))
        chance, left = np.uint64(after), left - done
        if left:
            tree = double_capacity(tree)
    return tree


POSITIONS = {
    "landlord leads": (State.new(1), 400, 1.0),
    "peasant down follows": (played(3, 1), 500, 1.0),
    "landlord in the middle, with kickers": (played(10, 12), 500, 1.0),
    "peasant in the middle": (played(5, 13), 800, 2.0),
    "endgame": (endgame("36", "44457", "8889JJ"), 700, 0.5),
    "mini follows": (played(6, 3, "mini"), 700, 0.5),
    "landlord leads, little exploration": (State.new(2), 500, 0.1),
    "peasant up follows": (played(3, 2), 500, 0.44),
    "peasant late": (played(7, 20), 700, 1.0),
    "repeated kickers": (State.new(3, "rlcard"), 500, 1.0),
    "merged planes": (endgame("333444555", "666777JJ", "9TTT", rules="douzero"), 500, 1.0),
    "mini leads": (State.new(5, "mini"), 700, 1.0),
    "an auction opens": (State.new(1, "bidding"), 400, 1.0),
    "an auction goes on": (played(2, 1, "openspiel"), 400, 0.7),
}
"""Positions with iterations and constant."""


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("name", POSITIONS)
def test_the_tree_is_the_documented_formulas(name: str, fixed: bool) -> None:
    """Figure 2 of the paper, and plain UCT where the game is known."""
    state, iterations, k = POSITIONS[name]
    iterations *= 1 if fixed else 2
    book = grown_by_hand(state, iterations, figure_2(k), fixed=fixed)
    found = statistics_of(compiled(state, iterations, k, fixed=fixed))
    assert found == statistics(book)
    assert max(map(len, found)) > 2


def test_results_do_not_depend_on_the_first_capacity() -> None:
    for state in (played(4, 6), State.new(1, "bidding")):
        roomy, tiny = (statistics_of(compiled(state, 300, capacity=capacity)) for capacity in (20_000, 8))
        assert roomy == tiny


@pytest.mark.parametrize("preset", ["bidding", "openspiel"])
def test_a_long_search_of_an_auction_ends(preset: str) -> None:
    """The winner takes up cards that no seat has seen, or all may decline and be dealt new cards."""
    agent = make_agent("isuct")  # of 10,000 iterations
    for seat in range(3):
        state = State.new(1, preset)
        for _ in range(seat):
            state.step(state.legal_moves()[0])
        decision = thought(agent, state)
        assert sum(decision.visits.values()) == 10_000
        assert set(decision.visits) == set(state.legal_actions())


@pure_kernel
def landlord_always_wins(row: np.ndarray, rules: np.ndarray, mask: np.ndarray, state: np.uint64) -> np.uint64:
    state = simulate_random(row, rules, mask, state, True)
    row[WINNER] = row[LANDLORD] + np.uint64(1)
    return state


@pytest.mark.parametrize("policy", [landlord_always_wins, f"{__name__}.landlord_always_wins"])
def test_a_policy_of_ones_own_decides_the_simulations(policy: Any) -> None:
    decision = thought(IsUctAgent(120, simulation=policy), State.new(3))
    assert set(decision.values.values()) == {1.0}
    state = played(4, 8)
    assert state.role() != "landlord"
    lost = thought(IsUctAgent(120, simulation=policy), state)
    assert set(lost.values.values()) == {0.0}


@pure_kernel
def figure_2_bound(mean: float, visits: float, parent_visits: float, exploration: float) -> float:
    return mean + exploration * math.sqrt(math.log(parent_visits) / visits)


@pure_kernel
def fewest_visits(mean: float, visits: float, parent_visits: float, exploration: float) -> float:
    return -visits


def test_a_tree_policy_of_ones_own_selects() -> None:
    """That of figure 2, written again, grows the same tree; one of fewest visits gives all actions as many."""
    state = played(4, 8)
    built_in = thought(IsUctAgent(300), state).visits
    own = thought(IsUctAgent(300, selection=figure_2_bound), state).visits
    even = thought(IsUctAgent(300, selection=f"{__name__}.fewest_visits"), state).visits.values()
    assert sum(abs(own[action] - count) for action, count in built_in.items()) <= 6  # they round otherwise
    assert max(even) - min(even) <= 1


def test_worlds_of_ones_own_are_searched() -> None:
    """With the one true world, it is the search of the open game."""
    state, asked = played(4, 8), list[View]()
    hands = state.row[np.newaxis, [HANDS, HANDS + 1, HANDS + 2, HIDDEN]]

    def true_world(view: View, rng: np.random.Generator) -> WorldPool:
        asked.append(view)
        return WorldPool.of(hands)

    agent = IsUctAgent(400, worlds=true_world)
    decision = thought(agent, state)
    assert len(asked) == 1
    agent.believe(state.view(), RNG(0))
    assert len(asked) == 2
    assert sum(decision.visits.values()) == 400


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("selection", "nonsense", "must be ucb, or module.function"),
        ("selection", "math.nothing", "names no function"),
        ("selection", "math.sqrt", "is not a function compiled by Numba"),
        ("simulation", "nonsense", "must be random, or module.function"),
        ("worlds", "nonsense", "must be particles, or module.function"),
        ("worlds", "math.pi", "is not a function"),
    ],
)
def test_functions_that_are_none_are_refused(option: str, value: str, told: str) -> None:
    with pytest.raises(InvalidAgentOptionError, match=told):
        make_agent(f"isuct:{option}={value}")
