"""The full-game experiments: their deals, games and tables, with tiny budgets."""

from __future__ import annotations

import hashlib
import itertools
import random
from dataclasses import replace
from pathlib import Path

import pytest

from ddz_env import State
from ddz_env.core.notation import Hand
from ddz_env.playing.registry import make_agent
from ddz_training.apps.documentation import StaleDocsError, refresh, refreshed
from ddz_training.experiments import full_tables as tables
from ddz_training.experiments.experiment import read_saved
from ddz_training.experiments.full_branching import BRANCHING, BranchingResult, Choices, count_by_suit, count_choices
from ddz_training.experiments.full_games import (
    DEAL_COUNT,
    FullOptions,
    GameResult,
    difference,
    game_number,
    new_game,
    win_rate,
)
from ddz_training.experiments.full_tables import CHEATING, DETERMINIZED, INFORMATION_SET, LANDLORD, LANDLORDS
from ddz_training.measure.errors import InvalidExperimentError, SettingsMismatchError
from tests.rooms import ROOT
from tests.training.apps.terminal import ddz

RESULTS = ROOT / "docs" / "results"
TINY = FullOptions(deals=3, games=2, processes=1, trees=2, tree_iterations=4)
"""A game in milliseconds."""
TWO = tables.IterationsOptions(deals=3, processes=1, trees=2, tree_iterations=4, at=(500, 10_000))


def games(lineup: str, wins: dict[int, str]) -> list[GameResult]:
    """Games of a line-up from a word of ``1`` (the landlord won) and ``0`` a deal."""
    return [
        GameResult(game, deal, lineup, 0 if letter == "1" else 2, 30)
        for deal, word in wins.items()
        for game, letter in enumerate(word)
    ]


def test_the_deals_hold_the_same_cards_for_ever() -> None:
    """Results on disk speak of cards, not of seeds: a change of the dealing would make them lies."""
    digest = hashlib.sha256()
    for deal in range(DEAL_COUNT):
        state = new_game(deal)
        assert [len(state.hand(seat)) for seat in range(3)] == [20, 17, 17]
        digest.update(" ".join(str(state.hand(seat)) for seat in range(3)).encode())
    assert digest.hexdigest()[:16] == "e962d9a5882195af"


def test_every_agent_gets_the_options_of_the_command() -> None:
    more = tables.landlord_cast(FullOptions(options_="milliseconds=5"))
    specs = {spec for specs in more.lineups.values() for spec in specs}
    assert len(specs) == 3
    assert all(spec.endswith(",milliseconds=5") and make_agent(spec) for spec in specs)


def test_cheats_sit_where_table_1_says_and_landlords_meet_determinized_peasants() -> None:
    cheating, determinized = "cheating-uct:trees=40,iterations=250", "duct:trees=40,iterations=250"
    seats = {
        name: [seat for seat, spec in enumerate(specs) if spec == cheating]
        for name, specs in tables.cheating_cast(FullOptions()).lineups.items()
    }
    assert seats == {"nobody": [], "player 1": [0], "player 2": [1], "player 3": [2], "players 2 & 3": [1, 2]}
    landlords = (cheating, determinized, "isuct:iterations=10000,exploration=1")
    lineups = tables.landlord_cast(FullOptions()).lineups
    assert list(lineups) == list(LANDLORDS)
    assert list(lineups.values()) == [(landlord, determinized, determinized) for landlord in landlords]


def test_sweeps_change_one_parameter() -> None:
    iterations = [landlord for landlord, *_ in tables.ITERATIONS.cast(tables.IterationsOptions()).lineups.values()]
    exploration = [landlord for landlord, *_ in tables.EXPLORATION.cast(tables.ExplorationOptions()).lineups.values()]
    assert iterations[0] == "isuct:iterations=500,exploration=0.44"
    assert iterations[-1] == "isuct:iterations=30000,exploration=0.44"
    assert exploration[0] == "isuct:iterations=10000,exploration=0.1"
    assert (len(iterations), len(exploration)) == (7, 8)
    with pytest.raises(InvalidExperimentError, match=r"\[600\] is not among 500, 1000"):
        tables.ITERATIONS.cast(tables.IterationsOptions(at=(500, 600)))


def test_no_two_games_share_their_generators() -> None:
    names = [("landlord", name) for name in LANDLORDS] + [("cheating", "nobody"), ("iterations", "500")]
    keys = itertools.product(names, (0, 1, 999), (0, 1, 39))
    numbers = [game_number(*name, deal, game) for name, deal, game in keys]
    assert len(set(numbers)) == len(numbers)


def test_more_games_and_deals_go_on_with_the_same_file(tmp_path: Path) -> None:
    path, fewer = tmp_path / "games.csv", replace(TINY, deals=2, games=1)
    LANDLORD.run(fewer, path)
    few = path.read_bytes()
    results = LANDLORD.run(TINY, path).results
    assert results == LANDLORD.run(TINY).results != LANDLORD.run(replace(TINY, seed=1)).results
    assert [(one.game, one.deal, one.lineup) for one in results] == [*itertools.product(range(2), range(3), LANDLORDS)]
    assert path.read_bytes().startswith(few)
    asked = LANDLORD.run(fewer, path).results
    assert asked == [result for result in results if result.deal < 2 and result.game == 0]
    with pytest.raises(SettingsMismatchError):
        tables.CHEATING_UCT.run(fewer, path)


def test_games_do_not_depend_on_which_other_values_are_tried() -> None:
    every = tables.ITERATIONS_SWEEP.run(replace(TWO, at=(500, 1000))).results
    one = tables.ITERATIONS_SWEEP.run(replace(TWO, at=(1000,))).results
    assert one == [result for result in every if result.lineup == "1000"]


@pytest.mark.parametrize("wrong", [{"deals": 0}, {"deals": 1001}, {"games": 0}, {"processes": 0}, {"seed": -1}])
def test_numbers_out_of_range_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InvalidExperimentError, match=next(iter(wrong))):
        FullOptions(**wrong)


def test_win_rates_belong_to_a_side_and_differences_are_paired() -> None:
    results = games("a", {0: "11", 1: "10", 2: "0"}) + games("b", {0: "01", 1: "00"})
    assert win_rate(results, "a").mean == pytest.approx(3 / 5)
    assert win_rate(results, "a", peasants=True).mean == pytest.approx(2 / 5)
    gain = difference(results, "a", "b")  # deal 2 is left out: +1, 0 on deal 0 and +1, 0 on deal 1
    assert (gain.mean, gain.half_width, gain.count) == (0.5, 0.0, 4)
    assert difference(results, "a", "b", peasants=True).mean == -0.5


def test_table_2_by_hand() -> None:
    """Deal 0: cheating over determinized +0.5, deal 1: 0, deal 2: −1, deal 3 lacks information-set UCT."""
    results = [
        *games(CHEATING, {0: "11", 1: "10", 2: "00", 3: "11"}),
        *games(DETERMINIZED, {0: "10", 1: "01", 2: "11", 3: "00"}),
        *games(INFORMATION_SET, {0: "11", 1: "00", 2: "01"}),
    ]
    rows = {result.threshold.label: result for result in tables.filter_deals(results)}
    assert list(rows) == ["none", "< 0 %", "= 0 %", "> 0 %", "> 25 %", "> 50 %", "> 75 %"]
    assert [row.same.deals for row in rows.values()] == [3, 1, 1, 1, 1, 0, 0]
    assert rows["none"].same.determinized.mean == pytest.approx(2 / 3)
    assert rows["none"].same.information_set.mean == pytest.approx(0.5)
    assert rows["> 25 %"].same.gain.mean == pytest.approx(0.5)
    # Held out, deal 0: the first game judges 1 − 1 = 0 and reports a loss, the second judges 1 and reports a win.
    # Deal 1: the first judges ½ − 0 and reports a win, the second ½ − 1 and reports a loss.  Deal 2: −1, a win, twice.
    assert [row.held_out.deals for row in rows.values()] == [3, 2, 1, 2, 2, 1, 1]
    assert rows["= 0 %"].held_out.determinized.mean == 0
    assert rows["> 75 %"].held_out.determinized.mean == 1
    assert rows["< 0 %"].held_out.determinized.mean == pytest.approx(2 / 3)
    assert rows["none"].held_out.determinized.mean == rows["none"].same.determinized.mean


def test_filtering_luck_makes_a_gap_that_held_out_games_do_not_show() -> None:
    """Three landlords that all win half of their games, deal by deal: there is nothing to find."""
    draw = random.Random(4)
    words = [{deal: "".join(draw.choice("01") for _ in range(6)) for deal in range(1000)} for _ in LANDLORDS]
    results = [result for name, wins in zip(LANDLORDS, words, strict=True) for result in games(name, wins)]
    for row in tables.filter_deals(results):
        if row.threshold.label in ("> 0 %", "> 25 %", "> 50 %"):
            assert row.same.gain.low > 0.1
        if row.threshold.label == "< 0 %":
            assert row.same.gain.high < -0.1
        assert abs(row.held_out.gain.mean) < 1.5 * row.held_out.gain.half_width
        assert abs(row.held_out.gain.mean) < 0.06 or row.held_out.deals < 100


def test_one_game_a_deal_leaves_nothing_to_hold_out() -> None:
    results = tables.filter_deals([one for name in LANDLORDS for one in games(name, dict.fromkeys(range(3), "1"))])
    assert (results[0].same.deals, results[0].held_out.deals) == (3, 0)
    cells = tables.threshold_cells(results)
    assert cells[0][-4:] == ["–", "–", "–", "0"]
    assert len(cells) == len(tables.THRESHOLDS) == 7


def test_choices_are_counted_as_a_person_would() -> None:
    state = new_game(0)
    while not state.is_over:
        moves = state.legal_moves()
        assert count_choices(state) == Choices(len({move.main for move in moves}), len(moves))
        state.step(moves[-1])


def test_moves_by_suit_are_sets_of_cards() -> None:
    """Brute force: every set of cards of the hand whose ranks are those of a legal move."""
    state = State.from_hands(["33344556", "7", "8"], check_sizes=False)
    legal = {str(move.cards) for move in state.legal_moves()}
    chosen = [cards for size in range(1, 9) for cards in itertools.combinations("33344556", size)]
    found = sum(str(Hand.parse("".join(cards))) in legal for cards in chosen)
    assert count_by_suit(state) == found > len(legal) == len(state.legal_moves())


def test_the_committed_branching_is_complete_and_comes_out_again() -> None:
    saved = read_saved(BranchingResult, RESULTS / "full_branching.csv").results
    assert [(result.player, result.deal) for result in saved] == [
        *itertools.product(("rules", "random"), range(DEAL_COUNT))
    ]
    assert BRANCHING.run(tasks=[("rules", 0), ("rules", 1)]).results == saved[:2]
    both = [(one.first, one.first_by_suit) for one in saved]
    first, again = both[:DEAL_COUNT], both[DEAL_COUNT:]
    assert first == again
    assert all(20 <= choices.main_groups <= 70 and choices.whole_moves <= 300 for choices, _ in first)
    assert sum(by_suit > 300 for _, by_suit in first) == 467


def test_the_papers_figures_stand_beside_ours() -> None:
    run = replace(TINY, games=1)
    lines = tables.compare_cheating(tables.CHEATING_UCT.run(run).results)
    printed = "49.9 43.0 +6.9 65.6 57.0 +8.6 68.9 57.0 +11.9 78.0 57.0 +21.0"
    assert [line.paper for line in lines] == printed.split()
    rates = [float(line.ours) for line in lines]
    for cheating, determinized, gain in zip(rates[::3], rates[1::3], rates[2::3], strict=True):
        assert gain == pytest.approx(cheating - determinized, abs=0.11)
    assert rates[1] + rates[4] == pytest.approx(100, abs=0.11)  # one baseline, seen from both sides
    landlord = tables.compare_landlord(LANDLORD.run(run).results)
    assert [line.paper for line in landlord] == ["54.0", "42.4", "42.0", "+11.6", "-0.4"]
    sweep = tables.ITERATIONS.compare(tables.ITERATIONS_SWEEP.run(TWO).results)
    assert [(line.what, line.paper) for line in sweep] == [
        ("iterations 500, %", "rises to 10,000"),
        ("iterations 10,000, %", "40.8"),
        ("iterations 500 over 10,000, points", ""),
    ]


def test_pages_get_their_tables_from_the_results_beside_them(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    names = ("full-landlord-tiny", "full-thresholds-tiny")
    page.write_text("".join(f"<!-- table: {name} -->\n<!-- end -->\n" for name in names))
    refresh([page])
    assert page.read_text().count("no results yet: this table is computed from `results/full_landlord_tiny.csv`") == 2
    results = LANDLORD.run(TINY, tmp_path / "results" / "full_landlord_tiny.csv").results
    with pytest.raises(StaleDocsError):
        refresh([page], check=True)
    refresh([page])
    text = page.read_text()
    lines = [(line.what, line.paper, line.ours, line.note) for line in tables.compare_landlord(results)]
    for cells in (*lines, *tables.threshold_cells(tables.filter_deals(results))):
        assert f"| {' | '.join(cells)} |" in text
    assert "18 games in `results/full_landlord_tiny.csv`" in text
    assert "`duct:trees=2,iterations=4`" in text
    with pytest.raises(StaleDocsError, match="full-branching"):
        refreshed("<!-- table: full-nothing -->\n<!-- end -->")


def test_thresholds_take_the_games_of_the_landlord(tmp_path: Path) -> None:
    path = tmp_path / "games.csv"
    LANDLORD.run(replace(TINY, games=1), path)
    small = ("--deals", 3, "--processes", 1, "--trees", 2, "--tree-iterations", 4)
    thresholds = ddz("reproduce", "thresholds", "--out", path, *small)
    assert thresholds.exit_code == 0, thresholds.output
    assert "held out" in thresholds.output
    assert len(read_saved(GameResult, path).results) == 18
    sweep = ddz("reproduce", "exploration", "--at", 0.1, "--at", 3, *small)
    assert sweep.exit_code == 0, sweep.output
    assert "poor below 0.5" in sweep.output


def test_committed_results_are_whole() -> None:
    """Files may hold any number of games, but every line-up must have played the same."""
    for name in ("cheating", "exploration", "iterations", "landlord"):
        results = read_saved(GameResult, RESULTS / f"full_{name}.csv").results
        played: dict[str, set[tuple[int, int]]] = {}
        for result in results:
            played.setdefault(result.lineup, set()).add((result.deal, result.game))
        assert len({frozenset(keys) for keys in played.values()}) == 1, name
        assert sum(map(len, played.values())) == len(results), name


@pytest.mark.parametrize(
    ("sweep", "poor"),
    [(tables.EXPLORATION, {"0.1", "0.2", "0.44", "0.7"}), (tables.ITERATIONS, {"500", "1000", "2000"})],
)
def test_the_committed_sweeps_show_what_the_page_says_of_them(sweep: tables.Sweep, poor: set[str]) -> None:
    """Where more games tell more values from the base, the page has to be written anew."""
    results = read_saved(GameResult, RESULTS / f"full_{sweep.name}.csv").results
    base = f"{sweep.base:g}"
    gains = {label: difference(results, label, base) for label in sweep.labels if label != base}
    assert {label for label, gain in gains.items() if gain.high < 0} == poor
    assert not [label for label, gain in gains.items() if gain.low > 0]
