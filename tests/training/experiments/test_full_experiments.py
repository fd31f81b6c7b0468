"""The full-game experiments: their deals, games, files and tables, with tiny budgets."""

from __future__ import annotations

import hashlib
import itertools
import random
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ddz_env import State
from ddz_env.core.notation import Hand
from ddz_env.playing.registry import make_agent
from ddz_training.apps.cli import app
from ddz_training.apps.documentation import StaleDocsError, refresh, refreshed
from ddz_training.experiments.experiment import Saved
from ddz_training.experiments.full_branching import (
    BRANCHING,
    BranchingResult,
    Choices,
    count_by_suit,
    count_choices,
    plot_branching,
)
from ddz_training.experiments.full_games import (
    DEAL_COUNT,
    DealOptions,
    FullOptions,
    GameResult,
    deal_seeds,
    difference,
    draw_seeds,
    game_number,
    new_game,
    read_seeds,
    win_rate,
)
from ddz_training.experiments.full_tables import (
    BASELINE,
    CHEATING,
    CHEATING_UCT,
    DETERMINIZED,
    EXPLORATION,
    INFORMATION_SET,
    ITERATIONS,
    ITERATIONS_SWEEP,
    LANDLORD,
    LANDLORDS,
    THRESHOLDS,
    ExplorationOptions,
    IterationsOptions,
    Sweep,
    cheating_cast,
    compare_cheating,
    compare_landlord,
    compare_sweep,
    filter_deals,
    landlord_cast,
    plot_cheating,
    plot_landlord,
    plot_sweep,
    plot_thresholds,
    sweep_cast,
    threshold_cells,
)
from ddz_training.measure.match.errors import InvalidExperimentError, ResultsFileError, SettingsMismatchError
from ddz_training.measure.match.results import of_rows, read_results
from ddz_training.measure.match.statistics import clustered_interval, normal_interval
from ddz_training.measure.plotting import can_plot
from tests.rooms import ROOT

RESULTS = ROOT / "docs" / "results"
TINY = FullOptions(deals=3, games=2, processes=1, trees=2, tree_iterations=4)
"""A game in milliseconds."""


class Killed(Exception):
    """Thrown into a run from its progress report."""


def killing(after: int):  # type: ignore[no-untyped-def]
    def tell(done: int, total: int) -> None:
        if done == after < total:
            raise Killed

    return tell


def games(lineup: str, wins: dict[int, str]) -> list[GameResult]:
    """Games of a line-up from a word of ``1`` (the landlord won) and ``0`` a deal."""
    return [
        GameResult(game, deal, lineup, 0 if letter == "1" else 2, 30)
        for deal, word in wins.items()
        for game, letter in enumerate(word)
    ]


# --- The deals --------------------------------------------------------------------------------------------------------


def test_the_committed_deals_are_the_documented_draw() -> None:
    assert list(deal_seeds()) == draw_seeds()
    assert len(set(deal_seeds())) == DEAL_COUNT


def test_the_committed_deals_hold_the_same_cards_for_ever() -> None:
    """Results on disk speak of cards, not of seeds: a change of the dealing would make them lies."""
    digest = hashlib.sha256()
    for deal in range(DEAL_COUNT):
        state = new_game(deal)
        assert state.role(0) == "landlord"
        assert [len(state.hand(seat)) for seat in range(3)] == [20, 17, 17]
        digest.update(" ".join(str(state.hand(seat)) for seat in range(3)).encode())
    assert digest.hexdigest()[:16] == "e962d9a5882195af"


def test_a_list_of_deals_that_is_not_whole_is_refused() -> None:
    lines = ["deal,seed", *(f"{number},{seed}" for number, seed in enumerate(deal_seeds()))]
    assert read_seeds("\n".join(["# a comment", *lines])) == deal_seeds()
    for broken in (lines[:-1], lines[:5] + lines[6:], [*lines[:-1], "999," + lines[1].partition(",")[2]]):
        with pytest.raises(ResultsFileError, match="different seeds"):
            read_seeds("\n".join(broken))
    for broken in ([*lines[:-1], "999"], ["number,seed", *lines[1:]], [*lines[:-1], "999,x"]):
        with pytest.raises(ResultsFileError, match="cannot be read"):
            read_seeds("\n".join(broken))
    with pytest.raises(InvalidExperimentError, match="deal=1000"):
        new_game(1000)


# --- Who plays --------------------------------------------------------------------------------------------------------


def test_the_agents_are_the_papers() -> None:
    searchers = FullOptions()
    assert searchers.determinized == "duct:trees=40,iterations=250"
    assert searchers.cheating == "cheating-uct:trees=40,iterations=250"
    assert searchers.information_set() == "isuct:iterations=10000,exploration=1"
    for spec in (searchers.determinized, searchers.cheating, searchers.information_set(0.44, 500)):
        assert callable(make_agent(spec).act)


def test_more_options_reach_every_agent() -> None:
    experiment = landlord_cast(FullOptions(options_="milliseconds=5"))
    specs = {spec for specs in experiment.lineups.values() for spec in specs}
    assert len(specs) == 3
    assert all(spec.endswith(",milliseconds=5") for spec in specs)


def test_cheats_sit_where_table_1_says() -> None:
    searchers = FullOptions()
    seats = {
        name: [seat for seat, spec in enumerate(specs) if spec == searchers.cheating]
        for name, specs in cheating_cast(searchers).lineups.items()
    }
    assert seats == {BASELINE: [], "player 1": [0], "player 2": [1], "player 3": [2], "players 2 & 3": [1, 2]}


def test_landlords_meet_determinized_peasants() -> None:
    searchers = FullOptions()
    landlords = (searchers.cheating, searchers.determinized, searchers.information_set(1.0, 10_000))
    peasants = (searchers.determinized,) * 2
    lineups = landlord_cast(searchers).lineups
    assert list(lineups) == list(LANDLORDS)
    assert list(lineups.values()) == [(landlord, *peasants) for landlord in landlords]


def test_sweeps_change_one_parameter() -> None:
    iterations = [landlord for landlord, *_ in sweep_cast(ITERATIONS, IterationsOptions()).lineups.values()]
    assert iterations[0] == "isuct:iterations=500,exploration=0.44"
    assert iterations[-1] == "isuct:iterations=30000,exploration=0.44"
    exploration = [landlord for landlord, *_ in sweep_cast(EXPLORATION, ExplorationOptions()).lineups.values()]
    assert exploration[0] == "isuct:iterations=10000,exploration=0.1"
    assert (len(iterations), len(exploration)) == (7, 8)
    with pytest.raises(InvalidExperimentError, match=r"\[600\] is not among 500, 1000"):
        sweep_cast(ITERATIONS, IterationsOptions(at=(500, 600)))


# --- Games and files --------------------------------------------------------------------------------------------------


def test_no_two_games_share_their_generators() -> None:
    names = [("landlord", name) for name in LANDLORDS] + [("cheating", BASELINE), ("iterations", "500")]
    keys = itertools.product(names, (0, 1, 999), (0, 1, 39))
    numbers = [game_number(*name, deal, game) for name, deal, game in keys]
    assert len(set(numbers)) == len(numbers)


def test_the_file_does_not_depend_on_the_number_of_processes(tmp_path: Path) -> None:
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"
    results = LANDLORD.run(TINY, one).results
    assert LANDLORD.run(replace(TINY, processes=2), two).results == results
    assert two.read_bytes() == one.read_bytes()
    keys = [(result.game, result.deal, result.lineup) for result in results]
    assert keys == list(itertools.product(range(2), range(3), LANDLORDS))


def test_a_run_that_was_cut_off_at_any_byte_goes_on_to_the_same_file(tmp_path: Path) -> None:
    path = tmp_path / "games.csv"
    with pytest.raises(Killed):
        LANDLORD.run(TINY, path, killing(7))
    assert len(read_results(path)[1]) == 7
    LANDLORD.run(TINY, path)
    whole = path.read_bytes()
    body = whole.index(b"moves\n") + len(b"moves\n")
    for length in random.Random(0).sample(range(body, len(whole)), 8):
        path.write_bytes(whole[:length])
        LANDLORD.run(TINY, path)
        assert path.read_bytes() == whole


def test_more_games_and_deals_go_on_with_the_same_file(tmp_path: Path) -> None:
    path = tmp_path / "games.csv"
    LANDLORD.run(replace(TINY, deals=2, games=1), path)
    few = path.read_bytes()
    results = LANDLORD.run(TINY, path).results
    assert results == LANDLORD.run(TINY).results
    assert path.read_bytes().startswith(few)
    again: list[int] = []
    fewer = LANDLORD.run(replace(TINY, deals=2, games=1), path, lambda done, total: again.append(done)).results
    assert fewer == [result for result in results if result.deal < 2 and result.game == 0]
    assert again == [6]  # nothing was played


def test_games_do_not_depend_on_which_other_values_are_tried() -> None:
    run = IterationsOptions(deals=3, processes=1, trees=2, tree_iterations=4, at=(500, 1000))
    every = ITERATIONS_SWEEP.run(run).results
    one = ITERATIONS_SWEEP.run(replace(run, at=(1000,))).results
    assert one == [result for result in every if result.lineup == "1000"]


def test_another_seed_plays_other_games() -> None:
    assert LANDLORD.run(TINY).results != LANDLORD.run(replace(TINY, seed=1)).results


def test_files_of_other_agents_or_seeds_are_refused(tmp_path: Path) -> None:
    run, path = replace(TINY, deals=1, games=1), tmp_path / "games.csv"
    LANDLORD.run(run, path)
    others = (replace(run, seed=1), replace(run, tree_iterations=5))
    for other in others:
        with pytest.raises(SettingsMismatchError):
            LANDLORD.run(other, path)
    with pytest.raises(SettingsMismatchError):
        CHEATING_UCT.run(run, path)


@pytest.mark.parametrize("wrong", [{"deals": 0}, {"deals": 1001}, {"games": 0}, {"processes": 0}, {"seed": -1}])
def test_numbers_out_of_range_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InvalidExperimentError, match=next(iter(wrong))):
        FullOptions(**wrong)


# --- Statistics -------------------------------------------------------------------------------------------------------


def test_a_clustered_interval_is_the_normal_one_of_the_means_where_clusters_are_of_one_size() -> None:
    draw = random.Random(1)
    clusters = [[float(draw.random() < 0.3) for _ in range(4)] for _ in range(50)]
    ours, plain = clustered_interval(clusters), normal_interval([sum(cluster) / 4 for cluster in clusters])
    assert (ours.mean, ours.low, ours.high) == pytest.approx((plain.mean, plain.low, plain.high))
    assert (ours.count, plain.count) == (200, 50)


def test_a_clustered_interval_does_not_believe_in_repetitions() -> None:
    clusters = [[0.0], [1.0], [1.0], [0.0], [1.0]]
    repeated = [cluster * 9 for cluster in clusters]
    assert clustered_interval(repeated).half_width == pytest.approx(clustered_interval(clusters).half_width)


def test_win_rates_belong_to_a_side_and_differences_are_paired() -> None:
    results = games("a", {0: "11", 1: "10", 2: "0"}) + games("b", {0: "01", 1: "00"})
    assert win_rate(results, "a").mean == pytest.approx(3 / 5)
    assert win_rate(results, "a", peasants=True).mean == pytest.approx(2 / 5)
    gain = difference(results, "a", "b")  # deal 2 is left out: +1, 0 on deal 0 and +1, 0 on deal 1
    assert (gain.mean, gain.half_width, gain.count) == (0.5, 0.0, 4)
    assert difference(results, "a", "b", peasants=True).mean == -0.5


# --- Table 2 ----------------------------------------------------------------------------------------------------------


def test_table_2_by_hand() -> None:
    """Deal 0: cheating over determinized +0.5, deal 1: 0, deal 2: −1, deal 3 lacks information-set UCT."""
    results = [
        *games(CHEATING, {0: "11", 1: "10", 2: "00", 3: "11"}),
        *games(DETERMINIZED, {0: "10", 1: "01", 2: "11", 3: "00"}),
        *games(INFORMATION_SET, {0: "11", 1: "00", 2: "01"}),
    ]
    rows = {result.threshold.label: result for result in filter_deals(results)}
    assert {label: row.same.deals for label, row in rows.items()} == {
        "none": 3, "< 0 %": 1, "= 0 %": 1, "> 0 %": 1, "> 25 %": 1, "> 50 %": 0, "> 75 %": 0,
    }  # fmt: skip
    assert rows["none"].same.determinized.mean == pytest.approx(2 / 3)
    assert rows["none"].same.information_set.mean == pytest.approx(0.5)
    assert rows["> 25 %"].same.gain.mean == pytest.approx(0.5)
    # Held out, deal 0: the first game judges 1 − 1 = 0 and reports a loss, the second judges 1 and reports a win.
    # Deal 1: the first judges ½ − 0 and reports a win, the second ½ − 1 and reports a loss.  Deal 2: −1, a win, twice.
    assert {label: row.held_out.deals for label, row in rows.items()} == {
        "none": 3, "< 0 %": 2, "= 0 %": 1, "> 0 %": 2, "> 25 %": 2, "> 50 %": 1, "> 75 %": 1,
    }  # fmt: skip
    assert rows["= 0 %"].held_out.determinized.mean == 0
    assert rows["> 75 %"].held_out.determinized.mean == 1
    assert rows["< 0 %"].held_out.determinized.mean == pytest.approx(2 / 3)
    assert rows["none"].held_out.determinized.mean == rows["none"].same.determinized.mean


def test_filtering_luck_makes_a_gap_that_held_out_games_do_not_show() -> None:
    """Three landlords that all win half of their games, deal by deal: there is nothing to find."""
    draw = random.Random(4)
    results = [
        result
        for name in LANDLORDS
        for result in games(name, {deal: "".join(draw.choice("01") for _ in range(6)) for deal in range(1000)})
    ]
    for row in filter_deals(results):
        if row.threshold.label in ("> 0 %", "> 25 %", "> 50 %"):
            assert row.same.gain.low > 0.1
        if row.threshold.label == "< 0 %":
            assert row.same.gain.high < -0.1
        assert abs(row.held_out.gain.mean) < 1.5 * row.held_out.gain.half_width
        assert abs(row.held_out.gain.mean) < 0.06 or row.held_out.deals < 100


def test_one_game_a_deal_leaves_nothing_to_hold_out() -> None:
    results = [result for name in LANDLORDS for result in games(name, dict.fromkeys(range(3), "1"))]
    (row, *_) = filter_deals(results)
    assert (row.same.deals, row.held_out.deals) == (3, 0)
    cells = threshold_cells(filter_deals(results))
    assert cells[0][-4:] == ["–", "–", "–", "0"]
    assert len(cells) == len(THRESHOLDS) == 7


# --- Branching --------------------------------------------------------------------------------------------------------


def test_choices_are_counted_as_a_person_would() -> None:
    state = new_game(0)
    while not state.is_over:
        moves = state.legal_moves()
        assert count_choices(state) == Choices(len({move.main for move in moves}), len(moves))
        state.step(moves[-1])


def test_moves_by_suit_are_sets_of_cards() -> None:
    """Brute force: every set of cards of the hand whose ranks are those of a legal move."""
    state = State.from_hands(["33344556", "7", "8"], check_sizes=False)
    cards = list("33344556")
    legal = {str(move.cards) for move in state.legal_moves()}
    assert len(legal) == len(state.legal_moves())
    found = sum(
        str(Hand.parse("".join(cards[i] for i in chosen))) in legal
        for size in range(1, len(cards) + 1)
        for chosen in itertools.combinations(range(len(cards)), size)
    )
    assert count_by_suit(state) == found > len(legal)


def test_branching_resumes_and_its_lines_read_back(tmp_path: Path) -> None:
    path = tmp_path / "branching.csv"
    run = DealOptions(deals=3)
    with pytest.raises(Killed):
        BRANCHING.run(run, path, killing(4))
    path.write_bytes(path.read_bytes()[:-3])
    results = BRANCHING.run(run, path).results
    assert results == BRANCHING.run(run).results == of_rows(BranchingResult, read_results(path)[1])
    assert [(result.player, result.deal) for result in results] == list(
        itertools.product(("rules", "random"), range(3))
    )
    for rules, random_ in zip(results[:3], results[3:], strict=True):
        assert (rules.first, rules.first_by_suit) == (random_.first, random_.first_by_suit)


def test_the_committed_branching_is_complete_and_comes_out_again() -> None:
    saved = of_rows(BranchingResult, read_results(RESULTS / "full_branching.csv")[1])
    assert len(saved) == 2 * DEAL_COUNT
    assert BRANCHING.run(tasks=[("rules", 0), ("rules", 1)]).results == saved[:2]
    first = [result.first for result in saved[:DEAL_COUNT]]
    assert all(20 <= choices.main_groups <= 70 and choices.whole_moves <= 300 for choices in first)
    assert sum(result.first_by_suit > 300 for result in saved[:DEAL_COUNT]) == 467


# --- Reports, pages, plots and the command line -----------------------------------------------------------------------


def test_the_papers_figures_stand_beside_ours() -> None:
    run = replace(TINY, games=1)
    lines = compare_cheating(CHEATING_UCT.run(run).results)
    assert [line.paper for line in lines] == [
        "49.9", "43.0", "+6.9", "65.6", "57.0", "+8.6", "68.9", "57.0", "+11.9", "78.0", "57.0", "+21.0",
    ]  # fmt: skip
    rates = [float(line.ours) for line in lines]
    for cheating, determinized, gain in zip(rates[::3], rates[1::3], rates[2::3], strict=True):
        assert gain == pytest.approx(cheating - determinized, abs=0.11)
    assert rates[1] + rates[4] == pytest.approx(100, abs=0.11)  # one baseline, seen from both sides
    assert [line.paper for line in compare_landlord(LANDLORD.run(run).results)] == [
        "54.0",
        "42.4",
        "42.0",
        "+11.6",
        "-0.4",
    ]
    two = IterationsOptions(deals=3, processes=1, trees=2, tree_iterations=4, at=(500, 10_000))
    sweep = compare_sweep(ITERATIONS, ITERATIONS_SWEEP.run(two).results)
    assert [(line.what, line.paper) for line in sweep] == [
        ("iterations 500, %", "rises to 10,000"),
        ("iterations 10,000, %", "40.8"),
        ("iterations 500 over 10,000, points", ""),
    ]


def test_pages_get_their_tables_from_the_results_beside_them(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "<!-- table: full-landlord-tiny -->\n<!-- end -->\n<!-- table: full-thresholds-tiny -->\n<!-- end -->\n"
    )
    refresh([page])
    assert page.read_text().count("no results yet: this table is computed from `results/full_landlord_tiny.csv`") == 2
    results = LANDLORD.run(TINY, tmp_path / "results" / "full_landlord_tiny.csv").results
    with pytest.raises(StaleDocsError):
        refresh([page], check=True)
    refresh([page])
    text = page.read_text()
    for line in compare_landlord(results):
        assert f"| {line.what} | {line.paper} | {line.ours} | {line.note} |" in text
    for cells in threshold_cells(filter_deals(results)):
        assert f"| {' | '.join(cells)} |" in text
    assert "18 games in `results/full_landlord_tiny.csv`" in text
    assert "`duct:trees=2,iterations=4`" in text
    with pytest.raises(StaleDocsError, match="full-branching"):
        refreshed("<!-- table: full-nothing -->\n<!-- end -->")


@pytest.mark.skipif(not can_plot(), reason="matplotlib is not installed")
def test_plots_are_drawn(tmp_path: Path) -> None:
    cheating = [game for name in cheating_cast(FullOptions()).lineups for game in games(name, {0: "10", 1: "1"})]
    landlord = [game for name in LANDLORDS for game in games(name, {0: "10", 1: "11", 2: "00"})]
    plot_cheating(Saved(cheating), tmp_path / "cheating.png")
    plot_landlord(Saved(landlord), tmp_path / "landlord.png")
    plot_thresholds(Saved(landlord), tmp_path / "thresholds.png")
    swept = games("500", {0: "1", 1: "0"}) + games("10000", {0: "1", 1: "0"})
    plot_sweep(ITERATIONS, Saved(swept), tmp_path / "sweep.png")
    first = Choices(30, 80)
    plot_branching(Saved([BranchingResult("rules", 0, 200, (first,), ())]), tmp_path / "branching.png")
    assert len(list(tmp_path.iterdir())) == 5
    assert all(1_000 < path.stat().st_size < 60_000 for path in tmp_path.iterdir())


def test_commands_play_save_and_print(tmp_path: Path) -> None:
    path = str(tmp_path / "games.csv")
    small = ["--deals", "2", "--processes", "1", "--trees", "2", "--tree-iterations", "3"]
    landlord = CliRunner().invoke(app, ["reproduce", "landlord", "--out", path, *small])
    assert landlord.exit_code == 0, landlord.output
    for text in ("54.0", "42.4", "42.0", "paired by deal"):
        assert text in landlord.output
    thresholds = CliRunner().invoke(app, ["reproduce", "thresholds", "--out", path, "--games", "2", *small])
    assert thresholds.exit_code == 0, thresholds.output
    assert "held out" in thresholds.output
    assert len(of_rows(GameResult, read_results(Path(path))[1])) == 12
    sweep = CliRunner().invoke(app, ["reproduce", "exploration", "--at", "0.1", "--at", "3", *small])
    assert sweep.exit_code == 0, sweep.output
    assert "poor below 0.5" in sweep.output
    branching = CliRunner().invoke(app, ["reproduce", "branching", "--deals", "2"])
    assert branching.exit_code == 0, branching.output
    assert "20 to 70" in branching.output


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["landlord", "--options", "wings=2"], "there is no option 'wings'"),
        (["exploration", "--at", "0.3"], "not among"),
    ],
)
def test_wrong_commands_are_refused_before_anything_is_played(command: list[str], message: str, tmp_path: Path) -> None:
    path = tmp_path / "games.csv"
    result = CliRunner().invoke(app, ["reproduce", *command, "--out", str(path)])
    assert result.exit_code == 2
    assert message in result.output
    assert not path.exists()


def test_committed_results_are_whole() -> None:
    """Files may hold any number of games, but every line-up must have played the same."""
    for path in sorted(RESULTS.glob("full_*.csv")):
        settings, rows = read_results(path)
        if settings["experiment"] == "branching":
            continue
        played: dict[str, set[tuple[int, int]]] = {}
        for result in of_rows(GameResult, rows):
            played.setdefault(result.lineup, set()).add((result.deal, result.game))
        assert len({frozenset(keys) for keys in played.values()}) == 1, path.name
        assert sum(map(len, played.values())) == len(rows), path.name


@pytest.mark.parametrize(
    ("sweep", "poor"), [(EXPLORATION, {"0.1", "0.2", "0.44", "0.7"}), (ITERATIONS, {"500", "1000", "2000"})]
)
def test_the_committed_sweeps_show_what_the_page_says_of_them(sweep: Sweep, poor: set[str]) -> None:
    """Where more games tell more values from the base, the page has to be written anew."""
    results = of_rows(GameResult, read_results(RESULTS / f"full_{sweep.name}.csv")[1])
    base = f"{sweep.base:g}"
    gains = {label: difference(results, label, base) for label in sweep.labels if label != base}
    assert {label for label, gain in gains.items() if gain.high < 0} == poor
    assert not [label for label, gain in gains.items() if gain.low > 0]
