"""The game as text for language models: what it says and hides, and which move an answer names."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from ddz_env import Move, Rules, State, View
from ddz_env.core.rules import PRESETS
from ddz_env.core.spoken import offered
from ddz_env.support.errors import DouDizhuError, IllegalMoveError, InvalidMoveError
from ddz_env.table.dialogue import answered_move, numbered, position_text, rules_text
from tests.hidden import permuted
from tests.table.answers import ANSWERS, POSITIONS

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
        for move in view.legal_moves():
            assert answered_move(f"Not pass, not 102: I play {move}.", view) == move
        for number, move in numbered(view).items():
            assert answered_move(f"33, or rather\n**#{number}**", view) == move


def test_of_very_many_moves_those_with_kickers_have_no_number() -> None:
    view = State.from_hands(["333444555666777888TJ", "2", "2"], check_sizes=False).view()
    assert len(view.legal_moves()) > 99
    assert not any(move.kickers for move in numbered(view).values())
    assert "\n333444+ with 2 solos of 5 6 7 8 T J: 15 moves, as 333444+56\n" in position_text(view)
    for number in range(101, 200):
        with pytest.raises(InvalidMoveError):  # so a number is never taken for cards
            Move.parse(str(number), view.rules)


@pytest.mark.parametrize(
    ("answer", "move"),
    [
        ("My move: 7 7. A good one, it leaves 3 solos", "77"),
        ("`7777 + 3, 8`", "7777+38"),
        ("10 J Q K 9", "9TJQK"),
        ("7 7 8 8 9 9", "778899"),
        ("99 or, with 95% or 0.5,\n\n77!", "77"),
    ],
)
def test_moves_are_read_as_people_write_them(answer: str, move: str) -> None:
    assert answered_move(answer, VIEW) == Move.parse(move)


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_are_read_as_they_are_meant(name: str) -> None:
    """Each as its row says; what a reader need not know is complained about, and never another move."""
    view = POSITIONS[name].view()
    words = {move: word for word, move in offered(view).items()}
    for answer, reading in ANSWERS[name]:
        try:
            said = words[answered_move(answer, view)]
        except DouDizhuError as error:
            said = f"? {error}"
        if reading.startswith("?"):
            assert said.startswith("?"), answer
            assert reading.removeprefix("? ") in said, answer
        elif not (reading.startswith("~") and said.startswith("?")):
            assert said == reading.removeprefix("~"), answer


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
REFUSED = ("{move} or {other}", "I don't play {other}.", "I keep {other}", "{other} would be too early", "不要{other}")


@pytest.mark.parametrize("rules", RULES)
def test_no_form_of_an_answer_is_read_as_another_move(rules: str) -> None:
    for state, rng in itertools.islice(positions(rules, 9), 0, 90, 9):
        view = state.view()
        numbers = {move: number for number, move in numbered(view).items()}
        words = {move: word for word, move in offered(view).items()}
        move, other = (view.legal_moves()[rng.integers(len(words))] for _ in range(2))
        values = {"cards": max(len(move.cards), 1), "number": numbers.get(move, words[move])}
        values |= {"move": words[move], "other": words[other]}
        for form in FORMS + REFUSED * (move != other):
            answer = form.format(**values)
            try:
                said = answered_move(answer, view)
            except DouDizhuError:
                assert form in REFUSED or words[move][:1].islower(), answer
            else:
                assert (said, form in REFUSED) == (move, False), answer


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        *((text, InvalidMoveError) for text in ("", "A pair of what? 3-4-5, 1000", "199", "9TJQ", "7777+3+8")),
        *((text, IllegalMoveError) for text in ("55 66 44", "Pass", "bid 2", "The end: I play BR")),
        ("\ud800\x00\n" * 9, InvalidMoveError),
        ("3, " * (MEGABYTE // 40), InvalidMoveError),
        ("3" * (MEGABYTE // 10) + "x", InvalidMoveError),
        ("3+ " * (MEGABYTE // 10), InvalidMoveError),  # once the square of its length
    ],
)
def test_what_is_not_a_legal_move_gets_a_sentence(answer: str, error: type[DouDizhuError]) -> None:
    with pytest.raises(error, match=r"legal are 3, ") as refused:
        answered_move(answer, VIEW)
    assert len(str(refused.value)) < 300


def test_a_seat_answers_in_its_turn_alone() -> None:
    other: View = State.new(1).view(2)
    with pytest.raises(IllegalMoveError, match="seat 2 is not to act"):
        answered_move("pass", other)
