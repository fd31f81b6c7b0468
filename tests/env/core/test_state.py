"""The State facade: what it promises of a game, and named errors that leave the game unchanged."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ddz_env import PRESETS, Hand, Move, Rules, State
from ddz_env.core.actions import CATEGORIES, KICKER_BASE, MAIN_GROUPS, NUM_ACTIONS
from ddz_env.core.cards import RANK_NAMES
from ddz_env.core.engine import layout as at
from ddz_env.core.observation import OBSERVATION, observe
from ddz_env.support.errors import DouDizhuError, GameOverError, IllegalMoveError, InvalidDealError, InvalidMoveError

QUAD_WITH_SOLOS = [category.name for category in CATEGORIES].index("quad+2 solos")


def test_same_seed_same_game_and_other_seeds_other_games() -> None:
    assert State.new(7) == State.new(7)
    assert len({str(State.new(seed).hand(0)) for seed in range(100)}) == 100
    assert State.new(7, game=1) != State.new(7, game=2)
    hands = "0:445666778899TJJQAA2B 1:3456889TJQKKAA22R 2:333455779TTJQQKK2"
    assert repr(State.new(7)) == f"<State standard, play, seat 0 to act, {hands}>"


@pytest.mark.parametrize(
    ("hand", "kickers"),
    [("3333BR", None), ("3333567", {"5", "6"}), ("33335678", {"5", "6", "7"}), ("33335BR", {"5"})],
)
def test_a_first_kicker_is_offered_where_the_set_can_be_completed(hand: str, kickers: set[str] | None) -> None:
    """Two different ranks in ascending order, not both jokers; a quad with kickers is offered if there is a set."""
    state = State.from_hands([hand, "99TT", "KKQJ"], rules="standard", check_sizes=False)
    quads = [action for action in state.legal_actions() if MAIN_GROUPS[action].category == QUAD_WITH_SOLOS]
    assert bool(quads) == (kickers is not None)
    for action in quads:
        state.step_action(action)
        assert {RANK_NAMES[action - KICKER_BASE] for action in state.legal_actions()} == kickers
        first = state.legal_actions()[0]
        state.step_action(first)
        assert all(second > first for second in state.legal_actions())


def test_no_whole_move_is_lost_where_there_are_more_than_usual() -> None:
    state = State.from_hands(["333444555666789TJQKA", "3", "4"], rules="rlcard", check_sizes=False)
    assert len(set(state.legal_moves())) == 519


def test_the_landlord_of_a_half_deck_keeps_more_than_three_cards() -> None:
    """Else it is dealt again, by the thesis; 3 happens about once in 3,000 deals."""
    sizes = {len(State.new(seed, "half-deck").hand(0)) for seed in range(2500)}
    assert min(sizes) == 4


def test_the_cards_left_out_lie_open_or_are_hidden() -> None:
    """The hands are the same; face up, what a seat does not see is exactly the other hands."""
    for seed in range(20):
        state, hidden = (State.new(seed, rules) for rules in ("half-deck-open", "half-deck"))
        assert state.row[at.HIDDEN] == 0
        assert not hidden.view().left_out
        assert state.row[at.LEFT_OUT] == hidden.row[at.HIDDEN]
        hands = [state.hand(0) - state.bottom, state.hand(1), state.hand(2)]
        again = State.from_hands(hands, state.bottom, state.rules)
        assert again.view(1).row.tolist() == state.view(1).row.tolist()
        for _ in range(6):
            state.step_action(state.legal_actions()[-1])
        for seat in range(3):
            others = [Hand.from_word(int(state.row[at.HANDS + other])) for other in range(3) if other != seat]
            assert state.view(seat).unseen == others[0] + others[1]
            observed = OBSERVATION.split(observe(state, seat))
            assert tuple(observed["unseen"]) == state.view(seat).unseen.counts


def test_illegal_moves_say_what_is_wrong_and_what_is_legal() -> None:
    state = State.from_hands(["34567", "3489", "KKQJ"], rules="standard", check_sizes=False)
    before = state.copy()
    for wrong, message in (
        ("8", r"not enough 8.*legal are 3, 4, 5, 6, 7, 34567"),
        ("pass", "leader of a trick cannot pass"),
        ("bid 1", "stage is play"),
    ):
        with pytest.raises(IllegalMoveError, match=message):
            state.step(wrong)
    with pytest.raises(InvalidMoveError):
        state.step("333333")
    assert state == before
    state.step("5")
    with pytest.raises(IllegalMoveError, match=r"does not beat 5; legal are pass, 8, 9"):
        state.step("4")
    with pytest.raises(IllegalMoveError, match=r"action 2 \(solo 4\) is not legal for seat 1; legal are 0 \(pass\)"):
        state.step_action(2)
    state.step("pass")
    state.step("J")
    assert state.seat == 0


def test_a_finished_game_takes_no_step() -> None:
    state = State.from_hands(["3", "4", "5"], check_sizes=False)
    state.step("3")
    assert (state.is_over, state.winner, state.returns()) == (True, 0, (1.0, -0.5, -0.5))
    before = state.copy()
    for step in (lambda: state.step("4"), lambda: state.step_action(0)):
        with pytest.raises(GameOverError):
            step()
    assert state == before


def test_half_built_moves_take_kickers_only() -> None:
    state = State.from_hands(["33356", "4", "5"], check_sizes=False)
    trio = next(action for action in state.legal_actions() if Move.parse("333+5").main == action)
    state.step_action(trio)
    assert state.stage == "kicker"
    assert state.seat == 0
    with pytest.raises(IllegalMoveError, match="half built"):
        state.step("333+5")
    with pytest.raises(IllegalMoveError, match="half built"):
        state.legal_moves()
    assert state.view(1).stage == "play", "the others do not see a half-built move"
    state.step_action(state.legal_actions()[0])
    assert str(state.history[-1][1]) == "333+5"
    assert state.seat == 1


@pytest.mark.parametrize(
    ("hands", "sizes", "message"),
    [
        (["3", "4"], False, "3 seats, got 2"),
        (["3" * 4, "3", "4"], False, "5 cards of rank 3"),
        (["B", "B", "4"], False, "2 cards of rank B"),
        (["", "3", "4"], False, "seat 0 has no cards"),
        (["3", "4", "5"], True, "seat 0 has 1 card; standard deals 17"),
        (["3456789TJQKA23456"] * 3, True, "0 landlord cards; standard has 3"),
    ],
)
def test_bad_deals(hands: list[str], sizes: bool, message: str) -> None:
    with pytest.raises(InvalidDealError, match=message):
        State.from_hands(hands, check_sizes=sizes)


def test_an_auction_turns_up_the_landlord_cards_or_deals_anew() -> None:
    state = State.new(3, "bidding")
    opener, again = state.seat, state.copy()
    assert len(state.view().landlord_cards) == 0
    for bid in ("bid 1", "no bid", "bid 2"):
        state.step(bid)
    landlord = (opener + 2) % 3
    assert (state.seat, state.role(), len(state.hand())) == (landlord, "landlord", 20)
    assert state.view(opener).landlord_cards == state.bottom
    first_hands = [again.hand(seat) for seat in range(3)]
    for _ in range(3):
        again.step("no bid")
    assert (again.stage, again.history) == ("bid", [])
    assert [again.hand(seat) for seat in range(3)] != first_hands


def test_a_shown_hand_is_seen_by_everybody_and_doubles_the_stake() -> None:
    """Base 1, shown, one bomb, spring: each peasant pays 8, and twice that if it has doubled."""
    rules = Rules.preset("standard", scoring="stake", doubling=True, showing=True)
    hands = ["33334", "56", "78"]
    state = State.from_hands(hands, rules=rules, check_sizes=False)
    assert (state.stage, state.role(), state.view().on_lead) == ("show", "landlord", False)
    hidden = state.copy()
    state.step("show")
    assert (state.stage, state.seat, state.view().stake) == ("double", 0, 2)
    for seat in range(3):
        assert str(state.view(seat).known_cards) == hands[0]
        assert state.view(seat).is_shown
    for move in ("no double", "no double", "double", "3333"):
        state.step(move)
    assert str(state.view(1).known_cards) == "4"
    for move in ("pass", "pass", "4"):
        state.step(move)
    assert state.returns() == (24.0, -8.0, -16.0)
    assert state.returns("win") == (1.0, -0.5, -0.5)
    hidden.step("no show")
    assert (hidden.stage, hidden.view().stake, hidden.view(1).is_shown) == ("double", 1, False)
    assert len(hidden.view(1).known_cards) == 0


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.lists(st.integers(-3, NUM_ACTIONS + 3), max_size=40), st.sampled_from(sorted(PRESETS)))
def test_fuzzed_actions_are_legal_or_refused_without_a_trace(seed: int, actions: list[int], preset: str) -> None:
    state = State.new(seed, preset)
    for action in actions:
        before = state.copy()
        legal = state.legal_actions()
        try:
            state.step_action(action)
        except DouDizhuError:
            assert action not in legal
            assert state == before
        else:
            assert action in legal


@pytest.mark.parametrize("seat", [3, -1, True, "0"])
def test_seats_are_checked(seat: object) -> None:
    state = State.new(1)
    for ask in (state.hand, state.role, state.view):
        with pytest.raises(InvalidDealError, match=r"must be an integer in 0\.\.2"):
            ask(seat)  # type: ignore[operator]
    with pytest.raises(InvalidDealError):
        State.new(1, "mini").view(2)
