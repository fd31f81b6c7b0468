"""What holds training down: recipes that differ from one in a single thing, at equal processor time.

Every recipe starts from the shipped weights and trains with several seeds.  How many updates it gets is measured first:
as many as take the same processor time.  Then it plays three frozen players on the benchmark's list for choosing, the
same deals for every run.  A recipe is judged by what it gains over the one that it was made from; the spread between
seeds, pooled over all recipes, is part of the interval.
"""

from __future__ import annotations

import functools
import json
import math
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, variance
from typing import Annotated, Any

from ddz_env.core.options import Range
from ddz_env.core.whole_file import replace_file
from ddz_training.experiments.experiment import Experiment, Saved, SeedOptions, Table, check_known, kept
from ddz_training.measure.match.ordered_map import Worker
from ddz_training.measure.match.results import OnProgress, ResultStore, no_progress
from ddz_training.measure.match.statistics import Z95, Interval

OPPONENTS = {
    "rules": "rules",
    "policy-final": "ddz_agents.neural.frozen:FrozenPolicyAgent:weights=final",
    "policy-last": "ddz_agents.neural.frozen:FrozenPolicyAgent:weights=last",
}
"""Players of the benchmark's field that answer at once."""

DEALS_SEED = 71_400_001
"""The seed of the benchmark's list for choosing."""

BASE = "mixed"
"""The recipe that the others differ from."""

MIXED: Mapping[str, Any] = {
    "precision": "bfloat16",
    "critic_updates": 5,
    "learning_rate": 6e-4,
    "minibatch": 2048,
    "entropy": 0.004,
    "floor": 0.01,
    "average": 0.97,
    "opponent_share": 0.25,
    "rules_share": 0.15,
    "snapshot_every": 5,
    "lookahead": 0.9,
    "evaluate_every": 0,
}
"""The settings of :data:`BASE`."""

RECIPES: Mapping[str, Mapping[str, Any]] = {
    BASE: {},
    "before": {"rules_share": 0.9, "opponent_share": 0.05, "learning_rate": 8e-4, "entropy": 0.007, "floor": 0.01},
    "wide and deep": {"architecture.width": 512, "architecture.blocks": 3, "architecture.critic_width": 512},
    "magnet": {"magnet": 0.05},
    "upper quartile": {"upper": 0.25},
    "guessing": {"auxiliary": 0.1},
    "equals only": {"rules_share": 0.0, "opponent_share": 0.4},
    "step × 2": {"learning_rate": 1.2e-3},
    "step ÷ 2": {"learning_rate": 3e-4},
    "entropy × 3": {"entropy": 0.012},
    "wide critic": {"architecture.critic_width": 512},
    "two epochs": {"epochs": 2},
    "half the look ahead": {"lookahead": 0.45},
    "younger data": {"steps": 64},
    "no average": {"average": 0.0},
    "float32": {"precision": "float32"},
}
"""What each changes in :data:`BASE`; ``before`` is what the shipped policy's last games were learned with."""


@dataclass(frozen=True)
class RecipeResult:
    """A run of a recipe.

    Attributes:
        recipe: Its name.
        seed: The run's seed.
        updates: Updates.
        decisions: Decisions learned from.
        minutes: Processor minutes, as measured before.
        deals: Duplicate deals against each opponent.
        rules: Win rate against ``rules``.
        final: Against ``policy-final``.
        last: Against ``policy-last``.
    """

    recipe: str
    seed: int
    updates: int
    decisions: int
    minutes: Annotated[float, ".1f"]
    deals: int
    rules: Annotated[float, ".4f"]
    final: Annotated[float, ".4f"]
    last: Annotated[float, ".4f"]

    @property
    def mean(self) -> float:
        """Over the opponents."""
        return fmean((self.rules, self.final, self.last))


@dataclass(frozen=True)
class RecipeOptions(SeedOptions):
    """How the recipes are compared.

    Attributes:
        seed: The first seed of a run.
        seeds: Runs of each recipe.
        minutes: Processor minutes of a run.
        deals: Duplicate deals against each opponent.
        threads: Threads of a run; results do not depend on it.
    """

    seeds: Annotated[int, Range(1, 1000)] = 3
    minutes: Annotated[float, Range(0, above=True)] = 8.0
    deals: Annotated[int, Range(1, 2000)] = 500
    threads: Annotated[int, Range(1, 2**16)] = 2


class _Trainer(Worker[tuple[str, int], list[RecipeResult]]):
    """Trains one recipe with one seed at a time, and lets it play."""

    def __init__(self, options: RecipeOptions, settings: Mapping[str, Any], runs: Path | None) -> None:
        self._options, self._settings = options, settings
        self._kept = runs is not None
        self._runs = runs or Path(tempfile.mkdtemp())

    def play(self, job: tuple[str, int]) -> list[RecipeResult]:
        from ddz_training.learn.run import CHECKPOINT, POLICY, Budget, train

        recipe, seed = job
        folder = self._runs / f"{recipe.replace(' ', '-')}-{seed}"
        cost = self._cost(recipe, folder)
        updates = max(1, round(60 * self._options.minutes / cost))
        run = self._begin(recipe, seed, folder / CHECKPOINT)
        train(run, folder, Budget(updates=updates))
        run.close()
        found = _strength(folder / POLICY, self._options.deals)
        minutes = round(updates * cost / 60, 1)
        counts = run.counters.update, run.counters.decisions, minutes, self._options.deals
        return [RecipeResult(recipe, seed, *counts, *found)]  # the run's folder stays: ``ddz arena`` plays its policy

    def close(self) -> None:
        if not self._kept:
            shutil.rmtree(self._runs, ignore_errors=True)

    def _begin(self, recipe: str, seed: int, checkpoint: Path) -> Any:
        from ddz_agents.neural.shipped import shipped_policy_path
        from ddz_agents.neural.weights import load_weights
        from ddz_training.learn.ppo.config import SelfPlayConfig
        from ddz_training.learn.ppo.selfplay import SelfPlay

        if checkpoint.exists():
            return SelfPlay.resume(checkpoint, self._options.threads)
        changes = {**MIXED, **RECIPES[recipe], **self._settings, "seed": seed}
        return SelfPlay(SelfPlayConfig().changed(changes), self._options.threads, load_weights(shipped_policy_path()))

    def _cost(self, recipe: str, folder: Path) -> float:
        """Processor seconds of an update; a run that is resumed goes by what was measured at its beginning."""
        from ddz_training.measure.match.timing import processor_time

        path = folder / "cost.json"
        if not path.exists():
            run = self._begin(recipe, 2**62, folder / "none")
            run.step()
            start = processor_time()
            for _ in range(_MEASURED):
                run.step()
            cost = (processor_time() - start) / _MEASURED
            run.close()
            replace_file(path, json.dumps(cost).encode())
        return float(json.loads(path.read_text(encoding="utf-8")))


_MEASURED = 4


def _strength(policy: Path, deals: int) -> list[float]:
    """What weights win against each opponent."""
    from ddz_env.playing.registry import make_agent
    from ddz_training.learn.strength import play_deals
    from ddz_training.measure.match.statistics import summarize

    agent = make_agent(f"policy:path={policy.resolve()}")
    games = (play_deals(agent, opponent, deals, seed=DEALS_SEED, first_deal=0) for opponent in OPPONENTS.values())
    return [summarize(records)[0].wins.mean for records in games]


def run_training_recipes(
    options: RecipeOptions | None = None,
    path: Path | None = None,
    on_progress: OnProgress = no_progress,
    recipes: Sequence[str] = tuple(RECIPES),
    settings: Mapping[str, Any] | None = None,
) -> Saved[RecipeResult]:
    """Train and measure every recipe, one seed after the other.

    Args:
        options: How they are compared.
        path: Where to save, one line a run; a file of an earlier run is resumed.  The runs are kept beside it, in a
            folder of the same name and ``_runs``, from which a run that was killed goes on.
        on_progress: Told how many runs are done.
        recipes: Names of :data:`RECIPES`.
        settings: What every run changes besides.

    Raises:
        InvalidExperimentError: If there is no such recipe.
    """
    options = options or RecipeOptions()
    check_known("recipe", recipes, RECIPES)
    found = {"experiment": "training-recipes", "minutes": options.minutes, "deals": options.deals}
    store = ResultStore(RecipeResult, path, {**found, **(settings or {})}, ("recipe", "seed"))
    runs = None if path is None else path.with_name(path.stem + "_runs")
    seeds = range(options.seed, options.seed + options.seeds)
    tasks = {(recipe, seed): (recipe, seed) for seed in seeds for recipe in recipes}
    start = functools.partial(_Trainer, options, settings or {}, runs)
    return kept(store, store.fill(tasks, start, 1, on_progress))


def gain(runs: Sequence[RecipeResult], base: Sequence[RecipeResult], spread: float) -> Interval:
    """What a recipe gains over another, with the 95 % interval.

    Args:
        runs: Its runs.
        base: Those of the other.
        spread: Variance between the runs of a recipe.
    """
    difference = fmean(run.mean for run in runs) - fmean(run.mean for run in base)
    margin = Z95 * math.sqrt(spread * (1 / len(runs) + 1 / len(base)))
    return Interval(difference, difference - margin, difference + margin, len(runs))


def _verdict(gained: Interval) -> str:
    return "better" if gained.low > 0 else "worse" if gained.high < 0 else "no difference seen"


def _by_recipe(saved: Saved[RecipeResult]) -> dict[str, list[RecipeResult]]:
    return {recipe: runs for recipe in RECIPES if (runs := [run for run in saved.results if run.recipe == recipe])}


def pooled_variance(groups: Sequence[Sequence[float]]) -> float:
    """The variance within groups, pooled; NaN where no group has two values.

    Example:
        >>> pooled_variance([[1.0, 3.0], [0.0, 0.0, 3.0], [7.0]])
        2.6666666666666665
    """
    groups = [group for group in groups if len(group) > 1]
    freedom = sum(len(group) - 1 for group in groups)
    return sum(variance(group) * (len(group) - 1) for group in groups) / freedom if freedom else math.nan


def recipes_table(saved: Saved[RecipeResult]) -> Table:
    """Every recipe, the strongest first."""
    recipes = _by_recipe(saved)
    spread = pooled_variance([[run.mean for run in runs] for runs in recipes.values()])
    lines = []
    for recipe, runs in sorted(recipes.items(), key=lambda item: -fmean(run.mean for run in item[1])):
        means = [fmean(values) for values in zip(*((run.rules, run.final, run.last) for run in runs), strict=True)]
        over = verdict = ""
        if BASE in recipes and recipe != BASE:
            gained = gain(runs, recipes[BASE], spread)
            over, verdict = gained.both("+.1f"), _verdict(gained)
        changes = ", ".join(f"{name}={value}" for name, value in RECIPES[recipe].items())
        decisions = f"{fmean(run.decisions for run in runs) / 1e6:.1f}"
        cells = [f"{100 * value:.1f}" for value in (fmean(means), *means)]
        lines.append((recipe, f"`{changes}`" if changes else "", str(len(runs)), decisions, *cells, over, verdict))
    heads = (f"v `{opponent}` %" for opponent in OPPONENTS)
    header = (
        "recipe",
        "what it changes",
        "runs",
        "million decisions",
        "mean %",
        *heads,
        "over `mixed`, points",
        "verdict",
    )
    note = (
        f"{saved.settings['minutes']:g} processor minutes a run, {saved.settings['deals']} duplicate deals against "
        f"each opponent; computed from {saved.name}."
    )
    return Table("Training recipes at equal processor time", header, lines, note)


TRAINING_RECIPES = Experiment(
    name="training-recipes",
    source="own",
    about="What holds training down: recipes that differ in one thing, at equal processor time, over several seeds.",
    unit="runs",
    options=RecipeOptions,
    result=RecipeResult,
    run=run_training_recipes,
    tables={"training-recipes": recipes_table},
    file="training_recipes",
)
