"""``ddz train``: learning."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ddz_training.apps.cli.console import FriendlyTyper, complain, quoted, share_bar, stopping, tell
from ddz_training.apps.cli.experiment import OtherCode, Plot, draw, show
from ddz_training.apps.cli.following import follow, follow_policy, resuming, rules_option
from ddz_training.apps.cli.help import RULES, examples
from ddz_training.apps.cli.options import (
    Device,
    Init,
    Minutes,
    Objective,
    Resume,
    Settings,
    TensorBoard,
    Threads,
    TrainedRules,
    TrainingSeed,
    Updates,
)
from ddz_training.apps.cli.outputs import WEIGHTS, check_new, input_file, output_file, output_folder
from ddz_training.apps.cli.train_belief import belief
from ddz_training.apps.cli.train_expert import expert
from ddz_training.apps.cli.train_sb3 import sb3, sb3_aec
from ddz_training.apps.cli.training_bar import training_bar

if TYPE_CHECKING:
    from ddz_agents.neural.network import PolicyNetwork
    from ddz_training.learn.curves import CurveLine
    from ddz_training.learn.imitation import ImitationConfig, ImitationProgress
    from ddz_training.learn.ppo.selfplay import SelfPlay
    from ddz_training.learn.recorded import RecordedSet
    from ddz_training.learn.run import Budget

app = FriendlyTyper(
    help="Train policies.",
    epilog=examples(
        "ddz train selfplay --out runs/first --minutes 10", "ddz arena policy:path=runs/first/policy.safetensors rules"
    ),
    no_args_is_help=True,
)

Preset = Annotated[str, typer.Option("--rules", help=RULES)]


@app.callback()
def _options() -> None:
    """Train policies."""


app.command(
    epilog=examples(
        "ddz train sb3 --out runs/sb3 --timesteps 200000",
        "ddz train sb3 --out runs/sb3 --opponents rules --set n_steps=256",
        "ddz train sb3 --out runs/sb3 --timesteps 400000 --resume --trust",
    )
)(sb3)
app.command(
    epilog=examples(
        "ddz train belief --out runs/belief --positions 1000000",
        "ddz train belief --out runs/belief --positions 3000000 --resume",
    )
)(belief)
app.command(
    epilog=examples(
        "ddz train expert --out runs/expert --deals 500",
        "ddz train expert --out runs/expert --deals 500 --rounds 2",
    )
)(expert)
app.command("sb3-aec", epilog=examples("ddz train sb3-aec --timesteps 40000 --out aec.zip"))(sb3_aec)


@app.command(
    epilog=examples(
        "ddz train selfplay --out runs/first --minutes 10",
        "ddz train selfplay --out runs/first --minutes 60 --resume",
        "ddz train selfplay --out runs/bids --updates 200 --rules bidding,doubling=true",
        "ddz train selfplay --out runs/second --minutes 10 --init warm.safetensors",
        "ddz train selfplay --out runs/gpu --minutes 60 --device cuda --set groups=1",
    )
)
def selfplay(
    context: typer.Context,
    out: Annotated[
        Path, typer.Option(help="Folder for the policy, the checkpoint and the curves.", callback=output_folder)
    ],
    minutes: Minutes = None,
    updates: Updates = None,
    resume: Resume = False,
    allow_other_code: OtherCode = False,
    init: Init = None,
    rules: TrainedRules = None,
    objective: Objective = None,
    seed: TrainingSeed = None,
    device: Device = None,
    threads: Threads = None,
    tensorboard: TensorBoard = None,
    settings: Settings = None,
) -> None:
    """Learn all three roles by self-play (PPO, with a critic that sees every hand)."""
    from ddz_training.learn.ppo.config import SelfPlayConfig
    from ddz_training.learn.run import Budget
    from ddz_training.measure.match.one_writer import writing
    from ddz_training.measure.match.provenance import other_code

    budget, again = Budget(updates, minutes), resuming(context, init=None)
    named = {"rules": rules, "objective": objective, "seed": seed, "device": device}
    given = SelfPlayConfig.given(named, settings or ())
    with other_code(allow_other_code), writing(out, folder=True):
        _selfplay(_begun(out, threads, given, init, resume=resume), out, budget, tensorboard, again)


@app.command(
    epilog=examples(
        "ddz train dmc --out runs/dmc --minutes 60",
        "ddz train dmc --out runs/dmc --minutes 120 --resume",
        "ddz train dmc --out runs/dmc-mini --rules mini --updates 100",
    )
)
def dmc(
    context: typer.Context,
    out: Annotated[
        Path, typer.Option(help="Folder for the weights, the checkpoint and the curves.", callback=output_folder)
    ],
    minutes: Minutes = None,
    updates: Updates = None,
    resume: Resume = False,
    allow_other_code: OtherCode = False,
    init: Init = None,
    rules: TrainedRules = None,
    objective: Objective = None,
    seed: TrainingSeed = None,
    threads: Threads = None,
    tensorboard: TensorBoard = None,
    settings: Settings = None,
) -> None:
    """Learn all three roles by deep Monte Carlo, DouZero's method: a baseline."""
    from ddz_training.learn.dmc import DeepMonteCarlo, DmcConfig
    from ddz_training.learn.run import Budget
    from ddz_training.measure.match.one_writer import writing
    from ddz_training.measure.match.provenance import other_code

    budget, again = Budget(updates, minutes), resuming(context, init=None)
    given = DmcConfig.given({"rules": rules, "objective": objective, "seed": seed}, settings or ())
    with other_code(allow_other_code), writing(out, folder=True):
        _selfplay(
            _begun(out, threads, given, init, resume=resume, kind=DeepMonteCarlo), out, budget, tensorboard, again
        )


def _selfplay(run: SelfPlay, out: Path, budget: Budget, tensorboard: Path | None, again: str) -> None:
    """Train under a bar; what goes on with a run that was ended early is said in its end."""
    from ddz_env.core.errors import plural
    from ddz_training.learn.board import board
    from ddz_training.learn.run import POLICY, train

    def describe(line: CurveLine) -> str:
        return f"entropy {line.entropy:.2f} · critic explains {100 * line.explained:.0f} %"

    def learned() -> tuple[int, float]:
        return run.counters.decisions, run.counters.seconds

    with stopping(f"go on with: {again}") as asked, board(tensorboard, run.counters.update) as curves:
        bar = training_bar(1.0, lambda: budget.share(run), learned, "decisions", describe, curves)
        with bar as (on_update, on_evaluation):
            train(run, out, budget, on_update=on_update, on_evaluation=on_evaluation, stop=asked)
        run.close()
        tell(f"{quoted(out / POLICY)} after {plural(run.counters.update, 'update')}")
    follow_policy(out / POLICY, run.config.rules)


def _begun(
    out: Path,
    threads: int | None,
    settings: dict[str, Any],
    init: Path | None,
    *,
    resume: bool,
    kind: type[SelfPlay] | None = None,
) -> SelfPlay:
    """The run in a folder, resumed, or a new one."""
    from ddz_agents.neural.weights import load_weights
    from ddz_training.learn.errors import InvalidTrainingError
    from ddz_training.learn.ppo.selfplay import SelfPlay
    from ddz_training.learn.run import CHECKPOINT, refuse_to_overwrite

    if resume:
        if init is not None:
            raise InvalidTrainingError("--resume continues with the run's own weights: leave out --init")
        return (kind or SelfPlay).resume(out / CHECKPOINT, threads, settings)
    refuse_to_overwrite(out)
    start = None if init is None else load_weights(init)
    kind = kind or SelfPlay
    config = kind.config_type() if start is None else kind.config_type(architecture=start.policy.architecture)
    run = kind(config.changed(settings), threads, start)
    run.provenance = run.provenance.reading("--init", init)
    return run


@app.command(
    epilog=examples(
        "ddz train imitate --out warm.safetensors --decisions 500000",
        "ddz train imitate --out warm.safetensors --data runs/games",
    )
)
def imitate(
    out: Annotated[
        Path,
        typer.Option(
            help="New file for the weights; start from them with selfplay --init.",
            callback=output_file(WEIGHTS, new=True),
        ),
    ],
    decisions: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Decisions to learn from; 2,000,000 by default, with --data no more than ten times those in the set.",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="Imitate a data set of ddz record, by its visits if it has them, instead of the rule agent.",
            callback=input_file,
        ),
    ] = None,
    init: Annotated[
        Path | None, typer.Option(help="With --data: start from these weights.", callback=input_file)
    ] = None,
    rules: Annotated[
        str | None, typer.Option(help=f"{RULES} standard by default, with --data the rules of its games.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of deals, actions and weights.")] = 0,
    threads: Threads = None,
    tensorboard: TensorBoard = None,
) -> None:
    """Learn a warm start by imitating the rule agent, or the recorded games of another."""
    from ddz_agents.neural.network import PolicyNetwork
    from ddz_agents.neural.weights import Weights, load_weights, save_weights
    from ddz_training.data.games import games_file
    from ddz_training.learn.board import board
    from ddz_training.learn.errors import InvalidTrainingError
    from ddz_training.learn.imitation import Imitation, RecordedLessons, random_policy, rules_teacher
    from ddz_training.learn.recorded import load_recorded
    from ddz_training.learn.run import SOURCE
    from ddz_training.measure.match.one_writer import writing
    from ddz_training.measure.match.provenance import Provenance

    if init is not None and data is None:
        raise InvalidTrainingError("--init goes with --data: the rule agent is imitated from random weights")
    start = load_weights(init).policy if init is not None else None
    rules = rules or "standard" if data is None else _rules_of(data, rules)
    recorded = load_recorded(data) if data is not None else None
    config = _imitation(decisions, recorded, rules, seed, start)
    learned = 0
    advice = "the weights have learned from fewer decisions"
    with writing(out) as file, stopping(advice) as asked, board(tensorboard) as curves:
        with share_bar() as progress:
            bar = progress.add_task("imitating", total=config.decisions, state="")

            def on_step(now: ImitationProgress) -> None:
                nonlocal learned
                learned = now.decisions
                state = f"agrees in {100 * now.agreement:.0f} %, loss {now.loss:.3f}"
                progress.update(bar, completed=learned, state=state)
                curves.add_line(now)

            if recorded is None:
                untaught = random_policy(PolicyNetwork, config)
                policy = Imitation(config, untaught, rules_teacher(config), threads).run(on_step, asked)
            else:
                policy = RecordedLessons(config, recorded, start, threads).run(on_step, asked)
        notes = {"imitates": data.name if data else "rules", "decisions": learned, "seed": seed}
        notes |= (
            Provenance.of((), *SOURCE).reading("--data", data and games_file(data)).reading("--init", init).settings()
        )
        # With --init, too: its values belonged to the layers below them as they were.
        save_weights(file, Weights(policy, None, rules, "win", notes, values_trained=False))
        tell(f"{quoted(out)} after {learned} decisions")
    further = ("train", "selfplay", "--out", "runs/selfplay", "--minutes", "60", "--init", out)
    follow("to learn on from it by self-play", *further, *rules_option(rules))


def _rules_of(data: Path, wanted: str | None) -> str:
    """The preset of a data set; another one that is wanted is refused."""
    from ddz_env import Rules
    from ddz_training.data.table import rules_of_tables
    from ddz_training.learn.errors import InvalidTrainingError

    played = rules_of_tables(data)
    if wanted is not None and Rules.preset(wanted) != played:
        raise InvalidTrainingError(f"{data} was played under the {played.name} rules, not {wanted}: leave out --rules")
    return played.name


def _imitation(
    decisions: int | None, recorded: RecordedSet | None, rules: str, seed: int, start: PolicyNetwork | None
) -> ImitationConfig:
    """The settings of an imitation: of a data set, few passes by default, and a word of warning of many."""
    from ddz_agents.neural.architecture import Architecture
    from ddz_training.learn.imitation import MANY_PASSES, PASSES, ImitationConfig

    architecture = start.architecture if start is not None else Architecture()
    config = ImitationConfig(rules=rules, seed=seed, architecture=architecture)
    if recorded is None or not len(recorded):
        return dataclasses.replace(config, decisions=decisions or config.decisions)
    most = PASSES * len(recorded)
    if decisions is not None and decisions > MANY_PASSES * len(recorded):
        complain(
            f"--decisions {decisions} goes through the {len(recorded)} decisions of the data set "
            f"{decisions // len(recorded)} times and may learn them by heart; by default it would be {PASSES} times"
        )
    return dataclasses.replace(config, decisions=decisions or min(config.decisions, most))


@app.command(
    epilog=examples(
        "ddz train distil --out student.safetensors",
        "ddz train distil teacher.safetensors --out student.safetensors",
    )
)
def distil(
    context: typer.Context,
    policy: Annotated[
        Path | None, typer.Argument(help="The teacher's weights; the shipped policy by default.", callback=input_file)
    ] = None,
    out: Annotated[
        Path, typer.Option(help="File of the run; export --standalone reads it.", callback=output_file(WEIGHTS))
    ] = Path(f"student{WEIGHTS}"),
    decisions: Annotated[int, typer.Option(min=1, help="Decisions to learn from.")] = 2_000_000,
    resume: Annotated[bool, typer.Option("--resume", help="Resume the run in --out.")] = False,
    allow_other_code: OtherCode = False,
    rules: Preset = "standard",
    seed: Annotated[int, typer.Option(min=0, help="Seed of deals, actions and weights.")] = 0,
    threads: Threads = None,
    tensorboard: TensorBoard = None,
) -> None:
    """Teach a policy to one that needs nothing of this package, once export --standalone has written it."""
    from ddz_training.learn.board import board
    from ddz_training.learn.distillation import ARCHITECTURE, Distillation
    from ddz_training.learn.imitation import ImitationConfig
    from ddz_training.measure.match.one_writer import writing
    from ddz_training.measure.match.provenance import other_code

    config = ImitationConfig(decisions=decisions, rules=rules, seed=seed, architecture=ARCHITECTURE)
    again = f"go on with: {resuming(context)}"
    with other_code(allow_other_code), writing(out) as file, stopping(again) as asked:
        if resume:
            run = Distillation.resume(file, config, policy, threads)
        else:
            check_new(out, "add --resume to continue it, or name another file")
            run = Distillation(config, policy, threads)
        with board(tensorboard, run.decisions if resume else 0) as curves, share_bar() as progress:
            bar = progress.add_task("distilling", total=decisions, state="", completed=run.decisions)

            def on_step(now: ImitationProgress) -> None:
                state = f"agrees in {100 * now.agreement:.0f} %, loss {now.loss:.3f}"
                progress.update(bar, completed=now.decisions, state=state)
                curves.add_line(now)

            run.run(file, on_step, asked)
        tell(f"{quoted(out)} after {run.decisions} decisions")
    follow("to write it for any ONNX runtime", "export", out, "--standalone", "--out", out.with_suffix(".onnx"))


@app.command(
    epilog=examples(
        "ddz train curves runs/first --plot curves.png",
        "ddz train curves first=runs/first second=runs/second --out results",
        "ddz train curves --out results --plot curves.png",
    )
)
def curves(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            help="Folders of runs of selfplay, dmc, sb3 or exploit in order, as NAME=FOLDER; if none, the files in "
            "--out."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for training_curves.csv and training_evaluations.csv; the last run's by default.",
            callback=output_folder,
        ),
    ] = None,
    add: Annotated[
        bool, typer.Option("--add", help="Keep the stages in --out; one of the same name is replaced where it stands.")
    ] = False,
    plot: Plot = None,
) -> None:
    """Join and plot the curves of runs of selfplay, dmc, sb3 or exploit, each a stage that went on from the last."""
    from ddz_training.experiments.training_curves import (
        TAKEN,
        load_training,
        plot_training,
        read_run,
        save_training,
        stage_table,
    )
    from ddz_training.measure.match.errors import InvalidExperimentError

    named = list(map(_named, runs or ()))
    if not named and out is None:
        raise InvalidExperimentError(f"name folders of runs ({TAKEN}), or --out with the files of an earlier call")
    folder = out or named[-1][1]
    if named:
        read = {name: read_run(name, run) for name, run in named}
        known = {stage.name: stage for stage in load_training(folder)} if add else {}
        save_training([*(known | read).values()], folder)
    stages = load_training(folder)
    show(stage_table(stages))
    draw(plot, lambda path: plot_training(stages, path))
    if plot is None:
        follow("to see it", "train", "curves", "--out", folder, "--plot", folder / "training_curves.png")


def _named(run: str) -> tuple[str, Path]:
    """A stage's name and folder; a folder alone is its own name.

    Example:
        >>> [(name, folder.as_posix()) for name, folder in map(_named, ("first=runs/a", "runs/b"))]
        [('first', 'runs/a'), ('b', 'runs/b')]
    """
    name, _, folder = run.rpartition("=")
    return name or Path(folder).name, Path(folder)
