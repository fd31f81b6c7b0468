"""Monte Carlo equivalents: the curve, both ways to find one, the games behind them, and the command."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from ddz_env import Rules
from ddz_env.support.errors import InvalidAgentOptionError
from ddz_papers.thesis_2020 import equivalent
from ddz_papers.thesis_2020.curve import Bounds, Tally, posterior
from ddz_papers.thesis_2020.known_equivalents import CURVES, EQUIVALENT_SIMULATED, SimulatedOptions
from ddz_papers.thesis_2020.tendency import TendencyAgents, measure_tendencies
from ddz_training.measure.errors import SettingsMismatchError
from ddz_training.measure.store import read_results
from tests.training.cli.terminal import done, refused


def sure(truth: int) -> tuple[list[int], equivalent.Play]:
    """Deals that the stronger one always takes, and the budgets that are tried."""
    asked: list[int] = []

    def play(budgets: object) -> list[int]:
        asked.extend(budgets)  # type: ignore[call-overload]  # a sequence of whole numbers
        return [int(np.sign(truth - many)) for many in budgets]  # type: ignore[attr-defined]

    return asked, play


@pytest.mark.parametrize(("truth", "answer"), [(0, 1), (1, 1), (3, 3), (64, 64), (99, 99), (100, 100), (1000, 100)])
def test_binary_search_ends_at_the_answer_or_where_nothing_is_left(truth: int, answer: int) -> None:
    """As printed, algorithm 4 asks for the lower of two neighbours for ever."""
    asked, play = sure(truth)
    assert equivalent.binary_search(play, Bounds(1, 100), 1).iterations.mean == answer
    assert len(asked) <= 7


def test_initial_bounds_double_until_the_search_is_not_worse() -> None:
    asked, play = sure(700)
    bounds, tallies = equivalent.initial_bounds(play, Bounds(1, 100), 3, np.random.default_rng(0))
    assert bounds.lower < 700 <= bounds.upper < 2 * 700 * 1.1
    assert asked[:3] == [100] * 3
    assert asked[::3] == [*tallies]
    assert all(2 * a <= b <= 2.1 * a for a, b in zip(asked[::3], asked[3::3], strict=False))
    bounds, _ = equivalent.initial_bounds(sure(10**9)[1], Bounds(1, 100), 1, np.random.default_rng(0), most=5000)
    assert bounds.upper == 5000


def test_the_curve_finds_the_place_where_both_are_equal() -> None:
    """Odds of 3 to 1 an octave below and of 1 to 3 an octave above: the middle, and a slope of log 3."""
    known = posterior({200: Tally(300, 100), 800: Tally(100, 300)}, Bounds(1, 10_000))
    assert 2 ** known.quantile(0.5) == pytest.approx(400, rel=0.02)
    width = known.quantile(0.975) - known.quantile(0.025)
    assert width == pytest.approx(2 * 1.96 / (math.log(3) * math.sqrt(800 * 0.1875)), rel=0.15)


def test_even_deals_say_nothing_and_far_ones_nothing_in_the_end() -> None:
    near = {300: Tally(40, 20), 500: Tally(20, 40)}
    known = posterior(near, Bounds(1, 10_000))
    for more in ({400: Tally(even=900)}, {9: Tally(100, 4)}):
        assert posterior({**near, **more}, Bounds(1, 10_000)).quantile(0.5) == pytest.approx(known.quantile(0.5))
    assert posterior({9: Tally(100, 4)}, Bounds(1, 10_000)).quantile(0.025) > 3.5


@pytest.mark.parametrize("truth", [4, 700, 60_000])
def test_the_sequential_test_finds_an_equivalent_without_bounds(truth: int) -> None:
    play = CURVES["steep"].simulated_play(truth, np.random.default_rng(5))
    found = equivalent.sequential_search(play, equivalent.SequentialOptions(deals=1500))
    assert found.iterations.low < truth < found.iterations.high
    assert found.iterations.mean == pytest.approx(truth, rel=0.5)
    assert not found.beyond


def test_it_climbs_by_steps_of_four() -> None:
    asked, play = sure(50_000)
    equivalent.sequential_search(play, equivalent.SequentialOptions(deals=200))
    assert all(many <= 4 * max([16, *asked[:place]]) for place, many in enumerate(asked))
    assert max(asked) > 50_000


@pytest.mark.parametrize(("truth", "edge", "text"), [(10**7, 1000, "> 1,000"), (0.001, 1, "< 1")])
def test_what_is_beyond_the_edge_is_said_with_the_wins_there(truth: float, edge: int, text: str) -> None:
    play = CURVES["steep"].simulated_play(truth, np.random.default_rng(5))
    found = equivalent.sequential_search(play, equivalent.SequentialOptions(most=1000))
    tally = found.tallies[edge]
    share = (tally.ahead + tally.even / 2) / tally.deals
    assert found.text() == f"{text} (wins {100 * share:.1f} %)"


def test_intervals_cover_and_need_fewer_games() -> None:
    """Of simulated searches; ``ddz reproduce equivalent-simulated`` has ten thousand."""
    results = EQUIVALENT_SIMULATED.run(SimulatedOptions(searches=200, deals=300, step_deals=150, processes=1)).results
    games = []
    for method in ("sequential", "binary"):
        mine = [result for result in results if result.method == method]
        searches, covered = sum(result.searches for result in mine), sum(result.covered for result in mine)
        assert 0.9 * searches <= covered < searches  # an interval that never misses would be too wide
        games.append(sum(result.deals for result in mine))
    assert 2 * games[0] < games[1]


LADDER = equivalent.EquivalentSearch("random", "isuct:exploration=0.7")


def test_deals_are_played_once_and_resumed(tmp_path: Path) -> None:
    path = tmp_path / "duels.csv"
    with equivalent.open_deal_player(LADDER, path) as play:
        first = play([2, 2, 5])
    whole = path.read_bytes()
    path.write_bytes(whole[: whole[:-1].rindex(b"\n") + 1])
    path.with_suffix(".sqlite").unlink()
    with equivalent.open_deal_player(LADDER, path) as play:
        assert play([2, 2, 5]) == first
    assert path.read_bytes() == whole
    rows = read_results(path)[1]
    assert [(row["deal"], row["a"], row["b"]) for row in rows[::2]] == [
        (str(deal), "random", f"{many} iterations") for deal, many in enumerate((2, 2, 5))
    ]
    with pytest.raises(SettingsMismatchError, match="seed"), equivalent.open_deal_player(LADDER._replace(seed=1), path):
        pass


def test_deals_that_lean_to_a_side_are_passed_over(tmp_path: Path) -> None:
    judges, path = TendencyAgents(("rules",), ("random",), Rules.preset("half-deck-open")), tmp_path / "duels.csv"
    with equivalent.open_deal_player(LADDER._replace(rules=judges.rules, judges=judges), path) as play:
        play([2] * 6)
    leanings = {one.deal: one.tendency for one in measure_tendencies(judges, 40)}
    neutral = [deal for deal, tendency in leanings.items() if tendency == "none"]
    assert [int(row["deal"]) for row in read_results(path)[1][::2]] == neutral[:6]
    assert len(neutral) < len(leanings)


def test_the_search_of_the_thesis_is_its_equation() -> None:
    """Q/N + c sqrt(2 ln N / N'), c = 1, on rewards of -1 and +1, orders moves as ours does on rewards of 0 and 1."""
    k = float(equivalent.THESIS_SEARCH.partition("=")[2])
    for share, parent, visits in ((0.3, 100, 7), (0.9, 5000, 4000)):
        theirs = 2 * share - 1 + math.sqrt(2 * math.log(parent) / visits)
        assert theirs == pytest.approx(2 * (share + k * math.sqrt(math.log(parent) / visits)) - 1, abs=1e-3)


def test_searches_that_count_no_iterations_are_refused() -> None:
    for search, message in (("isuct:iterations=5", "must not name its iterations"), ("policy", "option 'iterations'")):
        with pytest.raises(InvalidAgentOptionError, match=message):
            equivalent.EquivalentSearch("random", search).check()


def test_the_command_finds_one(tmp_path: Path) -> None:
    path = tmp_path / "random.csv"
    command = ("study", "equivalent", "random", "--processes", 1)
    result = done(*command, "--deals", 25, "--most", 50, "--out", path)
    assert "isuct plays as strongly as random with" in " ".join(result.output.split())
    assert "25 duplicate deals" in result.output
    assert len(path.read_text().splitlines()) == 2 + 2 * 25, "two games a deal"
    done(*command, "--method", "binary", "--upper", 4, "--deals", 2)
    done(*command, "--deals", 5, "--tendency", "--rules", "half-deck-open")
    assert "not above upper=9" in refused(*command, "--lower", 50, "--upper", 9)
