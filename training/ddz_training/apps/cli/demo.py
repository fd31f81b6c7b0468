"""``ddz demo``, which ``make demo`` runs: a game, a policy that learns, a benchmark of everybody, and a report."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from ddz_env import Rules, State
from ddz_env.core.errors import command_line, plural
from ddz_env.core.whole_file import replace_file
from ddz_env.playing.game import play_game, seat_generators
from ddz_env.playing.registry import make_agent
from ddz_training.apps.cli.commands import follow
from ddz_training.apps.cli.console import console, quoted, remark, share_bar, show, tell
from ddz_training.apps.cli.lazily import lazily
from ddz_training.apps.cli.measure import run_with_progress
from ddz_training.apps.cli.options import Count, Natural, OnRay, OutputFolder
from ddz_training.apps.cli.results import note, results_table
from ddz_training.experiments.experiment import Table
from ddz_training.measure.speed.benchmark import machine, machine_lines

with lazily():
    from ddz_env.table import render as table_render
    from ddz_training.apps import demo as demonstration
    from ddz_training.measure import plotting
    from ddz_training.measure.match import round_robin, statistics, timing

LANDLORD, PEASANT = "isuct", "rules"
"""Who plays the game that is shown."""

SCORING = "win"
"""Of the tables."""

_SHOWN_MOVES = 9
_PAIRS = (
    "Games won by the agent of the row against that of the column, in per cent, with half the 95 % interval; "
    "none where every deal ended alike."
)


def demo(
    minutes: Annotated[float, typer.Option(min=0.01)] = 1.0,
    deals: Count = 16,
    milliseconds: Annotated[float, typer.Option(min=0.1)] = 20.0,
    seed: Natural = 0,
    processes: Count = 2,
    ray: OnRay = False,
    out: OutputFolder = Path("demo-report"),
) -> None:
    """Watch a game, train a policy for a minute, and compare it with the shipped one, searches and baselines.

    Options:
        minutes: Minutes of training for the fresh policy.
        deals: Duplicate deals for each pair of agents; each is two games.
        milliseconds: Milliseconds that a search may spend on a decision.
        seed: Seed of deals, agents and training.
        processes: Worker processes of the benchmark.
        out: Folder for the report, its pictures and the fresh policy; existing ones are replaced.

    Example:
        ddz demo --minutes 2 --out demo-report
    """
    import torch  # noqa: F401  # says at once what is not installed

    began, screen, training = time.perf_counter(), console(), out / "training"
    names = demonstration.specifications(training / "policy.safetensors", milliseconds)
    _show_game(screen, seed)
    points = _train(screen, training, minutes, seed)
    _warm_up(screen, names)
    arena = round_robin.Arena(tuple(names), seed=seed, names=tuple(names.values()))
    screen.print(Rule(f"benchmark: every pair on {deals} deals, each played from both sides", align="left"))
    records = run_with_progress(arena, deals, processes=processes)
    ranking = statistics.standings(records)
    order = [result.agent for result in ranking]
    played = f"{plural(len(records), 'game')}: every pair played the same {deals} deals, each from both sides. "
    standings = dataclasses.replace(
        results_table(ranking, "Against all others", SCORING, ("agent",)), note=played + note(SCORING)
    )
    matrix = demonstration.win_matrix(statistics.summarize(records), order)
    numbers = [str(number) for number in range(1, len(order) + 1)]
    pairs = Table("Pair by pair: win %, row against column", ("agent", *numbers), matrix, _PAIRS)
    for table in (standings, pairs):
        show(table)
    options = {"--minutes": minutes, "--deals": deals, "--milliseconds": milliseconds, "--seed": seed}
    took = f"{(time.perf_counter() - began) / 60:.1f} minutes"
    about, versions = machine_lines(machine())
    tables = (
        standings,
        pairs,
        _learning(points),
        Table("The agents", ("name", "for ddz arena"), [(name, agent) for agent, name in names.items()]),
        _commands(out, options, names),
        Table("The machine", ("machine", "versions", "the demonstration took"), [(about, versions, took)]),
    )
    pictures = {}
    if plotting.can_plot():
        pictures = {standings.title: out / "strength.png", tables[2].title: out / "learning-curve.png"}
        demonstration.draw_strengths(ranking, pictures[standings.title])
        demonstration.draw_learning(points, pictures[tables[2].title])
    page = out / "report.html"
    replace_file(page, demonstration.report("Dou Dizhu: what ddz demo found", tables, pictures).encode())
    tell(f"{plural(len(records), 'game')}; the report is {quoted(page)}", screen=screen)
    follow("to train a policy of your own for longer", "train", "selfplay", "--out", "runs/first", "--minutes", "60")


def _show_game(screen: Console, seed: int) -> None:
    """An excerpt of one game: information-set UCT as landlord against two rule agents."""
    screen.print(Rule("a game: information-set UCT is the landlord, rule agents are the peasants", align="left"))
    start = State.new(seed)
    _render(screen, start)
    with screen.status("thinking (the first time on a machine, compiling takes half a minute) ..."):
        final = start.copy()
        agents = [make_agent(LANDLORD), make_agent(PEASANT), make_agent(PEASANT)]
        play_game(final, agents, seat_generators([seed, 0, 0], 3))
    moves = final.history
    for seat, move in moves[:_SHOWN_MOVES]:
        name = f"seat {seat}  {start.role(seat) or '':<13}"
        tell(f"  {name.replace('_', ' ')}  {move}", screen=screen)
    remark(f"  ... {max(0, len(moves) - _SHOWN_MOVES)} moves later:\n", None, screen=screen)
    _render(screen, final)
    screen.print()


def _render(screen: Console, state: State) -> None:

    screen.print(Text.from_ansi(table_render.render_ansi(state, width=screen.width)))


def _train(screen: Console, folder: Path, minutes: float, seed: int) -> list[demonstration.LearningPoint]:
    """Train the fresh policy under a bar, and draw its learning curve."""
    config, strength = demonstration.demonstration_settings(seed), ""
    screen.print(Rule(f"learning: PPO by self-play from random weights, {minutes:g} min", align="left"))
    with share_bar() as progress:
        bar = progress.add_task("training", total=60 * minutes, state="compiling")

        def on_update(line: Any) -> None:
            progress.update(bar, completed=line.seconds, state=f"{plural(line.games, 'game')}{strength}")

        def on_points(points: Sequence[demonstration.LearningPoint]) -> None:
            nonlocal strength
            rates = ", ".join(f"{100 * one.found.wins:.0f} % against {one.found.opponent}" for one in points)
            strength = f" · wins {rates}"

        points = demonstration.train_fresh(config, folder, minutes, on_update=on_update, on_points=on_points)
    deals = config.evaluate_deals
    remark(f"Win rate of the fresh policy while it learns, {deals} duplicate deals a point:", "bold", screen=screen)
    found = [point.found for point in points]
    series = {f"against {name}": [one.wins for one in found if one.opponent == name] for name in config.opponents}
    for line in demonstration.percent_chart(series):
        tell(line, screen=screen)
    learned = f"{points[-1].decisions:,} decisions in {points[-1].seconds:.0f} seconds"
    remark(f"       {learned}\n", None, screen=screen)
    return points


def _warm_up(screen: Console, specifications: Iterable[str]) -> None:
    """Compile every agent's kernels, so that the benchmark's processes find them in the cache."""
    with screen.status("making the agents ready (the first time, compiling takes half a minute) ..."):
        for specification in specifications:
            timing.warm_up(functools.partial(make_agent, specification), Rules())


# --- the report --------------------------------------------------------------


def _learning(points: Sequence[demonstration.LearningPoint]) -> Table:
    last = points[-1]
    about = (
        f"The fresh policy began with random weights and learned by playing against itself (PPO): {last.decisions:,} "
        f"decisions in {last.seconds:.0f} seconds, compilation and measurements not counted. Its strength was measured "
        f"on {last.found.deals} duplicate deals against each opponent, none of them deals of the benchmark. "
        "It depends on the speed of the machine."
    )
    rows = [
        (f"{seconds:.0f}", f"{decisions:,}", found.opponent, found.interval.both(".0f", to="–"))
        for seconds, decisions, found in points
    ]
    return Table("Learning curve", ("seconds", "decisions", "against", "win %"), rows, about)


def _commands(out: Path, options: Mapping[str, float], names: Iterable[str]) -> Table:
    """The commands that do the same again, together and part by part."""
    given = {name: [name, f"{value:g}"] for name, value in options.items()}
    settings = [part for name, value in demonstration.SETTINGS.items() for part in ("--set", f"{name}={value}")]
    training = [*given["--minutes"], *given["--seed"], *settings]
    commands = {
        "the whole of it": ("demo", *itertools.chain(*given.values()), "--out", out),
        "the training": ("train", "selfplay", "--out", out / "again", *training),
        "the benchmark": ("arena", *names, *given["--deals"], *given["--seed"]),
    }
    lines = [(what, command_line("ddz", *words)) for what, words in commands.items()]
    return Table("Commands", ("what", "command"), lines)
