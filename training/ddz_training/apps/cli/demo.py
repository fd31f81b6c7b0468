"""``ddz demo``, which ``make demo`` runs: a policy learns from nothing, plays beside all others, and is reported."""

from __future__ import annotations

import dataclasses
import functools
import io
import multiprocessing
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import ddz_env
from ddz_env.core.errors import DouDizhuError, command_line, plural
from ddz_env.core.options import Range
from ddz_env.core.whole_file import replace_file
from ddz_training.apps.cli.command import Command, Count, Natural, follow
from ddz_training.apps.cli.console import quoted, remark, show, tell
from ddz_training.apps.cli.lazily import lazily
from ddz_training.apps.cli.measure import note, results_table, run_with_progress
from ddz_training.apps.cli.outputs import File
from ddz_training.apps.cli.train import train_under_bar
from ddz_training.measure.markdown import Table

with lazily():
    from rich import console as rich_console

    from ddz_env.playing import registry
    from ddz_training.learn import loop
    from ddz_training.learn.ppo import config as ppo_config
    from ddz_training.learn.ppo import selfplay as ppo_selfplay
    from ddz_training.measure import contest as contests
    from ddz_training.measure import statistics, timing, workers

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

SETTINGS: dict[str, Any] = {"evaluate_deals": 50, "evaluate_every": 10**9}
"""The strength is measured at the end alone."""

_SCORING = "win"
_PAIRS = "Games won by the agent of the row against that of the column, in per cent, with half the 95 % interval."
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Dou Dizhu: what ddz demo found</title>
<style>{stylesheet}</style></head><body><pre>{code}</pre></body></html>
"""


class InvalidDemonstrationError(DouDizhuError):
    """The demonstration was asked for something that it cannot do."""


class Demo(Command):
    """Train a policy from nothing, and compare it with the shipped one, searches and baselines.

    Attributes:
        minutes: Minutes of training for the fresh policy.
        deals: Duplicate deals for each pair of agents; each is two games.
        milliseconds: Milliseconds that a search may spend on a decision.
        seed: Seed of deals, agents and training.
        processes: Worker processes of the comparison.
        out: Folder for the report and the fresh policy; existing ones are replaced.

    Example:
        ddz demo --minutes 2 --out demo-report
    """

    minutes: Annotated[float, Range(0.01)] = 0.5
    deals: Count = 16
    milliseconds: Annotated[float, Range(0.1)] = 20.0
    seed: Natural = 0
    processes: Count = 2
    out: Annotated[Path, File(use="folder")] = Path("demo-report")

    def run(self) -> None:
        """Train, compare and report."""
        import torch  # noqa: F401  # says at once what is not installed

        fresh = self.out / "training" / loop.POLICY
        if "," in str(fresh):
            why = f"{fresh}: options of agents are separated by commas; name a folder without"
            raise InvalidDemonstrationError(why)
        values = {"fresh": fresh.as_posix(), "milliseconds": self.milliseconds}
        agents = {name: text.format(**values) for name, text in ENTRANTS.items()}
        # Searches take long to compile on a fresh machine; meanwhile the policy learns.
        others = [text for name, text in agents.items() if name != FRESH]
        compiling = multiprocessing.get_context("spawn").Process(target=warm_up, args=(others,), daemon=True)
        compiling.start()
        remark(f"PPO by self-play from random weights, {self.minutes:g} min", bold=True)
        _train(fresh.parent, self.minutes, self.seed)
        compiling.join()
        arena = contests.Arena(tuple(agents.values()), seed=self.seed, names=tuple(agents))
        remark(f"Every pair on {self.deals} deals, each played from both sides", bold=True)
        records = run_with_progress(arena, self.deals, processes=self.processes)
        standings = statistics.standings(records)
        tables = [
            dataclasses.replace(
                results_table(standings, "Against all others", _SCORING, ("agent",)), note=note(_SCORING)
            ),
            win_matrix(statistics.summarize(records), [result.agent for result in standings]),
        ]
        for table in tables:
            show(table)
        page = report([*tables, self._commands(list(agents.values()))])
        replace_file(self.out / "report.html", page.encode())
        tell(f"{plural(len(records), 'game')}; the report is {quoted(self.out / 'report.html')}")
        longer = ("train", "selfplay", "--out", "runs/first", "--minutes", "60")
        follow("to train a policy of your own for longer", *longer)

    def _commands(self, agents: Sequence[str]) -> Table:
        """What repeats both halves of the demonstration."""
        minutes = f"{self.minutes:g}"
        again = ("train", "selfplay", "--out", self.out / "again", "--minutes", minutes, "--seed", self.seed)
        compared = ("arena", *agents, "--deals", self.deals, "--seed", self.seed)
        commands = {"to train it again": again, "to compare them again": compared}
        lines = [(what, command_line("ddz", *one)) for what, one in commands.items()]
        return Table("Commands", ("what", "command"), lines)


def warm_up(specifications: Iterable[str]) -> None:
    """Compile every agent's kernels, in a process of its own: those of the comparison find them in the cache."""
    workers.serve_parent()
    for specification in specifications:
        timing.warm_up(functools.partial(registry.make_agent, specification), ddz_env.Rules())


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


def report(tables: Iterable[Table]) -> str:
    """A page of HTML with the tables that needs no other file."""
    screen = rich_console.Console(record=True, file=io.StringIO(), width=120)
    for table in tables:
        show(table, screen=screen)
    return screen.export_html(code_format=_PAGE)
