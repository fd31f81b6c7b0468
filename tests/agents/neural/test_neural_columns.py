"""Prospects of hands and signs of what others hold, as columns; values that are handed back change nothing."""

from __future__ import annotations

import numpy as np
import pytest

from ddz_agents.neural.afterstates import describe_afterstates
from ddz_agents.neural.columns import describe_observations
from ddz_agents.neural.features import (
    HAND_VALUES,
    MOST_LOSERS,
    MOST_MOVES,
    PLANES,
    PROSPECTS,
    SIGNS,
    put_hand_values,
    put_prospects,
    weigh_pool,
)
from ddz_agents.rules.scratch import new_rule_scratch
from ddz_env import Rules, State
from ddz_env.core.actions import BID_BASE
from ddz_env.core.notation import Hand, counts_to_word
from ddz_env.core.observation import HISTORY, observe
from ddz_env.envs.batch import SelfPlayBatch


def test_values_that_are_handed_back_are_believed_and_give_the_same_columns() -> None:
    """There is no second search: others give other prospects, and the cards are what they are."""
    batch = SelfPlayBatch(300, "rlcard", seed=3, threads=1)
    for _ in range(25):
        batch.step(batch.sample_actions())
    first = describe_afterstates(batch.observation, batch.mask)
    rows, actions = np.nonzero(batch.mask)
    assert (first.rows == rows).all()
    assert (first.actions == actions).all()
    assert (first.hand_values.shape, first.hand_values.dtype) == ((len(rows), HAND_VALUES), np.int16)
    again = describe_afterstates(batch.observation, batch.mask, first.hand_values.copy())
    for one, other in zip(first, again, strict=True):
        assert one.tobytes() == other.tobytes()
    changed = describe_afterstates(batch.observation, batch.mask, np.full_like(first.hand_values, 302))
    assert (changed.columns[:, :PLANES] == first.columns[:, :PLANES]).all()
    assert (changed.columns[:, PLANES : PLANES + MOST_LOSERS].sum(1) == 3).all()
    assert (first.columns[:, PLANES:] != changed.columns[:, PLANES:]).any(axis=1).mean() > 0.9


@pytest.mark.parametrize(
    ("sure", "price", "losers", "moves", "share", "steps"),
    [
        (0, 0, 0, 0, 0.25, 0),
        (3, 1, 0, 3, 0.251, 1),  # three moves that nothing beats
        (502, 250, 5, 7, 0.5, 5),
        (2000, 32_000, MOST_LOSERS, MOST_MOVES, 1.0, 12),
        (100, -32_000, 1, 1, 0.0, 0),
    ],
)
def test_an_appraisal_is_a_hundred_a_loser_and_one_any_other_move_and_a_price(
    sure: int, price: int, losers: int, moves: int, share: float, steps: int
) -> None:
    out = np.full(PROSPECTS + 1, 9, np.float32)
    assert put_hand_values(sure, price, out, 0) == PROSPECTS
    parts = np.split(out, [MOST_LOSERS, MOST_LOSERS + MOST_MOVES, MOST_LOSERS + MOST_MOVES + 1, PROSPECTS])
    assert [part.sum() for part in (*parts[:2], parts[3])] == [losers, moves, steps]
    assert parts[2][0] == pytest.approx(share, abs=1e-6)
    assert parts[4].tolist() == [9]


def prospects(hand: str, pool: str, most: int = 20) -> tuple[int, int, float]:
    mind, out = new_rule_scratch(), np.zeros(PROSPECTS, np.float32)
    weigh_pool(np.uint64(counts_to_word(Hand.parse(pool).counts)), np.uint64(most), mind)
    assert put_prospects(np.uint64(counts_to_word(Hand.parse(hand).counts)), Rules().words(), mind, out, 0) == PROSPECTS
    losers, moves = out[:MOST_LOSERS], out[MOST_LOSERS : MOST_LOSERS + MOST_MOVES]
    for thresholds in (losers, moves):  # once a threshold is missed, so are all above it
        assert (np.diff(thresholds) <= 0).all()
    return int(losers.sum()), int(moves.sum()), float(out[MOST_LOSERS + MOST_MOVES])


@pytest.mark.parametrize(
    ("hand", "pool", "most", "losers", "moves"),
    [
        ("2", "AAKK", 20, 0, 1),  # nothing beats a two once both jokers are out
        ("2", "AAKKB", 20, 1, 1),
        ("34567", "456789", 5, 1, 1),
        ("34567", "456789", 4, 0, 1),  # a chain longer than any hand of the others
        ("34567", "33KKAA", 20, 0, 1),  # no chain is left to beat it
        ("333444", "555", 20, 0, 1),  # one trio beats no plane
        ("34579", "KKK", 20, 5, 5),
        ("3335", "KKK", 20, 1, 1),  # the five rides along
    ],
)
def test_moves_and_those_that_can_be_beaten_are_counted(
    hand: str, pool: str, most: int, losers: int, moves: int
) -> None:
    assert prospects(hand, pool, most)[:2] == (losers, moves)


def test_better_hands_cost_less() -> None:
    pool = "44556677889TTJJQQKK22"
    prices = [prospects(hand, pool)[2] for hand in ("2222", "AA", "33", "3468")]
    assert prices == sorted(prices)
    assert len(set(prices)) == 4


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
