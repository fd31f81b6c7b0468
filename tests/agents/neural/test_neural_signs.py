"""Signs: the weakest solo and pair of an enemy that a seat let pass, among the moves that an observation shows."""

from __future__ import annotations

import numpy as np
import pytest

from ddz_agents.neural.columns import describe_observations
from ddz_agents.neural.features import SIGNS
from ddz_env import Rules, State
from ddz_env.core.actions import BID_BASE
from ddz_env.core.observation import HISTORY, observe


def test_who_passes_on_an_enemys_solo_passed_on_all_higher_ones_and_a_partners_says_nothing() -> None:
    state = State.from_hands(["34678899T", "55778JQ", "669TKKA"], check_sizes=False)
    for move in ("4", "8", "pass", "pass"):  # the 8 of the peasant down: the peasant up and the landlord let it pass
        state.step(move)
    signs = [describe_observations(observe(state, seat)[None], 0)[0, -SIGNS:] for seat in (1, 2)]
    from_8_on = [0] * 5 + [1] * 10
    assert np.split(signs[0], 4)[2].tolist() == np.split(signs[1], 4)[0].tolist() == from_8_on
    assert [row.sum() for row in signs] == [10, 10]


def naive_signs(state: State, observer: int) -> np.ndarray:
    """Read the moves one by one, as a person would."""
    found = np.zeros((2, 2, 15), np.float32)
    players, last = state.rules.players, None
    for seat, move in state.history[-HISTORY:]:
        if move.main >= BID_BASE:
            continue
        cards = {rank: count for rank, count in enumerate(move.cards.counts) if count}
        if cards:
            last = seat, cards
        elif last is not None and seat != observer:
            owner, beaten = last
            enemies = "landlord" in (state.role(owner), state.role(seat))
            ((rank, count),) = beaten.items() if len(beaten) == 1 else ((0, 0),)
            if enemies and count in (1, 2):
                found[(seat - observer) % players - 1, count - 1, rank:] = 1
    return found


def positions(rules: Rules, games: int) -> list[State]:
    """Every stage of games in which everybody likes solos, pairs and passing."""
    rng, found = np.random.default_rng(7), list[State]()
    for game in range(games):
        state = State.new(5, rules, game)
        while not state.is_over:
            found.append(state.copy())
            legal = np.array(state.legal_actions())
            weights = np.where(legal == 0, 6.0, np.where(legal < 29, 3.0, 1.0))  # pass, then solos and pairs
            state.step_action(int(rng.choice(legal, p=weights / weights.sum())))
    return found


@pytest.mark.parametrize("rules", ["standard", "bidding", "mini", "half-deck"])
def test_signs_are_what_a_naive_reading_of_the_history_finds(rules: str) -> None:
    preset = Rules.preset(rules)
    states = positions(preset, 60 if rules == "standard" else 15)
    seats = [(state, seat) for state in states for seat in range(preset.players)]
    observations = np.stack([observe(state, seat) for state, seat in seats])
    expected = np.stack([naive_signs(state, seat) for state, seat in seats])
    for history in (0, 2, 15):  # however few moves are shown
        found = describe_observations(observations, history)[:, -SIGNS:]
        assert (found.reshape(expected.shape) == expected).all()
    assert len(seats) > (9000 if rules == "standard" else 300)
    others = expected[:, : preset.players - 1]
    assert others.any(axis=3).mean(axis=0).min() > 0.02  # of each seat, on each kind
    roles = np.array([str(state.role(seat)) for state, seat in seats])
    for role in ("landlord", "peasant_down"):
        assert expected[roles == role].any()
