"""``ddz demo``, which ``make demo`` runs: a game, a policy that learns, a benchmark of everybody, and a report."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.rule import Rule
from rich.text import Text

from ddz_env.core.errors import plural
from ddz_training.apps.cli.arena import run_with_progress
from ddz_training.apps.cli.console import console, quoted, remark, share_bar, tell
from ddz_training.apps.cli.experiment import show
from ddz_training.apps.cli.following import follow
from ddz_training.apps.cli.options import OnRay
from ddz_training.apps.cli.outputs import output_folder
from ddz_training.apps.cli.tables import note, results_table

if TYPE_CHECKING:
    from rich.console import Console

    from ddz_env import State
    from ddz_training.apps.demo.fresh import LearningPoint
    from ddz_training.experiments.experiment import Table
    from ddz_training.learn.curves import CurveLine
    from ddz_training.learn.ppo.config import SelfPlayConfig
    from ddz_training.measure.match.statistics import AgentResult

LANDLORD, PEASANT = "isuct", "rules"
"""Who plays the game that is shown."""

SCORING = "win"
"""Of the tables."""

_SHOWN_MOVES = 9


def demo(
    minutes: Annotated[float, typer.Option(min=0.01, help="Minutes of training for the fresh policy.")] = 1.0,
    deals: Annotated[int, typer.Option(min=1, help="Duplicate deals for each pair of agents; each is two games.")] = 16,
    milliseconds: Annotated[
        float, typer.Option(min=0.1, help="Milliseconds that a search may spend on a decision.")
    ] = 20.0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of deals, agents and training.")] = 0,
    processes: Annotated[int, typer.Option(min=1, help="Worker processes of the benchmark.")] = 2,
    ray: OnRay = False,
    out: Annotated[
        Path,
        typer.Option(
            help="Folder for the report, its pictures and the fresh policy; existing ones are replaced.",
            callback=output_folder,
        ),
    ] = Path("demo-report"),
) -> None:
    """Watch a game, train a policy for a minute, and compare it with the shipped one, searches and baselines."""
    import torch  # noqa: F401  # says at once what is not installed

    from ddz_training.apps.cli.demo_report import Shown, compose
    from ddz_training.apps.demo.entrants import ENTRANTS, specifications
    from ddz_training.measure.match.round_robin import Arena
    from ddz_training.measure.match.statistics import standings, summarize

    began, screen, training = time.perf_counter(), console(), out / "training"
    names = specifications(ENTRANTS, training / "policy.safetensors", milliseconds)
    _show_game(screen, seed)
    points, config = _train(screen, training, minutes, seed)
    _warm_up(screen, names)
    arena = Arena(tuple(names), seed=seed, names=tuple(names.values()))
    screen.print(Rule(f"benchmark: every pair on {deals} deals, each played from both sides", align="left"))
    records = run_with_progress(arena, deals, processes=processes)
    ranking, pairs = standings(records), summarize(records)
    show(results_table(ranking, "Against all others", SCORING, ("agent",)))
    show(_matrix_table(pairs, [result.agent for result in ranking]))
    remark(note(SCORING))
    options = {"--minutes": minutes, "--deals": deals, "--milliseconds": milliseconds, "--seed": seed}
    shown = Shown(out, options, names, config, points, ranking, pairs, len(records), time.perf_counter() - began)
    path = compose(shown).write(out)
    tell(f"{plural(len(records), 'game')}; the report is {quoted(path)}", screen=screen)
    follow("to train a policy of your own for longer", "train", "selfplay", "--out", "runs/first", "--minutes", "60")


def _show_game(screen: Console, seed: int) -> None:
    """An excerpt of one game: information-set UCT as landlord against two rule agents."""
    from ddz_env import State
    from ddz_env.playing.game import play_game, seat_generators
    from ddz_env.playing.registry import make_agent

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
    from ddz_env.table.render import render_ansi

    screen.print(Text.from_ansi(render_ansi(state, width=screen.width)))


def _train(screen: Console, folder: Path, minutes: float, seed: int) -> tuple[list[LearningPoint], SelfPlayConfig]:
    """Train the fresh policy under a bar, and draw its learning curve."""
    from ddz_training.apps.demo.fresh import demonstration_settings, train_fresh
    from ddz_training.apps.demo.report import percent_chart

    config = demonstration_settings(seed)
    screen.print(Rule(f"learning: PPO by self-play from random weights, {minutes:g} min", align="left"))
    with _training_bar(minutes) as (on_update, on_points):
        points = train_fresh(config, folder, minutes, on_update=on_update, on_points=on_points)
    deals = config.evaluate_deals
    remark(f"Win rate of the fresh policy while it learns, {deals} duplicate deals a point:", "bold", screen=screen)
    series = {f"against {name}": [p.wins for p in points if p.opponent == name] for name in config.opponents}
    for line in percent_chart(series):
        tell(line, screen=screen)
    learned = f"{points[-1].decisions:,} decisions in {points[-1].seconds:.0f} seconds"
    remark(f"       {learned}\n", None, screen=screen)
    return points, config


def _warm_up(screen: Console, specifications: Iterable[str]) -> None:
    """Compile every agent's kernels, so that the benchmark's processes find them in the cache."""
    from ddz_env import Rules
    from ddz_env.playing.registry import make_agent
    from ddz_training.measure.match.timing import warm_up

    with screen.status("making the agents ready (the first time, compiling takes half a minute) ..."):
        for specification in specifications:
            warm_up(functools.partial(make_agent, specification), Rules())


@contextmanager
def _training_bar(
    minutes: float,
) -> Iterator[tuple[Callable[[CurveLine], None], Callable[[Sequence[LearningPoint]], None]]]:
    """A bar of the time, with how far the run is and how strong the policy was when last measured."""
    with share_bar() as progress:
        bar, strength = progress.add_task("training", total=60 * minutes, state="compiling"), ""

        def on_update(line: CurveLine) -> None:
            progress.update(bar, completed=line.seconds, state=f"{plural(line.games, 'game')}{strength}")

        def on_points(points: Sequence[LearningPoint]) -> None:
            nonlocal strength
            rates = ", ".join(f"{100 * point.wins:.0f} % against {point.opponent}" for point in points)
            strength = f" · wins {rates}"

        yield on_update, on_points


def _matrix_table(pairs: Sequence[AgentResult], order: Sequence[str]) -> Table:
    """Everybody against everybody; columns are numbered as the rows are."""
    from ddz_training.apps.demo.report import win_matrix
    from ddz_training.experiments.experiment import Table

    header = ("agent", *(str(number) for number in range(1, len(order) + 1)))
    return Table("Pair by pair: win %, row against column", header, win_matrix(pairs, order))
