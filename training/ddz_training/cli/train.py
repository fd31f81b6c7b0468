"""The ``ddz train`` commands, which show a progress bar, lock their output and keep the progress on Ctrl-C."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click
from click import argument, option

from ddz_env.support.errors import pluralize
from ddz_env.support.options import Options
from ddz_training.cli.console import (
    NotePace,
    make_progress,
    print_prose,
    print_table,
    quote_path,
    rules_arguments,
    stop_on_interrupt,
    suggest_command,
)
from ddz_training.cli.faults import CommandLineError
from ddz_training.cli.options import COUNT, FOLDER, NEW_WEIGHTS, WEIGHTS_OR_ID, plot_option, take_options_of
from ddz_training.cli.settings import SettingsCommand

if TYPE_CHECKING:
    from ddz_training.learn.loop import Budget, Training
    from ddz_training.learn.ppo.selfplay import SelfPlay
    from ddz_training.learn.processes import Processes
    from ddz_training.learn.settings import TrainingSettings
    from ddz_training.learn.strength import Evaluation


@dataclass(frozen=True)
class LearningOptions(Options):
    """Options shared by all training commands.

    Attributes:
        rules: A preset, optionally followed by options, as bidding,doubling=true (ddz show rules); standard by default.
        seed: Seed of deals, actions and weights; 0 by default.
        threads: Threads; results do not depend on them, except those of belief and sb3.
        tensorboard: Write the curves for TensorBoard into this folder, too.
    """

    rules: str | None = None
    seed: int | None = None
    threads: int | None = None
    tensorboard: Path | None = None


@dataclass(frozen=True, kw_only=True)
class RunOptions(LearningOptions):
    """Options of the training commands that write to a folder.

    Attributes:
        out: Folder for what is learned, the checkpoint and the curves.
    """

    out: Annotated[Path, FOLDER]


@dataclass(frozen=True, kw_only=True)
class SelfPlayOptions(RunOptions):
    """Options of ``ddz train selfplay`` and ``ddz train dmc``.

    Attributes:
        minutes: Minutes of training in total, including those before --resume.
        updates: Updates in total, including those before --resume.
        resume: Resume from the checkpoint in --out.
        init: Start from these weights: of imitate, of an earlier run, or policy-v3.
        objective: win (default) or stake.
        device: cpu (default), or cuda: the networks are on a GPU. Only selfplay has settings for one.
    """

    minutes: float | None = None
    updates: int | None = None
    resume: bool = False
    init: Annotated[Path | None, WEIGHTS_OR_ID] = None
    objective: str | None = None
    device: str | None = None


@click.group()
def train() -> None:
    """Train policies.

    \b
    Example:
      ddz train selfplay --out runs/first --minutes 10
    """


def _run_training(
    begin: Callable[[], Training], budget: Budget, file: Path, tensorboard: Path | None, advice: str
) -> Any:
    """Train in a locked folder until the budget is spent or Ctrl-C ends it, and return the training.

    Args:
        begin: Makes the training, once its folder is ours.
        budget: How long.
        file: What is learned, in that folder.
        tensorboard: A folder for TensorBoard.
        advice: Said where Ctrl-C ends it.

    Returns:
        The training.
    """
    from ddz_training.measure import store

    with store.locked_for_writing(file.parent, folder=True):
        run = begin()
        with stop_on_interrupt(advice) as ended:
            train_under_bar(run, budget, file.parent, tensorboard, ended)
            done = f"{pluralize(run.counters.update, 'update')}, {pluralize(run.counters.decisions, 'decision')}"
            click.echo(f"{quote_path(file)} after {done}")
    return run


def _suggest_policy_commands(path: Path, rules: str, options: str = "", *, search: bool = True) -> None:
    """Suggest commands that let the trained policy play, alone and, if it can guide one, in a search."""
    policy, searcher = f"policy:path={path}{options}", f"neural-ismcts:path={path}{options}"
    suggest_command("to see how strong it is", "arena", policy, "rules", *rules_arguments(rules))
    if search:
        suggest_command("to search with it", "arena", searcher, policy, "--deals", 100, *rules_arguments(rules))


# --- bars ------------------------------------------------------------------


def train_under_bar(
    run: Training,
    budget: Budget,
    folder: Path | None,
    tensorboard: Path | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> None:
    """Train with a progress bar, or with a log line per tenth of the budget, and close the training at the end.

    The arguments are those of :func:`ddz_training.learn.loop.train`.
    """
    from ddz_training.cli.tables import make_evaluation_table
    from ddz_training.learn import loop

    decisions, seconds = run.counters.decisions, run.counters.seconds
    with make_progress() as progress:
        drawn, pace = not progress.disable, NotePace()
        bar = progress.add_task("training", total=1.0, state="", visible=False)

        def on_update(line: Any) -> None:
            done = run.counters
            speed = (done.decisions - decisions) / max(done.seconds - seconds, 1e-9)
            spent, state = budget.share_spent(done), f"{line} · {speed:,.0f} decisions/s"
            progress.update(bar, completed=spent, state=state, visible=True)
            if not drawn and pace.is_due(spent):
                click.echo(f"{100 * spent:.0f} % · {state}", err=True)

        def on_evaluation(results: Sequence[Evaluation]) -> None:
            if results:
                print_table(make_evaluation_table(results), screen=progress.console)

        calls = {"on_update": on_update, "on_evaluation": on_evaluation}
        loop.train(run, budget, folder, tensorboard=tensorboard, stop=stop, **calls)
        run.close()


# --- by playing --------------------------------------------------------------


def _import_selfplay_config() -> type[TrainingSettings]:
    from ddz_training.learn.ppo.config import SelfPlayConfig

    return SelfPlayConfig


def _import_dmc_config() -> type[TrainingSettings]:
    from ddz_training.learn.dmc import DmcConfig

    return DmcConfig


def _import_sb3_config() -> type[TrainingSettings]:
    from ddz_training.learn.sb3.train import Sb3Config

    return Sb3Config


def _import_belief_config() -> type[TrainingSettings]:
    from ddz_training.learn.belief import BeliefConfig

    return BeliefConfig


@train.command(cls=SettingsCommand, options=_import_selfplay_config)
@take_options_of(SelfPlayOptions)
def selfplay(options: SelfPlayOptions, settings: tuple[str, ...]) -> None:
    """Learn all three roles by self-play (PPO, with a critic that sees every hand).

    \b
    Examples:
      ddz train selfplay --out runs/first --minutes 10
      ddz train selfplay --out runs/first --minutes 60 --resume
      ddz train selfplay --out runs/bids --updates 200 --rules bidding,doubling=true
      ddz train selfplay --out runs/second --minutes 10 --init warm.safetensors
      ddz train selfplay --out runs/gpu --minutes 60 --device cuda
      ddz train selfplay --out runs/wide --minutes 60 --learning-rate 1e-3 --architecture.width 512
    """
    from ddz_training.learn.ppo.selfplay import SelfPlay

    _train_on_own_games(SelfPlay, options, settings)


@train.command(cls=SettingsCommand, options=_import_dmc_config)
@take_options_of(SelfPlayOptions)
def dmc(options: SelfPlayOptions, settings: tuple[str, ...]) -> None:
    """Learn all three roles by deep Monte Carlo, DouZero's method: a baseline.

    \b
    Examples:
      ddz train dmc --out runs/dmc --minutes 60
      ddz train dmc --out runs/dmc --minutes 120 --resume
      ddz train dmc --out runs/dmc-mini --rules mini --updates 100
    """
    from ddz_training.learn.dmc import DeepMonteCarlo

    _train_on_own_games(DeepMonteCarlo, options, settings)


def _train_on_own_games(kind: type[SelfPlay], options: SelfPlayOptions, settings: Sequence[str]) -> None:
    """Train one policy for all three roles by self-play, from the options of a command."""
    from ddz_agents.neural.weights import load_weights
    from ddz_training.learn import loop
    from ddz_training.learn.processes import join_processes

    out, init, device = options.out, options.init, options.device
    named = {"rules": options.rules, "seed": options.seed, "objective": options.objective, "device": device}
    wanted, threads = kind.config_type.read_given(named, settings), options.threads
    policy, checkpoint = out / loop.POLICY, out / loop.CHECKPOINT

    def begin(processes: Processes) -> SelfPlay:
        loop.check_can_start(checkpoint, resume=options.resume)
        if options.resume and init:
            raise CommandLineError("--resume continues with the run's own weights: leave out --init")
        if options.resume:
            run = kind.resume(checkpoint, threads, wanted, processes)
            if processes.size > 1 and run.config.device != (device or "cpu"):  # by which the processes were joined
                run.close()
                raise CommandLineError(
                    f"the processes of this run train on {run.config.device}: add --device {run.config.device}"
                )
            return run
        start, config = None if init is None else load_weights(init), kind.config_type.for_device(device)
        if start is not None:
            config = dataclasses.replace(config, architecture=start.architecture)
        begun = kind(config.with_changes(wanted), threads, start, processes)
        begun.provenance = begun.provenance.with_file("--init", init)
        return begun

    budget = loop.Budget(options.updates, options.minutes)
    with join_processes(device or "cpu") as processes:
        if not processes.is_leader:  # torchrun has started several, and the first speaks and writes for all
            with contextlib.closing(begin(processes)) as follower:
                loop.train(follower, budget, out)
            return
        learned = _run_training(lambda: begin(processes), budget, policy, options.tensorboard, "continue with --resume")
    _suggest_policy_commands(policy, learned.config.rules, search=kind.has_critic)


@train.command(cls=SettingsCommand, options=_import_sb3_config)
@option("--timesteps", type=COUNT, default=1_000_000, help="The learner's decisions, including those before --resume.")
@option("--opponents", help="random (default), rules or any agent (ddz agents).")
@option("--resume", is_flag=True, help="Resume from the model in --out.")
@option("--trust", is_flag=True, help="With --resume: allow the model's zip to run the code in it.")
@take_options_of(RunOptions)
def sb3(
    timesteps: int, opponents: str | None, resume: bool, trust: bool, options: RunOptions, settings: tuple[str, ...]
) -> None:
    """Learn one seat with Stable-Baselines3's MaskablePPO.

    \b
    Examples:
      ddz train sb3 --out runs/sb3 --timesteps 200000
      ddz train sb3 --out runs/sb3 --opponents rules --n-steps 256
      ddz train sb3 --out runs/sb3 --timesteps 400000 --resume --trust
    """
    from ddz_agents.neural.sb3_policy import check_trust
    from ddz_training.learn import loop
    from ddz_training.learn.sb3 import train as sb3_train

    named = {"opponents": opponents, "rules": options.rules, "seed": options.seed}
    out, wanted = options.out, sb3_train.Sb3Config.read_given(named, settings)
    model = out / sb3_train.MODEL

    def begin() -> sb3_train.Sb3Training:
        loop.check_can_start(model, resume=resume)
        if resume:
            config = sb3_train.load_config(out).for_resuming(wanted, out / sb3_train.SETTINGS)
            check_trust(model, trust, "--trust")
        else:
            config = sb3_train.Sb3Config(**wanted)
        return sb3_train.Sb3Training(
            config, out, resume=resume, threads=options.threads, tensorboard=options.tensorboard
        )

    budget = loop.Budget(decisions=timesteps)
    learned = _run_training(begin, budget, model, options.tensorboard, "continue with --resume --trust")
    print_prose(
        "Judge by evaluations: against 'rules' expect a few per cent in the first minutes and slow progress, "
        "because one seat learns from the end of each game only. Self-play learns all roles and is much faster."
    )
    _suggest_policy_commands(model, learned.config.rules, ",trust_file=true")


# --- from others -------------------------------------------------------------


@train.command()
@option("--out", type=NEW_WEIGHTS, required=True, help="New file for the weights (FILE.safetensors), for --init.")
@option("--decisions", type=COUNT, help="Decisions to learn from; 2,000,000, with --data at most ten times the set's.")
@option("--data", type=Path, help="Imitate a data set of ddz record, by its visits if it has them, instead of rules.")
@option("--init", type=WEIGHTS_OR_ID, help="With --data: start from these weights, a file or an id (policy-v3).")
@take_options_of(LearningOptions)
def imitate(out: Path, decisions: int | None, data: Path | None, init: Path | None, options: LearningOptions) -> None:
    """Learn a warm start by imitating the rule agent, or the recorded games of another.

    \b
    Examples:
      ddz train imitate --out warm.safetensors --decisions 500000
      ddz train imitate --out warm.safetensors --data runs/games
    """
    from ddz_agents.neural.architecture import Architecture
    from ddz_agents.neural.weights import load_weights, save_weights
    from ddz_training.data.games import find_games_file
    from ddz_training.data.table import read_rules
    from ddz_training.learn import imitation, loop
    from ddz_training.measure.provenance import Provenance

    if init and data is None:
        raise CommandLineError(
            "without --data the training begins with random weights: leave out --init, or name a data set"
        )
    if options.rules and data is not None:
        raise CommandLineError("a data set names its own rules: leave out --rules")
    start = load_weights(init).networks()[0] if init is not None else None
    rules = read_rules(data).name if data is not None else options.rules or "standard"
    shape = start.architecture if start is not None else Architecture()
    config = imitation.ImitationConfig(rules=rules, seed=options.seed or 0, architecture=shape)
    if data is None:
        config = dataclasses.replace(config, decisions=decisions or config.decisions)
        training: imitation.ImitationTraining = imitation.RuleImitation(config, options.threads)
    else:
        recorded = imitation.load_imitation_dataset(data)
        most = imitation.MAX_PASSES * max(1, len(recorded))
        config = dataclasses.replace(config, decisions=decisions or min(config.decisions, most))
        training = imitation.DatasetImitation(config, recorded, start, options.threads)
    read = Provenance().with_file("--data", data and find_games_file(data)).with_file("--init", init)
    with stop_on_interrupt("the weights have learned from fewer decisions") as ended:
        train_under_bar(training, loop.Budget(decisions=config.decisions), None, options.tensorboard, ended)
        learned = training.counters.decisions
        notes = {"imitates": data.name if data else "rules", "decisions": learned, "seed": config.seed}
        save_weights(out, training.to_weights(notes | read.to_settings()))
        click.echo(f"{quote_path(out)} after {pluralize(learned, 'decision')}")
    further = ("train", "selfplay", "--out", "runs/selfplay", "--minutes", "60", "--init", out)
    suggest_command("to train it further by self-play", *further, *rules_arguments(rules))
    _suggest_policy_commands(out, rules)


@train.command(cls=SettingsCommand, options=_import_belief_config)
@option("--positions", type=COUNT, help="Positions to learn from; 3,000,000 by default.")
@take_options_of(RunOptions)
def belief(positions: int | None, options: RunOptions, settings: tuple[str, ...]) -> None:
    """Train a belief network to predict the hidden cards, on games of many kinds of players.

    \b
    Example:
      ddz train belief --out runs/belief --positions 1000000
    """
    from ddz_training.learn import loop
    from ddz_training.learn.belief import BELIEF, BeliefConfig, BeliefTraining

    named = {"positions": positions, "rules": options.rules, "seed": options.seed}
    config, file = BeliefConfig().with_changes(BeliefConfig.read_given(named, settings)), options.out / BELIEF
    loop.check_can_start(file, resume=False)
    budget, advice = loop.Budget(decisions=config.positions), "the network has learned from fewer positions"
    _run_training(lambda: BeliefTraining(config, options.threads), budget, file, options.tensorboard, advice)


# --- the curves of runs ------------------------------------------------------


@train.command()
@argument("runs", nargs=-1, help="Folders of runs in order, as NAME=FOLDER; if none, the files in --out.")
@option("--out", type=FOLDER, help="Folder for the joined curves and evaluations; the last run's by default.")
@option("--add", is_flag=True, help="Keep the stages in --out; one of the same name is replaced where it is.")
@plot_option
def curves(runs: tuple[str, ...], out: Path | None, add: bool, plot: Path | None) -> None:
    """Join and plot the learning curves of selfplay or dmc runs that continue one another.

    \b
    Examples:
      ddz train curves runs/first --plot curves.png
      ddz train curves first=runs/first second=runs/second --out results
      ddz train curves --out results --plot curves.png
    """
    from ddz_training.learn import training_curves
    from ddz_training.measure.store import locked_for_writing

    named = list(map(_parse_stage, runs))
    if not named and out is None:
        wanted = f"name folders of runs ({training_curves.WRITERS}), or --out with the files of an earlier call"
        raise CommandLineError(wanted)
    folder = out or named[-1][1]
    if named:
        read = {name: training_curves.read_run(name, run) for name, run in named}
        with locked_for_writing(folder / training_curves.JOINED_CURVES):  # not the folder: a run may be training there
            known = {stage.name: stage for stage in training_curves.load_training(folder)} if add else {}
            training_curves.save_training([*(known | read).values()], folder)
    stages = training_curves.load_training(folder)
    print_table(training_curves.make_stage_table(stages))
    if plot is not None:
        training_curves.plot_training(stages, plot)


def _parse_stage(run: str) -> tuple[str, Path]:
    """Parse ``name=folder`` for one training run of a chain; a folder alone also serves as the name.

    Example:
        >>> [(name, folder.as_posix()) for name, folder in map(_parse_stage, ("first=runs/a", "runs/b"))]
        [('first', 'runs/a'), ('b', 'runs/b')]
    """
    name, _, folder = run.rpartition("=")
    return name or Path(folder).name, Path(folder)
