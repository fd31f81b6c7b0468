"""Hands and moves as people write them: what is accepted, exact inverses, and the errors."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ddz_env import PRESETS, Hand, Move, Rules, State
from ddz_env.core.actions import BID_BASE, KICKER_BASE, MAIN_GROUPS, NUM_ACTIONS, action_name
from ddz_env.core.cards import FULL_DECK, card_name, card_rank, counts_to_word
from ddz_env.core.move_names import past_move_name
from ddz_env.core.notation import word_to_counts
from ddz_env.support.errors import (
    AmbiguousMoveError,
    DouDizhuError,
    InvalidHandError,
    InvalidMoveError,
    InvalidRulesError,
)

counts = st.tuples(*(st.integers(0, most) for most in FULL_DECK))
TABLES = sorted(PRESETS)


@pytest.mark.parametrize(
    ("typed", "category", "cards"),
    [
        ("34567", "solo chain", "34567"),
        ("10 j q k a", "solo chain", "TJQKA"),
        ("BR", "rocket", "BR"),
        ("小王 大王", "rocket", "BR"),
        ("3334", "trio+solo", "3334"),
        ("4333", "trio+solo", "3334"),
        ("33344", "trio+pair", "33344"),
        ("♠3, ♥3, ♦3, ♣3", "bomb", "3333"),
        ("334455", "pair chain", "334455"),
        ("333444+57", "plane+solos", "33344457"),
        ("333444+5577", "plane+pairs", "3334445577"),
        ("3333+57", "quad+2 solos", "333357"),
        ("3333+5577", "quad+2 pairs", "33335577"),
        ("pass", "pass", ""),
        *((word, "pass", "") for word in ("不出", "不要", "要不起", "要不了", "过牌")),
        *((word, "rocket", "BR") for word in ("王炸", "火箭", "rocket", "Rocket")),
        ("bid 2", "bid", ""),
        ("no bid", "bid", ""),
        ("抢地主", "bid", ""),
    ],
)
def test_what_people_type(typed: str, category: str, cards: str) -> None:
    move = Move.parse(typed)
    assert (move.category, str(move.cards)) == (category, cards)


def test_answers_are_spoken_in_the_words_of_the_rules() -> None:
    words = ["no call", "call", "no rob", "rob", "show", "double", "no double"]
    rules = Rules.preset("robbing,doubling=true,showing=true")
    history = [(0, Move.parse(word)) for word in words]
    assert [past_move_name(history, number, rules) for number in range(len(words))] == words
    plain = Rules.preset("bidding,doubling=true")
    assert [past_move_name(history, number, plain) for number in range(len(words))] == [
        str(move) for _, move in history
    ]


@pytest.mark.parametrize("preset", PRESETS)
def test_move_text_parses_back_for_every_main_group(preset: str) -> None:
    """str and parse are inverses for each row of the table, with the lowest kickers that the body leaves free."""
    rules = Rules.preset(preset)
    checked = 0
    for group in MAIN_GROUPS:
        free = [rank for rank in range(13) if not group.need[rank]]
        move = Move(group.id, tuple(free[: group.kicker_count]))
        if move.category in rules.categories:
            assert Move.parse(str(move), rules) == move
            checked += 1
    assert checked >= (30 if preset in ("mini", "micro") else 270)


@pytest.mark.parametrize("preset", ["standard", "botzone", "rlcard", "openspiel", "mini"])
def test_moves_of_real_games_parse_back(preset: str) -> None:
    for seed in range(5):
        state = State.new(seed, preset)
        while not state.is_over:
            moves = state.legal_moves()
            for move in moves:
                assert Move.parse(str(move), state.rules) == move
                assert eval(repr(move), {"Move": Move}) == move
            state.step(moves[seed * 7 % len(moves)])


@given(counts)
def test_hand_text_and_word_are_inverses(ranks: tuple[int, ...]) -> None:
    hand = Hand(ranks)
    assert Hand.parse(str(hand)) == hand
    assert eval(repr(hand), {"Hand": Hand}) == hand
    assert Hand.from_word(hand.word) == hand
    assert word_to_counts(counts_to_word(ranks)) == ranks
    assert len(hand) == hand.word.bit_count()


def test_card_ids_are_botzones() -> None:
    assert [card_name(card) for card in (0, 3, 4, 51, 52, 53)] == ["♥3", "♣3", "♥4", "♣2", "B", "R"]
    assert [card_rank(card) for card in (0, 51, 52, 53)] == [0, 12, 13, 14]
    assert Hand.from_ids(range(54)).counts == FULL_DECK
    assert Move.from_ids([0, 1, 2, 7]) == Move.parse("333+4")
    assert Move.from_ids([]).is_pass
    for cards, message in (([54], r"0\.\.53"), ([-1], r"0\.\.53"), ([3, 3], "named twice"), ([*range(54), 0], "twice")):
        with pytest.raises(InvalidHandError, match=message):
            Hand.from_ids(cards)


def test_what_is_no_hand_no_move_or_no_bid_is_refused() -> None:
    for text in ("33333", "BB", "RR", "1", "3x4", "++", "B B"):
        with pytest.raises(InvalidHandError):
            Hand.parse(text)
    for text in ("BJ", "3 4 BJ", "rj, 3", "3 4 RJ 5", "3、BJ", "RJ，4", "♥3♠BJ"):
        with pytest.raises(InvalidHandError, match="is a joker in RLCard and two cards here"):
            Hand.parse(text)
    for text in ("JB", "J B", "3BJ", "BJR", "QBJ 3"):
        assert Hand.parse(text).counts[8] == 1
    runs, kickers = ("34", "3456", "QKA23", "KA2", "AA22", "AAA222"), ("333+3", "333+44+5", "33+4", "333444+55")
    for text in ("", *runs, *kickers, "3333+BR", "bid 4"):
        with pytest.raises(InvalidMoveError):
            Move.parse(text)
    with pytest.raises(InvalidMoveError, match=r"the kickers of trio\+pair 333\+ have 2 cards each; got 555"):
        Move.from_words(Move.parse("333+44").main, Hand.parse("555").word)
    for text in ("bid 5", "bid", "bid two", "BID 0"):
        message = f"there is no '{text.lower()}': the bids are no bid, bid 1, bid 2, bid 3"
        with pytest.raises(InvalidMoveError, match=message):
            Move.parse(text, "bidding")


def test_the_same_cards_under_the_peers() -> None:
    """333444555666 is four trios, or three with a kicker trio where a kicker rank may repeat."""
    plane_of_four = Move.parse("333444555666")
    assert plane_of_four.category == "plane"
    for preset in ("rlcard", "douzero", "openspiel"):
        assert Move.parse("333444555666", preset) == plane_of_four
    with pytest.raises(AmbiguousMoveError, match=r"333444555666 or 333444555\+666 or 444555666\+333"):
        Move.parse("333444555666", Rules.preset("openspiel", ambiguous_cards="ask"))
    with pytest.raises(InvalidMoveError):
        Move.parse("333444555+666", "rlcard")
    assert Move.parse("333444555+666", "openspiel").kickers == (3, 3, 3)


@settings(max_examples=200)
@given(st.one_of(st.text(max_size=30), st.text("3456789TJQKA2BR+ 10passbid", max_size=24)), st.sampled_from(TABLES))
def test_what_parsers_accept_round_trips_and_the_rest_has_a_named_error(text: str, preset: str) -> None:
    for parse in (Hand.parse, lambda text: Move.parse(text, preset)):
        try:
            parsed = parse(text)
        except DouDizhuError:
            continue
        assert parse(str(parsed)) == parsed


@given(st.integers(-5, NUM_ACTIONS + 5), st.lists(st.integers(-2, 16), max_size=6))
def test_constructed_moves_are_valid_or_refused(main: int, kickers: list[int]) -> None:
    try:
        move = Move(main, tuple(kickers))
    except DouDizhuError:
        return
    assert move.actions[0] == main
    assert len(move.cards) == (0 if move.group is None else move.group.cards)


def test_every_action_has_a_name() -> None:
    names = [action_name(action) for action in range(NUM_ACTIONS)]
    assert len(set(names)) == NUM_ACTIONS
    assert names[KICKER_BASE] == "kicker 3"
    assert names[BID_BASE : BID_BASE + 4] == ["no bid", "bid 1", "bid 2", "bid 3"]
    with pytest.raises(ValueError, match="ids run from 0 to 399"):
        action_name(NUM_ACTIONS)


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ("douzero,deck=000444444444011,hand_size=12,bottom=2", "deck", (0,) * 3 + (4,) * 9 + (0, 1, 1)),
        ("standard,categories=pass/solo/trio+solo", "categories", ("pass", "solo", "trio+solo")),
    ],
)
def test_a_pack_and_categories_can_be_said_in_text(text: str, field: str, value: tuple[object, ...]) -> None:
    rules = Rules.preset(text)
    assert getattr(rules, field) == value
    assert Rules.preset(rules.name) == rules


@pytest.mark.parametrize(
    ("text", "said"), [("deck=44", "fifteen digits"), ("categories=pass/solo/trios", "did you mean 'trio'")]
)
def test_a_pack_or_categories_that_do_not_exist_are_refused(text: str, said: str) -> None:
    with pytest.raises(InvalidRulesError, match=said):
        Rules.preset(f"standard,{text}")
