"""The game as text for language models: what it says and hides, and which move an answer names."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator

import numpy as np
import pytest

from ddz_env import Move, Rules, State, View
from ddz_env.core.move_names import legal_moves_by_name, parse_move_name
from ddz_env.core.rules import PRESETS
from ddz_env.support.errors import DouDizhuError, IllegalMoveError, InvalidMoveError
from ddz_play.dialogue import answer_format, numbered_moves, parse_answer, position_text, read_move, rules_text
from tests.hidden import permuted

RULES = ("standard", "robbing,doubling=true,showing=true", "openspiel", "botzone2", "mini", "half-deck-open", "perfect")
VIEW = State.from_hands(["33777788999TJQK", "5", "6"], check_sizes=False).view()
MEGABYTE = 10**6


def positions(rules: str, games: int) -> Iterator[tuple[State, np.random.Generator]]:
    """Every position of some random games."""
    rng = np.random.default_rng(len(rules))
    for seed in range(games):
        state = State.new(seed, rules)
        while not state.is_over:
            yield state, rng
            legal = state.legal_moves()
            state.step(legal[rng.integers(len(legal))])


@pytest.mark.parametrize("rules", RULES)
def test_a_text_hides_what_its_seat_does_not_know(rules: str) -> None:
    changed = 0
    for state, rng in itertools.islice(positions(rules, 1), 0, 60, 5):
        seat = int(rng.integers(state.rules.players))
        twin = permuted(state, seat, rng) if rules != "perfect" else state
        changed += twin != state
        assert position_text(twin.view(seat)) == position_text(state.view(seat))
    assert changed or rules == "perfect"


def test_a_text_says_all_that_its_seat_knows() -> None:
    state = State.new(3)
    for move in ("3456789TJ", "pass", "pass", "KKKK+2R", "pass", "pass", "4"):
        state.step(move)
    text = position_text(state.view(2))
    assert "You are seat 2.\nseat 0: landlord, 4 cards\nseat 1: peasant down, 17 cards\n" in text
    assert "(you)\nLandlord cards: 352. Stake: 1.\nUnseen cards (21): 3x3 5x1 6x1 7x3 " in text
    assert text.endswith(" 0 KKKK+2R, 1 pass, 2 pass, 0 4\nseat 1 must beat 4 or pass; seat 0 played it")
    assert "\nseat 0: landlord, 20 cards, among them 352\n" in position_text(State.new(3).view(1))


@pytest.mark.parametrize("rules", PRESETS)
def test_the_rules_have_an_example_of_every_category(rules: str) -> None:
    preset = Rules.preset(rules)
    line = next(line for line in rules_text(preset).splitlines() if line.startswith("Moves: "))
    for category in preset.categories[1:]:
        example = line.partition(f" {category} ")[2].partition(" ")[0].rstrip(",.")
        assert Move.parse(example, preset).category == category


@pytest.mark.parametrize("rules", RULES)
def test_a_move_and_its_number_are_read_as_that_move(rules: str) -> None:
    for state, _ in itertools.islice(positions(rules, 9), 0, 60, 15):
        view = state.view()
        for word, move in legal_moves_by_name(view).items():
            assert parse_answer(f"Not pass, not 102.\n**{word}**", view) == move
            assert parse_answer(json.dumps({"why": "102", "move": word}), view) == move
        for number, move in numbered_moves(view).items():
            for form in ('{{"move": {0}}}', '{{"move": "{0}"}}', "33, or rather\n{0}.", '```json\n{{"move":{0}}}\n```'):
                assert parse_answer(form.format(number), view) == move


@pytest.mark.parametrize("rules", RULES)
def test_the_form_of_an_answer_allows_each_legal_move_once(rules: str) -> None:
    for state, _ in itertools.islice(positions(rules, 9), 0, 60, 15):
        check_form(state.view())
    check_form(State.from_hands(["333444555666777888TJ", "2", "2"], check_sizes=False).view())


def check_form(view: View) -> None:
    schema = answer_format(view)["json_schema"]["schema"]["properties"]["move"]
    values = [value for kind in schema.get("anyOf", [schema]) for value in kind["enum"]]
    assert sorted(parse_answer(json.dumps({"move": value}), view).actions for value in values) == sorted(
        move.actions for move in view.legal_moves()
    )


def test_of_very_many_moves_those_with_kickers_have_no_number() -> None:
    view = State.from_hands(["333444555666777888TJ", "2", "2"], check_sizes=False).view()
    assert len(view.legal_moves()) > 99
    assert not any(move.kickers for move in numbered_moves(view).values())
    assert "\n333444+ with 2 solos of 5 6 7 8 T J: 15 moves, as 333444+56\n" in position_text(view)
    for number in range(101, 200):
        with pytest.raises(InvalidMoveError):  # so a number is never taken for cards
            Move.parse(str(number), view.rules)


@pytest.mark.parametrize(
    ("answer", "move"),
    [
        ("77", "77"),
        ("`7777 + 3, 8`", "7777+38"),
        ("10 J Q K 9", "9TJQK"),
        ("99 or, with 95% or 0.5,\n\n77.", "77"),
        ('"7 7 8 8 9 9"\n', "778899"),
        ("３", "3"),
        ("<think>9 is early</think>\n3", "3"),
        ('{"move": "3", "others": {"seat": 1}}', "3"),
        ('{\n  "move": 101\n}', "3"),
        ('The threes stay.\n{"move": "♠7 ♥7"}', "77"),
    ],
)
def test_a_move_is_read_from_its_key_or_alone_in_the_last_line(answer: str, move: str) -> None:
    assert parse_answer(answer, VIEW) == Move.parse(move)


@pytest.mark.parametrize(
    ("rules", "moves", "answer", "move"),
    [
        ("standard", "3", "要不起", "pass"),
        ("standard", "3", "过牌。", "pass"),
        ("bidding", "", "叫2分", "bid 2"),
        ("bidding", "", "不叫", "no bid"),
        ("robbing", "", "叫地主", "bid 1"),
        ("robbing", "call", "抢地主", "bid 2"),
        ("robbing", "call", "no rob", "no bid"),
    ],
)
def test_moves_and_bids_are_read_in_words_of_both_languages(rules: str, moves: str, answer: str, move: str) -> None:
    state = State.from_hands(["33", "55", "66"], check_sizes=False) if rules == "standard" else State.new(0, rules)
    for played in moves.split():
        state.step(parse_move_name(played, state))
    assert parse_answer(answer, state.view()) == Move.parse(move)
    assert read_move(answer, state.view()) == Move.parse(move)


FORMS = (
    "{move}",
    "I play {move}.",
    "I play {move} and keep {other}.",
    "Not {other}. I play {move}.",
    "{other} would be too early. {move}",
    "Answer: {move}\n{other} is for later.",
    "{move} ({cards} cards)",
    '{{"reason": "{other} is strong", "move": "{move}"}}',
    "<answer>{move}</answer> I keep {other}",
    "{other} is weak, so I play {move}",
    "我出{move}，留着{other}",
    "答案：{move}。{other}以后再说",
    "<think>{other}</think>{move}",
    "{other}?\nNo.\n**{move}**",
    "I don't play {other}; I play {move}, {cards} cards.",
    "I play {move} because {other} is later",
    "{number}: {move}",
    "I choose {number} ({move}), not {other}.",
    "If I play {other} I lose. I choose {number}.",
)
READ = ("{move}", '{{"reason": "{other} is strong", "move": "{move}"}}', "<think>{other}</think>{move}")
READ += ("{other}?\nNo.\n**{move}**", "Answer: {other}\n{number}")
REFUSED = ("{move} or {other}", "I don't play {other}.", "I keep {other}", "{other} would be too early", "不要{other}")
REFUSED += ('{{"move": "{move}", "move": "{other}"}}', '{{"move": ["{move}", "{other}"]}}', '{{"card": "{other}"}}')
REFUSED += (
    '{{"move": "{move}"}} or {{"move": "{other}"}}',
    '```json\n{{"move": "{move}"}}\n```\nnot {other}',
    "{other}?",
)
REFUSED += (
    "<think>{move}, no,\n{other}",
    '{{"move": "not {other}"}}',
    '{{"move": "{other}"',
    "101\n{move}, not {other}",
)


@pytest.mark.parametrize("rules", RULES)
def test_no_form_of_an_answer_is_read_as_another_move(rules: str) -> None:
    for state, rng in itertools.islice(positions(rules, 9), 0, 90, 9):
        view = state.view()
        numbers = {move: number for number, move in numbered_moves(view).items()}
        words = {move: word for word, move in legal_moves_by_name(view).items()}
        move, other = (view.legal_moves()[rng.integers(len(words))] for _ in range(2))
        values = {"cards": max(len(move.cards), 1), "number": numbers.get(move, words[move])}
        values |= {"move": words[move], "other": words[other]}
        for form in FORMS + READ + REFUSED:
            answer = form.format(**values)
            try:
                said = parse_answer(answer, view)
            except DouDizhuError:
                assert form not in READ, answer
            else:
                assert (said, form in REFUSED) == (move, False), answer


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        *((text, InvalidMoveError) for text in ("", "A pair of sevens", "3-4-5", "1000", "199", "9TJQ", "7777+3+8")),
        *(
            (f'{{"move": {key}}}', InvalidMoveError)
            for key in ("3", "77", "199", "true", "101.0", "null", "1e2", "-101")
        ),
        ("[101]", InvalidMoveError),
        ('{"move": {"move": 101}}', InvalidMoveError),
        ('{"move": ' * 10**5, InvalidMoveError),  # deeper than Python's stack
        (f'{{"move": {"1" * 10**4}}}', InvalidMoveError),
        *((text, IllegalMoveError) for text in ("554466", "Pass", "BR", "bid 2", '{"move": "BR"}')),
        ("\ud800\x00\n" * 9, InvalidMoveError),
        ("3, " * (MEGABYTE // 40), InvalidMoveError),
        ("3" * (MEGABYTE // 10) + "x", InvalidMoveError),
        ("3+ " * (MEGABYTE // 10), InvalidMoveError),  # once the square of its length
    ],
)
def test_what_is_not_a_legal_move_gets_a_sentence(answer: str, error: type[DouDizhuError]) -> None:
    with pytest.raises(error, match=r"legal are 3, ") as refused:
        parse_answer(answer, VIEW)
    assert len(str(refused.value)) < 300


def test_a_seat_answers_in_its_turn_alone() -> None:
    other: View = State.new(1).view(2)
    with pytest.raises(IllegalMoveError, match="seat 2 is not to act"):
        parse_answer("pass", other)
