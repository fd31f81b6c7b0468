"""Files of deals: what they may hold, and that every command that plays deals plays theirs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ddz_env import Hand, Rules
from ddz_env.support.errors import DouDizhuError
from ddz_training.data.games import GAMES, read_games
from ddz_training.measure.deal_file import read_deal_file
from ddz_training.measure.duplicate import DealPlayer, Match, new_deal
from ddz_training.measure.store import read_results
from tests.training.cli.terminal import done, refused

HANDS = "4456789TTTJJKKKKR / 333677789TJJQQAA2 / 4455668899QQAA22B / 352"
OTHER = "33334444555566667 / 77788889999TTTTJJ / JJQQQQKKKKAAAA222 / 2BR"


def written(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    ("text", "rules", "numbers", "hands"),
    [
        (HANDS, "standard", [0], (HANDS,)),
        (f"# mine\n\n{OTHER}  # a remark\r\n{HANDS}\n", "standard", [0, 1], (OTHER, HANDS)),
        (f"\ufeff{HANDS}", "bidding", [0], (HANDS,)),  # a byte order mark
        (HANDS.replace(" / ", "/"), "standard", [0], (HANDS,)),
        ("R 4456789 10 10 10 JJKKKK" + HANDS[17:], "standard", [0], (HANDS,)),
        ("33 / 44 / 55 /", "half-deck", [0], ("33 / 44 / 55 / ",)),  # all landlord cards are left out
        ("3344556 / 3344556 /", "mini", [0], ("3344556 / 3344556 / ",)),
        ("7\n3 # the first\n7\n", "standard", [3, 7], ()),
    ],
)
def test_a_file_has_numbers_or_hands(
    text: str, rules: str, numbers: list[int], hands: tuple[str, ...], tmp_path: Path
) -> None:
    read = read_deal_file(written(tmp_path / "deals.txt", text), Rules.preset(rules), 0)
    assert (read.numbers, read.hands) == (numbers, hands)
    assert read.select_numbers(1) == numbers[:1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no deals"),
        ("# nothing\n\n", "has no deals"),
        (b"\xff\xfe3\x00", "UTF-8"),
        (f"{HANDS}\n12\n", "deals.txt:2: '12' must be 3 hands as dealt"),
        ("12\nx\n", "deals.txt:2: 'x' is neither the number of a deal"),
        ("-1", "'-1' is neither the number of a deal"),
        ("9" * 5000, "is neither the number of a deal"),
        (HANDS.rpartition(" / ")[0], "the landlord cards"),
        (HANDS + " / 3", "must be 3 hands"),
        (HANDS.replace("R /", "B /"), "2 cards of rank B"),
        (HANDS.replace("R /", "3 /"), "5 cards of rank 3"),
        (HANDS.replace("R /", "/"), "seat 0 has 16 cards"),
        (HANDS.replace("R /", "R2 /"), "seat 0 has 18 cards"),
        (HANDS.replace("352", "35"), "2 landlord cards"),
        (HANDS.replace("352", "3X2"), "deals.txt:1: "),
        ("/ / /", "seat 0 has 0 cards"),
    ],
)
def test_a_line_that_is_no_deal_is_named(text: str | bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(DouDizhuError) as error:
        read_deal_file(written(tmp_path / "deals.txt", text), Rules(), 0)
    assert message in str(error.value)


def test_a_deal_is_what_its_line_says() -> None:
    landlord, *peasants, bottom = HANDS.split(" / ")
    state = new_deal(Rules(), 5, 1, [OTHER, HANDS])
    assert [state.hand(seat) for seat in range(3)] == [Hand.parse(cards) for cards in (landlord + bottom, *peasants)]
    assert (state.bottom, state.role(0)) == (Hand.parse(bottom), "landlord")
    openers = {new_deal(Rules.preset("bidding"), 5, deal, [HANDS] * 20).seat for deal in range(20)}
    assert openers == {0, 1, 2}


def test_arena_and_record_play_the_same_games_of_a_file(tmp_path: Path) -> None:
    path, out = written(tmp_path / "deals.txt", f"{OTHER}\n{HANDS}\n"), tmp_path / "games.csv"
    match = ("random", "rules", "--deal-file", path, "--processes", 1)
    done("arena", *match, "--no-timing", "--out", out)
    _, rows = read_results(out)
    expected = DealPlayer(Rules(), 0, hands=(OTHER, HANDS)).play(Match(1, ("random", "rules")))
    assert [(row["deal"], row["winner"]) for row in rows[2:]] == [("1", game.winner) for game in expected]
    assert "hands" in refused("arena", "random", "rules", "--no-timing", "--out", out)  # other deals
    done("record", *match, "--out", tmp_path / "set")
    games = read_games(tmp_path / "set" / GAMES).games
    assert [" / ".join((*game.hands, game.bottom)) for game in games] == [OTHER, OTHER, HANDS, HANDS]
    done("replay", tmp_path / "set")


def test_the_benchmark_and_the_games_of_the_paper_take_a_file(tmp_path: Path) -> None:
    hands = written(tmp_path / "hands.txt", f"{OTHER}\n{HANDS}\n")
    shown = done("benchmark", "run", "random-staged", "--deal-file", hands, "--processes", 1).output
    assert "2 duplicate deals each, list 'hands.txt'" in shown
    numbers = written(tmp_path / "numbers.txt", "11\n5\n")
    out = tmp_path / "branching.csv"
    for file, deals in ((hands, ["0", "1"]), (numbers, ["5", "11"])):
        done("reproduce", "branching", "--deal-file", file, "--out", out)
        assert [row["deal"] for row in read_results(out)[1]] == deals
        for path in tmp_path.glob("branching.*"):
            path.unlink()


def test_a_function_is_read_as_the_file_of_its_deals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "two_deals.py").write_text(f"def deal(rng, number):\n    return {[HANDS, OTHER]!r}[number % 2]\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    read = read_deal_file(Path("two_deals:deal"), Rules(), 7, deals=3)
    assert read.hands == (HANDS, OTHER, HANDS)
    assert read.select_numbers(2, 1) == [1, 2]
    for deals in ("two_deals:deal", written(tmp_path / "deals.txt", "\n".join(read.hands))):
        match = ("--deals", 3, "--deal-file", deals, "--processes", 1, "--no-timing")
        done("arena", "random", "rules", *match, "--out", "games.csv")
        assert (
            "3 duplicate deals" in done("arena", "random", "rules", *match, "--out", "games.csv").output
        )  # the same results


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("arena random rules --tendency none --deal-file {}", "leave out --tendency"),
        ("arena random rules --deal-file {}.no", "No such file"),
        ("arena random rules --first-deal 2 --deal-file {}", "but none from number 2 on"),
        ("benchmark random --full --deal-file {}", "--full"),
        ("arena random rules --deal-file no_such:function", "no_such:function"),
        ("reproduce mini-census --deal-file {}", "No such option"),
        ("reproduce landlord --deals 2000 --deal-file {}", "from 1 to 1,000"),
    ],
)
def test_a_command_that_cannot_play_a_file_says_so(line: str, message: str, tmp_path: Path) -> None:
    path = written(tmp_path / "deals.txt", f"{HANDS}\n{OTHER}\n")
    assert message in " ".join(refused(*line.format(path).split()).split())
