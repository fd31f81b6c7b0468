"""Deals whose deck is not shuffled: equal to a slow reference, everywhere the same, and rich in bombs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ddz_env import Hand, Rules, State
from ddz_env.batch import SelfPlayBatch
from ddz_env.core.engine import layout as at
from ddz_env.core.errors import DouDizhuError, InvalidRulesError
from ddz_env.peers.botzone.games import game_of
from ddz_env.table.session import PERSON, Deal, Record, Replay, Session, SessionError
from tests.oracles.unshuffled import Chance, cards_of, dealt, dealt_in, first_deal, played

UNSHUFFLED = Rules.preset("standard,unshuffled=true")
AUCTION = Rules.preset("robbing,doubling=true,showing=true,unshuffled=true")


@pytest.mark.parametrize("rules", [UNSHUFFLED, AUCTION], ids=lambda rules: rules.bidding)
@pytest.mark.parametrize("number", [60, pytest.param(100_000, marks=pytest.mark.long)])
def test_first_deals_equal_the_reference(rules: Rules, number: int) -> None:
    deck = Hand(rules.deck)
    for game in range(number):
        hands = dealt_in(State.new(7, rules, game))
        assert hands == first_deal(rules, 7, game)
        assert hands[0] + hands[1] + hands[2] + hands[3] == deck


def test_the_batch_deals_what_a_state_deals() -> None:
    """The same seed and number, so that both games of a duplicate deal have the same cards."""
    batch = SelfPlayBatch(40, UNSHUFFLED, seed=3)
    for number, row in enumerate(batch.rows):
        assert row.tolist() == State.new(3, UNSHUFFLED, number).row.tolist()


def test_where_all_decline_the_hands_are_gathered_as_they_are() -> None:
    for seed in range(20):
        state = State.new(seed, AUCTION)
        pile = [rank for hand in dealt_in(state) for rank in cards_of(hand)]
        place = Chance(state.row[at.RNG]).below(54)
        for _ in range(3):
            state.step("no bid")
        assert dealt_in(state) == dealt(pile, -place % 54)


def test_the_next_game_of_a_session_has_the_cards_of_the_last() -> None:
    for rules in (UNSHUFFLED, AUCTION):
        session = Session(Record(Deal(rules, seed=5), ("random",) * 3))
        with pytest.raises(SessionError, match="gathered when it is over"):
            session.next_deal(8)
        session.let_agents_play()
        start, end = session.deal.state(), session.position(None)
        assert isinstance(end, State)
        moves = [move for _, move in session.moves[-len(end.history) :] if move.group is not None]
        pile = played(moves) + [rank for seat in range(3) for rank in cards_of(end.hand(seat))]
        cut = -Chance(State.new(8, "standard").row[at.RNG]).below(54) % 54
        del start, cut
        deal = session.next_deal(8)
        found = [dealt(pile, cut) for cut in range(54)]
        assert dealt_in(deal.state()) in found
        again = Record.parse(str(session.record()))
        assert Replay(again, len(again.moves)).next_deal(8) == deal
        following = Record(deal, (PERSON,) * 3)
        assert Record.parse(str(following)) == following
