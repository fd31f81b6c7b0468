"""``ddz train``: learning."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import Progress

from training.cli.bars import share_bar
from training.cli.console import console, error_console
from training.cli.evaluations import evaluation_table
from training.cli.friendly import EXIT_INTERRUPTED, FriendlyGroup
from training.cli.stopping import stopping
from training.cli.train_curves import curves
from training.cli.train_sb3 import sb3, sb3_aec

if TYPE_CHECKING:
    from training.ppo.run import Budget, Evaluation
    from training.ppo.selfplay import Progress as Curve
    from training.ppo.selfplay import SelfPlay

app = typer.Typer(
    cls=FriendlyGroup,
    help="Train policies.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

Set = Annotated[
    list[str] | None,
    typer.Option("--set", help="Any other setting, name=value (learning_rate=0.001, architecture.width=512 ...)."),
]


@app.callback()
def _options() -> None:
    """Train policies."""


app.command()(sb3)
app.command("sb3-aec")(sb3_aec)
app.command()(curves)


@app.command()
def selfplay(
    out: Annotated[Path, typer.Option(help="Folder for the policy, the checkpoint and the curves.")],
    minutes: Annotated[
        float | None, typer.Option(help="Minutes of training in all, those before --resume included.")
    ] = None,
    updates: Annotated[int | None, typer.Option(help="Updates in all, those before --resume included.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the checkpoint in --out.")] = False,
    init: Annotated[Path | None, typer.Option(help="Start from these weights, of imitation for example.")] = None,
    rules: Annotated[str | None, typer.Option(help="Rules preset (ddz rules); standard by default.")] = None,
    objective: Annotated[str | None, typer.Option(help="win (default) or stake.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of deals, actions and weights; 0 by default.")] = None,
    threads: Annotated[int | None, typer.Option(help="Threads; results do not depend on them.")] = None,
    settings: Set = None,
) -> None:
    """Learn all three roles by playing against oneself (PPO, with a critic that sees every hand)."""
    from training.ppo.run import CHECKPOINT, POLICY, Budget, train
    from training.ppo.settings import parse_settings

    budget = Budget(updates, minutes)
    named = {"rules": rules, "objective": objective, "seed": seed}
    given = {name: value for name, value in named.items() if value is not None} | parse_settings(settings or ())
    run = _resumed(out / CHECKPOINT, threads, given, init) if resume else _new(out, threads, given, init)
    with stopping() as asked, _bar(run, budget) as (on_update, on_evaluation):
        train(run, out, budget, on_update=on_update, on_evaluation=on_evaluation, stop=asked)
    run.close()
    console().print(f"{out / POLICY} after {run.counters.update} updates", markup=False, soft_wrap=True)
    if asked():
        error_console().print("stopped; go on with --resume", style="bold red")
        raise typer.Exit(EXIT_INTERRUPTED)


@app.command()
def imitate(
    out: Annotated[Path, typer.Option(help="File for the weights; start from them with selfplay --init.")],
    decisions: Annotated[int, typer.Option(min=1, help="Decisions to learn from.")] = 2_000_000,
    visits: Annotated[
        Path | None, typer.Option(help="Imitate these recorded visits instead of the rule agent.")
    ] = None,
    init: Annotated[Path | None, typer.Option(help="With --visits: go on with these weights.")] = None,
    rules: Annotated[str, typer.Option(help="Rules preset (ddz rules).")] = "standard",
    seed: Annotated[int, typer.Option(min=0, help="Seed of deals, actions and weights.")] = 0,
    threads: Annotated[int | None, typer.Option(help="Threads; results do not depend on them.")] = None,
) -> None:
    """Learn a warm start by imitating the rule agent, or the visit counts of a search."""
    from agents.neural.network import Architecture
    from agents.neural.tensor_file import check_writable
    from agents.neural.weights import Weights, load_weights, save_weights
    from training.ppo.errors import InvalidTrainingError
    from training.ppo.imitation import ImitationConfig, ImitationProgress, RulesImitation, imitate_visits
    from training.ppo.visits import load_visits

    if init is not None and visits is None:
        raise InvalidTrainingError("--init goes with --visits: the rule agent is imitated from the start")
    check_writable(out)
    start = load_weights(init).policy if init is not None else None
    architecture = start.architecture if start is not None else Architecture()
    config = ImitationConfig(decisions=decisions, rules=rules, seed=seed, architecture=architecture)
    last = ImitationProgress(0, 0.0, 0.0, 0.0)
    with stopping() as asked, Progress(console=error_console()) as progress:
        bar = progress.add_task("imitating", total=decisions)

        def on_step(now: ImitationProgress) -> None:
            nonlocal last
            last = now
            text = f"imitating: agrees in {100 * now.agreement:.0f} %, loss {now.loss:.3f}"
            progress.update(bar, completed=now.decisions, description=text)

        if visits is None:
            policy = RulesImitation(config, threads).run(on_step, asked)
        else:
            policy = imitate_visits(load_visits(visits), config, threads, start, on_step, asked)
    notes = {"imitates": str(visits.name) if visits else "rules", "decisions": last.decisions, "seed": seed}
    # With --init, too: its values belonged to the layers below them as they were.
    save_weights(out, Weights(policy, None, rules, "win", notes, values_trained=False))
    console().print(f"{out} after {last.decisions} decisions", markup=False, soft_wrap=True)
    if asked():
        error_console().print("stopped: the weights are those of fewer decisions", style="bold red")
        raise typer.Exit(EXIT_INTERRUPTED)


@app.command()
def record(
    agent: Annotated[str, typer.Argument(help="A search agent (isuct:iterations=2000).")],
    out: Annotated[Path, typer.Option(help="File for its decisions; learn from them with imitate --visits.")],
    games: Annotated[int, typer.Option(min=1, help="Games that it plays against itself.")] = 100,
    rules: Annotated[str, typer.Option(help="Rules preset (ddz rules).")] = "standard",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the deals and the agent.")] = 0,
) -> None:
    """Record the decisions of a search agent with its visit counts; a file with fewer such games is gone on with."""
    from agents.neural.tensor_file import check_writable
    from training.ppo.visits import record_to_file

    check_writable(out)
    with Progress(console=error_console()) as progress:
        bar = progress.add_task("games", total=games)
        found = record_to_file(
            out, agent, games, rules=rules, seed=seed, on_game=lambda done: progress.update(bar, completed=done)
        )
    console().print(f"{out}: {len(found.observations)} decisions", markup=False, soft_wrap=True)


def _new(out: Path, threads: int | None, settings: dict[str, Any], init: Path | None) -> SelfPlay:
    from training.ppo.run import refuse_to_overwrite
    from training.ppo.selfplay import SelfPlay
    from training.ppo.settings import configure

    refuse_to_overwrite(out)
    if init is None:
        return SelfPlay(configure(settings), threads)
    from agents.neural.weights import load_weights

    start = load_weights(init)
    return SelfPlay(configure(settings, start.policy.architecture), threads, start)


def _resumed(path: Path, threads: int | None, settings: dict[str, Any], init: Path | None) -> SelfPlay:
    from training.ppo.checkpoint import load_checkpoint
    from training.ppo.errors import InvalidTrainingError

    if init is not None:
        raise InvalidTrainingError("--resume goes on with the run's own weights: leave out --init")
    return load_checkpoint(path, threads, settings)


@contextmanager
def _bar(
    run: SelfPlay, budget: Budget
) -> Iterator[tuple[Callable[[Curve], None], Callable[[Sequence[Evaluation]], None]]]:
    """A bar of the budget, a line of what the run is doing, and a table for every evaluation."""
    with share_bar("state") as progress:
        bar = progress.add_task("training", total=1.0, state="")
        progress.update(bar, completed=budget.share(run))
        begun = run.counters.decisions, run.counters.seconds

        def on_update(curve: Curve) -> None:
            speed = (curve.decisions - begun[0]) / max(curve.seconds - begun[1], 1e-9)
            state = (
                f"update {curve.update} · {curve.games:,} games · {speed:,.0f} decisions/s · "
                f"entropy {curve.entropy:.2f} · critic explains {100 * curve.explained:.0f} %"
            )
            progress.update(bar, completed=budget.share(run), state=state)

        def on_evaluation(found: Sequence[Evaluation]) -> None:
            if found:
                progress.console.print(evaluation_table(found))

        yield on_update, on_evaluation
