"""``ddz play``, ``watch``, ``advise`` and ``replay``: whole games by what a person types, in both languages."""

from __future__ import annotations

import os
import re
import shlex
import string
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

from ddz_env import Hand, Move, Rules
from ddz_env.core.actions import CATEGORIES
from ddz_env.core.errors import InvalidMoveError, command_line
from ddz_env.peers.botzone.games import botzone_game
from ddz_env.table.session import PERSON, Deal, Record, Session
from ddz_env.table.texts import LANGUAGES, TEXTS, Texts, cells
from ddz_training.apps.botzone.match import play_match
from ddz_training.apps.cli.board import understood
from ddz_training.apps.cli.replay import read_game
from tests.hidden import Scripted, twin_games
from tests.rooms import ROOT
from tests.training.apps.terminal import ddz, refused

WHOLE = "hint\nok\n" * 40
CHINESE = re.compile(r"[一-鿿]")
HAND = ("--hand", "3344567TJQQKA22BR")
RULES = ("--agents", "rules", "--hints", "rules", "--seed", "1")


def told(*arguments: object, text: str | None = None, code: int = 0) -> str:
    """The output of a command, no line of which is wider than 80 columns."""
    result = ddz(*arguments, text=text)
    assert result.exit_code == code, result.output
    wide = [line for line in result.stdout.splitlines() if cells(line.rstrip()) > 80]
    assert not [line for line in wide if os.sep not in line]  # a path is as long as it is
    return result.stdout


def kept_in(output: str) -> Path:
    """The file that a command names."""
    [words] = [shlex.split(line) for line in output.splitlines() if "kept in " in line]
    return Path(words[-1])


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_game_is_played_left_and_gone_on_with(language: str, tmp_path: Path) -> None:
    """With hints, words, mistakes and a decision taken back it ends as one that was played straight through."""
    whole, parts = tmp_path / "whole.txt", tmp_path / "parts.txt"
    straight = told("play", *RULES, "--lang", language, "--out", whole, text=WHOLE)
    record = Record.load(whole)
    over = record.deal.state(record.moves)
    assert over.is_over
    say = Texts(language)
    assert say("win" if over.returns()[0] > 0 else "lose") in straight
    assert command_line("ddz", "replay", whole) in straight
    typed = "?\nh\ncards\nhint\nok\n３\nundo\nzebra\n55555\nboard\nhint rules\nok\nquit\n"
    with pytest.raises(InvalidMoveError) as zebra:
        Move.parse("zebra")
    first = told("play", *RULES, "--lang", language, "--out", parts, text=typed)
    answers = say.help("play").splitlines()[0], say("took back", move="3"), say.complaint(zebra.value), say("goodbye")
    for text in answers:
        assert text.replace(" ", "") in first.replace("\n", "").replace(" ", "")
    assert any(line.endswith(command_line("ddz", "play", "--out", parts, "--resume")) for line in first.splitlines())
    chinese = CHINESE.findall(first.replace(str(tmp_path), ""))  # a folder may have any name
    assert len(chinese) > 200 if language == "zh" else not chinese
    told("play", "--hints", "rules", "--lang", language, "--out", parts, "--resume", text=WHOLE)
    assert Record.load(parts).moves == record.moves


def test_the_last_unfinished_game_is_found_without_a_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DDZ_GAMES_DIR", str(tmp_path))
    first = told("play", *RULES, text="hint\nok\nquit\n")
    assert "ddz play --resume" in first
    older = tmp_path / "play-20250101-000000-1.txt"
    Record(Deal(Rules(), 3), (PERSON, "rules", "rules")).save(older)
    os.utime(older, (1.0, 1.0))
    again = told("play", "--hints", "rules", "--resume", text="quit\n")
    assert "Going on at move 1." in again
    replayed = told("replay", text="quit\n")  # the last one, unfinished or not
    assert kept_in(again) == kept_in(replayed) == kept_in(first)
    monkeypatch.setenv("DDZ_GAMES_DIR", str(tmp_path / "none"))
    assert "no game is kept in" in ddz("replay").stderr


def test_ctrl_c_loses_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    table = ("--bottom", "359", "--role", "landlord", "--agent", "rules")
    for command, *options in (("play", *RULES), ("advise", *HAND, *table)):
        file = tmp_path / f"{command}.txt"
        with monkeypatch.context() as patch:
            patch.setattr("builtins.input", Mock(side_effect=["hint", "ok", KeyboardInterrupt]))
            said = told(command, *options, "--out", file, code=130)
        assert command_line("ddz", command, "--out", file, "--resume") in said
        assert Record.load(file).moves[0][0] == 0


def test_watched_games_are_kept_and_replayed(tmp_path: Path) -> None:
    file = tmp_path / "game.txt"
    watched = told("watch", "rules", "random", "rules", "--seed", "5", "--boards", "--out", file)
    record = Record.load(file)
    assert record.players == ("rules", "random", "rules")
    for seat, move in record.moves:
        assert f"seat {seat} " in watched
        assert f": {move}\n" in watched
    Record(record.deal, record.players, record.moves[:5]).save(file)
    told("watch", "--out", file, "--resume")
    assert Record.load(file).moves == record.moves
    every = told("replay", file, "--all", "--lang", "zh").splitlines()
    shown = [line.split()[-1] for line in every if re.match(r" +\d+  \d", line)]
    assert shown == [Texts("zh").move(move) for _, move in record.moves]
    typed = "\n\nb\n7\nhint\ncards\n999\nzebra\nplay rules\nquit\n"
    stepped = told("replay", file, "--agent", "rules", "--seat", "1", text=typed)
    for text in ("move 7 of", "rules would play", "must be an integer in 0.."):
        assert text in stepped
    on = kept_in(stepped)
    assert Record.load(on).moves == record.moves[:7]
    assert Record.load(on).players.count(PERSON) == 1
    on.unlink()
    review = told("replay", file, "--review", "rules", "--seat", "0").splitlines()
    rows = {int(line.split()[0]) for line in review if re.match(r" *\d+  0 ", line)}
    assert rows
    assert rows <= {number for number, (seat, _) in enumerate(record.moves) if seat == 0}


@pytest.mark.parametrize(("rules", "seat"), [("standard", 1), ("bidding,doubling=true", 2), ("mini", 0)])
def test_from_a_seat_nothing_is_shown_or_written_that_it_does_not_know(
    rules: str, seat: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What is read and what is kept is the same to the byte whatever the others hold, to the end and after it."""
    file, seen = tmp_path / "game.txt", tmp_path / "seen.txt"
    stepped = "hint\ncards\n\n" * 4 + "999\n3\nb\nhint\nquit\n"
    shown: list[list[str]] = []
    everything: list[str] = []
    for record in twin_games(rules, seat):
        Scripted.moves = [move for _, move in record.moves]
        start, agent = Record(record.deal, record.players), record.players[0]
        monkeypatch.setattr(sys.modules["ddz_training.apps.cli.table"], "_watched_game", lambda *_, start=start: start)
        record.save(file)
        seen.unlink(missing_ok=True)
        looks_on = ("replay", file, "--agent", agent, "--seat", seat)
        texts = [
            told("watch", "--boards", "--out", seen, "--seat", seat),
            seen.read_text(),
            told(*looks_on, "--all"),
            told(*looks_on, text=stepped),
            told(*looks_on, "--review", agent),
            told("replay", seen, "--all"),  # which has no other way to look at it
        ]
        assert f"It has the cards and moves that seat {seat} saw" in texts[0]
        assert "would play" in texts[3]
        assert set(re.findall(r"next: seat (\d)", texts[3])) == {str(seat)}
        assert Record.load(seen).moves == record.moves
        shown.append(texts)
        everything.append(told("replay", file, "--all"))
    assert shown[0] == shown[1]
    assert everything[0] != everything[1]
    assert not set("♠♥♣♦") & set("".join([*shown[0], *everything]))  # a seat's suits would be no other's
    assert "nobody knows the other hands" in refused("watch", "--out", seen, "--resume")


def test_a_table_that_no_single_seat_sees_is_not_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DDZ_GAMES_DIR", str(tmp_path))
    watched = ("watch", "rules", "--seat", "1", "--seed", "3", "--rules")
    assert "The game cannot be kept: the half-deck rules" in " ".join(told(*watched, "half-deck").split())
    assert not list(tmp_path.iterdir())
    assert "cannot be set up" in ddz(*watched, "half-deck", "--out", tmp_path / "game.txt").stderr
    told(*watched, "perfect", "--out", tmp_path / "open.txt")  # nothing is hidden
    assert Record.load(tmp_path / "open.txt").deal.hands is None


def test_playing_on_from_a_seat_is_playing_that_seat(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DDZ_GAMES_DIR", str(tmp_path))
    file = tmp_path / "game.txt"
    whole = twin_games("standard", 2)[0]
    whole.save(file)
    on = kept_in(told("replay", file, "--seat", "2", text="\nplay rules\nquit\n"))
    assert Record.load(on).players == ("rules", "rules", PERSON)
    Session(whole).record(2).save(file)
    assert "nobody can play for the other hands" in told("replay", file, text="play rules\nquit\n")


def test_a_log_of_botzone_is_replayed(tmp_path: Path) -> None:
    for game in ("FightTheLandlord", "FightTheLandlord2"):
        log = play_match(botzone_game(game), ["random"] * 3, 3)
        file = tmp_path / "log.json"
        file.write_text(str(log), encoding="utf-8")
        record, (state, decisions) = read_game(file), log.replay()
        assert record.moves == tuple((decision.view.acting_seat, decision.move) for decision in decisions)
        assert record.deal.state(record.moves).returns("win") == state.returns("win")


def test_a_real_table_is_followed_move_by_move(tmp_path: Path) -> None:
    """Every move of a game, as one seat sees it; hints come whenever that seat is to move, and the game is kept."""
    session = Session(Record(Deal(Rules.preset("bidding"), 7), ("rules",) * 3))
    session.let_agents_play()
    start, moves = session.deal.state(), session.moves
    own, file = 1, tmp_path / "table.txt"  # at the table told below the person is seat 0
    hand, opener = start.hand(own), (start.seat - own) % 3
    bids = next(number for number, (_, move) in enumerate(moves) if move.group is not None)
    lines = [str(move) for _, move in moves]
    bottom = str(session.deal.state(moves).bottom)
    typed = [*lines[:bids], "zebra", bottom, *lines[bids : bids + 6], "undo", lines[bids + 5], "quit"]
    table = ("advise", "--agent", "rules", "--out", file)
    begun = told(*table, "--rules", "bidding", "--hand", hand, "--opener", opener, text="\n".join(typed) + "\n")
    asked = sum(seat == own for seat, _ in moves[: bids + 6])
    assert begun.count("would play") + begun.count("There is only one move") >= asked
    assert "cannot read 'Z'" in begun
    over = told(*table, "--resume", text="\n".join(lines[bids + 6 :]) + "\n")
    assert ("landlord wins" in over) == (session.returns()[own] < 0 or session.sight(own).table.landlord == own)
    kept = Record.load(file)
    assert [move for _, move in kept.moves] == [move for _, move in moves]
    assert kept.deal.hands == (hand, None, None)


def test_a_table_asks_for_what_it_was_not_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DDZ_GAMES_DIR", str(tmp_path))
    asked = told("advise", "--agent", "rules", text="345\n3344567TJQQKA22BR\nking\nl\n35\n359\nquit\n")
    for text in ("3 cards, ", "unknown role 'king'", "2 cards, ", "would play"):
        assert text in asked
    assert [file.name for file in tmp_path.iterdir()] == [kept_in(asked).name]


def test_a_command_that_speaks_chinese_says_so_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = ("advise", *HAND, "--bottom", "333", "--role", "landlord")
    assert "that would be 5 cards of rank 3" in refused(*wrong)
    assert "那样 3 就有 5 张了" in refused(*wrong, "--lang", "zh")
    monkeypatch.setenv("DDZ_LANG", "zh")
    assert "没有角色 'king'" in refused("advise", *HAND, "--bottom", "359", "--role", "king")


def test_a_file_with_a_game_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "game.txt"
    Record(Deal(Rules(), 3), (PERSON, "rules", "rules")).save(file)
    before = file.read_text()
    for command in (("play", *RULES), ("watch", "rules"), ("advise", *HAND, "--bottom", "359", "--role", "landlord")):
        assert "is there already" in refused(*command, "--out", file)
    assert file.read_text() == before


def test_every_text_is_there_in_both_languages_with_the_same_values() -> None:
    for key, (english, chinese) in TEXTS.items():
        values = [
            sorted({name for _, name, _, _ in string.Formatter().parse(text) if name} - {"kickers", "number"})
            for text in (english, chinese)
        ]
        assert values[0] == values[1], key
        assert not CHINESE.search(english), key
    assert all(category.name in TEXTS for category in CATEGORIES)


def test_every_text_is_used() -> None:
    table, commands = ROOT / "ddz_env" / "table", ROOT / "training" / "ddz_training" / "apps" / "cli"
    files = [*commands.glob("*.py"), *(table / "render").glob("*.py"), table / "session" / "advice.py"]
    code = "\n".join(file.read_text(encoding="utf-8") for file in files)
    spoken = {category.name for category in CATEGORIES} | {"bidder", "bid", "bid 1", "bid 2", "bid 3", "no bid"}
    spoken |= {"double", "no double", "call", "no call", "rob", "no rob", "show", "no show"}
    quoted = set(re.findall(r"""["']([a-z0-9+ ]+)["']""", code))
    assert not [key for key in TEXTS if key not in quoted | spoken]


def test_hands_of_other_spellings_are_understood() -> None:
    hands = tuple(map(Hand.parse, ("33445567TTJQKA2BR", "344667889JQKKA22A", "5678899TTJJQQKA29")))
    session = Session(Record(Deal(Rules(), hands=hands, bottom=Hand.parse("357")), (PERSON,) * 3))
    for text, move in (("10 10", "TT"), ("３４５６７", "34567"), ("xd", "BR"), ("小王大王", "BR"), ("不出", "pass"),
                       ("王炸", "BR"), ("♠3 ♥3", "33"), ("q", "Q"), ("TT", "TT"), ("no", "pass")):  # fmt: skip
        assert str(understood(text, "play", session.rules, session.can_play)) == move
    assert str(understood("叫2分", "bid", session.rules, session.can_play)) == "bid 2"
    assert str(understood("加倍", "double", session.rules, session.can_play)) == "double"
