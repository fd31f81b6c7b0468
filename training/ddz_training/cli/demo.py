"""The ``ddz demo`` command behind ``make demo``: a game, a policy trained from scratch, a comparison and a report."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click import option

from ddz_env.support.errors import format_command, pluralize
from ddz_training.cli.console import print_prose, print_table, quote_path, suggest_command
from ddz_training.cli.faults import CommandLineError
from ddz_training.cli.options import COUNT, FOLDER, Workers, take_options_of, work_under_bar
from ddz_training.cli.train import train_under_bar

if TYPE_CHECKING:
    from ddz_training.measure.duplicate import GameResult

FRESH_POLICY = "fresh policy"
ENTRANTS = {
    "shipped policy": "policy",
    FRESH_POLICY: "policy:path={fresh}",
    "shipped policy in search": "neural-ismcts:milliseconds={milliseconds:g},particles=0",
    "information-set UCT": "isuct:milliseconds={milliseconds:g}",
    "determinized UCT": "duct:milliseconds={milliseconds:g}",
    "rules": "rules",
    "random": "random",
}
"""Who plays, by what tables call it; ``fresh`` is the file of the new policy, ``milliseconds`` what searches think."""

SETTINGS: dict[str, Any] = {"eval_deals": 50, "eval_freq": 10**9}
"""The strength is measured only at the start and at the end."""

_SCORING = "win"
_PICTURE = "ratings.png"


@click.command()
@option("--minutes", type=click.FloatRange(0.01), default=0.5, help="Minutes of training for the fresh policy.")
@option("--deals", type=COUNT, default=12, help="Duplicate deals for each pair of agents; each is two games.")
@option("--milliseconds", type=click.FloatRange(0.1), default=20.0, help="Milliseconds of a search per decision.")
@option("--seed", default=0, help="Seed of deals, agents and training.")
@option("--out", type=FOLDER, default=Path("demo-report"), help="Folder for report and policy; old ones are replaced.")
@take_options_of(Workers, "workers")
def demo(minutes: float, deals: int, milliseconds: float, seed: int, out: Path, workers: Workers) -> None:
    """Play a game, train a policy from nothing, and compare it with the shipped one, searches and baselines.

    \b
    Example:
      ddz demo --minutes 2 --out demo-report
    """
    import torch  # noqa: F401  # says at once what is not installed

    from ddz_training.learn.loop import POLICY
    from ddz_training.measure.contest import Arena, run_arena
    from ddz_training.measure.store import locked_for_writing

    fresh = out / "training" / POLICY
    if "," in str(fresh):
        raise CommandLineError(f"{fresh} has a comma, which separates options of agents: name a folder without one")
    click.get_current_context().with_resource(locked_for_writing(out, folder=True))
    values = {"fresh": fresh.as_posix(), "milliseconds": milliseconds}
    agents = {name: text.format(**values) for name, text in ENTRANTS.items()}
    print_prose("A game of the environment: random play among those of the 400 actions that are legal", bold=True)
    _show_game(seed)
    print_prose(f"PPO by self-play from random weights, {minutes:g} min", bold=True)
    _train_fresh_policy(fresh.parent, minutes, seed)
    print_prose(f"Every pair on {deals} deals, each played from both sides", bold=True)
    arena = Arena(tuple(agents.values()), seed=seed, names=tuple(agents))
    with work_under_bar("deals × pairs", workers) as how:
        records = run_arena(arena, deals, **how)
    compared = format_command("ddz", "arena", *agents.values(), "--deals", deals, "--seed", seed)
    _write_report(records, compared, out)
    suggest_command("to play against the fresh policy", "play", "--agents", agents[FRESH_POLICY])
    prior = f"neural-ismcts:path={values['fresh']}"
    suggest_command(
        "to see what its prior is worth inside the search", "arena", prior, agents[FRESH_POLICY], "--deals", 20
    )
    longer = ("train", "selfplay", "--out", "runs/first", "--minutes", "60")
    suggest_command("to train a policy of your own for longer (docs/measurements/policy-training.md has five)", *longer)


def _write_report(records: Sequence[GameResult], compared: str, out: Path) -> None:
    """Print the result tables, and write them to a report with a plot of the ratings."""
    from rich.console import Console

    from ddz_env.support.atomic_files import replace_file
    from ddz_training.cli.tables import CPU_TIME, explain_intervals, make_results_table
    from ddz_training.measure import league, plotting, ratings, summaries

    totals = make_results_table(
        summaries.compute_standings(records), "Against all others", _SCORING, "against", CPU_TIME
    )
    rated, _ = ratings.rate_agents(records)
    tables = [
        dataclasses.replace(totals, note=f"{explain_intervals(_SCORING)} Repeated by: {compared}"),
        league.make_cross_table(rated, records),
    ]
    page = Console(record=True, file=io.StringIO(), width=120)
    for table in tables:
        print_table(table)
        print_table(table, screen=page)
    report = page.export_html()
    if plotting.can_plot():
        league.plot_ratings(rated, out / _PICTURE)
        report = report.replace("</body>", f'<img src="{_PICTURE}" alt="Ratings">\n</body>')
    replace_file(out / "report.html", report.encode())
    click.echo(f"{pluralize(len(records), 'game')}; the report is {quote_path(out / 'report.html')}")


def _show_game(seed: int) -> None:
    """Play a random game in a PettingZoo loop, and print it after the deal and at the end."""
    from ddz_env import dou_dizhu_v0

    env = dou_dizhu_v0.env(render_mode="ansi")
    env.reset(seed=seed)
    click.echo(f"{env.render()}\n")
    for name in env.possible_agents:
        env.action_space(name).seed(seed % 2**32)
    for name in env.agent_iter():
        observation, _, over, _, _ = env.last()
        env.step(None if over else env.action_space(name).sample(observation["action_mask"]))
    click.echo(f"{env.render()}\n")


def _train_fresh_policy(folder: Path, minutes: float, seed: int) -> None:
    """Train the demo's policy from scratch, after removing the files of any earlier run."""
    from ddz_training.learn import loop
    from ddz_training.learn.ppo.config import SelfPlayConfig
    from ddz_training.learn.ppo.selfplay import SelfPlay
    from ddz_training.measure.store import locked_for_writing

    config = SelfPlayConfig().with_changes(SETTINGS | {"seed": seed})
    with locked_for_writing(folder, folder=True):
        for name in (loop.CHECKPOINT, loop.CURVES, loop.EVALUATIONS, loop.POLICY):
            (folder / name).unlink(missing_ok=True)
        train_under_bar(SelfPlay(config), loop.Budget(minutes=minutes), folder)
