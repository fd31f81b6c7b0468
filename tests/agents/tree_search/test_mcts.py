"""The UCT family: its determinizations and simulations, whole games, and the thoughts that it shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from ddz_agents.tree_search.search import simulate_random
from ddz_agents.worlds.determinize import draw_game
from ddz_env import PRESETS, State, View
from ddz_env.core.actions import KICKER_BASE, MAIN_GROUPS
from ddz_env.core.engine.layout import BOTTOM, HANDS, HIDDEN, ROW_WORDS, STAGE, STAGE_OVER, WINNER
from ddz_env.core.engine.random import stream_state
from ddz_env.core.engine.words import add_hand
from ddz_env.core.notation import word_to_counts
from ddz_env.playing.registry import make_agent
from ddz_env.playing.search_statistics import Belief
from tests.oracles.figure_two import played

SEED = np.uint64(12345)


def drawn(state: State, seat: int, number: int) -> np.ndarray:
    view, row = state.view(seat), np.empty(ROW_WORDS, np.uint64)
    draw_game(view.row, seat, state.rule_words, np.uint64(stream_state(SEED, np.uint64(number))), row)
    return row


def counts(word: np.uint64) -> np.ndarray:
    return np.array(word_to_counts(int(word)))


def assert_fits(view: View, deal: Iterable[Any]) -> None:
    """The three hands and the cards that no seat holds agree with everything that a seat sees."""
    hands, players = [counts(word) for word in deal], range(view.rules.players)
    assert (hands[view.seat] == view.hand.counts).all()
    assert tuple(int(hands[seat].sum()) for seat in players) == view.hand_sizes
    if view.landlord is not None:
        assert (hands[view.landlord] >= view.known_cards.counts).all()
    played_cards = np.sum([view.played(seat).counts for seat in players], axis=0)
    assert (sum(hands) + played_cards + view.left_out.counts == view.rules.deck).all()


@pytest.mark.parametrize("preset", PRESETS)
def test_determinizations_agree_with_everything_public(preset: str) -> None:
    for seed in range(8):
        state = played(seed, seed * 4, preset)
        for seat in range(state.rules.players):
            view = state.view(seat)
            for number in range(5):
                row = drawn(state, seat, number)
                assert view.landlord is None or row[BOTTOM] == state.row[BOTTOM]
                undealt = add_hand(row[HIDDEN], row[BOTTOM]) if view.landlord is None else row[HIDDEN]
                assert_fits(view, [*row[HANDS : HANDS + 3], undealt])


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
    assert ((draws - by_rank) ** 2 / by_rank).sum() > 1000 / 15, "the test distinguishes the two"


def test_simulations_follow_the_rules_of_the_engine() -> None:
    """The light books of a simulation end in the same kind of state: one empty hand, that seat the winner."""
    mask = np.empty(7, np.uint64)
    for seed in range(200):
        state = played(seed, seed % 30, sorted(PRESETS)[seed % len(PRESETS)])
        row = state.row.copy()
        simulate_random(row, state.rule_words, mask, np.uint64(stream_state(SEED, np.uint64(seed))), np.bool_(True))
        assert row[STAGE] == STAGE_OVER
        winner = int(row[WINNER]) - 1
        if winner < 3:
            assert [seat for seat in range(state.rules.players) if row[HANDS + seat] == 0] == [winner]


@pytest.mark.parametrize("name", ["isuct:iterations=400", "rollout:iterations=60"])
def test_whole_moves_are_those_of_the_decision(name: str) -> None:
    state, agent = State.new(3), make_agent(name)
    decision = agent.decide(state.view(), np.random.default_rng(0))  # type: ignore[attr-defined]
    found = agent.candidates(state.view())  # type: ignore[attr-defined]
    assert {one.move for one in found} <= set(state.legal_moves())
    assert len({one.move for one in found}) == len(found) > 5
    assert all(0 <= one.chance <= 1 for one in found)
    if name.startswith("isuct"):
        visits: Counter[int] = Counter()
        for one in found:
            visits[one.move.main] += one.visits
        plain = {main for main in visits if main >= KICKER_BASE or not MAIN_GROUPS[main].kicker_count}
        assert plain & set(decision.visits)
        assert all(visits[main] == decision.visits[main] for main in plain & set(decision.visits))
        assert any(one.move.kickers for one in found)
        assert max(len(one.line) for one in found) >= 2
    else:
        best = {one.move.main: one.visits for one in reversed(found)}
        assert found[0].move == decision.move
        assert all(best[main] == count for main, count in decision.visits.items())


def test_what_a_search_believes_adds_up_and_knows_the_landlords_cards() -> None:
    state = State.new(3)
    state.step("5")
    view = state.view()
    for name in ("isuct", "isuct:particles=50"):
        expected = make_agent(name).believe(view, np.random.default_rng(1)).expected_counts()  # type: ignore[attr-defined]
        assert expected.sum(axis=1) == pytest.approx([19, 17, 17, 0])
        assert (expected[0] >= np.array(view.known_cards.counts) - 1e-9).all()
        assert expected[1].tolist() == pytest.approx(list(view.hand.counts))
    assert make_agent("isuct").believe(view, np.random.default_rng(1)).as_dict() == Belief.uniform(view).as_dict()  # type: ignore[attr-defined]
