"""What every searching agent promises: one table of agents, one of presets, one of borders."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ddz_env import PRESETS, Move, State
from ddz_env.playing.agent import agent_input, is_cheating
from ddz_env.playing.game import make_seat_generators, play_game
from ddz_env.playing.registry import make_agent
from ddz_env.support.errors import DouDizhuError, IllegalMoveError, InvalidAgentOptionError
from tests.agents.tree_search.test_mcts_decisions import view_with
from tests.agents.tree_search.test_search_options import endgame, thought
from tests.hidden import permuted
from tests.oracles.figure_two import played

RNG = np.random.default_rng
TREES = {
    "plain": "isuct:iterations={}",
    "4 trees": "isuct:iterations={},trees=4",
    "inference": "isuct:iterations={},particles=100",
    "duplicate rollouts (rules)": "rollout:iterations={},caution=0,particles=0",
    "cautious rollouts (rules)": "rollout:iterations={},caution=0.5,particles=0",
    "more cautious rollouts (rules)": "rollout:iterations={},caution=1,particles=0",
    "cautious rollouts with inference": "rollout:iterations={},caution=0.5,particles=100",
    "determinized": "duct:iterations={},trees=5",
    "cheating": "cheating-uct:iterations={},trees=4",
}
"""Agents by the number of their iterations; those with several trees grow as many in each."""
OTHERS = {
    "networks": "neural-ismcts:iterations={},trees=2,batch=4,particles=8",
    "textbook": "expectiminimax:depth=2,worlds=4",
    "textbook, open": "cheating-alpha-beta:depth=2",
    "solver": "determinized-solver:cards=24,worlds=8,nodes=60",
    "solver, open": "solver:nodes=60,megabytes=1",
}
SPECS = TREES | OTHERS


@pytest.fixture(params=SPECS)
def spec(request: pytest.FixtureRequest) -> str:
    return SPECS[request.param]


@pytest.mark.parametrize("name", SPECS)
def test_a_seed_reproduces_the_decision_whatever_the_agent_decided_before(name: str) -> None:
    """An agent keeps arrays from one decision to the next; nothing of what they held may be seen.

    Visits are those of all trees, which have as many each.
    """
    spec = SPECS[name].format(60)
    used, trees = make_agent(spec), {"4 trees": 4, "determinized": 5, "cheating": 4}.get(name, 1)
    # Endgames: those before fill the tables of those behind, whose searches end at a limit.
    endgames = (
        [state for state in map(played, range(12), [60] * 12) if state.stage == "play"] if "solver" in spec else []
    )
    for state in (State.new(3), played(4, 9), played(8, 4), State.new(3), *endgames, *endgames):
        decision = thought(used, state)
        assert decision == thought(make_agent(spec), state)
        assert sum(decision.visits.values()) == 60 * trees or "rollout" in spec or name in OTHERS
        assert decision.visits.keys() | decision.values.keys() <= set(state.legal_actions())
        assert decision.move in state.legal_moves()
        assert all(0 <= value <= 1 for value in decision.values.values())


@pytest.mark.parametrize(
    ("spec", "rules", "package"),
    [
        ("payoff:worlds=20", "bidding", "ddz_agents"),
        ("payoff-search:worlds=20,iterations=60", "bidding", "ddz_agents"),
        ("policy", "standard", "ddz_agents"),
        ("policy-raw", "standard", "onnxruntime"),
        ("rlcard-rule", "standard", "rlcard"),
    ],
)
def test_what_does_not_search_is_as_good_as_new_too(spec: str, rules: str, package: str) -> None:
    pytest.importorskip(package)
    used = make_agent(spec)
    for state in (State.new(3, rules), played(4, 9, rules), played(8, 4, rules), State.new(3, rules)):
        view = agent_input(used, state)
        assert used.act(view, RNG(0)) == make_agent(spec).act(view, RNG(0))


@pytest.mark.parametrize("preset", ["bidding", "botzone", "douzero", "half-deck", "half-deck-open", "mini", "perfect"])
def test_whole_games_are_played_legally(spec: str, preset: str) -> None:
    players = PRESETS[preset].players
    agents = [make_agent(spec.format(16)) for _ in range(players)]
    assert play_game(State.new(5, preset), agents, make_seat_generators([5, 0], players)).is_over


@pytest.mark.parametrize(("seed", "moves", "preset"), [(6, 0, "standard"), (6, 11, "standard"), (1, 0, "bidding")])
def test_permuting_the_hidden_cards_changes_nothing(spec: str, seed: int, moves: int, preset: str) -> None:
    state, agents = played(seed, moves, preset), [make_agent(spec.format(60)) for _ in range(2)]
    other = permuted(state, state.seat, RNG(seed))
    assert other.hand((state.seat + 1) % 3) != state.hand((state.seat + 1) % 3)
    if not is_cheating(agents[0]):
        assert thought(agents[0], state) == thought(agents[1], other)


@pytest.mark.parametrize("name", ["rollout", "expectiminimax", "cheating-alpha-beta", "determinized-solver", "solver"])
@pytest.mark.parametrize("rules", ["bidding,doubling=true", "openspiel"])
def test_the_auction_and_doubling_are_the_rule_agents(name: str, rules: str) -> None:
    """No generator is drawn from: nothing is searched."""
    agent, usual, rng = make_agent(name), make_agent("rules"), RNG(0)
    before = rng.bit_generator.state
    for seed in range(4):
        state = State.new(seed, rules)
        while state.stage not in ("play", "over"):
            move = agent.act(agent_input(agent, state), rng)
            assert move == usual.act(state.view(), RNG(0))
            state.step(move)
    assert rng.bit_generator.state == before


def test_what_needs_no_search_is_played_at_once(spec: str) -> None:
    """No visits, and no random number is used up: what follows does not depend on forced moves."""
    agent: Any = make_agent(spec.format(10**6))
    forced_pass, last_move = endgame("R3", "44", "55"), endgame("33344456", "89TJQKA2", "55566677")
    forced_pass.step("R")
    for state, move in ((forced_pass, "pass"), (last_move, "333444+56")):
        rng = RNG(1)
        before = rng.bit_generator.state
        decision = agent.decide(agent_input(agent, state), rng)
        assert (str(decision.move), decision.visits, decision.values) == (move, {}, {})
        assert rng.bit_generator.state == before


def test_what_an_agent_cannot_decide_is_named(spec: str) -> None:
    """Views that no deal agrees with, half-built moves, turns of others and ended games."""
    agent: Any = make_agent(spec.format(10))
    half_built, over = endgame("33345", "6789", "6789"), endgame("3", "4", "5")
    half_built.step_action(Move.parse("333+4").main)
    over.step("3")
    for state, message in ((half_built, "half built"), (over, "game is over")):
        with pytest.raises(IllegalMoveError, match=message):
            agent.act(agent_input(agent, state), RNG(0))
    if is_cheating(agent):
        wrong: Any = [(State.new(1).view(), "seat 1's hand is hidden")]
    else:
        wrong = [(view_with(State.new(1), next=1), "the deck is"), (State.new(1).view(1), "seat 1 cannot act")]
    for view, message in wrong:
        with pytest.raises(DouDizhuError, match=message):
            agent.act(view, RNG(0))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("isuct:simulation=no.such.module", "simulation"),
        (f"isuct:simulation={__name__}.no_such_policy", "simulation"),
        (f"isuct:simulation={__name__}.TREES", "simulation"),
        (f"isuct:simulation={__name__}.spec", "is not a function compiled by Numba"),
        ("isuct:iterations=8388609", "iterations=8388609 must be a whole number from 1 to 8,388,608"),
        ("duct:trees=4097", "trees=4097 must be a whole number from 1 to 4,096"),
        ("rollout:iterations=1000000000000", "iterations"),
        ("rollout:candidates=401", "candidates=401 must be a whole number from 2 to 400"),
        ("expectiminimax:candidates=401", "candidates"),
        ("expectiminimax:worlds=10001", "worlds"),
        ("cheating-uct:milliseconds=-5", "milliseconds"),
        ("cheating-alpha-beta:milliseconds=1e9", "milliseconds"),
        ("neural-ismcts:milliseconds=1e9", "milliseconds"),
        ("neural-ismcts:particles=1e9", r"particles=1000000000\.0 must be a whole number from 0 to 100,000"),
        ("neural-ismcts:skip_search_above=1.5", "skip_search_above=1.5 must be a number from 0.5 to 1"),
        ("neural-ismcts:candidtaes=4", "did you mean 'candidates'"),
        ("expectimax:inference=perhaps", "correct.*incorrect.*cheating-minimax.*expectimax.*rules"),
        ("determinized-minimax:inference=correct,opponent=nobody", "must be one of"),
    ],
)
def test_options_that_do_not_exist_are_named(spec: str, message: str) -> None:
    with pytest.raises(InvalidAgentOptionError, match=message):
        make_agent(spec)
