"""The full game of the 2011 paper: its deals, line-ups and tables, by hand and from the committed games."""

from __future__ import annotations

import hashlib
import itertools
import random
from dataclasses import replace
from pathlib import Path

import pytest

from ddz_env import State
from ddz_env.core.notation import Hand
from ddz_papers.determinization_2011 import full_games as full
from ddz_papers.determinization_2011 import full_thresholds as table_2
from ddz_papers.determinization_2011.full_branching import ChoiceCounts, count_choices, count_moves_by_suit
from ddz_papers.determinization_2011.full_games import (
    LANDLORD_UCT,
    LANDLORDS,
    FullOptions,
    GameResult,
    LandlordOptions,
    win_rate,
    win_rate_difference,
)
from ddz_papers.experiments.experiment import SavedResults
from ddz_training.measure.errors import SettingsMismatchError
from tests.papers.experiments import committed

TINY = LandlordOptions(deals=3, games=2, processes=1, trees=2, tree_iterations=4)
"""A game in milliseconds."""


def games(lineup: str, wins: dict[int, str]) -> list[GameResult]:
    """Games of a line-up from a word of ``1`` (the landlord won) and ``0`` a deal."""
    words = [(deal, game, letter) for deal, word in wins.items() for game, letter in enumerate(word)]
    return [GameResult(game, deal, lineup, 0 if letter == "1" else 2, 30) for deal, game, letter in words]


def test_the_deals_hold_the_same_cards_for_ever() -> None:
    """Results on disk speak of cards, not of seeds: a change of the dealing would make them lies."""
    hands = [
        " ".join(str(full.DealListOptions().new_game(deal).hand(seat)) for seat in range(3))
        for deal in range(full.DEAL_COUNT)
    ]
    assert hashlib.sha256("".join(hands).encode()).hexdigest()[:16] == "e962d9a5882195af"


def test_line_ups_are_those_of_the_paper_with_the_options_of_the_command() -> None:
    cheat, plain = (f"{name}:trees=40,iterations=250,finish=false" for name in ("cheating-uct", "duct"))
    found = full.cheating_lineups(FullOptions()).lineups
    seats = {name: [seat for seat in range(3) if specs[seat] == cheat] for name, specs in found.items()}
    assert seats == {"nobody": [], "player 1": [0], "player 2": [1], "player 3": [2], "players 2 & 3": [1, 2]}
    landlords = [cheat, plain, "isuct:iterations=10000,exploration=1,finish=false"]
    found = full.landlord_lineups(LandlordOptions()).lineups
    assert [*found.values()] == [(one, plain, plain) for one in landlords]
    found = full.landlord_lineups(LandlordOptions(peasants="information-set", finish=True)).lineups
    assert {specs[1:] for specs in found.values()} == {("isuct:iterations=10000,exploration=1",) * 2}
    values = {name: specs[0] for _, _, name, specs in full.ITERATIONS_SWEEP.tasks(full.SweepOptions(deals=1))}
    assert len(values) == 7
    assert values["500"] == "isuct:iterations=500,exploration=0.44,finish=false"


@pytest.mark.long
def test_more_games_deals_and_values_go_on_with_the_same_file(tmp_path: Path) -> None:
    path, fewer = tmp_path / "games.csv", replace(TINY, deals=2, games=1)
    LANDLORD_UCT.run(fewer, path)
    results = LANDLORD_UCT.run(TINY, path).results
    assert results == LANDLORD_UCT.run(TINY).results != LANDLORD_UCT.run(replace(TINY, seed=1)).results
    assert [(one.game, one.deal, one.lineup) for one in results] == [*itertools.product(range(2), range(3), LANDLORDS)]
    again = LANDLORD_UCT.run(fewer, path).results
    assert again == [result for result in results if result.deal < 2 and result.game == 0]
    assert len(table_2.THRESHOLDS_2011.run(table_2.ThresholdOptions(**vars(TINY)), path).results) == 18
    with pytest.raises(SettingsMismatchError):
        full.CHEATING_UCT.run(fewer, path)
    two = full.SweepOptions(**vars(fewer), at=(500, 1000))
    every, one = (full.ITERATIONS_SWEEP.run(some).results for some in (two, replace(two, at=(1000,))))
    assert one == [result for result in every if result.lineup == "1000"]


def test_win_rates_belong_to_a_side_and_differences_are_paired() -> None:
    results = games("a", {0: "11", 1: "10", 2: "0"}) + games("b", {0: "01", 1: "00"})
    assert [win_rate(results, "a", peasants=side).mean for side in (False, True)] == pytest.approx([0.6, 0.4])
    gain = win_rate_difference(results, "a", "b")  # deal 2 is left out: +1, 0 on deal 0 and +1, 0 on deal 1
    assert (gain.mean, gain.half_width, gain.count) == (0.5, 0.0, 4)
    assert win_rate_difference(results, "a", "b", peasants=True).mean == -0.5
    rows = [full.RateRow("x", "41", "a"), full.RateRow("x", "", "a", "b"), full.RateRow("y", "", "c")]
    rate, points = full.rate_table("", rows, SavedResults(results)).lines
    assert tuple(rate[:3]) == ("x, %", "41", "60.0")
    assert tuple(points) == ("x, points", "", "+50.0", "+50.0 to +50.0; paired by deal")


def test_table_2_by_hand() -> None:
    """Deal 0: cheating over determinized +0.5, deal 1: 0, deal 2: −1, deal 3 lacks information-set UCT."""
    results = [
        *games("cheating", {0: "11", 1: "10", 2: "00", 3: "11"}),
        *games("determinized", {0: "10", 1: "01", 2: "11", 3: "00"}),
        *games("information-set", {0: "11", 1: "00", 2: "01"}),
    ]
    rows = {threshold.label: (same, held_out) for threshold, same, held_out in table_2.filter_deals(results)}
    assert list(rows) == ["none", "< 0 %", "= 0 %", "> 0 %", "> 25 %", "> 50 %", "> 75 %"]
    assert [same.deals for same, _ in rows.values()] == [3, 1, 1, 1, 1, 0, 0]
    assert rows["none"][0].determinized.mean == pytest.approx(2 / 3)
    assert rows["> 25 %"][0].gain.mean == pytest.approx(0.5)
    # Held out, deal 0: the first game judges 1 − 1 = 0 and reports a loss, the second judges 1 and reports a win.
    # Deal 1: the first judges ½ − 0 and reports a win, the second ½ − 1 and reports a loss.  Deal 2: −1, a win, twice.
    assert [held_out.deals for _, held_out in rows.values()] == [3, 2, 1, 2, 2, 1, 1]
    assert [rows[label][1].determinized.mean for label in ("= 0 %", "> 75 %")] == [0, 1]
    single = [one for name in LANDLORDS for one in games(name, dict.fromkeys(range(3), "1"))]
    alike = table_2.filter_deals(single)
    assert (alike[0][1].deals, alike[0][2].deals) == (3, 0), "one game per deal leaves nothing to hold out"


def test_filtering_luck_makes_a_gap_that_held_out_games_do_not_show() -> None:
    """Three landlords that all win half of their games, deal by deal: there is nothing to find."""
    draw = random.Random(4)
    words = [{deal: "".join(draw.choice("01") for _ in range(6)) for deal in range(1000)} for _ in LANDLORDS]
    results = [result for name, wins in zip(LANDLORDS, words, strict=True) for result in games(name, wins)]
    rows = {threshold.label: (same, held_out) for threshold, same, held_out in table_2.filter_deals(results)}
    assert min(rows[label][0].gain.low for label in ("> 0 %", "> 25 %", "> 50 %")) > 0.1
    assert rows["< 0 %"][0].gain.high < -0.1
    assert all(abs(held_out.gain.mean) < 1.5 * held_out.gain.half_width for _, held_out in rows.values())


def test_choices_are_counted_as_a_person_would_and_by_suit_as_sets_of_cards() -> None:
    state = full.DealListOptions().new_game(0)
    while not state.is_over:
        moves = state.legal_moves()
        assert count_choices(state) == ChoiceCounts(len({move.main for move in moves}), len(moves))
        state.step(moves[-1])
    state = State.from_hands(["33344556", "7", "8"], check_sizes=False)
    legal = {str(move.cards) for move in state.legal_moves()}
    chosen = [cards for size in range(1, 9) for cards in itertools.combinations("33344556", size)]
    found = sum(str(Hand.parse("".join(cards))) in legal for cards in chosen)
    assert count_moves_by_suit(state) == found > len(legal) == len(state.legal_moves())


@pytest.mark.parametrize(
    ("name", "base", "poor"),
    [
        ("cheating", "nobody", set()),
        ("landlord", "cheating", {"determinized", "information-set"}),
        ("exploration", "1", {"0.1", "0.2", "0.44", "0.7"}),
        ("iterations", "10000", {"500", "1000", "2000"}),
        ("trees", "40", {"1", "200", "500"}),
    ],
)
def test_committed_results_are_whole_and_show_what_the_page_says(name: str, base: str, poor: set[str]) -> None:
    """Files may hold any number of games, but every line-up must have played the same; which ones are worse."""
    results = committed(GameResult, f"full_{name}")
    played: dict[str, list[tuple[int, int]]] = {}
    for result in results:
        played.setdefault(result.lineup, []).append((result.deal, result.game))
    assert len({tuple(sorted(keys)) for keys in played.values()}) == 1
    assert len({*played[base]}) == len(played[base])
    gains = {lineup: win_rate_difference(results, lineup, base) for lineup in played if lineup != base}
    if name != "cheating":
        assert {lineup for lineup, gain in gains.items() if gain.high < 0} == poor
        assert not [lineup for lineup, gain in gains.items() if gain.low > 0]
