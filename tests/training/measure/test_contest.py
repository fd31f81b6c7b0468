"""Whatever is scheduled how: a run that is killed at any moment goes on as if it had not been."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ddz_env import Rules
from ddz_papers.determinization_2011.full_games import LANDLORD_UCT, LandlordOptions
from ddz_papers.thesis_2020 import equivalent
from ddz_papers.thesis_2020.tendency import TendencyAgents, measure_tendencies
from ddz_training.measure.benchmark.field import DEALS
from ddz_training.measure.benchmark.play import BenchmarkContest, play_benchmark
from ddz_training.measure.contest import Arena, run_arena
from ddz_training.measure.league import LeagueStore, play_league
from ddz_training.measure.store import OnProgress, ignore_progress, read_results
from tests.training.measure.test_store import POSIX

ARENA = Arena(("random", "random-staged", "random"), Rules.preset("mini"), seed=4, timing=False)
FIELD = BenchmarkContest({"me": "random-staged", "random": "random"}, (("me", "random"),), DEALS["choosing"])


def arena(path: Path, on_progress: OnProgress) -> None:
    run_arena(ARENA, 6, store=ARENA.store(path, resume=True), on_progress=on_progress)


def field(path: Path, on_progress: OnProgress) -> None:
    play_benchmark(FIELD, 18, store=FIELD.store(path), on_progress=on_progress)


def league(path: Path, on_progress: OnProgress) -> None:
    play_league(LeagueStore(path, ARENA, resume=True), 6, block=2, on_progress=on_progress)


def ladder(path: Path, on_progress: OnProgress) -> None:
    compared = equivalent.EquivalentSearch("random", "isuct", ARENA.rules)
    with equivalent.open_deal_player(compared, path, on_progress=on_progress) as play:
        equivalent.binary_search(play, equivalent.Bounds(1, 8), 6)


def tendency(path: Path, on_progress: OnProgress) -> None:
    measure_tendencies(TendencyAgents(("random",), ("random-staged",)), 18, path, on_progress=on_progress)


def lineups(path: Path, on_progress: OnProgress) -> None:
    LANDLORD_UCT.run(LandlordOptions(deals=3, games=2, trees=1, tree_iterations=5, processes=1), path, on_progress)


def content(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Settings and results, without times."""
    settings, rows = read_results(path)
    return settings, [{name: cell for name, cell in row.items() if not name.startswith("ms_")} for row in rows]


@POSIX
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # a fork of a process with threads
@pytest.mark.parametrize("run", [arena, field, league, ladder, tendency, lineups])
@pytest.mark.parametrize("moment", [pytest.param(1, marks=pytest.mark.long), 11])
def test_a_contest_that_is_killed_goes_on_as_if_it_had_not_been(
    run: Callable[[Path, OnProgress], None], moment: int, tmp_path: Path
) -> None:
    cut, whole, told = tmp_path / "cut.sqlite", tmp_path / "whole.sqlite", list[int]()
    run(whole, ignore_progress)
    child = os.fork()
    if child == 0:
        run(cut, lambda done, total: os.kill(os.getpid(), signal.SIGKILL) if done == moment else None)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    run(cut, lambda done, total: told.append(done))
    assert told[0] in (moment, moment + 1)
    assert content(cut) == content(whole)
