"""No-limit hold'em: hands, betting, the policy and its searches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddz_agents.bidding.payoff import expected_payoff
from ddz_papers.payoff_policy.holdem import betting as at
from ddz_papers.payoff_policy.holdem.agents import HoldemAgent, HoldemError, bets_seen_by, legal_actions, play_hand
from ddz_papers.payoff_policy.holdem.betting import (
    ALL_IN,
    BIG_BLIND,
    CALL,
    FOLD,
    SMALL_BLIND,
    STACK,
    STEP,
    best_action,
    take_action,
)
from ddz_papers.payoff_policy.holdem.cards import hand_strength, sample_showdowns

SUITS, RANKS = "SHDC", "A23456789TJQK"


def cards(text: str) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.array([SUITS.index(card[0]) * 13 + RANKS.index(card[1]) for card in text.split()], np.int64)


NO_CARDS = np.empty(0, np.int64)


def test_hands_compare_as_rlcard_says() -> None:
    compare = pytest.importorskip("rlcard.games.limitholdem.utils").compare_hands
    rng = np.random.default_rng(0)
    for _ in range(300):
        deal = rng.permutation(52)[:9]
        sevens = [np.concatenate([deal[place : place + 2], deal[4:]]) for place in (0, 2)]
        names = [[SUITS[card // 13] + RANKS[card % 13] for card in seven] for seven in sevens]
        mine, theirs = map(hand_strength, sevens)
        assert [mine >= theirs, theirs >= mine] == [bool(won) for won in compare(names)]


def test_win_rates_are_the_known_ones() -> None:
    rng = np.random.default_rng(1)
    assert sample_showdowns(cards("SA HA"), NO_CARDS, 20_000, rng).mean() == pytest.approx(0.852, abs=0.01)
    assert sample_showdowns(cards("S7 H2"), NO_CARDS, 20_000, rng).mean() == pytest.approx(0.346, abs=0.012)
    royal = sample_showdowns(cards("SA SK"), cards("SQ SJ ST H2 D3"), 50, rng)
    assert (royal == 1.0).all()


class Reference:
    """The betting, written independently: what each has put in, who is to act, and the rules of a poker book."""

    def __init__(self, button: int) -> None:
        self.chips = {button: SMALL_BLIND, 1 - button: BIG_BLIND}
        self.button, self.turn, self.street, self.raised = button, button, 0, BIG_BLIND
        self.to_speak = {0, 1}  # who has yet to speak on this street, or to answer a raise
        self.over: str = ""

    def legal(self) -> list[str | int]:
        mine, theirs = self.chips[self.turn], self.chips[1 - self.turn]
        least = max(mine, theirs) + self.raised
        totals = range(STEP, STACK + 1, STEP) if theirs < STACK else ()
        raises = [total for total in totals if total >= least or (total == STACK and total > max(mine, theirs))]
        return ["fold", "call", *raises]

    def act(self, action: str | int) -> None:
        if action == "fold":
            self.over = f"folded {self.turn}"
            return
        most = max(self.chips.values())
        self.chips[self.turn] = most if action == "call" else int(action)
        self.to_speak = {1 - self.turn} if action != "call" else self.to_speak - {self.turn}
        if action != "call":
            self.raised = max(self.raised, int(action) - most)
        self.turn = 1 - self.turn
        if not self.to_speak:
            if self.street == 3 or STACK in self.chips.values():
                self.over = "showdown"
            else:
                self.street, self.turn, self.raised, self.to_speak = self.street + 1, 1 - self.button, BIG_BLIND, {0, 1}


@given(st.integers(0, 1), st.lists(st.floats(0, 0.999), min_size=12, max_size=12))
def test_the_betting_is_that_of_the_rules(button: int, draws: list[float]) -> None:
    bets, game = at.new_bets(button), Reference(button)
    for draw in draws:
        names = {FOLD: "fold", CALL: "call"}
        legal = [names.get(action, (action - CALL) * STEP) for action in legal_actions(bets)]
        assert legal == game.legal()
        assert (bets[at.TURN], bets[at.STREET]) == (game.turn, game.street)
        index = int(draw**2 * len(legal))  # mostly calls and small raises: hands that go on
        take_action(bets, legal_actions(bets)[index])
        game.act(legal[index])
        assert [bets[0], bets[1]] == [game.chips[0], game.chips[1]]
        expected = {"": 0, "showdown": 1, "folded 0": 2, "folded 1": 3}[game.over]
        assert bets[at.OVER] == expected
        if game.over:
            return


@pytest.mark.parametrize(
    ("full", "win_rate", "stake"),
    [
        *((False, 0.6, 5_000), (False, 2 / 3, 10_000), (False, 0.75, 20_000), (False, 0.9, 20_000)),
        *((True, 0.6, 2_000), (True, 0.75, 5_000), (True, 1.0, 10_000)),
    ],
)
def test_the_best_stake_follows_from_the_win_rate(full: bool, win_rate: float, stake: int) -> None:
    """Weighted by the chance of losing, all is staked from 3/4 on; subtracted in full, half of it at most."""
    stakes = range(STEP, STACK + 1, STEP)
    assert max(stakes, key=lambda chip: expected_payoff(win_rate, chip, STACK, full=full)) == stake
    assert at.chips_after(at.new_bets(0), best_action(at.new_bets(0), win_rate, full, False)) == stake


def test_by_stage_a_stake_is_what_is_bet_on_the_street() -> None:
    bets = at.new_bets(0)
    for action in (CALL + 2_000 // STEP, CALL):  # to the flop with 2,000 each
        take_action(bets, action)
    stakes = [at.chips_after(bets, best_action(bets, 0.75, True, by_stage)) for by_stage in (False, True)]
    assert stakes == [5_000, 2_000 + 5_000]


def test_nobody_folds_where_a_check_is_free() -> None:
    bets = at.new_bets(0)
    assert best_action(bets, 0.0, False, False) == FOLD
    take_action(bets, CALL)
    assert best_action(bets, 0.0, False, False) == CALL


def facing(total: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The big blind's bets, as the first player, after the button has raised to a total."""
    bets = at.new_bets(1)
    take_action(bets, CALL + total // STEP)
    return bets


@pytest.mark.parametrize("name", ["payoff", "uct-dealt", "uct-stake"])
def test_agents_give_bad_hands_up_and_bet_good_ones(name: str) -> None:
    agent, rng = HoldemAgent(name, hands=200, iterations=300, hands_each=32), np.random.default_rng(0)
    assert agent.act(cards("S7 H2"), NO_CARDS, facing(STACK), rng) == FOLD
    assert agent.act(cards("SA HA"), NO_CARDS, at.new_bets(0), rng) > CALL


def test_the_stake_of_the_opponent_makes_the_search_careful() -> None:
    """With a win rate of 0.62 an all-in is called on the mean over dealt hands, and not on equation 3."""
    hole, rng = cards("SA H8"), np.random.default_rng(0)
    assert 0.5 < sample_showdowns(hole, NO_CARDS, 5000, rng).mean() < 2 / 3
    assert HoldemAgent("uct-dealt").act(hole, NO_CARDS, facing(STACK), rng) == CALL
    assert HoldemAgent("uct-stake").act(hole, NO_CARDS, facing(STACK), rng) == FOLD
    assert ALL_IN not in legal_actions(facing(STACK))


def test_unknown_agents_and_options_have_named_errors() -> None:
    for name, options in (("bluffer", {}), ("uct-stake", {"iterations": 0})):
        with pytest.raises(HoldemError, match=f"{name}|iterations=0"):
            HoldemAgent(name, **options)


def test_a_hand_is_zero_sum_repeats_and_is_fair_to_both_seats() -> None:
    for seed in range(30):
        deck = np.random.default_rng(seed).permutation(52).astype(np.int64)
        played = []
        for order in (1, 1, -1):
            agents, rngs = [HoldemAgent("payoff", hands=50), HoldemAgent("random")], [1, 2]
            generators = [np.random.default_rng([seed, number]) for number in rngs][::order]
            played.append(play_hand(agents[::order], deck, 0 if order > 0 else 1, generators))
        (first, chips), again, (second, _) = played
        assert (first, chips) == again
        assert first == -second
        assert abs(first) <= chips or first > 0


class AllIn:
    """Somebody's own agent: it bets whatever it has."""

    def act(self, hole: Any, board: Any, bets: np.ndarray[Any, np.dtype[np.int64]], rng: np.random.Generator) -> int:
        return legal_actions(bets)[-1]


def test_stack_and_step_are_given_and_anybody_may_play() -> None:
    bets = at.new_bets(0, stack=1_000, step=100)
    assert legal_actions(bets) == [FOLD, CALL, *range(CALL + 2, CALL + 11)]
    deck, rngs = np.random.default_rng(1).permutation(52), [np.random.default_rng(seed) for seed in (0, 1)]
    assert play_hand([AllIn(), AllIn()], deck, 0, rngs, stack=1_000, step=100)[1] == 1_000
    for agent in ("payoff", "uct-dealt", "uct-stake", "random"):
        won, pot = play_hand([HoldemAgent(agent), AllIn()], deck, 0, rngs, stack=800, step=20)
        assert abs(won) <= pot <= 800
    for stack, step in ((1_000, 300), (20_000, 100), (100, 200)):
        with pytest.raises(HoldemError, match="at most 40 steps"):
            play_hand([AllIn(), AllIn()], deck, 0, rngs, stack, step)


def test_bets_are_seen_with_oneself_as_the_first_player() -> None:
    bets = at.new_bets(0)
    assert [*bets_seen_by(bets, 0)] == [*bets]
    assert [*bets_seen_by(bets, 1)][: at.RAISE] == [BIG_BLIND, SMALL_BLIND, 1, 0, 0, 1]
