"""``ddz demo``, which ``make demo`` runs: a game, a policy that learns, a benchmark of everybody, and a report."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from ddz_env import Rules, State
from ddz_env.core.errors import command_line, plural
from ddz_env.playing.game import play_game, seat_generators
from ddz_env.playing.registry import make_agent
from ddz_training.apps.cli.commands import follow
from ddz_training.apps.cli.console import console, quoted, remark, share_bar, show, tell
from ddz_training.apps.cli.lazily import lazily
from ddz_training.apps.cli.measure import milliseconds as milliseconds_text
from ddz_training.apps.cli.measure import note, results_table, run_with_progress
from ddz_training.apps.cli.options import Count, Natural, OnRay, OutputFolder
from ddz_training.experiments.experiment import Table
from ddz_training.measure.speed.benchmark import machine, machine_lines

with lazily:
    from ddz_env.table import render as table_render
    from ddz_training.apps.demo import entrants, fresh
    from ddz_training.apps.demo import report as demo_page
    from ddz_training.learn import curves as learn_curves
    from ddz_training.learn.ppo import config as ppo_config
    from ddz_training.measure import plotting
    from ddz_training.measure.match import round_robin, statistics, timing

LANDLORD, PEASANT = "isuct", "rules"
"""Who plays the game that is shown."""

SCORING = "win"
"""Of the tables."""

_SHOWN_MOVES = 9
CURVE, STRENGTH = "learning-curve.png", "strength.png"
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
    names = entrants.specifications(entrants.ENTRANTS, training / "policy.safetensors", milliseconds)
    _show_game(screen, seed)
    points, config = _train(screen, training, minutes, seed)
    _warm_up(screen, names)
    arena = round_robin.Arena(tuple(names), seed=seed, names=tuple(names.values()))
    screen.print(Rule(f"benchmark: every pair on {deals} deals, each played from both sides", align="left"))
    records = run_with_progress(arena, deals, processes=processes)
    ranking, pairs = statistics.standings(records), statistics.summarize(records)
    order = [result.agent for result in ranking]
    numbers, matrix = [str(number) for number in range(1, len(order) + 1)], demo_page.win_matrix(pairs, order)
    show(results_table(ranking, "Against all others", SCORING, ("agent",)))
    show(Table("Pair by pair: win %, row against column", ("agent", *numbers), matrix))
    remark(note(SCORING))
    options = {"--minutes": minutes, "--deals": deals, "--milliseconds": milliseconds, "--seed": seed}
    about, versions = machine_lines(machine())
    took = (time.perf_counter() - began) / 60
    sections = (
        _standings(ranking, len(records), deals),
        demo_page.Section("Pair by pair", (_PAIRS,), headings=("", *numbers), rows=matrix),
        _learning(points, config),
        demo_page.Section(
            "The agents", headings=("name", "for ddz arena"), rows=[(name, agent) for agent, name in names.items()]
        ),
        _commands(out, options, names),
        demo_page.Section("The machine", (f"{about}; the demonstration took {took:.1f} minutes.", versions)),
    )
    pictures: dict[str, bytes] = {}
    if plotting.can_plot():
        pictures = {CURVE: demo_page.learning_curve(points), STRENGTH: demo_page.strength_bars(ranking)}
    path = demo_page.Page("Dou Dizhu: what ddz demo found", sections, pictures).write(out)
    tell(f"{plural(len(records), 'game')}; the report is {quoted(path)}", screen=screen)
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


def _train(
    screen: Console, folder: Path, minutes: float, seed: int
) -> tuple[list[fresh.LearningPoint], ppo_config.SelfPlayConfig]:
    """Train the fresh policy under a bar, and draw its learning curve."""
    config = fresh.demonstration_settings(seed)
    screen.print(Rule(f"learning: PPO by self-play from random weights, {minutes:g} min", align="left"))
    with _training_bar(minutes) as (on_update, on_points):
        points = fresh.train_fresh(config, folder, minutes, on_update=on_update, on_points=on_points)
    deals = config.evaluate_deals
    remark(f"Win rate of the fresh policy while it learns, {deals} duplicate deals a point:", "bold", screen=screen)
    series = {f"against {name}": [p.wins for p in points if p.opponent == name] for name in config.opponents}
    for line in demo_page.percent_chart(series):
        tell(line, screen=screen)
    learned = f"{points[-1].decisions:,} decisions in {points[-1].seconds:.0f} seconds"
    remark(f"       {learned}\n", None, screen=screen)
    return points, config


def _warm_up(screen: Console, specifications: Iterable[str]) -> None:
    """Compile every agent's kernels, so that the benchmark's processes find them in the cache."""
    with screen.status("making the agents ready (the first time, compiling takes half a minute) ..."):
        for specification in specifications:
            timing.warm_up(functools.partial(make_agent, specification), Rules())


@contextmanager
def _training_bar(
    minutes: float,
) -> Iterator[tuple[Callable[[learn_curves.CurveLine], None], Callable[[Sequence[fresh.LearningPoint]], None]]]:
    """A bar of the time, with how far the run is and how strong the policy was when last measured."""
    with share_bar() as progress:
        bar, strength = progress.add_task("training", total=60 * minutes, state="compiling"), ""

        def on_update(line: learn_curves.CurveLine) -> None:
            progress.update(bar, completed=line.seconds, state=f"{plural(line.games, 'game')}{strength}")

        def on_points(points: Sequence[fresh.LearningPoint]) -> None:
            nonlocal strength
            rates = ", ".join(f"{100 * point.wins:.0f} % against {point.opponent}" for point in points)
            strength = f" · wins {rates}"

        yield on_update, on_points


# --- the report --------------------------------------------------------------


def _standings(ranking: Sequence[statistics.AgentResult], games: int, deals: int) -> demo_page.Section:
    def cells(result: statistics.AgentResult) -> list[str]:
        rates = (result.wins, result.landlord_wins, result.peasant_wins)
        speed = milliseconds_text(result.ms_per_decision)
        return [result.agent, str(result.games), *(rate.percent() for rate in rates), speed]

    played = f"{games} games: every pair of agents played the same {deals:g} deals, each from both sides."
    headings = ("agent", "games", "win %", "as landlord", "as peasants", "ms a decision")
    title, text = "Everybody against all others", (played, note(SCORING))
    return demo_page.Section(title, text, STRENGTH, headings, list(map(cells, ranking)))


def _learning(points: Sequence[fresh.LearningPoint], config: ppo_config.SelfPlayConfig) -> demo_page.Section:
    last = points[-1]
    text = (
        f"The fresh policy began with random weights and learned by playing against itself (PPO): {last.decisions:,} "
        f"decisions in {last.seconds:.0f} seconds, compilation and measurements not counted. Its strength was measured "
        f"on {config.evaluate_deals} duplicate deals against each opponent, none of them deals of the benchmark. "
        "It depends on the speed of the machine.",
    )
    rows = [
        (f"{point.seconds:.0f}", f"{point.decisions:,}", point.opponent, wins.text(".0f"), wins.span(".0f", to="–"))
        for point in points
        for wins in (statistics.Interval(point.wins, point.low, point.high, config.evaluate_deals),)
    ]
    headings = ("seconds", "decisions", "against", "win %", "95 % interval")
    return demo_page.Section("Learning curve", text, CURVE, headings, rows)


def _commands(out: Path, options: Mapping[str, float], names: Mapping[str, str]) -> demo_page.Section:
    """The commands that do the same again, together and part by part."""
    given = {name: f"{value:g}" for name, value in options.items()}
    minutes, deals, seed = (["--" + name, given["--" + name]] for name in ("minutes", "deals", "seed"))
    settings = [part for name, value in fresh.SETTINGS.items() for part in ("--set", f"{name}={value}")]
    commands = (
        ["ddz", "demo", *(part for option in given.items() for part in option), "--out", str(out)],
        ["ddz", "train", "selfplay", "--out", str(out / "again"), *minutes, *seed, *settings],
        ["ddz", "arena", *names, *deals, *seed],
    )
    text = ("The whole of it, the training, and the benchmark:",)
    return demo_page.Section("Commands", text, commands=[command_line(*command) for command in commands])
