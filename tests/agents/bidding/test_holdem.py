"""No-limit hold'em: hands, betting as PettingZoo's, the policy and its searches."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from ddz_agents.bidding.holdem.agents import (
    HoldemError,
    HoldemSeat,
    PayoffHoldem,
    UctHoldem,
    legal_actions,
    make_holdem_agent,
)
from ddz_agents.bidding.holdem.betting import ALL_IN, CALL, FOLD, IN, OVER, STREET, TURN, best_action, bet
from ddz_agents.bidding.holdem.cards import showdowns, strength

SUITS, RANKS = "SHDC", "A23456789TJQK"


def cards(text: str) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.array([SUITS.index(card[0]) * 13 + RANKS.index(card[1]) for card in text.split()], np.int64)


def observation(seen: str, mine: int, most: int) -> dict[str, Any]:
    values = np.zeros(54)
    values[cards(seen)] = 1
    values[52:] = mine, most
    return {"observation": values, "action_mask": np.ones(5, np.int8)}


@pytest.fixture(scope="module")
def env() -> Any:
    pytest.importorskip("rlcard")
    pytest.importorskip("pygame")
    from ddz_training.experiments.holdem import holdem_env

    return holdem_env()


def test_hands_rank_as_poker_does() -> None:
    ranked = [
        "SA SK HQ D9 C7 H4 D2",  # a high card
        "SA HA DQ D9 C7 H4 D2",
        "SA HA DQ CQ C7 H4 D2",
        "SA HA DA CQ C7 H4 D2",
        "SA H2 D3 C4 C5 H9 DJ",  # the ace is below the two
        "S2 H3 D4 C5 C6 H9 DJ",
        "SA S9 S7 S4 S2 HK DK",
        "SA HA DA CQ HQ H4 D2",
        "SA HA DA CA HQ H4 D2",
        "S2 S3 S4 S5 S6 HK DK",
    ]
    found = [strength(cards(hand)) for hand in ranked]
    assert found == sorted(found)
    assert len(set(found)) == len(found)
    assert strength(cards("SA HA DQ D9 C7 H4 D2")) == strength(cards("DA CA SQ H9 S7 D3 H2"))


def test_hands_compare_as_rlcard_says() -> None:
    compare = pytest.importorskip("rlcard.games.limitholdem.utils").compare_hands
    rng = np.random.default_rng(0)
    for _ in range(300):
        deal = rng.permutation(52)[:9]
        sevens = [np.concatenate([deal[place : place + 2], deal[4:]]) for place in (0, 2)]
        names = [[SUITS[card // 13] + RANKS[card % 13] for card in seven] for seven in sevens]
        mine, theirs = map(strength, sevens)
        assert [mine >= theirs, theirs >= mine] == [bool(won) for won in compare(names)]


def test_win_rates_are_the_known_ones() -> None:
    rng = np.random.default_rng(1)
    none = np.empty(0, np.int64)
    assert showdowns(cards("SA HA"), none, 20_000, rng).mean() == pytest.approx(0.852, abs=0.01)
    assert showdowns(cards("S7 H2"), none, 20_000, rng).mean() == pytest.approx(0.346, abs=0.012)
    royal = showdowns(cards("SA SK"), cards("SQ SJ ST H2 D3"), 50, rng)
    assert (royal == 1.0).all()


def test_the_betting_is_pettingzoos(env: Any) -> None:
    rng, streets = np.random.default_rng(0), set()
    for seed in range(40):
        env.reset(seed=seed)
        tables = {name: HoldemSeat() for name in env.possible_agents}
        while not env.terminations[name := env.agent_selection]:
            seen = env.observe(name)
            _, _, bets = tables[name].look(seen)
            legal = legal_actions(bets)
            assert legal == np.flatnonzero(seen["action_mask"]).tolist()
            streets.add(int(bets[STREET]))
            action = int(rng.choice([one for one in legal if one != FOLD]))
            bet(bets, action)
            env.step(action)
            after = env.agent_selection
            assert bool(bets[OVER]) == env.terminations[after]
            if not bets[OVER]:
                turn = int(bets[TURN])
                assert (turn == 0) == (after == name)  # the same player is to act
                chips = env.observe(after)["observation"][52:].tolist()
                assert chips == [bets[IN + turn], max(bets[IN], bets[IN + 1])]
    assert streets == {0, 1, 2, 3}


def test_the_policy_bets_more_with_better_hands() -> None:
    _, _, bets = HoldemSeat().look(observation("SA HA", 1, 2))
    fold, call, more = (best_action(bets, rate) for rate in (0.0, 0.5, 0.99))
    assert (fold, call) == (FOLD, CALL)
    assert more > CALL
    free = bets.copy()
    free[IN] = free[IN + 1] = free[2] = free[3] = 2
    assert best_action(free, 0.0) == CALL  # there is no fold where a check is free


def test_agents_give_bad_hands_up_and_bet_good_ones() -> None:
    rng = np.random.default_rng(0)
    facing = observation("S7 H2", 2, 100)
    for agent in (PayoffHoldem(hands=200), UctHoldem(iterations=200, hands_each=32)):
        agent.reset()
        assert agent.act(facing, rng) == FOLD
    for name in ("payoff", "uct-dealt", "uct-stake"):
        assert make_holdem_agent(name).act(observation("SA HA", 1, 2), rng) != FOLD


def test_the_stake_of_the_opponent_makes_the_search_careful() -> None:
    """With a win rate of 0.62 an all-in is called on the mean over dealt hands, and not on equation 3."""
    rng = np.random.default_rng(0)
    facing = observation("SA H8", 2, 100)
    assert 0.5 < showdowns(cards("SA H8"), np.empty(0, np.int64), 5000, rng).mean() < 2 / 3
    assert UctHoldem("dealt").act(facing, rng) == CALL
    assert UctHoldem("stake").act(facing, rng) == FOLD
    assert ALL_IN not in legal_actions(HoldemSeat().look(facing)[2])


def test_wrong_observations_have_named_errors() -> None:
    for call, message in (
        (lambda: HoldemSeat().look({"observation": np.zeros(72)}), r"shape \[54\]"),
        (lambda: HoldemSeat().look(observation("SA HA DA CA H2", 2, 2)), "reset"),
        (lambda: make_holdem_agent("bluffer"), "unknown hold'em agent"),
        (lambda: UctHoldem("guess"), "unknown simulation"),  # type: ignore[arg-type]
        (lambda: UctHoldem(iterations=0), "iterations=0"),
    ):
        with pytest.raises(HoldemError, match=message):
            call()


def test_a_hand_is_zero_sum_and_repeats(env: Any) -> None:
    from ddz_training.experiments.holdem import play_hand

    hands = []
    for _ in range(2):
        players = {"player_0": make_holdem_agent("payoff"), "player_1": make_holdem_agent("random")}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            hands.append([play_hand(env, players, deal, [1, deal]) for deal in range(5)])
    assert hands[0] == hands[1]
    for chips, bets in hands[0]:
        assert sum(chips.values()) == 0
        assert max(chips.values()) <= min(max(bets.values()), 100)
