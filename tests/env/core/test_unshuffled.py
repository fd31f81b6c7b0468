"""Deals whose deck is not shuffled: equal to a slow reference, everywhere the same, and rich in bombs."""

from __future__ import annotations

import numpy as np
import pytest

from ddz_env import Hand, Rules, State, dou_dizhu_v0
from ddz_env.batch import SelfPlayBatch
from ddz_env.core.engine import layout as at
from ddz_env.core.state import game_key
from ddz_env.gym import DouDizhuEnv
from ddz_env.saved_games import PERSON, Deal, SavedGame
from ddz_env.support.errors import InvalidDealError
from ddz_play.session import Replay, Session, SessionError
from tests.oracles.unshuffled import Chance, cards_of, dealt, dealt_in, first_deal, played

UNSHUFFLED = Rules.preset("standard,unshuffled=true")
AUCTION = Rules.preset("robbing,doubling=true,showing=true,unshuffled=true")


@pytest.mark.parametrize("rules", [UNSHUFFLED, AUCTION], ids=lambda rules: rules.bidding)
@pytest.mark.parametrize("number", [40, pytest.param(50_000, marks=pytest.mark.long)])
def test_first_deals_equal_the_reference(rules: Rules, number: int) -> None:
    deck = Hand(rules.deck)
    for game in range(number):
        hands = dealt_in(State.new(7, rules, game))
        assert hands == first_deal(rules, 7, game)
        assert hands[0] + hands[1] + hands[2] + hands[3] == deck


def test_every_interface_deals_what_a_state_deals() -> None:
    """The same seed and number, so that both games of a duplicate deal have the same cards."""
    batch = SelfPlayBatch(40, UNSHUFFLED, seed=3)
    for number in range(40):
        assert batch.state(number).row.tolist() == State.new(3, UNSHUFFLED, number).row.tolist()
    aec, gym = dou_dizhu_v0.raw_env(rules=UNSHUFFLED), DouDizhuEnv(rules=UNSHUFFLED, role="landlord")
    for env in (aec, gym):
        env.reset(seed=3)
        assert env.game_state().row.tolist() == State.new(3, UNSHUFFLED).row.tolist()


def test_where_all_decline_the_hands_are_gathered_as_they_are() -> None:
    for seed in range(20):
        state = State.new(seed, AUCTION)
        pile = [rank for hand in dealt_in(state) for rank in cards_of(hand)]
        place = Chance(state.row[at.RNG]).below(54)
        for _ in range(3):
            state.step("no bid")
        assert dealt_in(state) == dealt(pile, -place % 54)


def test_a_state_without_its_moves_does_not_deal_the_next_game() -> None:
    state = State.new(1, UNSHUFFLED)
    state.step(state.legal_moves()[0])
    with pytest.raises(InvalidDealError, match="lacks moves of its game"):
        State(state.row.copy(), UNSHUFFLED).next_deal(1)


@pytest.mark.parametrize("rules", [UNSHUFFLED, AUCTION], ids=lambda rules: rules.bidding)
def test_the_next_game_of_a_session_has_the_cards_of_the_last(rules: Rules) -> None:
    session = Session(SavedGame(Deal(rules, seed=5), ("random",) * 3))
    with pytest.raises(SessionError, match="finish this game first"):
        session.next_deal(8)
    session.let_agents_play()
    end = session.position(None)
    assert isinstance(end, State)
    pile = played(move for _, move in end.history) + [rank for seat in range(3) for rank in cards_of(end.hand(seat))]
    deal = session.next_deal(8)
    assert dealt_in(deal.state()) == dealt(pile, -Chance(game_key(8)).below(54) % 54)
    again = SavedGame.parse(str(session.to_saved_game()))
    assert Replay(again, len(again.moves)).next_deal(8) == deal
    following = SavedGame(deal, (PERSON,) * 3)
    assert SavedGame.parse(str(following)) == following


@pytest.mark.long
def test_unshuffled_deals_have_more_bombs() -> None:
    """By an interval of 99.9 %; docs/reference/rules.md has the figures."""

    def bombs(rules: str | Rules) -> np.ndarray:
        starts = (State.new(1, rules, number) for number in range(20_000))
        held = ([state.hand(seat).counts for seat in range(3)] for state in starts)
        return np.array([sum(hand.count(4) + (hand[13:] == (1, 1)) for hand in hands) for hands in held])

    shuffled, unshuffled = bombs("standard"), bombs(UNSHUFFLED)
    error = np.hypot(shuffled.std(), unshuffled.std()) / len(shuffled) ** 0.5
    assert unshuffled.mean() - shuffled.mean() > 0.8 + 3.3 * error
