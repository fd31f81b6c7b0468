"""Runs of self-play: recipes that differ in a single thing at equal processor time, and one recipe with several seeds.

*Recipes* asks what holds training down.  Every recipe starts from the shipped weights and trains with several seeds.
How many updates it gets is measured first: as many as take the same processor time.  Then it plays three frozen players
on the benchmark's list for choosing, the same deals for every run.  A recipe is judged by what it gains over the one
that it was made from; the spread between seeds, pooled over all recipes, is part of the interval.

*Seeds* asks how much of a difference between two runs is luck.  Every run begins as anybody's would: a short imitation
of the rule agent under the run's own seed, then self-play by the first recipe.  It is measured while it trains, on the
same deals as every run of that seed.
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
from ddz_training.experiments.experiment import Experiment, Saved, SeedOptions, Table, grouped
from ddz_training.experiments.training_curves import read_run
from ddz_training.measure.match.results import Key, OnProgress, ResultStore
from ddz_training.measure.match.statistics import Z95, Interval
from ddz_training.measure.plotting import finish_figure, new_axes


class _Trainer:
    """Trains one run at a time; what it has of it lies beside the results, if these have a file.

    Args:
        options: How long the runs are.
        path: The file of results, from whose folder of the same name and ``_runs`` a run that was killed goes on.
    """

    def __init__(self, options: Any, path: Path | None) -> None:
        self._options, self._kept = options, path is not None
        self._runs = Path(tempfile.mkdtemp()) if path is None else path.with_name(path.stem + "_runs")

    def close(self) -> None:
        """Remove the runs, unless they are kept beside a file."""
        if not self._kept:
            shutil.rmtree(self._runs, ignore_errors=True)

    def _train(self, folder: Path, run: Any, updates: int) -> Any:
        from ddz_training.learn.run import Budget, train

        train(run, folder, Budget(updates=updates))
        run.close()
        return run

    def _resumed(self, folder: Path) -> Any:
        """The run of a folder; None if it has none."""
        from ddz_training.learn.checkpoint import CHECKPOINT
        from ddz_training.learn.ppo.selfplay import SelfPlay

        path = folder / CHECKPOINT
        return SelfPlay.resume(path, self._options.threads) if path.exists() else None


def _beside(trainer: Any) -> Any:
    """What does the tasks of an experiment by a trainer that keeps its runs beside the file, one run at a time."""

    def fill(options: Any, tasks: Mapping[Key, Any], store: ResultStore[Any], on_progress: OnProgress) -> list[Any]:
        return store.fill(tasks, functools.partial(trainer, options, store.path), 1, on_progress)

    return fill


# --- Recipes ----------------------------------------------------------------------------------------------------------

FROZEN = {
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


class _Recipe(_Trainer):
    """Trains one recipe with one seed at a time, and lets it play."""

    def play(self, task: tuple[str, int]) -> list[RecipeResult]:
        """Train; the run's folder stays: ``ddz arena`` plays its policy."""
        from ddz_training.learn.run import POLICY

        recipe, seed = task
        folder, deals = self._runs / f"{recipe.replace(' ', '-')}-{seed}", self._options.deals
        cost = self._cost(recipe, folder)
        updates = max(1, round(60 * self._options.minutes / cost))
        counters = self._train(folder, self._resumed(folder) or self._begin(recipe, seed), updates).counters
        wins = _strength(folder / POLICY, deals)
        minutes = round(updates * cost / 60, 1)
        return [RecipeResult(recipe, seed, counters.update, counters.decisions, minutes, deals, *wins)]

    def _begin(self, recipe: str, seed: int) -> Any:
        from ddz_agents.neural.shipped import shipped_policy_path
        from ddz_agents.neural.weights import load_weights
        from ddz_training.learn.ppo.config import SelfPlayConfig
        from ddz_training.learn.ppo.selfplay import SelfPlay

        config = SelfPlayConfig().changed({**MIXED, **RECIPES[recipe], "seed": seed})
        return SelfPlay(config, self._options.threads, load_weights(shipped_policy_path()))

    def _cost(self, recipe: str, folder: Path) -> float:
        """Processor seconds of an update; a run that is resumed goes by what was measured at its beginning."""
        from ddz_training.measure.match.timing import processor_time

        path = folder / "cost.json"
        if not path.exists():
            run = self._begin(recipe, 2**62)
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
    games = (play_deals(agent, opponent, deals, seed=DEALS_SEED, first_deal=0) for opponent in FROZEN.values())
    return [summarize(records)[0].wins.mean for records in games]


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
    recipes = {recipe: runs for recipe, runs in grouped(saved.results, "recipe").items() if recipe in RECIPES}
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
    header = ("recipe", "what it changes", "runs", "million decisions", "mean %", *(f"v `{one}` %" for one in FROZEN))
    note = (
        f"{saved.settings['minutes']:g} processor minutes a run, {saved.settings['deals']} duplicate deals against "
        f"each opponent; computed from {saved.name}."
    )
    title = "Training recipes at equal processor time"
    return Table(title, (*header, "over `mixed`, points", "verdict"), lines, note)


TRAINING_RECIPES = Experiment(
    name="training-recipes",
    about="What holds training down: recipes that differ in one thing, at equal processor time, over several seeds.",
    unit="runs",
    options=RecipeOptions,
    result=RecipeResult,
    tasks=lambda options: [
        (recipe, seed) for seed in range(options.seed, options.seed + options.seeds) for recipe in RECIPES
    ],
    fill=_beside(_Recipe),
    settings=("minutes", "deals"),
    tables={"training-recipes": recipes_table},
)


# --- Seeds ------------------------------------------------------------------------------------------------------------

OPPONENTS = ("random", "rules")


@dataclass(frozen=True)
class SeedResult:
    """A measurement of a run.

    Attributes:
        seed: The run's seed.
        update: Updates before it.
        opponent: Whom the policy met.
        decisions: Decisions learned from by then.
        deals: Duplicate deals.
        wins: Win rate over both sides.
    """

    seed: int
    update: int
    opponent: str
    decisions: int
    deals: int
    wins: Annotated[float, ".4f"]


@dataclass(frozen=True)
class SeedsOptions(SeedOptions):
    """How long the runs are.

    Attributes:
        seed: The first seed of a run.
        seeds: Runs.
        updates: Updates of a run.
        every: Updates between two measurements.
        deals: Duplicate deals of a measurement, against each opponent.
        imitated: Decisions of the imitation before.
        threads: Threads of a run; results do not depend on it.
    """

    seeds: Annotated[int, Range(1, 1000)] = 5
    updates: Annotated[int, Range(1, 10**6)] = 100
    every: Annotated[int, Range(1, 10**6)] = 20
    deals: Annotated[int, Range(1, 10**6)] = 300
    imitated: Annotated[int, Range(1, 10**9)] = 300_000
    threads: Annotated[int, Range(1, 2**16)] = 2


class _Seed(_Trainer):
    """Trains with one seed at a time."""

    def play(self, task: tuple[int]) -> list[SeedResult]:
        """Train; the run measures itself."""
        (seed,) = task
        folder = self._runs / str(seed)
        self._train(folder, self._resumed(folder) or self._begin(seed), self._options.updates)
        stage = read_run(str(seed), folder)
        return [
            SeedResult(
                *(seed, int(line["update"]), line["opponent"]),
                *(round(stage.decisions(line)), int(line["deals"]), float(line["wins"])),
            )
            for line in stage.evaluations
        ]

    def _begin(self, seed: int) -> Any:
        from ddz_agents.neural.weights import Weights
        from ddz_training.learn.imitation import Imitation, ImitationConfig
        from ddz_training.learn.ppo.config import SelfPlayConfig
        from ddz_training.learn.ppo.selfplay import SelfPlay

        options = self._options
        measured = {"evaluate_every": options.every, "evaluate_deals": options.deals, "opponents": OPPONENTS}
        config = SelfPlayConfig().changed({**MIXED, **measured, "seed": seed})
        warm = ImitationConfig(decisions=options.imitated, seed=seed, architecture=config.architecture)
        policy = Imitation(warm, options.threads).run()
        return SelfPlay(config, options.threads, Weights(policy, values_trained=False))


def _measured(saved: Saved[SeedResult], opponent: str) -> dict[int, list[SeedResult]]:
    """The measurements against an opponent, by update."""
    own = (result for result in saved.results if result.opponent == opponent)
    return dict(sorted(grouped(own, "update").items()))


def seeds_table(saved: Saved[SeedResult]) -> Table:
    """A line a measurement: the mean over the seeds, the lowest and the highest."""
    lines = []
    columns = [_measured(saved, opponent) for opponent in OPPONENTS]
    for update, runs in columns[0].items():
        decisions = f"{fmean(run.decisions for run in runs) / 1e6:.2f}"
        lines.append((str(update), str(len(runs)), decisions, *(_range(column[update]) for column in columns)))
    header = ("updates", "runs", "million decisions", *(f"v `{opponent}` %" for opponent in OPPONENTS))
    settings = saved.settings
    note = (
        f"Mean (lowest to highest run), {settings['deals']} duplicate deals a measurement, after imitating "
        f"{settings['imitated']:,} decisions of the rule agent; computed from {saved.name}."
    )
    return Table("One recipe, several seeds", header, lines, note)


def _range(runs: list[SeedResult]) -> str:
    wins = [100 * run.wins for run in runs]
    return f"{fmean(wins):.1f} ({min(wins):.1f} to {max(wins):.1f})"


def plot_seeds(saved: Saved[SeedResult], path: Path) -> None:
    """The mean over the seeds, with a band from the lowest run to the highest."""
    figure, axes = new_axes(6.0)
    for opponent in OPPONENTS:
        runs = _measured(saved, opponent).values()
        where = [fmean(run.decisions for run in same) / 1e6 for same in runs]
        wins = [[100 * run.wins for run in same] for same in runs]
        axes.plot(where, [fmean(values) for values in wins], marker="o", markersize=3, label=f"against {opponent}")
        axes.fill_between(where, [min(values) for values in wins], [max(values) for values in wins], alpha=0.2)
    axes.set_ylim(0, 100)
    finish_figure(
        figure, axes, path, "decisions learned from, millions", "games won, % (band: all seeds)", loc="lower right"
    )


TRAINING_SEEDS = Experiment(
    name="training-seeds",
    about="The curve of self-play over several seeds, from a short imitation of the rule agent.",
    unit="runs",
    options=SeedsOptions,
    result=SeedResult,
    tasks=lambda options: [(seed,) for seed in range(options.seed, options.seed + options.seeds)],
    fill=_beside(_Seed),
    settings=("updates", "every", "deals", "imitated"),
    per_key=lambda options: -(-options.updates // options.every) * len(OPPONENTS),
    tables={"training-seeds": seeds_table},
    plot=plot_seeds,
)
