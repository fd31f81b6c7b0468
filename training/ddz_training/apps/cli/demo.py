"""``ddz demo``, which ``make demo`` runs: a policy learns from nothing, plays beside all others, and is reported."""

from __future__ import annotations

import base64
import dataclasses
import functools
import io
import multiprocessing
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from ddz_env import Rules
from ddz_env.core.errors import DouDizhuError, command_line, plural
from ddz_env.core.whole_file import replace_file
from ddz_env.playing.registry import make_agent
from ddz_training.apps.cli.commands import follow
from ddz_training.apps.cli.console import quoted, remark, show, tell
from ddz_training.apps.cli.lazily import lazily
from ddz_training.apps.cli.measure import run_with_progress
from ddz_training.apps.cli.options import Count, Natural, OutputFolder
from ddz_training.apps.cli.results import note, results_table
from ddz_training.apps.cli.training_bars import train_under_bar
from ddz_training.experiments.experiment import Table

with lazily():
    from ddz_training.learn import loop
    from ddz_training.learn.ppo import config as ppo_config
    from ddz_training.learn.ppo import selfplay as ppo_selfplay
    from ddz_training.measure import contest as contests
    from ddz_training.measure import plotting, statistics, timing, workers

FRESH = "fresh policy"
ENTRANTS = {
    "shipped policy": "policy",
    FRESH: "policy:path={fresh}",
    "shipped policy in search": "neural-ismcts:milliseconds={milliseconds:g},particles=0",
    "information-set UCT": "isuct:milliseconds={milliseconds:g}",
    "rules": "rules",
    "random": "random",
}
"""Who plays, by what tables call it; ``fresh`` is the file of the new policy, ``milliseconds`` what searches think."""

SETTINGS: dict[str, Any] = {"num_games": 256, "steps": 64, "minibatch": 2048, "learning_rate": 1e-3}
SETTINGS |= {"evaluate_deals": 50, "evaluate_every": 10**9}
"""Small, frequent updates, since the defaults are for hours; the strength is measured at the end alone."""

_SCORING = "win"
_PAIRS = "Games won by the agent of the row against that of the column, in per cent, with half the 95 % interval."
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Dou Dizhu: what ddz demo found</title>
<style>{{stylesheet}}</style></head><body>{picture}<pre>{{code}}</pre></body></html>
"""


class InvalidDemonstrationError(DouDizhuError):
    """The demonstration was asked for something that it cannot do."""


def demo(
    minutes: Annotated[float, typer.Option(min=0.01)] = 0.5,
    deals: Count = 16,
    milliseconds: Annotated[float, typer.Option(min=0.1)] = 20.0,
    seed: Natural = 0,
    processes: Count = 2,
    out: OutputFolder = Path("demo-report"),
) -> None:
    """Train a policy from nothing, and compare it with the shipped one, searches and baselines.

    Options:
        minutes: Minutes of training for the fresh policy.
        deals: Duplicate deals for each pair of agents; each is two games.
        milliseconds: Milliseconds that a search may spend on a decision.
        seed: Seed of deals, agents and training.
        processes: Worker processes of the comparison.
        out: Folder for the report and the fresh policy; existing ones are replaced.

    Example:
        ddz demo --minutes 2 --out demo-report
    """
    import torch  # noqa: F401  # says at once what is not installed

    fresh = out / "training" / loop.POLICY
    if "," in str(fresh):
        raise InvalidDemonstrationError(f"{fresh}: options of agents are separated by commas; name a folder without")
    agents = {name: text.format(fresh=fresh.as_posix(), milliseconds=milliseconds) for name, text in ENTRANTS.items()}
    # Searches take long to compile on a fresh machine; meanwhile the policy learns.
    others = [text for name, text in agents.items() if name != FRESH]
    compiling = multiprocessing.get_context("spawn").Process(target=warm_up, args=(others,), daemon=True)
    compiling.start()
    remark(f"PPO by self-play from random weights, {minutes:g} min", "bold")
    _train(fresh.parent, minutes, seed)
    compiling.join()
    arena = contests.Arena(tuple(agents.values()), seed=seed, names=tuple(agents))
    remark(f"Every pair on {deals} deals, each played from both sides", "bold")
    records = run_with_progress(arena, deals, processes=processes)
    standings = statistics.standings(records)
    against_all = results_table(standings, "Against all others", _SCORING, ("agent",))
    commands = {
        "to train it again": ("train", "selfplay", "--out", out / "again", "--minutes", f"{minutes:g}", "--seed", seed),
        "to compare them again": ("arena", *agents.values(), "--deals", deals, "--seed", seed),
    }
    tables = [
        dataclasses.replace(against_all, note=note(_SCORING)),
        win_matrix(statistics.summarize(records), [result.agent for result in standings]),
        Table("Commands", ("what", "command"), [(what, command_line("ddz", *one)) for what, one in commands.items()]),
    ]
    for table in tables[:2]:
        show(table)
    replace_file(out / "report.html", report(tables, standings).encode())
    tell(f"{plural(len(records), 'game')}; the report is {quoted(out / 'report.html')}")
    follow("to train a policy of your own for longer", "train", "selfplay", "--out", "runs/first", "--minutes", "60")


def warm_up(specifications: Iterable[str]) -> None:
    """Compile every agent's kernels, in a process of its own: those of the comparison find them in the cache."""
    workers.serve_parent()
    for specification in specifications:
        timing.warm_up(functools.partial(make_agent, specification), Rules())


def _train(folder: Path, minutes: float, seed: int) -> None:
    """Train the fresh policy; another run's files are removed first, so that a kill never leaves those of two."""
    config = ppo_config.SelfPlayConfig().changed(SETTINGS | {"seed": seed})
    for name in (loop.CHECKPOINT, loop.CURVES, loop.EVALUATIONS, loop.POLICY):
        (folder / name).unlink(missing_ok=True)
    # Whatever still has to be compiled is not to be counted as training.
    with closing(ppo_selfplay.SelfPlay(config.changed({"num_games": config.groups, "steps": 4}))) as small:
        small.step()
    train_under_bar(ppo_selfplay.SelfPlay(config), loop.Budget(minutes=minutes), folder)


def win_matrix(pairs: Sequence[statistics.AgentResult], order: Sequence[str]) -> Table:
    """Win rates of the agents of the rows against those of the columns.

    Args:
        pairs: Two results a pair.
        order: The agents from the first row down and the first column on.
    """
    found = {(result.agent, result.opponent): result.wins.plus_minus(".0f", 100) for result in pairs}
    lines = [
        (f"{number} {row}", *(found.get((row, column), "–") for column in order)) for number, row in enumerate(order, 1)
    ]
    header = ("agent", *(str(number) for number in range(1, len(order) + 1)))
    return Table("Pair by pair: win %, row against column", header, lines, _PAIRS)


def report(tables: Iterable[Table], standings: Sequence[statistics.AgentResult]) -> str:
    """A page of HTML that needs no other file: the tables below a picture of the standings.

    Args:
        tables: The tables.
        standings: What is drawn, where matplotlib is installed.
    """
    screen = Console(record=True, file=io.StringIO(), width=120)
    for table in tables:
        show(table, screen=screen)
    picture = ""
    if plotting.can_plot():
        data = base64.b64encode(_drawn(standings)).decode()
        picture = f'<img alt="Games won against all others" src="data:image/png;base64,{data}">'
    return screen.export_html(code_format=_PAGE.format(picture=picture))


def _drawn(standings: Sequence[statistics.AgentResult]) -> bytes:
    """Win rates against all others with their intervals, the best on top."""
    wins = plotting.Series("", [result.agent for result in standings], [result.wins for result in standings], "list")
    drawn, below = io.BytesIO(), "games won against all others, % (95 % intervals)"
    plotting.save_plot(drawn, plotting.Panel([wins], below, axes={"xlim": (0, 100)}))
    return drawn.getvalue()
