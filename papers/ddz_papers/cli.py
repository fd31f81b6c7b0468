"""The commands ``ddz study`` (studies of agents and deals) and ``ddz reproduce`` (registered experiments)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click import argument, option

from ddz_env.support.checks import check_choice
from ddz_training.cli.console import print_table, rules_arguments, suggest_command
from ddz_training.cli.info import first_paragraph
from ddz_training.cli.options import (
    COUNT,
    PlayingOptions,
    Workers,
    combine_options,
    deal_file_option,
    plot_option,
    results_option,
    take_options_of,
    work_under_bar,
)
from ddz_training.cli.renamed import RenamedGroup
from ddz_training.cli.settings import SettingsCommand
from ddz_training.measure.errors import InvalidExperimentError
from ddz_training.measure.markdown import Table

if TYPE_CHECKING:
    from ddz_papers.experiments.experiment import Experiment

TENDENCY_AGENTS = (("policy",), ("rules",))
"""Who judges deals by default: a strong agent and a weak one."""


def _current_words(words: Sequence[str]) -> Sequence[str] | None:
    """Replace a former command name at the start of the arguments; return None if the name is current."""
    return ["benchmark", *words] if words[:1] == ["records"] else None


@click.group(cls=RenamedGroup, today=_current_words)
def study() -> None:
    """Study agents and deals: how many search iterations equal an agent, and whom deals favour.

    \b
    Example:
      ddz study equivalent rules
    """


@dataclass(frozen=True)
class HalfDeckOptions(PlayingOptions):
    """The playing options of a study, with the thesis's rules as the default."""

    rules: str = "half-deck"


@study.command()
@argument("agent", help="The agent, as for ddz arena.")
@results_option
@option("--search", default="isuct", help="The search whose iterations are counted, with other options if wanted.")
@option("--method", type=click.Choice(("sequential", "binary")), default="sequential", help="binary: the thesis's own.")
@option("--lower", type=COUNT, default=1, help="The fewest iterations that are tried.")
@option("--upper", type=COUNT, help="The most at first (--most; binary: 100, doubled until the search wins).")
@option("--deals", type=COUNT, help="Duplicate deals: at most 2,000, or 500 for each step of binary.")
@option("--precision", type=click.FloatRange(1.01), default=1.25, help="End when the interval is within this factor.")
@option("--most", type=COUNT, default=1_000_000, help="The most iterations that are tried.")
@option("--tendency", is_flag=True, help="Pass over deals that lean to a side by the games of policy and rules.")
@take_options_of(HalfDeckOptions)
def equivalent(
    agent: str,
    out: Path | None,
    search: str,
    method: str,
    lower: int,
    upper: int | None,
    deals: int | None,
    precision: float,
    most: int,
    tendency: bool,
    options: HalfDeckOptions,
) -> None:
    """Find the number of search iterations that plays as strongly as an agent, with its 95 % interval.

    \b
    Examples:
      ddz study equivalent rules
      ddz study equivalent rules --rules half-deck-open --tendency
      ddz study equivalent policy --search rollout --most 10000 --out policy.csv
      ddz study equivalent rlcard-rule --method binary --upper 100 --deals 100
    """
    from numpy.random import default_rng

    from ddz_env import Rules
    from ddz_papers.thesis_2020 import equivalent as duels
    from ddz_papers.thesis_2020.tendency import TendencyAgents

    preset = Rules.preset(options.rules)
    judges = TendencyAgents(*TENDENCY_AGENTS, preset, options.seed) if tendency else None
    ladder = duels.EquivalentSearch(agent, search, preset, options.seed, judges=judges)
    ladder.check()
    with work_under_bar("deals", options.workers) as work, duels.open_deal_player(ladder, out, **work) as play:
        if method == "sequential":
            more = {"deals": deals} if deals else {}
            until = duels.SequentialOptions(most=most, precision=precision, **more)
            strength = duels.sequential_search(play, until, duels.Bounds.checked(lower, upper or most))
        else:
            first = duels.Bounds.checked(lower, upper or min(duels.FIRST_BOUNDS.upper, most))
            deals = deals or duels.STEP_DEALS
            bounds, _ = duels.initial_bounds(play, first, deals, default_rng(options.seed), most)
            strength = duels.binary_search(play, bounds, deals)
    print_table(duels.equivalent_table(ladder, strength))
    if not strength.beyond:
        iterations = max(1, round(strength.iterations.mean))
        searching = f"{search}{',' if ':' in search else ':'}iterations={iterations}"
        suggest_command("to see them play each other", "arena", agent, searching, *rules_arguments(options.rules))


@study.command()
@results_option
@option("--deals", type=COUNT, default=1000, help="How many deals; two games each.")
@option("--first-deal", type=click.IntRange(0), default=0, help="Number of the first deal under the seed.")
@option(
    "--top", multiple=True, default=TENDENCY_AGENTS[0], help="A strong agent; of several one is drawn for each deal."
)
@option("--bottom", multiple=True, default=TENDENCY_AGENTS[1], help="A weak agent, likewise.")
@take_options_of(PlayingOptions)
def tendency(
    out: Path | None,
    deals: int,
    first_deal: int,
    top: tuple[str, ...],
    bottom: tuple[str, ...],
    options: PlayingOptions,
) -> None:
    """Play deals from both sides: do they lean to the landlord, to the peasants, or to neither?

    \b
    Examples:
      ddz study tendency --out deals.csv
      ddz study tendency --top policy --top rules --bottom random --deals 500
    """
    from ddz_env import Rules
    from ddz_papers.thesis_2020 import tendency as judging
    from ddz_training.measure.statistics import wilson_interval
    from ddz_training.measure.tendency_file import TENDENCIES

    judges = judging.TendencyAgents(top, bottom, Rules.preset(options.rules), options.seed)
    with work_under_bar("deals", options.workers) as work:
        judged = judging.measure_tendencies(judges, deals, out, first_deal=first_deal, **work)
    counted = judging.count_tendencies(judged)
    shares = {name: wilson_interval(counted[name], deals) for name in TENDENCIES}
    lines = [(name, f"{counted[name]:,}", share.text(), share.range_text()) for name, share in shares.items()]
    title = f"{deals:,} deals · {judges.rules.name} rules · seed {judges.seed} · {', '.join(top)} v {', '.join(bottom)}"
    print_table(Table(title, ("tendency", "deals", "%", "95 % interval"), lines))
    if out is not None:
        arena = ("arena", top[0], bottom[0], "--deal-file", out, "--tendency", "none", "--seed", judges.seed)
        suggest_command("to play those without a tendency", *arena, *rules_arguments(options.rules))


# --- ddz reproduce -----------------------------------------------------------


class ExperimentGroup(click.Group):
    """The click group ``ddz reproduce``, which imports an experiment's module when its command is first used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all registered experiments, which are the names of the commands."""
        from ddz_papers.experiments.registry import EXPERIMENTS

        return list(EXPERIMENTS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        """Import an experiment by its name, and create its click command.

        Raises:
            InvalidExperimentError: If there is none of this name.
        """
        from ddz_papers.experiments.registry import EXPERIMENTS, load_experiment

        return _make_experiment_command(
            load_experiment(check_choice("experiment", cmd_name, EXPERIMENTS, InvalidExperimentError))
        )


@click.group(cls=ExperimentGroup, invoke_without_command=True)
@click.pass_context
def reproduce(context: click.Context) -> None:
    """Repeat experiments of the literature, some of which take hours; an interrupted run resumes where it stopped.

    \b
    Examples:
      ddz reproduce mini-census --out mini_census.csv
      ddz reproduce
      ddz reproduce landlord --help
      ddz reproduce landlord --games 2 --seed 7 --processes 4
    """
    if context.invoked_subcommand is None:
        _print_experiments()


def _make_experiment_command(experiment: Experiment[Any, Any]) -> click.Command:
    """Create the click command that runs an experiment, prints its tables and saves its results."""
    known = {option.name for option in experiment.options.options()}
    taken = [results_option, take_options_of(Workers, "workers")]
    taken += [plot_option] if experiment.plot is not None else []
    taken += [deal_file_option] if "deal_file" in known else []

    def run(settings: tuple[str, ...], out: Path | None, workers: Workers, **given: Path | None) -> None:
        values = experiment.options.read(settings)
        if "processes" in known:
            values["processes"] = workers.processes
        if deal_file := given.get("deal_file"):
            values["deal_file"] = str(deal_file)
        with work_under_bar(experiment.unit, workers) as how:
            saved = experiment.run(experiment.options(**values), out, how["on_progress"])
        for table in experiment.tables.values():
            print_table(table(saved))
        if (plot := given.get("plot")) and experiment.plot is not None:
            experiment.plot(saved, plot)

    about = f"{first_paragraph(experiment.about)}\n\nSource: {experiment.source}. Its file is {experiment.file_name}."
    make = click.command(experiment.name, cls=SettingsCommand, options=lambda: experiment.options, help=about)
    return make(combine_options(*taken)(run))


def _print_experiments() -> None:
    """Print one line per experiment, saying what it repeats and from which paper."""
    from ddz_papers.experiments.registry import load_experiments

    lines = [
        (experiment.name, first_paragraph(experiment.about), experiment.source) for experiment in load_experiments()
    ]
    note = "ddz reproduce NAME --help says what one does and which options it has."
    print_table(Table("Experiments", ("experiment", "what", "source"), lines, note))


COMMANDS: Mapping[str, tuple[click.Command, ...]] = {"Papers": (study, reproduce)}
"""The commands of the package by the headings of ``ddz --help``."""
