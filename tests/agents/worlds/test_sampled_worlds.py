"""Worlds and playouts of the agents, with the signatures of the environment's own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ddz_agents.belief.model import load_belief, sample_belief_worlds
from ddz_agents.rules.playouts import next_kicker, play_out_by_rules
from ddz_agents.rules.workspace import new_rule_workspace
from ddz_agents.worlds.determinize import Words, WorldPool, draw_pooled_hands, uniform_pool
from ddz_agents.worlds.inference import infer_worlds
from ddz_env import State, View
from ddz_env.core.actions import KICKER_BASE, MAIN_GROUPS
from ddz_env.core.engine.layout import HANDS
from ddz_env.core.engine.step import apply_action
from ddz_env.core.view import list_legal_actions
from ddz_env.playing.registry import make_agent
from ddz_env.support.errors import InvalidAgentOptionError


def played(seed: int, moves: int, rules: str = "standard") -> State:
    """A game after some moves of the rule agent."""
    state, agent, rng = State.new(seed, rules=rules), make_agent("rules"), np.random.default_rng(0)
    while len(state.history) < moves and not state.is_over:
        state.step(agent.act(state.view(), rng))
    return state


def uniform_worlds(view: View, count: int, rng: np.random.Generator) -> Words:
    return view.sample_worlds(count, rng)


@pytest.mark.parametrize("rules", ["standard", "bidding", "half-deck", "mini"])
@pytest.mark.parametrize("sample", [uniform_worlds, infer_worlds, sample_belief_worlds])
def test_sampled_worlds_fit_the_view(sample: Callable[[View, int, np.random.Generator], Words], rules: str) -> None:
    """Every row makes a game that looks to the seat as its own does, and equal generators draw the same."""
    view = played(3, 5, rules).view()
    worlds = sample(view, 20, np.random.default_rng(1))
    assert worlds.tobytes() == sample(view, 20, np.random.default_rng(1)).tobytes()
    assert worlds.shape == (20, 4)
    for hands in worlds:
        assert State.from_view(view, hands).view(view.seat).key()[: view.row.nbytes] == view.row.tobytes()


def test_the_belief_networks_worlds_are_those_that_it_proposes() -> None:
    view, network = played(3, 9).view(), load_belief()
    proposal = network.propose(view, np.random.default_rng(2), 50)
    assert proposal is not None
    for worlds in (sample_belief_worlds(view, 50, np.random.default_rng(2), network), proposal.hands):
        assert worlds.tobytes() == proposal.hands.tobytes()


def test_inferred_worlds_explain_what_was_played() -> None:
    """The hands that the others really hold are likelier in inferred worlds than in uniform ones, over some games."""
    gains = []
    for seed in range(40):
        state = played(seed, 12)
        view, rng = state.view(), np.random.default_rng(seed)
        true = state.row[HANDS : HANDS + 3]
        cards = [cards_in_place(true, draw(view, 300, rng)) for draw in (uniform_worlds, infer_worlds)]
        gains.append(cards[1] - cards[0])
    assert np.mean(gains) > 2 * np.std(gains) / len(gains) ** 0.5


def cards_in_place(true: Words, worlds: Words) -> float:
    """How many cards of a world are where they really are, on average."""
    return float(np.unpackbits((worlds[:, :3] & true).view(np.uint8)).sum() / len(worlds))


def test_a_pool_is_drawn_from_by_its_weights() -> None:
    view = played(3, 5).view()
    hands = view.sample_worlds(3, np.random.default_rng(0))
    drawn = draw_pooled_hands(view, WorldPool.of(hands, np.array([1.0, 0.0, 3.0])), 4000, np.random.default_rng(1))
    shares = [(drawn == one).all(axis=1).mean() for one in hands]
    assert shares == pytest.approx([0.25, 0.0, 0.75], abs=0.03)
    assert len(np.unique(draw_pooled_hands(view, uniform_pool(), 100, np.random.default_rng(1)), axis=0)) > 90
    for wrong, told in (
        ((hands, np.zeros(3)), "not all 0"),
        ((hands, np.ones(2)), r"weights of shape \[3\], not \[2\]"),
        ((hands.astype(np.int64), None), r"not int64 of shape \[3, 4\]"),
        ((hands[:0], None), "at least one world"),
    ):
        with pytest.raises(InvalidAgentOptionError, match=told):
            WorldPool.of(*wrong)


@pytest.mark.parametrize("rules", ["standard", "robbing,doubling=true", "half-deck", "mini"])
@pytest.mark.parametrize("moves", [0, 4, 15])
def test_playouts_by_rules_are_games_of_the_rule_agent(rules: str, moves: int) -> None:
    state, agent = played(7, moves, rules), make_agent("rules")
    before = state.row.tobytes()
    found = play_out_by_rules(state)
    assert state.row.tobytes() == before
    while not state.is_over:
        state.step(agent.act(state.view(), np.random.default_rng(0)))
    assert found.tolist() == list(state.returns())


def test_a_playout_by_rules_ends_a_move_that_is_half_built() -> None:
    """Also one of which the rule agent would not have chosen the first kicker: every action is legal."""
    state = State.from_hands(["33345", "7", "9"], check_sizes=False)
    state.step_action(next(action for action in state.legal_actions() if MAIN_GROUPS[action].kicker_count))
    assert state.stage == "kicker"
    assert play_out_by_rules(state).tolist() == [1.0, -0.5, -0.5]
    state = State.from_hands(["4444" + "3355667789", "7", "9"], check_sizes=False)
    state.step_action(
        next(action for action in state.legal_actions() if MAIN_GROUPS[action].name == "quad+2 solos 4444+")
    )
    row, memory, plan = state.row.copy(), new_rule_workspace(), np.zeros(2, np.uint64)
    apply_action(row, np.uint64(KICKER_BASE + 4), state.rule_words)  # a 7
    action = int(next_kicker(row, state.rule_words, memory, plan))
    assert action in list_legal_actions(row, state.rule_words)
