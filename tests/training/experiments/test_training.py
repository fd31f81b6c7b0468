"""Runs of self-play: what a recipe gains over another, the spread of seeds, and that a run may be killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from ddz_training.experiments import training
from ddz_training.experiments.experiment import Saved
from ddz_training.experiments.training import BASE, RECIPES, TRAINING_RECIPES, TRAINING_SEEDS, gain


@pytest.fixture
def small_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    small = {"num_games": 8, "groups": 1, "steps": 16, "minibatch": 64}
    monkeypatch.setattr(training, "MIXED", {**training.MIXED, **small})


BETTER, WORSE = (
    [training.RecipeResult(recipe, seed, 10, 1000, 8.0, 500, mean, mean, mean) for seed, mean in enumerate(means)]
    for recipe, means in (("magnet", [0.54, 0.56]), (BASE, [0.50, 0.52]))
)


def test_a_gain_is_the_difference_of_means_with_the_pooled_spread_of_seeds() -> None:
    spread = training.pooled_variance([[0.54, 0.56], [0.50, 0.52]])
    assert spread == pytest.approx(0.0002)
    found = gain(BETTER, WORSE, spread)
    assert found.mean == pytest.approx(0.04)
    assert found.half_width == pytest.approx(1.96 * (0.0002 * (1 / 2 + 1 / 2)) ** 0.5, rel=1e-3)


def test_the_table_has_the_strongest_first_and_the_base_gains_nothing_over_itself() -> None:
    table = training.recipes_table(Saved([*WORSE, *BETTER], {"minutes": 8.0, "deals": 500}))
    assert [line[0] for line in table.lines] == ["magnet", BASE]
    assert table.lines[0][1] == "`magnet=0.05`"
    assert [line[-2:] for line in table.lines] == [("+4.0 (+1.2 to +6.8)", "better"), ("", "")]


def test_every_recipe_is_a_setting_of_self_play() -> None:
    config = pytest.importorskip("ddz_training.learn.ppo.config")
    for changes in RECIPES.values():
        config.SelfPlayConfig().changed({"average": 0.9, **changes})


@pytest.mark.long
@pytest.mark.usefixtures("small_runs")
def test_a_run_is_trained_measured_and_resumed(tmp_path: Path) -> None:
    options = training.RecipeOptions(seeds=1, minutes=0.001, deals=2, threads=1)
    path = tmp_path / "recipes.csv"
    first = TRAINING_RECIPES.run(options, path, tasks=[(BASE, 0)])
    both = TRAINING_RECIPES.run(options, path, tasks=[(BASE, 0), ("wide and deep", 0)])
    assert [result.recipe for result in both.results] == [BASE, "wide and deep"]
    assert both.results[0] == first.results[0]
    assert 0 <= both.results[1].mean <= 1
    assert (tmp_path / "recipes_runs" / "mixed-0" / "policy.safetensors").exists()


def test_the_table_has_the_mean_and_the_range_of_the_seeds() -> None:
    results = [
        training.SeedResult(seed, update, opponent, 1_000_000 * update + seed, 300, wins + 0.01 * seed)
        for seed in (0, 1)
        for update, wins in ((1, 0.3), (2, 0.4))
        for opponent in ("random", "rules")
    ]
    assert training.seeds_table(Saved(results, {"deals": 300, "imitated": 300_000})).lines == [
        ("1", "2", "1.00", "30.5 (30.0 to 31.0)", "30.5 (30.0 to 31.0)"),
        ("2", "2", "2.00", "40.5 (40.0 to 41.0)", "40.5 (40.0 to 41.0)"),
    ]


@pytest.mark.long
@pytest.mark.usefixtures("small_runs")
def test_runs_are_measured_and_more_seeds_join(tmp_path: Path) -> None:
    path = tmp_path / "seeds.csv"
    first = TRAINING_SEEDS.run(training.SeedsOptions(0, 1, 2, 1, 1, 500, 1), path)
    both = TRAINING_SEEDS.run(training.SeedsOptions(0, 2, 2, 1, 1, 500, 1), path)
    assert both.results[: len(first.results)] == first.results
    assert [(result.seed, result.update, result.opponent) for result in both.results] == [
        (seed, update, opponent) for seed in (0, 1) for update in (1, 2) for opponent in ("random", "rules")
    ]
    assert both.results[-1].decisions > both.results[-3].decisions > 0
