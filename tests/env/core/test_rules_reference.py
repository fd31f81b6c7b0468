"""The engine plays by the rules: its moves, targets and returns equal the slow reference's."""

from __future__ import annotations

import numpy as np
import pytest

from ddz_env.core.engine import layout
from ddz_env.core.engine.deal import new_game
from ddz_env.core.engine.score import write_returns
from ddz_env.core.notation import Move as Notation
from ddz_env.core.notation import word_to_counts
from ddz_env.core.rules import PRESETS, Rules
from ddz_env.core.state import SCORINGS, State
from tests.oracles.positions import Position, Row, engine_moves, hands_of, play_row, positions
from tests.oracles.reference import Game, Move, Target, beats, moves_to_play, target_of

VARIANTS = [
    *PRESETS.values(),
    Rules("auction-for-ever", bidding="until-passed", all_decline="first-seat", doubling=True, scoring="stake"),
    Rules("auction-or-end", bidding="once", all_decline="end", doubling=True, scoring="stake"),
    Rules("doubling", doubling=True, scoring="stake", peasant_reward=1.0),
    Rules("robbing-showing-doubling", bidding="robbing", showing=True, doubling=True, scoring="stake"),
    Rules("robbing-for-once", bidding="robbing", all_decline="first-seat", scoring="stake"),
    PRESETS["mini"].replace(name="showing", showing=True, scoring="stake"),
]
"""Every preset, and combinations of the auction and doubling that no preset has."""


def assert_same_moves(row: Row, words: Row, game: Game) -> list[Move]:
    """Both sides offer the same moves, the engine each once; return them."""
    offered = engine_moves(row, words)
    assert len(set(offered)) == len(offered), "a kicker set is reached by more than one path"
    assert sorted(offered) == game.legal_moves()
    return offered


def assert_same_state(row: Row, game: Game) -> None:
    """Both sides agree on who holds what, whose turn it is and what lies on the table."""
    assert int(row[layout.STAGE]) == getattr(layout, f"STAGE_{game.stage.upper()}")
    assert list(hands_of(row, game.rules)) == game.hands
    if game.stage == "over":
        assert int(row[layout.WINNER]) == (layout.NO_GAME if game.winner is None else game.winner + 1)
        return
    assert int(row[layout.WINNER]) == 0
    assert int(row[layout.SEAT]) == game.seat
    assert int(row[layout.LANDLORD]) == (layout.NO_SEAT if game.landlord is None else game.landlord)
    assert (int(row[layout.TARGET]) == 0) == (game.target is None)
    if game.target is not None:
        assert int(row[layout.OWNER]) == game.owner


def check_position(position: Position, rng: np.random.Generator) -> None:
    row, words, game = position.row(), position.rules.words(), position.game()
    assert_same_state(row, game)
    offered = assert_same_moves(row, words, game)
    move = offered[int(rng.integers(len(offered)))]
    play_row(row, move, words)
    game.play(move)
    assert_same_state(row, game)
    if game.stage == "play":
        assert_same_moves(row, words, game)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize(("number", "seed"), [(900, 2011), pytest.param(20_000, 2020, marks=pytest.mark.long)])
def test_moves_equal_the_reference(preset: str, number: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for position in positions(PRESETS[preset], number // len(PRESETS) + 1, seed):
        check_position(position, rng)


@pytest.mark.parametrize("preset", PRESETS)
def test_state_lists_whole_moves_in_ascending_order(preset: str) -> None:
    for position in positions(PRESETS[preset], 12, seed=3):
        listed = [(move.main, move.kickers) for move in State(position.row(), position.rules).legal_moves()]
        assert listed == position.game().legal_moves()


def game_of(row: Row, rules: Rules) -> Game:
    auction = rules.bidding != "fixed"
    bottom = word_to_counts(int(row[layout.BOTTOM])) if auction else (0,) * 15
    return Game(hands_of(row, rules), rules, bottom, None if auction else 0, int(row[layout.SEAT]))


def assert_same_returns(row: Row, words: Row, game: Game) -> None:
    for scoring, code in SCORINGS.items():
        returns = np.zeros(3)
        write_returns(row, words, code, game.rules.peasant_reward, returns)
        assert returns[: game.rules.players] == pytest.approx(game.returns(scoring)), scoring


def play_game(row: Row, rules: Rules, rng: np.random.Generator, shy: float) -> Game:
    """Play random whole moves to the end on both sides, comparing at each; ``shy`` is the chance to decline a bid."""
    words, game = rules.words(), game_of(row, rules)
    while game.stage != "over":
        assert_same_state(row, game)
        offered = assert_same_moves(row, words, game)
        declines = game.stage == "bid" and rng.random() < shy
        move = offered[0 if declines else int(rng.integers(len(offered)))]
        play_row(row, move, words)
        game.play(move)
        if game.stage == "redeal":
            assert int(row[layout.STAGE]) == layout.STAGE_BID
            game = game_of(row, rules)
    assert_same_state(row, game)
    assert_same_returns(row, words, game)
    return game


@pytest.mark.parametrize("rules", VARIANTS, ids=lambda rules: rules.name)
@pytest.mark.parametrize("number", [8, pytest.param(150, marks=pytest.mark.long)])
def test_games_equal_the_reference(rules: Rules, number: int) -> None:
    rng = np.random.default_rng(number)
    for seed in range(number):
        row = np.zeros(layout.ROW_WORDS, np.uint64)
        new_game(row, np.uint64(seed), rules.words())
        play_game(row, rules, rng, shy=0.8 if seed % 2 else 0.2)


def test_every_auction_of_calls_and_robs() -> None:
    """By hand: seats answer in turn from the opener; who wins it, and for what stake."""
    rules = Rules(bidding="robbing", all_decline="end", scoring="stake")
    ends: dict[str, tuple[int | None, int]] = {}

    def walk(state: State, said: str) -> None:
        for move in state.legal_moves() if state.stage == "bid" else ():
            after = state.copy()
            after.step(move)
            walk(after, said + ("n" if str(move) == "no bid" else "c" if str(move) == "bid 1" else "r"))
        if state.stage != "bid":
            view, opener = state.view(0), (int(state.row[layout.BIDS]) >> 16) & 15
            ends[said] = None if view.landlord is None else (view.landlord - opener) % 3, view.stake

    walk(State.new(5, rules), "")
    assert ends == {
        **{"nnn": (None, 1), "nnc": (2, 1), "ncn": (1, 1), "ncrn": (2, 2), "ncrr": (1, 4), "cnn": (0, 1)},
        **{"cnrn": (2, 2), "cnrr": (0, 4), "crnn": (1, 2), "crnr": (0, 4), "crrn": (2, 4), "crrr": (0, 8)},
    }


def hand(text: str) -> tuple[int, ...]:
    return tuple(text.count(name) for name in "3456789TJQKA2BR")


def texts(cards: str, preset: str | Rules, target: Target | None = None) -> set[str]:
    """What a hand may play by the reference; what it may lead is the same in the engine."""
    rules = Rules.preset(preset)
    found = {str(Notation(*move)) for move in moves_to_play(hand(cards), target, rules)}
    if target is None:
        others = [name for name in "3456789TJQKA2" if name not in cards][: rules.players - 1]
        state = State.from_hands([cards, *others], rules=rules.replace(bidding="fixed"), check_sizes=False)
        assert set(map(str, state.legal_moves())) == found
    return found


def on_table(move: str, preset: str) -> Target:
    parsed = Notation.parse(move, PRESETS[preset])
    return target_of((parsed.main, parsed.kickers), PRESETS[preset])


def test_standard_kickers_differ_and_hold_one_joker() -> None:
    moves = texts("3334446677BR", "standard")
    assert {"333444+67", "333444+6B", "333444+7R", "333444+6677"} <= moves
    assert not {"333444+66", "333444+BR"} & moves


def test_botzone_has_shuttles_and_both_jokers() -> None:
    moves = texts("33334444567TBR", Rules.preset("botzone2", bidding="fixed"))
    assert {"33334444", "33334444+567T", "33334444+56BR", "3333+BR"} <= moves
    assert {move for move in texts("33334444567TBR", "botzone") if move.startswith("33334444")} == {"33334444"}
    assert "33334444" not in texts("33334444567TBR", "standard")


def test_rlcard_forbids_a_trio_next_to_the_body_unless_it_is_the_two() -> None:
    assert "444555666+333" not in texts("333444555666", "rlcard")
    assert "JJJQQQKKK+AAA" not in texts("JJJQQQKKKAAA3", "rlcard")
    assert "JJJQQQKKK+3AA" in texts("JJJQQQKKKAA34", "rlcard")
    assert "444555666+888" in texts("444555666888", "rlcard")
    assert "QQQKKKAAA+222" in texts("QQQKKKAAA222", "rlcard")


def test_openspiel_keeps_both_readings_and_starts_no_chain_at_a_quad() -> None:
    moves = texts("333444555666", "openspiel")
    assert {"333444555+666", "444555666+333", "333444555666"} <= moves
    assert "34567" not in texts("333345678", "openspiel")
    assert "45678" in texts("333345678", "openspiel")
    assert not any(move.startswith("3333+") for move in texts("333345678", "openspiel"))


def test_douzero_reads_the_cards_not_the_player() -> None:
    assert "333444555666" in texts("333444555666", "douzero")
    assert "333444555+666" not in texts("333444555666", "douzero")
    assert on_table("333444555+777", "douzero") == Target("plane+solos", 3, 4)
    assert on_table("333444555666+7778", "douzero") == Target("bombs only", 0, 0)
    followers = texts("666777888333QQQQ", "douzero", on_table("333444555+678", "douzero"))
    planes = {"666777888+333", "666777888+33Q", "666777888+3QQ", "666777888+QQQ"}
    assert followers == {"pass", "QQQQ"} | planes


def test_mini_has_neither_bomb_nor_rocket() -> None:
    assert texts("3333BR", "mini") == {"3", "33", "333", "3333", "B", "R"}
    assert texts("5555BR", "mini", on_table("44", "mini")) == {"pass", "55"}


@pytest.mark.parametrize(
    ("target", "winners", "losers"),
    [
        ("3", ["4", "3333"], ["3", "44"]),
        ("34567", ["45678"], ["456789"]),
        ("333+A", ["444+3"], ["444+33"]),
        ("3333", ["4444"], ["A"]),
        ("4444", ["BR"], ["3333"]),
        ("2222", ["BR"], ["3333"]),
        ("BR", [], ["3333"]),
    ],
)
def test_what_beats_what(target: str, winners: list[str], losers: list[str]) -> None:
    for reply in winners + losers:
        move = Notation.parse(reply)
        won = beats((move.main, move.kickers), on_table(target, "standard"), PRESETS["standard"])
        assert won == (reply in winners), reply


def test_whoever_changes_the_words_of_rules_changes_no_others() -> None:
    words = Rules().words()
    words[:] = 0
    assert Rules().words().any()
