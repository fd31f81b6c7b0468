"""The Mini experiments: their figures, their files, and that a killed run goes on where it stopped."""

from __future__ import annotations

import csv
import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ddz_training.apps.cli import app
from ddz_training.experiments import mini
from ddz_training.experiments.experiment import Saved, read_saved
from ddz_training.experiments.mini import (
    CHEATING,
    CORRECT,
    DETERMINIZED,
    EXPECTIMAX,
    FOURTH_TURN,
    INCORRECT,
    KINDS,
    MINI_AGENTS,
    MINI_CENSUS,
    MINI_INFERENCE,
    MINI_UCT,
    PAIRS,
    HandResult,
    KnownResult,
    PairResult,
    UctOptions,
    UctResult,
    advantage,
    compare_mini_agents,
    compare_mini_census,
    compare_mini_inference,
    mini_deals,
    plot_mini_agents,
    plot_mini_census,
    plot_mini_inference,
    plot_mini_uct,
    share_known,
    uct_rate,
    uct_table,
)
from ddz_training.measure.match.errors import ResultsFileError, SettingsMismatchError
from ddz_training.measure.match.results import ResultStore, of_rows, read_results
from ddz_training.measure.plotting import can_plot
from tests.rooms import ROOT

RESULTS = ROOT / "docs" / "results"
FEW = mini_deals()[4000:4010]
"""Of one hand of player 1, or two: what one game needs serves the others."""


class Killed(Exception):
    """Thrown into a run from its progress report."""


def killing(after: int):  # type: ignore[no-untyped-def]
    def tell(done: int, total: int) -> None:
        if done == after < total:
            raise Killed

    return tell


def committed(name: str) -> list[dict[str, str]]:
    lines = (RESULTS / f"mini_{name}.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("# {")
    return list(csv.DictReader(lines[1:]))


def test_deals_and_their_probabilities() -> None:
    deals = mini_deals()
    assert len(deals) == 8832
    assert sum(deal.probability for deal in deals) == pytest.approx(1, abs=1e-12)
    assert [deal.number for deal in deals] == list(range(8832))


# --- The census -------------------------------------------------------------------------------------------------------


def test_the_census_is_exact_and_resumes_after_a_kill(tmp_path: Path) -> None:
    """8,832 deals, at most 66 states, 70.71 % for player 1, in two halves with a line cut off between them."""
    path = tmp_path / "census.csv"
    with pytest.raises(Killed):
        MINI_CENSUS.run(None, path, killing(100))
    kept = path.read_bytes()
    path.write_bytes(kept[:-7])
    results = MINI_CENSUS.run(None, path).results
    assert path.read_bytes().startswith(kept)
    assert sum(result.states for result in results) == 8832
    assert max(result.states for result in results) == 66
    assert round(100 * sum(result.win_probability for result in results), 2) == 70.71
    assert sum(result.probability for result in results) == pytest.approx(1, abs=1e-9)
    assert [line.ours for line in compare_mini_census(results)][:3] == ["8832", "66", "70.71"]
    new, saved = (file.read_bytes().partition(b"\n") for file in (path, RESULTS / "mini_census.csv"))
    assert new[2] == saved[2], "all but the settings, which name the code today"


# --- Every pair of agents ---------------------------------------------------------------------------------------------


def test_pairs_are_those_of_figure_3() -> None:
    assert len(set(PAIRS)) == len(PAIRS)
    assert {pair for pair in PAIRS if set(pair) <= set(KINDS)} == {
        (one, two) for one in KINDS for two in KINDS if (one, two) != (CORRECT, CORRECT)
    }


def test_agents_resume_after_a_kill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mini, "mini_deals", lambda: FEW)
    pairs = [(CHEATING, DETERMINIZED), (CORRECT, DETERMINIZED), (DETERMINIZED, INCORRECT), (INCORRECT, CORRECT)]
    path = tmp_path / "agents.csv"
    with pytest.raises(Killed):
        MINI_AGENTS.run(None, path, killing(2), pairs)
    results = MINI_AGENTS.run(None, path, tasks=pairs).results
    assert results == MINI_AGENTS.run(tasks=pairs).results
    assert [(result.player_1, result.player_2) for result in results] == pairs
    monkeypatch.setattr(mini, "mini_deals", lambda: FEW[1:])
    with pytest.raises(SettingsMismatchError, match="other settings"):
        MINI_AGENTS.run(None, path, tasks=pairs)


def test_the_committed_results_are_ordered_as_figure_3() -> None:
    results = [
        PairResult(row["player_1"], row["player_2"], float(row["win_rate"]), int(row["deals_won"]))
        for row in committed("agents")
    ]
    assert [(result.player_1, result.player_2) for result in results] == list(PAIRS)
    for better, worse in itertools.pairwise(KINDS):
        assert min(advantage(results, better, worse)) > 0
    assert len(list(compare_mini_agents(results))) == 7


@pytest.mark.long
@pytest.mark.parametrize("pair", [(CHEATING, CHEATING), (EXPECTIMAX, DETERMINIZED), (CORRECT, EXPECTIMAX)])
def test_the_committed_results_come_out_again(pair: tuple[str, str]) -> None:
    (result,) = MINI_AGENTS.run(tasks=[pair]).results
    row = next(row for row in committed("agents") if (row["player_1"], row["player_2"]) == pair)
    assert (f"{result.win_rate:.6f}", str(result.deals_won)) == (row["win_rate"], row["deals_won"])


# --- Inference --------------------------------------------------------------------------------------------------------


def test_inference_resumes_and_agrees_with_what_is_committed(tmp_path: Path) -> None:
    path, tasks = tmp_path / "inference.csv", [(1, deal.number) for deal in FEW]
    with pytest.raises(Killed):
        MINI_INFERENCE.run(None, path, killing(3), tasks)
    results = MINI_INFERENCE.run(None, path, tasks=tasks).results
    saved = [KnownResult(*(int(value) for value in row.values())) for row in committed("inference")]
    assert len(saved) == 2 * 8832
    assert results == [saved[deal.number] for deal in FEW]


def test_the_committed_inference_reaches_the_papers_figures() -> None:
    saved = [KnownResult(*(int(value) for value in row.values())) for row in committed("inference")]
    assert 100 * share_known(saved, 1, FOURTH_TURN) == pytest.approx(48, abs=1)
    assert 100 * share_known(saved, 1, None) == pytest.approx(74, abs=1)
    assert [line.paper for line in compare_mini_inference(saved)] == ["48", "74", "", ""]


# --- UCT --------------------------------------------------------------------------------------------------------------


def test_uct_is_reproducible_from_its_seed_and_resumes(tmp_path: Path) -> None:
    path, tasks = tmp_path / "uct.csv", [(deal.number,) for deal in FEW[:6]]
    with pytest.raises(Killed):
        MINI_UCT.run(UctOptions(games=2, seed=7), path, killing(2), tasks)
    results = MINI_UCT.run(UctOptions(games=2, seed=7), path, tasks=tasks).results
    assert results == MINI_UCT.run(UctOptions(games=2, seed=7), tasks=tasks).results
    assert all(0 <= wins <= 2 for result in results for wins in (result.isuct_wins, result.duct_wins))
    with pytest.raises(SettingsMismatchError):
        MINI_UCT.run(UctOptions(games=2, seed=8), path, tasks=tasks)


def test_win_rates_are_weighted_and_their_intervals_count_the_agents_luck_only() -> None:
    sure = [UctResult(deal.number, 3, 0) for deal in mini_deals()]
    assert uct_rate(sure, "isuct", 3).mean == pytest.approx(1)
    assert uct_rate(sure, "isuct", 3).half_width == 0
    first = mini_deals()[0]
    lone = uct_rate([UctResult(0, 1, 0), UctResult(1, 0, 0)], "isuct", 1)
    assert lone.mean == pytest.approx(first.probability / (first.probability + mini_deals()[1].probability))
    assert lone.half_width > 0.5
    half = uct_rate([UctResult(0, 1, 2)], "isuct", 2)
    assert half.half_width == pytest.approx(1.96 * 0.5, abs=1e-3)


def test_the_committed_uct_results_are_complete() -> None:
    rows = committed("uct")
    assert sorted(int(row["deal"]) for row in rows) == list(range(8832))
    saved = read_saved(UctResult, RESULTS / "mini_uct.csv")
    better, worse = (uct_rate(saved.results, kind, 10) for kind in ("isuct", "duct"))
    assert better.low > worse.high
    assert [line[1] for line in uct_table(saved).lines] == ["67.2", "62.7"]


def test_the_committed_uct_results_without_finishing_moves_are_complete() -> None:
    settings, rows = read_results(RESULTS / "mini_uct_plain.csv")
    assert settings == {"experiment": "mini-uct", "finish": False, "games": 2, "seed": 99}
    assert sorted(int(row["deal"]) for row in rows) == list(range(8832))
    better, worse = (uct_rate(of_rows(UctResult, rows), kind, 2) for kind in ("isuct", "duct"))
    assert better.low > worse.high
    assert worse.low <= 0.627 <= worse.high, "determinized UCT has the paper's figure"


def test_cells_say_the_rate_and_its_interval_in_per_cent() -> None:
    results = of_rows(UctResult, [{"deal": "0", "isuct_wins": "2", "duct_wins": "0"}])
    rates = [(rate, span.partition(";")[0]) for *_, rate, span in uct_table(Saved(results, {"games": 2})).lines]
    assert rates == [("100.0", "100.0 to 100.0"), ("0.0", "0.0 to 0.0")]


# --- Files, plots and the command line --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """A result of two numbers."""

    a: int
    b: int


@dataclass(frozen=True)
class Other:
    """A result with other columns."""

    a: int
    c: int


def store(path: Path, kind: type[Any] = Line, settings: dict[str, Any] | None = None) -> ResultStore[Any]:
    return ResultStore(kind, path, {"experiment": "x"} if settings is None else settings, ("a",))


def test_a_store_refuses_files_that_are_not_its_own(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    store(path).add([Line(1, 2)])
    assert store(path).found == {(1,): [Line(1, 2)]}
    for kind, settings in ((Line, {"experiment": "y"}), (Other, {"experiment": "x"})):
        with pytest.raises(SettingsMismatchError):
            store(path, kind, settings)
    path.write_text(path.read_text() + "1\n")
    with pytest.raises(ResultsFileError, match="does not fit"):
        store(path)
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ResultsFileError, match="no results file"):
        store(path)


def test_a_store_survives_a_cut_anywhere(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    saved = store(path)
    saved.add([Line(1, 2), Line(3, 4)])
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        results = store(path).results
        assert results == saved.results[: len(results)]
        assert whole.startswith(path.read_bytes())


@pytest.mark.parametrize("name", ["mini_census", "mini_uct_plain"])
def test_opening_a_file_leaves_it_as_it_is(name: str, tmp_path: Path) -> None:
    """Also where a number was written in another form than it would be today."""
    path, kind = tmp_path / f"{name}.csv", HandResult if name == "mini_census" else UctResult
    path.write_bytes((RESULTS / f"{name}.csv").read_bytes())
    ResultStore[Any](kind, path, read_results(path)[0], (next(iter(kind.__dataclass_fields__)),))
    assert path.read_bytes() == (RESULTS / f"{name}.csv").read_bytes()


@pytest.mark.skipif(not can_plot(), reason="matplotlib is not installed")
def test_plots_are_drawn(tmp_path: Path) -> None:
    census = read_saved(HandResult, RESULTS / "mini_census.csv")
    pairs = [PairResult(one, two, 0.5, 1) for one in KINDS for two in KINDS]
    known = [KnownResult(1, 0, 9, 4), KnownResult(1, 1, 7, -1)]
    plot_mini_census(census, tmp_path / "census.png")
    plot_mini_agents(Saved(pairs), tmp_path / "agents.png")
    plot_mini_inference(Saved(known), tmp_path / "inference.png")
    plot_mini_uct(Saved([UctResult(0, 1, 2)], {"games": 2}), tmp_path / "uct.png")
    assert all(path.stat().st_size < 60_000 for path in tmp_path.iterdir())
    assert len(list(tmp_path.iterdir())) == 4


def test_the_command_prints_the_papers_figures_beside_ours(tmp_path: Path) -> None:
    path = tmp_path / "census.csv"
    path.write_bytes((RESULTS / "mini_census.csv").read_bytes())
    result = CliRunner().invoke(app, ["reproduce", "mini-census", "--out", str(path)])
    assert result.exit_code == 0, result.output
    for text in ("8832", "66", "70.7", "70.71"):
        assert text in result.output
    for command in ("mini-agents", "mini-inference", "mini-uct"):
        assert command in CliRunner().invoke(app, ["reproduce", "--help"]).output


@dataclass(frozen=True)
class Named:
    """A result with text."""

    name: str
    value: str


def test_names_with_commas_survive_the_file(tmp_path: Path) -> None:
    path, named = tmp_path / "table.csv", Named("one, two", 'three "four"')
    for _ in range(2):  # the second time the first line is read back
        ResultStore(Named, path, {}, ("name",)).add([named])
    assert ResultStore(Named, path, {}, ("name",)).results == [named] * 2
