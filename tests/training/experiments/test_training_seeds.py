"""One recipe with several seeds: the table and the plot, and runs that may be killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from ddz_training.experiments import training
from ddz_training.experiments.experiment import Saved
from ddz_training.experiments.training import (
    TRAINING_SEEDS,
    SeedResult,
    SeedsOptions,
    plot_seeds,
    seeds_table,
)
from ddz_training.measure.plotting import can_plot

SAVED = Saved(
    [
        SeedResult(seed, update, opponent, 1_000_000 * update + seed, 300, wins + 0.01 * seed)
        for seed in (0, 1)
        for update, wins in ((1, 0.3), (2, 0.4))
        for opponent in ("random", "rules")
    ],
    {"deals": 300, "imitated": 300_000},
)


def test_the_table_has_the_mean_and_the_range_of_the_seeds() -> None:
    assert seeds_table(SAVED).lines == [
        ("1", "2", "1.00", "30.5 (30.0 to 31.0)", "30.5 (30.0 to 31.0)"),
        ("2", "2", "2.00", "40.5 (40.0 to 41.0)", "40.5 (40.0 to 41.0)"),
    ]


@pytest.mark.skipif(not can_plot(), reason="matplotlib is not installed")
def test_a_plot_is_drawn(tmp_path: Path) -> None:
    plot_seeds(SAVED, tmp_path / "seeds.png")
    assert (tmp_path / "seeds.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.long
def test_runs_are_measured_and_more_seeds_join(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    small = {"num_games": 8, "groups": 1, "steps": 16, "minibatch": 64}
    monkeypatch.setattr(training, "MIXED", {**training.MIXED, **small})
    path = tmp_path / "seeds.csv"
    first = TRAINING_SEEDS.run(SeedsOptions(0, 1, 2, 1, 1, 500, 1), path)
    both = TRAINING_SEEDS.run(SeedsOptions(0, 2, 2, 1, 1, 500, 1), path)
    assert both.results[: len(first.results)] == first.results
    assert [(result.seed, result.update, result.opponent) for result in both.results] == [
        (seed, update, opponent) for seed in (0, 1) for update in (1, 2) for opponent in ("random", "rules")
    ]
    assert both.results[-1].decisions > both.results[-3].decisions > 0
