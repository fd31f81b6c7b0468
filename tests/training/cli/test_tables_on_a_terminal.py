"""Tables on a terminal: they fit it, and no name is broken."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from ddz_env import Move, View
from ddz_training.cli.columns import column_widths, wrap_text
from ddz_training.cli.console import print_table
from ddz_training.measure import duplicate
from ddz_training.measure.duplicate import GameResult
from ddz_training.measure.markdown import Table
from ddz_training.measure.store import read_results, result_columns
from tests.training.cli.terminal import console, done

AGENTS = (
    "neural-ismcts:prior=uniform,milliseconds=20",
    "policy:path=runs/first/policy.safetensors",
    "isuct:milliseconds=20,trees=4",
)
HEADER = (
    *("agent", "against", "deals", "games", "win % landlord", "win % peasants"),
    *("win % overall", "ms per decision", "CPU ms"),
)
FIGURES = ("1000", "2000", "100.0 (34–100)", "50.0 (9–91)", "50.0 (43–57)", "20.1", "19.9")
LINES = [(one, other, *FIGURES) for one in AGENTS for other in AGENTS]


@pytest.mark.parametrize("width", [100, 120, 160, 300])
def test_an_arena_s_table_fits_and_breaks_no_name(
    width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "_LOG_WIDTH", width)
    print_table(Table("", HEADER, LINES))
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= width
    words = set(re.split(r"[\s,:/]+", shown))
    for text in (*HEADER, *(cell for line in LINES for cell in line)):
        assert set(re.split(r"[\s,:/]+", text)) <= words
    assert ("neural-ismcts:prior=uniform,milliseconds=20" in shown) == (width == 300)


@pytest.mark.parametrize(("width", "tables"), [(100, 2), (160, 1)])
def test_on_a_narrow_terminal_scores_are_a_table_of_their_own(width: int, tables: int) -> None:
    stakes = ("arena", "random", "random-staged", "--deals", 2, "--processes", 1, "--scoring", "stake")
    shown = done(*stakes, width=width).stdout
    assert max(map(len, shown.splitlines())) <= width
    assert len(re.findall(r"(?m)^agent  ", shown)) == tables
    assert len(re.findall(r"(?m)^random-staged ", shown)) == tables
    assert "score" in shown
    assert shown.count("decision") == 1


def test_only_a_terminal_that_is_narrower_than_the_names_breaks_them() -> None:
    assert column_widths(("agent", "n"), [("a-rather-long-name", "12")], 12) == [10, 2]
    assert column_widths(("agent", "win %"), [("random", "1")], 40) == [6, 5]
    assert wrap_text("1,000 games, 12:30", 8) == "1,000\ngames,\n12:30"  # a number stays whole
    assert wrap_text("policy:path=策略/一.zip", 10) == "policy:\npath=策略/\n一.zip"  # wide characters


class Timed:
    """Plays its first move, whatever time it is given."""

    def __init__(self, milliseconds: float) -> None:
        self.milliseconds = milliseconds

    def act(self, view: View, rng: np.random.Generator) -> Move:
        return view.legal_moves()[0]


def test_where_an_agent_is_given_milliseconds_the_arena_shows_the_processor_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine wall time is not what an agent got.  Files have the columns that they always had."""
    calls = iter(range(10**9))
    monkeypatch.setattr(duplicate, "cpu_time", lambda: 0.007 * next(calls))
    out, few = tmp_path / "games.csv", ("--deals", 2, "--processes", 1)
    timed = ("arena", f"timed={__name__}:Timed:milliseconds=5", "random")
    shown = done(*timed, *few, "--out", out, "--table", tmp_path / "table.csv", width=100).stdout
    assert re.search(r"(?m)^.*\bdecision +ms *$", shown)
    assert re.findall(r"(?m)^(?:timed|random) .* (\S+) *$", shown) == ["7.00", "7.00"]
    assert (tmp_path / "table.csv").read_text().splitlines()[0].endswith(",faults,cpu_ms_per_decision")
    names = [column.name for column in result_columns(GameResult)]
    assert list(read_results(out)[1][0]) == names
    assert names[-4:] == ["ms_a", "ms_b", "fault_by", "fault"]
    for untimed in (("arena", "random", "random-staged"), (*timed, "--no-timing")):
        assert "CPU" not in done(*untimed, *few).stdout
