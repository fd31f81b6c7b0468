"""The UCT family: its determinizations, its simulations and whole games."""

from __future__ import annotations

import numpy as np
import pytest

from ddz_agents.tree_search.agent import CheatingUctAgent, DeterminizedUctAgent, IsUctAgent
from ddz_agents.tree_search.simulate import simulate_random
from ddz_agents.worlds.determinize import draw_game
from ddz_env import PRESETS, State
from ddz_env.core.engine.layout import BOTTOM, HANDS, HIDDEN, ROW_WORDS, STAGE, STAGE_OVER, WINNER
from ddz_env.core.engine.random import key
from ddz_env.core.notation import word_to_counts
from ddz_env.playing.agent import sight
from tests.oracles.figure_two import played

SEED = np.uint64(12345)


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
        state = played(seed, seed * 4, preset)
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
                gone = sum(np.array(view.played(other).counts) for other in range(state.rules.players))
                assert (sum(hands) + elsewhere + gone == state.rules.deck).all()


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


@pytest.mark.parametrize("preset", ["bidding", "rlcard", "openspiel", "half-deck"])
def test_search_agents_play_whole_games(preset: str) -> None:
    agents = [IsUctAgent(40), DeterminizedUctAgent(10, trees=4), CheatingUctAgent(10, trees=4)]
    for seed in range(2):
        state, rng = State.new(seed, preset), np.random.default_rng(seed)
        while not state.is_over:
            agent = agents[state.seat % 3]
            state.step(agent.act(sight(agent, state), rng))


def test_a_clock_ends_a_search() -> None:
    timed = IsUctAgent(milliseconds=20).decide(State.new(3).view(), np.random.default_rng(5))
    assert sum(timed.visits.values()) >= 256


def test_simulations_follow_the_rules_of_the_engine() -> None:
    """The light books of a simulation end in the same kind of state: one empty hand, that seat the winner."""
    mask = np.empty(7, np.uint64)
    for seed in range(200):
        row = played(seed, seed % 30, sorted(PRESETS)[seed % len(PRESETS)])
        rules, words = row.rule_words, row.row.copy()
        simulate_random(words, rules, mask, np.uint64(key(SEED, np.uint64(seed))), np.bool_(True))
        assert words[STAGE] == STAGE_OVER
        winner = int(words[WINNER]) - 1
        if winner < 3:
            assert words[HANDS + winner] == 0
            assert sum(int(words[HANDS + seat]) == 0 for seat in range(row.rules.players)) == 1
