"""What is kept of a game: records that read back and replay exactly, and replays that go to any move."""

from __future__ import annotations

import codecs
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ddz_env import Hand, Move, Rules
from ddz_env.saved_games import PERSON, Deal, SavedGame, SavedGameError
from ddz_env.support.errors import DouDizhuError
from ddz_play.session import Advice, RankedMove, Replay, ReviewedMove, Session, SessionError
from tests.play.test_session import BIDDING, PEOPLE, STANDARD, finished, seen_from


@pytest.mark.parametrize(
    "rules", ["standard", "bidding,doubling=true", "mini", "half-deck", "half-deck-open", "douzero"]
)
def test_a_record_reads_back_and_replays_exactly(rules: str, tmp_path: Path) -> None:
    preset = Rules.preset(rules)
    session = Session(SavedGame(Deal(preset, seed=9, game=2), ("random",) * preset.players))
    for _ in range(6):
        session.let_agent_play()
    file = tmp_path / "games" / "half.txt"
    session.to_saved_game().save(file)
    resumed = Session(SavedGame.load(file))
    for one in (session, resumed):
        one.let_agents_play()
    record = session.to_saved_game()
    assert resumed.to_saved_game() == record
    assert SavedGame.parse(str(record)) == replace(record, remarks=())
    file.write_bytes(codecs.BOM_UTF8 + str(record).encode())
    assert SavedGame.load(file) == SavedGame.parse(str(record))
    assert [name.name for name in file.parent.iterdir()] == ["half.txt"]


def test_cards_that_are_given_read_back_too() -> None:
    puzzle = Deal(
        Rules.preset("standard,players=2,open_hands=true"),
        hands=(Hand.parse("KK5543"), Hand.parse("225543")),
        bottom=Hand.parse(""),
        endgame=True,
    )
    for deal in (puzzle, seen_from(finished(4), 2)):
        players = (PERSON,) * deal.rules.players
        again = SavedGame.parse(str(SavedGame(deal, players)))
        assert (again.deal, again.players) == (deal, players)
    assert Session(SavedGame(puzzle, (PERSON, "rules"))).seat_view(0).table.seats[1].unseen == 0  # open hands


NAMES = ("policy:path=/tmp/#1/w", "  person ", "person\n1 3", "a\rb", "rules\u2028", '"', '"rules"', "#", " ", "")
NAMES += ("\\", "a: b", "rules ", "b\udcffc", "策略:path=/家/w", "a\x00", "\ufeffrules", "\x85", "a" * 5_000)


def test_whatever_a_player_is_called_its_game_reads_back(tmp_path: Path) -> None:
    for name in NAMES:
        record = SavedGame(Deal(STANDARD, 7), (name, PERSON, "policy:path=a b"), ((0, Move.parse("4")),), ("a remark",))
        record.save(tmp_path / "game.txt")
        again = SavedGame.load(tmp_path / "game.txt")
        assert (again.deal, again.players, again.moves) == (record.deal, record.players, record.moves)
        assert "player 1: person\nplayer 2: policy:path=a b\n" in str(record)
        with pytest.raises(DouDizhuError):
            Session(again)  # none of them is a person


def test_what_makes_no_record_is_refused_when_it_is_made() -> None:
    for change in ({"players": ("rules",) * 2}, {"remarks": ("two\nlines",)}):
        with pytest.raises(SavedGameError):
            replace(SavedGame(Deal(STANDARD, 7), PEOPLE), **change)  # type: ignore[arg-type]


GOOD = str(SavedGame(Deal(STANDARD, 7), PEOPLE, ((0, Move.parse("4")),)))
OBSERVED = "Dou Dizhu game 1\ncards: given\nseat 0: 3344567TJQQKA22BR\nlandlord cards: 359\n"


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "Dou Dizhu game 2\n",
            GOOD.replace("game 1", "game 12"),
            "Dou Dizhu game 1\ncards: given\n",
            OBSERVED + "7 3\n",
        ),
        *(
            GOOD.replace("seed: 7", f"seed: {seed}")
            for seed in ("seven", "8", "7\nseed: 7", "7\nseed : 7", "9" * 5000, "٣")
        ),
        *(GOOD.replace("rules: standard", "rules: poker"), GOOD.replace("seed: 7", "seed: 7\ncolour: red")),
        *(GOOD + line for line in ("2 pass\n", "1 3\n", "pass\n", "1 zebra\n", "9" * 5000 + " 3\n")),
        GOOD.replace("player 1: person", 'player 1: "person'),
    ],
)
def test_what_is_no_record_is_refused(text: str) -> None:
    SavedGame.parse(GOOD + "# a remark\n")
    with pytest.raises(SavedGameError):
        SavedGame.parse(text)
    with pytest.raises(SavedGameError, match="line 12: "):
        SavedGame.parse(GOOD + "1 zebra\n")


def test_rules_that_were_changed_by_keyword_are_saved_with_their_changes() -> None:
    rules = Rules.preset("standard", scoring="stake", kicker_repeat=3)
    game = SavedGame(Deal(rules, seed=7), (PERSON,) * 3)
    assert SavedGame.parse(str(game)) == game
    assert rules == Rules.preset("standard,scoring=stake,kicker_repeat=3")
    with pytest.raises(SavedGameError, match="not those of a preset with options"):
        SavedGame(Deal(Rules("standard", spring=False), seed=7), (PERSON,) * 3)


def test_whatever_is_changed_in_a_record_it_is_read_or_refused_by_name(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    pieces = ("9" * 30, ":", "?", "\n", "seat 1: 3\n", "endgame: yes\n", "2 pass\n", "bid 3", "-1", "")
    refused = 0
    for text in (GOOD, OBSERVED + "0 3\n1 4\n"):
        for _ in range(100):
            start = int(rng.integers(len("Dou Dizhu game 1\n"), len(text)))
            end = start + int(rng.integers(0, 12))
            try:
                SavedGame.parse(text[:start] + pieces[int(rng.integers(len(pieces)))] + text[end:])
            except SavedGameError:
                refused += 1
    assert refused > 100
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    for name in ("none", "binary"):
        with pytest.raises(SavedGameError, match=name):
            SavedGame.load(tmp_path / name)


def test_a_replay_goes_to_any_move_and_on_from_there() -> None:
    record = finished(6, BIDDING)
    replay = Replay(record)
    tables = []
    for number in range(len(record.moves) + 1):
        replay.go_to(number)
        tables.append(replay.seat_view(None).table)
    assert tables[-1].winner is not None
    for number in (5, 2, 17, 0):
        replay.go_to(number)
        assert (replay.number, replay.seat_view(None).table) == (number, tables[number])
    with pytest.raises(SessionError, match=r"in 0\.\."):
        replay.go_to(len(record.moves) + 1)
    replay.go_to(9)
    reviewed = list(replay.review("rules", [1]))
    assert {one.seat for one in reviewed} == {1}
    assert all(one.move == one.advice.move for one in reviewed)  # it played so itself
    replay.go_to(9)
    on = Session(replay.branch_here(("rules",) * 3))
    on.let_agents_play()
    assert on.moves == record.moves


def test_what_a_move_gave_away_is_measured_against_the_best_chance() -> None:
    """Also where that is not the chance of the move that the agent would have played."""
    own, other = (
        RankedMove(move.main, move, chance) for move, chance in ((Move.parse("3"), 0.4), (Move.parse("44"), 0.6))
    )
    advice = Advice("somebody", 0, Move.parse("3"), (own, other))
    for chance, loss in ((0.6, 0.0), (0.4, 0.2), (None, None)):
        assert ReviewedMove(0, 0, Move.parse("3"), advice, chance).loss == pytest.approx(loss)


KEPT_BY_0_2_0 = """\
Dou Dizhu game 1
rules: standard
seed: 11
player 0: person
player 1: rules
player 2: rules
seat 0: 33455799TTJQQKA2B
seat 1: 344566799TJJQKAAR
seat 2: 345678888TJQKKA22
landlord cards: 672
0 34567
1 9TJQK
2 pass
0 TJQKA
1 pass
2 8888
"""
"""What the page of version 0.2.0 kept in its folder of games."""


def test_a_game_kept_by_an_earlier_version_is_read_and_written_as_it_was() -> None:
    game = SavedGame.parse(KEPT_BY_0_2_0)
    assert str(game) == KEPT_BY_0_2_0
    assert game.deal.state(game.moves).seat == 0
