"""The curve of a recipe over several seeds: how much of a difference between two runs is luck.

Every run begins as anybody's would: a short imitation of the rule agent under the run's own seed, then self-play by the
recipe of :mod:`ddz_training.experiments.training_recipes`.  It is measured while it trains, on the same deals as every
run of that seed.
"""

from __future__ import annotations

import functools
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

from ddz_env.core.options import Range
from ddz_training.experiments.experiment import Experiment, Saved, SeedOptions, Table, kept
from ddz_training.experiments.training_curves import read_run
from ddz_training.experiments.training_recipes import MIXED
from ddz_training.measure.match.ordered_map import Worker
from ddz_training.measure.match.results import OnProgress, ResultStore, no_progress
from ddz_training.measure.plotting import finish_figure, new_axes

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


class _Run(Worker[int, list[SeedResult]]):
    """Trains with one seed at a time."""

    def __init__(self, options: SeedsOptions, settings: Mapping[str, Any], runs: Path | None) -> None:
        self._options, self._settings = options, settings
        self._kept = runs is not None
        self._runs = runs or Path(tempfile.mkdtemp())

    def play(self, seed: int) -> list[SeedResult]:
        from ddz_training.learn.run import Budget, train

        folder = self._runs / str(seed)
        run = self._begin(seed, folder)
        train(run, folder, Budget(updates=self._options.updates))
        run.close()
        stage = read_run(str(seed), folder)
        return [
            SeedResult(
                *(seed, int(line["update"]), line["opponent"]),
                *(round(stage.decisions(line)), int(line["deals"]), float(line["wins"])),
            )
            for line in stage.evaluations
        ]

    def close(self) -> None:
        if not self._kept:
            shutil.rmtree(self._runs, ignore_errors=True)

    def _begin(self, seed: int, folder: Path) -> Any:
        from ddz_agents.neural.network import PolicyNetwork
        from ddz_agents.neural.weights import Weights
        from ddz_training.learn.imitation import Imitation, ImitationConfig, random_policy, rules_teacher
        from ddz_training.learn.ppo.config import SelfPlayConfig
        from ddz_training.learn.ppo.selfplay import SelfPlay
        from ddz_training.learn.run import CHECKPOINT

        options = self._options
        if (folder / CHECKPOINT).exists():
            return SelfPlay.resume(folder / CHECKPOINT, options.threads)
        measured = {"evaluate_every": options.every, "evaluate_deals": options.deals, "opponents": OPPONENTS}
        config = SelfPlayConfig().changed({**MIXED, **measured, **self._settings, "seed": seed})
        warm = ImitationConfig(decisions=options.imitated, seed=seed, architecture=config.architecture)
        policy = Imitation(warm, random_policy(PolicyNetwork, warm), rules_teacher(warm), options.threads).run()
        return SelfPlay(config, options.threads, Weights(policy, values_trained=False))


def run_training_seeds(
    options: SeedsOptions | None = None,
    path: Path | None = None,
    on_progress: OnProgress = no_progress,
    settings: Mapping[str, Any] | None = None,
) -> Saved[SeedResult]:
    """Train the recipe with every seed.

    Args:
        options: How long.
        path: Where to save, one line a measurement; a file of an earlier run is resumed.  The runs are kept beside it,
            in a folder of the same name and ``_runs``, from which a run that was killed goes on.
        on_progress: Told how many runs are done.
        settings: What every run changes in the recipe.
    """
    options = options or SeedsOptions()
    found = {name: getattr(options, name) for name in ("updates", "every", "deals", "imitated")}
    lines = -(-options.updates // options.every) * len(OPPONENTS)
    named = {"experiment": "training-seeds", **found, **(settings or {})}
    store = ResultStore(SeedResult, path, named, ("seed",), per_key=lines)
    runs = None if path is None else path.with_name(path.stem + "_runs")
    tasks = {(seed,): seed for seed in range(options.seed, options.seed + options.seeds)}
    return kept(store, store.fill(tasks, functools.partial(_Run, options, settings or {}, runs), 1, on_progress))


def _at(saved: Saved[SeedResult], opponent: str) -> dict[int, list[SeedResult]]:
    """The measurements against an opponent, by update."""
    found: dict[int, list[SeedResult]] = {}
    for result in saved.results:
        if result.opponent == opponent:
            found.setdefault(result.update, []).append(result)
    return dict(sorted(found.items()))


def seeds_table(saved: Saved[SeedResult]) -> Table:
    """A line a measurement: the mean over the seeds, the lowest and the highest."""
    lines = []
    columns = [_at(saved, opponent) for opponent in OPPONENTS]
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
        runs = _at(saved, opponent).values()
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
    source="own",
    about="The curve of self-play over several seeds, from a short imitation of the rule agent.",
    unit="runs",
    options=SeedsOptions,
    result=SeedResult,
    run=run_training_seeds,
    tables={"training-seeds": seeds_table},
    file="training_seeds",
    plot=plot_seeds,
)
