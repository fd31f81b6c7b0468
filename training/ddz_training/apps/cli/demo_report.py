"""What the report of ``ddz demo`` says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ddz_env.core.errors import command_line
from ddz_training.apps.cli.tables import milliseconds, note
from ddz_training.apps.demo.fresh import SETTINGS, LearningPoint
from ddz_training.apps.demo.report import Page, Section, learning_curve, strength_bars, win_matrix
from ddz_training.learn.ppo.config import SelfPlayConfig
from ddz_training.measure.match.statistics import AgentResult, Interval
from ddz_training.measure.plotting import can_plot
from ddz_training.measure.speed.benchmark import machine, machine_lines

CURVE, STRENGTH = "learning-curve.png", "strength.png"


@dataclass(frozen=True)
class Shown:
    """What a demonstration did and found.

    Attributes:
        folder: Where its files are.
        options: The command's options.
        names: Specification to name of every agent.
        config: The settings of the fresh policy's training.
        points: Its learning curve.
        ranking: Everybody against all others, the best first.
        pairs: Two results a pair.
        games: Games of the benchmark.
        seconds: Seconds that all of it took.
    """

    folder: Path
    options: Mapping[str, float]
    names: Mapping[str, str]
    config: SelfPlayConfig
    points: Sequence[LearningPoint]
    ranking: Sequence[AgentResult]
    pairs: Sequence[AgentResult]
    games: int
    seconds: float


def compose(shown: Shown) -> Page:
    """The report; it has pictures where matplotlib is installed."""
    pictures: dict[str, bytes] = {}
    if can_plot():
        pictures = {CURVE: learning_curve(shown.points), STRENGTH: strength_bars(shown.ranking)}
    sections = (_benchmark(shown), _pairs(shown), _learning(shown), _agents(shown), _commands(shown), _machine(shown))
    return Page("Dou Dizhu: what ddz demo found", sections, pictures)


def _benchmark(shown: Shown) -> Section:
    deals = shown.options["--deals"]
    rows = [
        (
            result.agent,
            str(result.games),
            *(rate.percent() for rate in (result.wins, result.landlord_wins, result.peasant_wins)),
            milliseconds(result.ms_per_decision),
        )
        for result in shown.ranking
    ]
    text = (
        f"{shown.games} games: every pair of agents played the same {deals:g} deals, each from both sides.",
        note("win"),
    )
    headings = ("agent", "games", "win %", "as landlord", "as peasants", "ms a decision")
    return Section("Everybody against all others", text, STRENGTH, headings, rows)


def _pairs(shown: Shown) -> Section:
    order = [result.agent for result in shown.ranking]
    text = (
        "Games won by the agent of the row against that of the column, in per cent, with half the 95 % interval; "
        "none where every deal ended alike.",
    )
    headings = ("", *map(str, range(1, len(order) + 1)))
    return Section("Pair by pair", text, headings=headings, rows=win_matrix(shown.pairs, order))


def _learning(shown: Shown) -> Section:
    last, config = shown.points[-1], shown.config
    text = (
        f"The fresh policy began with random weights and learned by playing against itself (PPO): {last.decisions:,} "
        f"decisions in {last.seconds:.0f} seconds, compilation and measurements not counted. Its strength was measured "
        f"on {config.evaluate_deals} duplicate deals against each opponent, none of them deals of the benchmark. "
        "It depends on the speed of the machine.",
    )
    rows = [
        (
            f"{point.seconds:.0f}",
            f"{point.decisions:,}",
            point.opponent,
            wins.text(".0f"),
            wins.span(".0f", to="–"),
        )
        for point in shown.points
        for wins in (Interval(point.wins, point.low, point.high, config.evaluate_deals),)
    ]
    headings = ("seconds", "decisions", "against", "win %", "95 % interval")
    return Section("Learning curve", text, CURVE, headings, rows)


def _agents(shown: Shown) -> Section:
    rows = [(name, specification) for specification, name in shown.names.items()]
    return Section("The agents", headings=("name", "for ddz arena"), rows=rows)


def _commands(shown: Shown) -> Section:
    """The commands that do the same again, together and part by part."""
    given = {name: f"{value:g}" for name, value in shown.options.items()}
    minutes, deals, seed = (["--" + name, given["--" + name]] for name in ("minutes", "deals", "seed"))
    settings = [part for name, value in SETTINGS.items() for part in ("--set", f"{name}={value}")]
    commands = (
        ["ddz", "demo", *(part for option in given.items() for part in option), "--out", str(shown.folder)],
        ["ddz", "train", "selfplay", "--out", str(shown.folder / "again"), *minutes, *seed, *settings],
        ["ddz", "arena", *shown.names, *deals, *seed],
    )
    text = ("The whole of it, the training, and the benchmark:",)
    return Section("Commands", text, commands=[command_line(*command) for command in commands])


def _machine(shown: Shown) -> Section:
    about, versions = machine_lines(machine())
    text = f"{about}; the demonstration took {shown.seconds / 60:.1f} minutes."
    return Section("The machine", (text, versions))
