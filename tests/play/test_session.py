"""A game with people in it: what each seat may see, undo, tables seen from one seat, advice and beliefs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest

from ddz_env import Hand, Move, Rules, State, View
from ddz_env.core.cards import counts_to_word
from ddz_env.playing.agent import Decision
from ddz_env.playing.search_statistics import NO_HOLDER, Belief, Candidate
from ddz_env.saved_games import PERSON, Deal, SavedGame
from ddz_env.support.errors import GameOverError, IllegalMoveError, InvalidDealError
from ddz_play.session import HiddenCardsError, NotYourTurnError, Session, SessionError
from ddz_play.session.advice import ask_for_advice
from tests.hidden import permuted, twin_games
from tests.listener import Listener

STANDARD, BIDDING = Rules(), Rules.preset("bidding,doubling=true")
PEOPLE = (PERSON,) * 3


def new(seed: int, players: tuple[str, ...] = PEOPLE, rules: Rules = STANDARD) -> Session:
    return Session(SavedGame(Deal(rules, seed), players))


def finished(seed: int, rules: Rules = STANDARD) -> SavedGame:
    session = new(seed, ("rules",) * 3, rules)
    session.let_agents_play()
    return session.to_saved_game()


def seen_from(record: SavedGame, seat: int) -> Deal:
    """The table of a game as one seat sees it at the beginning."""
    start = record.deal.state()
    hand = start.hand(seat) - start.bottom if seat == 0 else start.hand(seat)
    return Deal.from_one_hand(record.deal.rules, seat, hand, start.bottom)


def leaves(value: Any, path: str = "") -> Iterator[str]:
    """The names of all fields of plain data, numbers of lists left out."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from leaves(part, f"{path}.{name}" if path else name)
    elif isinstance(value, list | tuple) and value and isinstance(value[0], dict):
        for part in value:
            yield from leaves(part, path)
    else:
        yield path


FIELDS = {
    *(f"table.{name}" for name in ("rules", "stage", "viewer", "landlord", "landlord_cards", "landlord_backs")),
    *(f"table.{name}" for name in ("undealt", "stake", "highest_bid", "bombs", "moves", "on_lead", "building")),
    *(f"table.{name}" for name in ("winner", "spring", "robbing", "left_out")),
    *(f"table.seats.{name}" for name in ("number", "role", "hand", "size", "play", "acting", "doubled", "result")),
    *(f"table.seats.play.{name}" for name in ("text", "category", "cards", "to_beat", "current")),
    *("players", "history", "waits_for", "legal", "decisions"),
}
"""What a viewer gets.  Before a new field is added here, make sure that it hides what is hidden."""


def same_to(seat: int) -> Iterator[tuple[SavedGame, SavedGame]]:
    """Pairs of games that are the same to a seat: a true one, and one with other hidden hands."""
    record = finished(2 + seat)
    yield record, SavedGame(seen_from(record, seat), PEOPLE, record.moves)
    yield twin_games("bidding,doubling=true", seat)


@pytest.mark.parametrize("seat", [0, 2])
def test_a_seat_is_told_the_same_whatever_the_others_hold(seat: int) -> None:
    """The games differ in hidden cards alone, and so does what is made up from what a seat sees of one."""
    found: set[str] = set()
    for record, other in same_to(seat):
        seed = record.deal.seed  # decides the suits, which everybody sees
        true, seen = (Session(SavedGame(replace(one.deal, seed=seed), PEOPLE)) for one in (record, other))
        differ = False
        for number, (mover, move) in enumerate(record.moves):
            told = true.seat_view(seat)
            assert told == seen.seat_view(seat)
            if number % 8 == 0:
                found.update(leaves(told.as_dict()))
                assert true.infer_belief("rules", seat).as_dict() == seen.infer_belief("rules", seat).as_dict()
            if mover == seat:
                assert true.hint("rules") == seen.hint("rules")
            differ = differ or any(true._state.hand(place) != seen._state.hand(place) for place in range(3))
            true.play(move, mover)
            seen.play(move, mover)
        assert differ
        assert seen.is_over
    assert found == FIELDS
    assert [bool(new(1).seat_view(seat).legal) for seat in range(3)] == [True, False, False]  # whose turn it is


def test_all_hands_are_shown_when_nobody_is_playing_any_more() -> None:
    session = new(1, (PERSON, "rules", "rules"))
    session.play(session.hint("rules").move)
    for look in (session.seat_view, session.position):
        with pytest.raises(HiddenCardsError, match="name the seat that looks"):
            look(None)
    assert isinstance(session.position(0), View)
    session.let_agents_play()
    while not session.is_over:
        session.play(session.hint("rules").move)
        session.let_agents_play()
    assert isinstance(session.position(None), State)
    assert not any(seat.unseen for seat in session.seat_view(None).table.seats)
    assert not any(seat.unseen for seat in session.seat_view(0, reveal=True).table.seats)
    assert isinstance(session.position(0), View)  # a seat goes on to see as a seat, unless all is to be revealed
    assert not any(seat.unseen for seat in new(1, ("rules",) * 3).seat_view(None).table.seats)  # agents have no secrets
    with pytest.raises(HiddenCardsError):
        session.seat_view(3)


def test_who_looks_at_hidden_cards_gives_no_advice() -> None:
    for ask in (new(1).hint, lambda agent: new(1).infer_belief(agent, 1)):
        with pytest.raises(HiddenCardsError, match="ask another"):
            ask("cheating-uct")
    deal = seen_from(finished(1), 1)
    with pytest.raises(HiddenCardsError, match="unknown at this table"):
        Session(SavedGame(deal, (PERSON, PERSON, "cheating-uct")))


def test_only_the_seat_to_act_moves() -> None:
    session = new(5, (PERSON, "rules", PERSON))
    with pytest.raises(NotYourTurnError, match="seat 0's turn"):
        session.play("pass", 2)
    with pytest.raises(NotYourTurnError, match="a person plays seat"):
        session.let_agent_play()
    before = session.to_saved_game()
    with pytest.raises(IllegalMoveError):
        session.play("pass", 0)
    assert session.to_saved_game() == before
    session.play(session.hint("rules").move, 0)
    with pytest.raises(NotYourTurnError, match="rules plays seat"):
        session.play("pass")
    assert [turn.seat for turn in session.let_agents_play()] == [1]
    with pytest.raises(NotYourTurnError, match="seat 2's turn"):
        session.hint("rules", 0)
    with pytest.raises(GameOverError):
        Session(finished(5)).play("pass")


def test_a_decision_taken_back_leaves_no_trace() -> None:
    """Agents that draw at random draw the same again, and the game ends as if nothing had been taken back."""

    def play_on(session: Session) -> None:
        session.let_agents_play()
        while not session.is_over:
            session.play(session.view(session.seat).legal_moves()[-1])
            session.let_agents_play()

    straight, crooked = new(8, (PERSON, "random", "random")), new(8, (PERSON, "random", "random"))
    play_on(straight)
    play_on(crooked)
    mine = crooked.seat_view(0).decisions
    assert len(mine) > 4
    taken = crooked.undo(mine[2])
    assert (taken.number, taken.move) == (mine[2], straight.moves[mine[2]][1])
    assert crooked.moves == straight.moves[: mine[2]]
    crooked.play(crooked.view(0).legal_moves()[0])
    crooked.let_agents_play()
    assert crooked.undo().number == mine[2]
    play_on(crooked)
    assert crooked.moves == straight.moves
    other = next(number for number in range(len(straight.moves)) if number not in mine)
    with pytest.raises(SessionError, match="not a decision of yours"):
        crooked.undo(other)
    with pytest.raises(SessionError, match="nothing to take back"):
        crooked.undo(seat=1)


def test_an_agent_has_heard_the_game_and_nothing_that_was_taken_back() -> None:
    agent = Listener()
    session = Session(SavedGame(Deal(STANDARD, 8), (PERSON, "listener", PERSON)), {1: agent})
    session.play(session.view(0).legal_moves()[1])
    session.let_agents_play()
    session.play(session.hint("rules").move)
    session.undo(0)
    session.play(session.view(0).legal_moves()[0])
    session.let_agents_play()
    assert agent.heard == list(session.moves[:-1])


def test_new_cards_are_dealt_when_all_decline_and_can_be_taken_back() -> None:
    session = new(3, PEOPLE, BIDDING)
    first = [session.view(seat).hand for seat in range(3)]
    turns = [session.play("no bid") for _ in range(3)]
    assert [turn.redealt for turn in turns] == [False, False, True]
    assert [session.view(seat).hand for seat in range(3)] != first
    again = SavedGame.parse(str(session.to_saved_game()))
    assert Session(again).view(0).hand == session.view(0).hand
    session.undo(1)
    assert [session.view(seat).hand for seat in range(3)] == first


def test_an_observed_table_refuses_what_cannot_have_been_played() -> None:
    own, bottom = Hand.parse("3334567TJQQKA22BR"), Hand.parse("459")
    for rules, hand, message in (
        ("standard", Hand.parse("34567"), "deals 17"),
        ("standard", own + Hand.parse("4"), "deals 17"),
        ("perfect", own, "needs all hands"),
        ("half-deck", own, "unknown size"),
        ("bidding", own, "an auction"),
    ):
        with pytest.raises(InvalidDealError, match=message):
            Deal.from_one_hand(Rules.preset(rules), 0, hand, bottom)
    table = Session(SavedGame(Deal.from_one_hand(STANDARD, 1, own, bottom), PEOPLE))
    for look in (table.view, table.seat_view, lambda seat: table.hint("rules", seat)):
        with pytest.raises(HiddenCardsError, match="seen from seat 1"):
            look(0)
    for move, message in (("33", "5 cards of rank 3"), ("BR", "2 cards of rank B"), ("333", "6 cards")):
        with pytest.raises(IllegalMoveError, match=message):
            table.play(move)
    table.play("34567")  # one 3 is left, and the 4 and the 5 are the landlord's
    table.undo()
    assert table.moves == ()
    table.play("4")
    assert str(table.hint("rules").move) in table.seat_view(1).legal
    table.play("6")
    with pytest.raises(IllegalMoveError) as refused:
        table.play("5")
    assert str(refused.value) == "5 is not legal for seat 2: it does not beat 6"  # and no move of a made-up hand


class Thinker:
    name = "thinker"
    unit: Literal["chance", "score"] = "chance"

    def act(self, view: View, rng: np.random.Generator) -> Move:
        return self.decide(view, rng).move

    def decide(self, view: View, rng: np.random.Generator) -> Decision:
        best, other = Move.parse("JJJ+4"), Move.parse("3")
        values = {best.main: 0.75, other.main: 0.25}
        return Decision(best, {best.main: 30, other.main: 10}, values, best.actions, self.unit)


class Scorer(Thinker):
    unit = "score"


class WholeMoveThinker(Thinker):
    def candidates(self, view: View) -> list[Candidate]:
        moves = (("JJJ+4", 20, 0.8), ("3", 10, 0.25), ("JJJ+5", 10, 0.65))
        return [Candidate(Move.parse(move), visits, chance) for move, visits, chance in moves]


def advice_of(agent: Thinker) -> Any:
    return ask_for_advice(agent, "thinker", State.new(1).view(0), 0, np.random.default_rng(1))


def test_advice_ranks_whole_moves() -> None:
    advice = advice_of(WholeMoveThinker())
    assert [option.text for option in advice.options] == ["JJJ+4", "3", "JJJ+5"]
    assert [(option.visits, option.chance) for option in advice.options] == [(20, 0.8), (10, 0.25), (10, 0.65)]


def test_advice_without_whole_moves_is_by_main_group_and_scores_are_no_chances() -> None:
    groups, scores = advice_of(Thinker()), advice_of(Scorer())
    found = [(option.text, option.chance, option.visits) for option in groups.options]
    assert found == [("JJJ+4", 0.75, 30), ("3", 0.25, 10)]
    assert [(option.chance, option.score) for option in scores.options] == [(None, 0.75), (None, 0.25)]
    assert new(1).hint("rules").chance is None


@pytest.mark.parametrize(("rules", "bids"), [("standard", ()), ("bidding", ("bid 1",)), ("mini", ())])
def test_belief_without_inference_is_what_shuffling_gives(rules: str, bids: tuple[str, ...]) -> None:
    state, seat, rng = State.new(5, rules), 1, np.random.default_rng(1)
    for bid in bids:
        state.step(bid)
    view = state.view(seat)
    total = np.add(view.unseen.counts, view.hand.counts)
    worlds = np.zeros((1200, 4, 15), int)
    for world in worlds:
        twin = permuted(state, seat, rng)
        for place in range(state.rules.players):
            world[place] = twin.hand(place).counts
        world[NO_HOLDER] = total - world.sum(axis=0)
    belief = Belief.uniform(view)
    expected = belief.expected_counts()
    assert expected.sum(axis=1) == pytest.approx(worlds[0].sum(axis=1))
    assert expected.sum(axis=0) == pytest.approx(total)
    assert expected[seat].tolist() == list(view.hand.counts)
    words = np.array([[counts_to_word(hand) for hand in world] for world in worlds.tolist()], np.uint64)
    drawn = Belief.from_worlds(words, np.full(len(words), 1 / len(words)))
    assert np.abs(drawn.chances - belief.chances).max() < 0.06
    assert (belief.chances[NO_HOLDER, :, 1].max() > 0) == worlds[0, NO_HOLDER].any()
