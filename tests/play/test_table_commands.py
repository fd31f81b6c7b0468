"""``ddz play`` and ``ddz watch``: whole games by what a person types, in both languages."""

from __future__ import annotations

import json
import re
import string
from pathlib import Path
from unittest.mock import Mock

import pytest
from rich.cells import cell_len

from ddz_agents.neural_search.win_probability import CALIBRATIONS
from ddz_env import Rules
from ddz_env.core.actions import CATEGORIES
from ddz_env.core.move_names import move_name
from ddz_env.rendering.texts import LANGUAGES
from ddz_env.saved_games import PERSON, Deal, SavedGame
from ddz_play.session import Replay, Session
from ddz_play.texts import Texts, load_catalogue
from tests.hidden import twin_games
from tests.training.cli.terminal import ddz, refused

CHINESE = re.compile(r"[一-鿿]")
RULES = ("--agents", "rules", "--seed", "1")


def told(*arguments: object, text: str | None = None, code: int = 0) -> str:
    """The output of a command; no line is wider than 80 columns, except paths and answers to a prompt."""
    result = ddz(*arguments, text=text)
    assert result.exit_code == code, result.output
    shown = [line.rstrip() for line in result.stdout.splitlines() if not re.search("/|> ", line)]
    assert not [line for line in shown if cell_len(line) > 80]
    return result.stdout


def lowest(rules: str, seed: int, seat: int) -> tuple[SavedGame, str]:
    """A game against ``rules`` in which the person plays what comes last in the list, and what they type for it."""
    preset = Rules.preset(rules)
    players = tuple(PERSON if place == seat else "rules" for place in range(preset.players))
    session, typed = Session(SavedGame(Deal(preset, seed), players)), []
    session.let_agents_play()
    while not session.is_over:
        move = session.view(seat).legal_moves()[-1]
        typed.append(move_name(move, session.question))
        session.play(move)
        session.let_agents_play()
    return session.to_saved_game(), "".join(f"{line}\n" for line in typed)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("rules", "seat"), [("standard", 0), ("bidding,doubling=true", 2), ("robbing,showing=true", 1), ("mini", 1)]
)
def test_a_game_is_played_to_its_end_with_mistakes_and_hints(
    language: str, rules: str, seat: int, tmp_path: Path
) -> None:
    record, typed = lowest(rules, 1, seat)
    file, say = tmp_path / "game.txt", Texts(language)
    options = ("--agents", "rules", "--seed", "1", "--seat", seat, "--rules", rules, "--lang", language, "--out", file)
    screen = told("play", *options, text=f"?\nzebra\n9999\n提示 rules\nhint ghost\n{typed}")
    assert SavedGame.load(file).moves == record.moves
    assert f"rules {say('would play', agent='', move='').split()[0]}" in screen
    assert say("help") in screen
    assert say("still out", cards="").strip() in screen
    assert ("看不懂" if language == "zh" else "cannot read 'Z'") in screen
    assert "ghost" in screen
    assert len(CHINESE.findall(screen)) > 100 if language == "zh" else not CHINESE.search(screen)
    over = record.deal.state(record.moves)
    assert screen.count(f"[{over.returns()[seat]:+g}]") >= 1  # the table at the end


@pytest.mark.parametrize(
    ("rules", "opponents", "adviser", "source"),
    [
        ("standard", "rules", "rules", "hard"),
        ("standard", "random", "rules", "policy"),
        ("mini", "rules", "isuct:iterations=20", "search"),
    ],
)
def test_a_hint_says_against_whom_its_chance_holds(rules: str, opponents: str, adviser: str, source: str) -> None:
    asked = ("--agents", opponents, "--rules", rules, "--seed", "1")
    screen = " ".join(told("play", *asked, text=f"hint {adviser}\nquit\n").split())
    assert re.search(Texts("en")(f"wins {source}", number=r"\d+"), screen)
    assert {f"wins {level}" for level in CALIBRATIONS} <= {*load_catalogue().texts}


def test_a_person_may_leave_and_the_game_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, typed in (("quit", "3\nquit\n"), ("end", "3\n")):
        file = tmp_path / f"{name}.txt"
        assert "kept in" in told("play", *RULES, "--out", file, text=typed)
        assert Session(SavedGame.load(file)).waits_for == PERSON
    monkeypatch.setattr("builtins.input", Mock(side_effect=["3", KeyboardInterrupt]))
    told("play", *RULES, "--out", tmp_path / "cut.txt", code=130)
    assert (tmp_path / "cut.txt").read_bytes() == (tmp_path / "end.txt").read_bytes()
    assert "is there already" in refused("play", *RULES, "--out", tmp_path / "cut.txt")


def test_the_next_unshuffled_game_has_the_cards_of_the_kept_one(tmp_path: Path) -> None:
    first, second, rules = tmp_path / "1.txt", tmp_path / "2.txt", ("--rules", "standard,unshuffled=true")
    told("watch", "random", *rules, "--seed", "1", "--out", first)
    told("watch", "random", *rules, "--seed", "2", "--after", first, "--out", second)
    last = SavedGame.load(first)
    assert SavedGame.load(second).deal == Replay(last, len(last.moves)).next_deal(2)
    assert "needs unshuffled rules" in refused("watch", "random", "--after", first)


@pytest.mark.parametrize(("rules", "seat"), [("standard", 1), ("bidding,doubling=true", 2), ("mini", 0)])
def test_a_person_is_shown_nothing_that_its_seat_does_not_know(
    rules: str, seat: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As long as the game runs, what is on the screen does not depend on the hands of the others."""
    shown = []
    for record in twin_games(rules, seat):
        monkeypatch.setattr("tests.hidden.Scripted.moves", [move for _, move in record.moves])
        monkeypatch.setattr("ddz_env.saved_games.Deal", lambda *_, deal=record.deal: deal)
        typed = "".join(f"{move}\n" for place, move in record.moves if place == seat)
        screen = told("play", "--agents", record.players[0], "--seat", seat, "--rules", rules, text=typed)
        whole, end = screen.rsplit("move> ", 1)
        shown.append((whole, end))
    assert shown[0][0] == shown[1][0]
    assert shown[0][1] != shown[1][1]  # all hands in the end


def test_watched_games_are_shown_and_kept(tmp_path: Path) -> None:
    file = tmp_path / "game.txt"
    watched = told("watch", "rules", "random", "rules", "--seed", "5", "--out", file)
    record = SavedGame.load(file)
    assert record.players == ("rules", "random", "rules")
    assert record.deal.state(record.moves).is_over
    lines = [line for line in watched.splitlines() if re.match(r"seat \d .*\(", line)]
    assert [line.rpartition(": ")[2] for line in lines] == [str(move) for _, move in record.moves]
    assert "??" not in watched
    chinese = told("watch", "rules", "--rules", "bidding", "--seed", "3", "--lang", "zh")
    assert "号位" in chinese


def test_a_saved_game_is_reviewed_for_people_and_programs(tmp_path: Path) -> None:
    file = tmp_path / "game.txt"
    told("watch", "random", "--seed", "5", "--out", file)
    whole = SavedGame.load(file)
    record = SavedGame(whole.deal, whole.players, whole.moves[:12])
    record.save(file)
    found = [json.loads(line) for line in ddz("replay", file, "--review", "--json").stdout.splitlines()]
    assert [(one["seat"], one["move"]) for one in found] == [(seat, str(move)) for seat, move in record.moves]
    decisions = [one for one in found if one["loss"] is not None]  # without a choice nothing is lost
    assert all(0 <= one["loss"] <= 1 for one in decisions)
    assert all(0 <= one["landlord"] <= 1 for one in found)
    assert max(one["loss"] for one in decisions) > 0.1  # they play by chance
    rows = [line for line in told("replay", file, "--review").splitlines() if re.match(r" *\d", line)]
    cells = [re.split(r"  +", row.strip()) for row in rows]
    lost = [["" if one["loss"] is None else str(round(100 * one["loss"])), one["better"] or ""] for one in found]
    assert [row[5:] for row in cells] == [[cell for cell in pair if cell] for pair in lost]


def test_a_command_that_speaks_chinese_says_so_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "没有叫 'ghost' 的智能体" in refused("play", "--agents", "ghost", "--lang", "zh")
    monkeypatch.setenv("DDZ_LANG", "zh")
    assert "没有叫 'ghost' 的智能体" in refused("watch", "ghost")


def test_every_text_is_there_in_both_languages_with_the_same_values() -> None:
    for key, (english, chinese) in load_catalogue().texts.items():
        values = [
            sorted({name for _, name, _, _ in string.Formatter().parse(text) if name} - {"kickers", "number"})
            for text in (english, chinese)
        ]
        assert values[0] == values[1], key
        assert not CHINESE.search(english), key
    assert all(category.name in load_catalogue().texts for category in CATEGORIES)
