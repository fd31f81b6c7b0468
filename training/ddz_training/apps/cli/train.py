"""``ddz train``: learning under a bar, with one writer to its output; an end by Ctrl-C keeps what was learned."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ddz_env.core.errors import plural
from ddz_training.apps.cli import options
from ddz_training.apps.cli.commands import follow, follow_policy, group, leave_out, resuming
from ddz_training.apps.cli.console import quoted, remark, show, stopping, tell
from ddz_training.apps.cli.imitating import imitate
from ddz_training.apps.cli.lazily import lazily
from ddz_training.apps.cli.training_bars import train_under_bar
from ddz_training.measure.errors import InvalidExperimentError
from ddz_training.measure.store import writing

with lazily():
    from ddz_agents.neural import sb3_policy
    from ddz_agents.neural import weights as neural_weights
    from ddz_training.experiments import training_curves
    from ddz_training.learn import belief as belief_run
    from ddz_training.learn import dmc as dmc_run
    from ddz_training.learn import loop
    from ddz_training.learn.ppo import config as ppo_config
    from ddz_training.learn.ppo import selfplay as ppo_selfplay
    from ddz_training.learn.sb3 import train as sb3_train

# --- by playing --------------------------------------------------------------


def selfplay(
    context: typer.Context,
    out: options.OutputFolder,
    minutes: options.Minutes = None,
    updates: options.Updates = None,
    resume: options.Resume = False,
    allow_other_code: options.OtherCode = False,
    init: options.Init = None,
    rules: options.TrainedRules = None,
    objective: options.Objective = None,
    seed: options.TrainingSeed = None,
    device: str | None = None,
    threads: options.Threads = None,
    tensorboard: options.TensorBoard = None,
    settings: options.Settings = None,
) -> None:
    """Learn all three roles by self-play (PPO, with a critic that sees every hand).

    Options:
        out: Folder for the policy, the checkpoint and the curves.
        device: cpu (default), or cuda: the networks are on a GPU.

    Example:
        ddz train selfplay --out runs/first --minutes 10
        ddz train selfplay --out runs/first --minutes 60 --resume
        ddz train selfplay --out runs/bids --updates 200 --rules bidding,doubling=true
        ddz train selfplay --out runs/second --minutes 10 --init warm.safetensors
        ddz train selfplay --out runs/gpu --minutes 60 --device cuda
    """
    budget = loop.Budget(updates, minutes)
    named = {"rules": rules, "objective": objective, "seed": seed, "device": device}
    given = ppo_config.SelfPlayConfig.given(named, settings or ())
    with writing(out, folder=True):
        run = _begun(context, ppo_selfplay.SelfPlay, out, threads, given, init, resume=resume)
        _learn(context, run, out, budget, tensorboard)


def dmc(
    context: typer.Context,
    out: options.OutputFolder,
    minutes: options.Minutes = None,
    updates: options.Updates = None,
    resume: options.Resume = False,
    allow_other_code: options.OtherCode = False,
    init: options.Init = None,
    rules: options.TrainedRules = None,
    objective: options.Objective = None,
    seed: options.TrainingSeed = None,
    threads: options.Threads = None,
    tensorboard: options.TensorBoard = None,
    settings: options.Settings = None,
) -> None:
    """Learn all three roles by deep Monte Carlo, DouZero's method: a baseline.

    Options:
        out: Folder for the weights, the checkpoint and the curves.

    Example:
        ddz train dmc --out runs/dmc --minutes 60
        ddz train dmc --out runs/dmc --minutes 120 --resume
        ddz train dmc --out runs/dmc-mini --rules mini --updates 100
    """
    budget = loop.Budget(updates, minutes)
    given = dmc_run.DmcConfig.given({"rules": rules, "objective": objective, "seed": seed}, settings or ())
    with writing(out, folder=True):
        run = _begun(context, dmc_run.DeepMonteCarlo, out, threads, given, init, resume=resume)
        _learn(context, run, out, budget, tensorboard)


def _begun(
    context: typer.Context,
    kind: type[ppo_selfplay.SelfPlay],
    out: Path,
    threads: int | None,
    settings: dict[str, Any],
    init: Path | None,
    *,
    resume: bool,
) -> ppo_selfplay.SelfPlay:
    """The run in a folder, resumed, or a new one."""
    if resume:
        leave_out(context, "--resume continues with the run's own weights", "--init")
        return kind.resume(out / loop.CHECKPOINT, threads, settings)
    loop.refuse_to_overwrite(out / loop.CHECKPOINT)
    start = None if init is None else neural_weights.load_weights(init)
    config = kind.config_type() if start is None else kind.config_type(architecture=start.architecture)
    run = kind(config.changed(settings), threads, start)
    run.provenance = run.provenance.reading("--init", init)
    return run


def _learn(
    context: typer.Context,
    run: ppo_selfplay.SelfPlay,
    out: Path,
    budget: loop.Budget,
    tensorboard: Path | None,
) -> None:
    policy = out / loop.POLICY
    with stopping(f"go on with: {resuming(context, init=None)}") as asked:
        train_under_bar(run, budget, out, tensorboard, asked)
        tell(f"{quoted(policy)} after {plural(run.counters.update, 'update')}")
    follow_policy(policy, run.config.rules)


def sb3(
    context: typer.Context,
    out: options.OutputFolder,
    timesteps: options.Count = 1000000,
    opponents: str | None = None,
    num_envs: int | None = None,
    rules: Annotated[str | None, typer.Option(help=options.RULES)] = None,
    seed: int | None = None,
    evaluate_every: int | None = None,
    evaluate_deals: int | None = None,
    resume: bool = False,
    trust: bool = False,
    threads: int | None = None,
    tensorboard: options.TensorBoard = None,
    settings: Annotated[list[str] | None, typer.Option("--set")] = None,
) -> None:
    """Learn one seat with Stable-Baselines3's MaskablePPO.

    Options:
        out: Folder for the model, SB3's tables and the evaluations.
        timesteps: The learner's decisions in total, including those before --resume.
        opponents: random (default), rules or any agent (ddz agents).
        num_envs: Games side by side; 64 by default.
        seed: Seed of deals, actions and weights; 0 by default.
        evaluate_every: Steps between two evaluations, 0 for none; 200,000 by default.
        evaluate_deals: Duplicate deals per baseline; 100 by default.
        resume: Resume from the model in --out.
        trust: With --resume: allow the model's zip to run the code in it.
        threads: Threads of the games and of PyTorch.
        settings: Any other setting, name=value (n_steps=256, role=landlord ...).

    Example:
        ddz train sb3 --out runs/sb3 --timesteps 200000
        ddz train sb3 --out runs/sb3 --opponents rules --set n_steps=256
        ddz train sb3 --out runs/sb3 --timesteps 400000 --resume --trust
    """
    named = {"opponents": opponents, "num_envs": num_envs, "rules": rules, "seed": seed}
    named |= {"evaluate_every": evaluate_every, "evaluate_deals": evaluate_deals}
    given, model = sb3_train.Sb3Config.given(named, settings or ()), out / sb3_train.MODEL
    with writing(out, folder=True), stopping(f"go on with: {resuming(context, trust=True)}") as asked:
        if resume:
            config = sb3_train.load_config(out)
            config.refuse_other(given, out / sb3_train.SETTINGS)
            sb3_policy.check_trust(model, trust, "--trust")
        else:
            loop.refuse_to_overwrite(model)
            config = sb3_train.Sb3Config(**given)
        run = sb3_train.Sb3Run(config, out, resume=resume, threads=threads, tensorboard=tensorboard)
        train_under_bar(run, loop.Budget(decisions=timesteps), out, tensorboard, asked)
        tell(f"{quoted(model)} after {run.counters.decisions:,} steps")
    remark(
        "Judge by evaluations: against 'rules' expect a few per cent in the first minutes and slow progress, because "
        "one seat learns from the end of each game only. Self-play learns all roles and is much faster."
    )
    follow_policy(model, config.rules, trust=True)


def belief(
    out: options.OutputFolder,
    positions: options.OptionalCount = None,
    rules: options.TrainedRules = None,
    seed: options.TrainingSeed = None,
    threads: options.Threads = 1,
    tensorboard: options.TensorBoard = None,
    settings: options.Settings = None,
) -> None:
    """Learn where the hidden cards lie, from games of many kinds of players.

    Options:
        out: Folder for the network.
        positions: Positions to learn from; 3,000,000 by default.

    Example:
        ddz train belief --out runs/belief --positions 1000000
    """
    given = belief_run.BeliefConfig.given({"rules": rules, "seed": seed, "positions": positions}, settings or ())
    file = out / belief_run.BELIEF
    loop.refuse_to_overwrite(file)
    run = belief_run.BeliefTraining(belief_run.BeliefConfig().changed(given), threads)
    with writing(out, folder=True), stopping("the network has learned from fewer positions") as asked:
        train_under_bar(run, loop.Budget(decisions=run.config.positions), out, tensorboard, asked)
        tell(f"{quoted(file)} after {run.counters.decisions:,} positions")
    follow("to see what it knows", "reproduce", "belief", "--belief", file)


# --- the curves of runs ------------------------------------------------------


def curves(
    runs: Annotated[list[str] | None, typer.Argument()] = None,
    out: Annotated[Path | None, typer.Option(callback=options.output_folder)] = None,
    add: bool = False,
    plot: options.Plot = None,
) -> None:
    """Join and plot the curves of runs of selfplay or dmc, each a stage that went on from the last.

    Options:
        runs: Folders of runs of selfplay or dmc in order, as NAME=FOLDER; if none, the files in --out.
        out: Folder for training_curves.csv and training_evaluations.csv; the last run's by default.
        add: Keep the stages in --out; one of the same name is replaced in its place.

    Example:
        ddz train curves runs/first --plot curves.png
        ddz train curves first=runs/first second=runs/second --out results
        ddz train curves --out results --plot curves.png
    """
    named = list(map(_named, runs or ()))
    if not named and out is None:
        raise InvalidExperimentError(
            f"name folders of runs ({training_curves.TAKEN}), or --out with the files of an earlier call"
        )
    folder = out or named[-1][1]
    if named:
        read = {name: training_curves.read_run(name, run) for name, run in named}
        known = {stage.name: stage for stage in training_curves.load_training(folder)} if add else {}
        training_curves.save_training([*(known | read).values()], folder)
    stages = training_curves.load_training(folder)
    show(training_curves.stage_table(stages))
    if plot is not None:
        training_curves.plot_training(stages, plot)
    else:
        follow("to see it", "train", "curves", "--out", folder, "--plot", folder / "training_curves.png")


def _named(run: str) -> tuple[str, Path]:
    """A stage's name and folder; a folder alone is its own name.

    Example:
        >>> [(name, folder.as_posix()) for name, folder in map(_named, ("first=runs/a", "runs/b"))]
        [('first', 'runs/a'), ('b', 'runs/b')]
    """
    name, _, folder = run.rpartition("=")
    return name or Path(folder).name, Path(folder)


app = group(
    "Train policies.",
    (sb3, selfplay, dmc, imitate, belief, curves),
    "ddz train selfplay --out runs/first --minutes 10",
    "ddz arena policy:path=runs/first/policy.safetensors rules",
)
