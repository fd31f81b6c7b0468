"""Recipes of training: what one gains over another, and that a run may be killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from ddz_training.experiments import training
from ddz_training.experiments.experiment import Saved
from ddz_training.experiments.training import (
    BASE,
    RECIPES,
    TRAINING_RECIPES,
    RecipeOptions,
    RecipeResult,
    gain,
    pooled_variance,
    recipes_table,
)


def results(recipe: str, means: list[float]) -> list[RecipeResult]:
    return [RecipeResult(recipe, seed, 10, 1000, 8.0, 500, mean, mean, mean) for seed, mean in enumerate(means)]


def test_a_gain_is_the_difference_of_means_with_the_pooled_spread_of_seeds() -> None:
    better, base = results("magnet", [0.54, 0.56]), results(BASE, [0.50, 0.52])
    spread = pooled_variance([[0.54, 0.56], [0.50, 0.52]])
    assert spread == pytest.approx(0.0002)
    found = gain(better, base, spread)
    assert found.mean == pytest.approx(0.04)
    assert found.half_width == pytest.approx(1.96 * (0.0002 * (1 / 2 + 1 / 2)) ** 0.5, rel=1e-3)


def test_the_table_has_the_strongest_first_and_the_base_gains_nothing_over_itself() -> None:
    table = recipes_table(
        Saved([*results(BASE, [0.50, 0.52]), *results("magnet", [0.54, 0.56])], {"minutes": 8.0, "deals": 500})
    )
    assert [line[0] for line in table.lines] == ["magnet", BASE]
    assert table.lines[0][1] == "`magnet=0.05`"
    assert [line[-2:] for line in table.lines] == [("+4.0 (+1.2 to +6.8)", "better"), ("", "")]


def test_every_recipe_is_a_setting_of_self_play() -> None:
    config = pytest.importorskip("ddz_training.learn.ppo.config")
    for changes in RECIPES.values():
        config.SelfPlayConfig().changed({"average": 0.9, **changes})


@pytest.mark.long
def test_a_run_is_trained_measured_and_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    small = {"num_games": 8, "groups": 1, "steps": 16, "minibatch": 64}
    monkeypatch.setattr(training, "MIXED", {**training.MIXED, **small})
    options = RecipeOptions(seeds=1, minutes=0.001, deals=2, threads=1)
    path = tmp_path / "recipes.csv"
    first = TRAINING_RECIPES.run(options, path, tasks=[(BASE, 0)])
    both = TRAINING_RECIPES.run(options, path, tasks=[(BASE, 0), ("wide and deep", 0)])
    assert [result.recipe for result in both.results] == [BASE, "wide and deep"]
    assert both.results[0] == first.results[0]
    assert 0 <= both.results[1].mean <= 1
    assert (tmp_path / "recipes_runs" / "mixed-0" / "policy.safetensors").exists()
