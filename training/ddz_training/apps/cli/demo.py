"""``ddz demo``, which ``make demo`` runs: a game, a policy that learns from nothing, a comparison, and a report."""

from __future__ import annotations

import dataclasses
import functools
import io
import multiprocessing
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import ddz_env
from ddz_env.core.errors import command_line, plural
from ddz_env.core.options import Range
from ddz_env.core.whole_file import replace_file
from ddz_training.apps.cli.command import CommandLineError, Count, Natural, Parallel, follow
from ddz_training.apps.cli.console import quoted, remark, show, tell
from ddz_training.apps.cli.lazily import lazily
from ddz_training.apps.cli.measure import note, results_table
from ddz_training.apps.cli.outputs import File
from ddz_training.apps.cli.train import train_under_bar

with lazily():
    from rich import console as rich_console

    from ddz_env import dou_dizhu_v0
    from ddz_env.playing import registry
    from ddz_training.learn import loop
    from ddz_training.learn.ppo import config as ppo_config
    from ddz_training.learn.ppo import selfplay as ppo_selfplay
    from ddz_training.measure import contest as contests
    from ddz_training.measure import duplicate, league, plotting, ratings, statistics, timing, workers

FRESH = "fresh policy"
ENTRANTS = {
    "shipped policy": "policy",
    FRESH: "policy:path={fresh}",
    "shipped policy in search": "neural-ismcts:milliseconds={milliseconds:g},particles=0",
    "information-set UCT": "isuct:milliseconds={milliseconds:g}",
    "determinized UCT": "duct:milliseconds={milliseconds:g}",
    "rules": "rules",
    "random": "random",
}
"""Who plays, by what tables call it; ``fresh`` is the file of the new policy, ``milliseconds`` what searches think."""

SETTINGS: dict[str, Any] = {"evaluate_deals": 50, "evaluate_every": 10**9}
"""The strength is measured only at the end."""

_SCORING = "win"
_PICTURE = "ratings.png"


class DemoCommand(Parallel, call="demo", heading="Train"):
    """Play a game, train a policy from nothing, and compare it with the shipped one, searches and baselines.

    Attributes:
        minutes: Minutes of training for the fresh policy.
        deals: Duplicate deals for each pair of agents; each is two games.
        milliseconds: Milliseconds that a search may spend on a decision.
        seed: Seed of deals, agents and training.
        out: Folder for the report and the fresh policy; existing ones are replaced.

    Example:
        ddz demo --minutes 2 --out demo-report
    """

    ray = False  # its games are over before a cluster has begun

    minutes: Annotated[float, Range(0.01)] = 0.5
    deals: Count = 12
    milliseconds: Annotated[float, Range(0.1)] = 20.0
    seed: Natural = 0
    out: Annotated[Path, File(use="folder")] = Path("demo-report")

    def run(self) -> None:
        """Train, compare and report."""
        import torch  # noqa: F401  # says at once what is not installed

        fresh = self.out / "training" / loop.POLICY
        if "," in str(fresh):
            why = f"{fresh}: options of agents are separated by commas; name a folder without"
            raise CommandLineError(why)
        values = {"fresh": fresh.as_posix(), "milliseconds": self.milliseconds}
        agents = {name: text.format(**values) for name, text in ENTRANTS.items()}
        # Searches take long to compile on a fresh machine; meanwhile the policy learns.
        others = [text for name, text in agents.items() if name != FRESH]
        compiling = multiprocessing.get_context("spawn").Process(target=warm_up, args=(others,), daemon=True)
        compiling.start()
        remark("A game of the environment: random play among those of the 400 actions that are legal", bold=True)
        _show_game(self.seed)
        remark(f"PPO by self-play from random weights, {self.minutes:g} min", bold=True)
        _train(fresh.parent, self.minutes, self.seed)
        compiling.join()
        remark(f"Every pair on {self.deals} deals, each played from both sides", bold=True)
        arena = contests.Arena(tuple(agents.values()), seed=self.seed, names=tuple(agents))
        with self.working("deals × pairs") as how:
            records = contests.run_arena(arena, self.deals, **how)
        self._report(records, agents)
        follow("to play against the fresh policy", "play", "--agents", agents[FRESH])
        prior = f"neural-ismcts:path={values['fresh']}"
        follow("to see what its prior is worth inside the search", "arena", prior, agents[FRESH], "--deals", 20)
        longer = ("train", "selfplay", "--out", "runs/first", "--minutes", "60")
        follow("to train a policy of your own for longer (docs/measurements/policy-training.md has five)", *longer)

    def _report(self, records: Sequence[duplicate.GameRecord], agents: Mapping[str, str]) -> None:
        """Show the tables, and write them with a picture of the ratings."""
        compared = command_line("ddz", "arena", *agents.values(), "--deals", self.deals, "--seed", self.seed)
        totals = results_table(statistics.standings(records), "Against all others", _SCORING, "against")
        rated, _ = ratings.rate(records)
        tables = [
            dataclasses.replace(totals, note=f"{note(_SCORING)} Repeated by: {compared}"),
            league.cross_table(rated, records),
        ]
        page = rich_console.Console(record=True, file=io.StringIO(), width=120)
        for table in tables:
            show(table)
            show(table, screen=page)
        report = page.export_html()
        if plotting.can_plot():
            league.plot_ratings(rated, self.out / _PICTURE)
            report = report.replace("</body>", f'<img src="{_PICTURE}" alt="Ratings">\n</body>')
        replace_file(self.out / "report.html", report.encode())
        tell(f"{plural(len(records), 'game')}; the report is {quoted(self.out / 'report.html')}")


def _show_game(seed: int) -> None:
    """Play a game in PettingZoo's loop, and show its table when the cards are dealt and when it is over."""
    env = dou_dizhu_v0.env(render_mode="ansi")
    env.reset(seed=seed)
    tell(f"{env.render()}\n")
    for name in env.possible_agents:
        env.action_space(name).seed(seed % 2**32)
    for name in env.agent_iter():
        observation, _, over, _, _ = env.last()
        env.step(None if over else env.action_space(name).sample(observation["action_mask"]))
    tell(f"{env.render()}\n")


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
    # Compile what is still missing first, so that this does not count as training.
    with closing(ppo_selfplay.SelfPlay(config.changed({"num_games": config.groups, "steps": 4}))) as small:
        small.step()
    train_under_bar(ppo_selfplay.SelfPlay(config), loop.Budget(minutes=minutes), folder)
