"""``ddz study`` and ``ddz reproduce``: studies of agents and deals, and the experiments of the registry."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from ddz_env.core.options import Range
from ddz_training.apps.cli import command as commands
from ddz_training.apps.cli.command import Argument, Command, Count, Group, Natural, SavedGames, follow
from ddz_training.apps.cli.console import bar, show
from ddz_training.apps.cli.lazily import lazily
from ddz_training.apps.cli.outputs import PLOT, File
from ddz_training.measure.markdown import Table

with lazily():
    from numpy import random

    from ddz_training.experiments import registry
    from ddz_training.measure import equivalent as duels
    from ddz_training.measure import statistics
    from ddz_training.measure import tendency as deal_tendency


JUDGES = (("policy",), ("rules",))
"""Who judges deals by default: a strong agent and a weak one."""


class EquivalentCommand(SavedGames, call="study equivalent", heading="Study"):
    """Find the number of search iterations that plays as strongly as an agent, with its 95 % interval.

    Attributes:
        agent: The agent, as for ddz arena.
        search: The search whose iterations are counted, with other options if wanted.
        method: sequential (fewer games), or binary: the thesis's algorithms 4 and 5.
        lower: The fewest iterations that are tried (1).
        upper: The most at first (--most; binary: 100, doubled until the search wins).
        deals: Duplicate deals, two games each: at most 2,000, or 500 for each step of binary.
        precision: End when the interval reaches no farther than a factor of this.
        most: The most iterations that are tried.
        tendency: Pass over deals that lean to a side by the games of policy and rules (the thesis's algorithm 1).

    Example:
        ddz study equivalent rules
        ddz study equivalent rules --rules half-deck-open --tendency
        ddz study equivalent policy --search rollout --most 10000 --out policy.csv
        ddz study equivalent rlcard-rule --method binary --upper 100 --deals 100
    """

    agent: Argument[str]
    search: str = "isuct"
    method: Literal["sequential", "binary"] = "sequential"
    rules: str = "half-deck"
    lower: Count | None = None
    upper: Count | None = None
    deals: Count | None = None
    precision: Annotated[float, Range(1.01)] = 1.25
    most: Count = 1_000_000
    tendency: bool = False

    def run(self) -> None:
        """Play duels until the number is known."""
        judges = deal_tendency.Judges(*JUDGES, self.preset, self.seed) if self.tendency else None
        ladder = duels.Ladder(self.agent, self.search, self.preset, self.seed, judges=judges)
        ladder.check()
        with self.working("deals") as how, duels.playing(ladder, self.out, **how) as play:
            found = self._sequential(play) if self.method == "sequential" else self._binary(play)
        show(_equivalent_table(ladder, found))
        if not found.beyond:
            iterations = max(1, round(found.iterations.mean))
            searching = f"{self.search}{',' if ':' in self.search else ':'}iterations={iterations}"
            rules = commands.rules_words(self.rules)
            follow("to see them play each other", "arena", self.agent, searching, *rules)

    def _sequential(self, play: duels.Play) -> duels.Found:
        named = {"deals": self.deals} if self.deals else {}
        wanted = duels.SequentialOptions(most=self.most, precision=self.precision, **named)
        return duels.sequential_search(play, wanted, duels.Bounds.of(self.lower or 1, self.upper or self.most))

    def _binary(self, play: duels.Play) -> duels.Found:
        deals = self.deals or duels.STEP_DEALS
        where = duels.Bounds.of(self.lower or 1, self.upper or min(duels.FIRST_BOUNDS.upper, self.most))
        bounds, _ = duels.initial_bounds(play, where, deals, random.default_rng(self.seed), self.most)
        return duels.binary_search(play, bounds, deals)


def _equivalent_table(ladder: duels.Ladder, found: duels.Found) -> Table:
    """What was played against how many iterations, and the equivalent below."""
    lines = [
        (f"{many:,}", str(tally.deals), str(tally.ahead), str(tally.behind), duels.wins(tally).percent())
        for many, tally in sorted(found.tallies.items())
    ]
    header = ("iterations", "deals", "agent ahead", "search ahead", "agent wins %")
    if found.beyond:
        note = f"The equivalent of {ladder.agent} is {found.text()} iterations of {ladder.search}."
    else:
        note = f"{ladder.search} plays as strongly as {ladder.agent} with {found.text()} iterations (95 % interval)."
    deals = f"{found.iterations.count} duplicate deals"
    title = f"Monte Carlo equivalent · {deals} · {ladder.rules.name} rules · seed {ladder.seed}"
    return Table(title, header, lines, note)


class TendencyCommand(SavedGames, call="study tendency", heading="Study"):
    """Judge deals: do they lean to the landlord, to the peasants, or to neither?

    Attributes:
        deals: How many deals; two games each.
        first_deal: Number of the first deal under the seed.
        top: A strong agent; of several one is drawn a deal.
        bottom: A weak agent, likewise.
        out: Save every deal here with its tendency, for ddz arena --deal-file; resumes an existing file.

    Example:
        ddz study tendency --out deals.csv
        ddz study tendency --top policy --top rules --bottom random --deals 500
    """

    deals: Count = 1000
    first_deal: Natural = 0
    top: tuple[str, ...] = JUDGES[0]
    bottom: tuple[str, ...] = JUDGES[1]

    def run(self) -> None:
        """Judge them and count."""
        judges = deal_tendency.Judges(self.top, self.bottom, self.preset, self.seed)
        with self.working("deals") as how:
            judged = deal_tendency.judge_deals(judges, self.deals, self.out, first_deal=self.first_deal, **how)
        found = deal_tendency.counts(judged)
        shares = {name: statistics.wilson_interval(found[name], self.deals) for name in deal_tendency.TENDENCIES}
        lines = [(name, f"{found[name]:,}", share.text(), share.span()) for name, share in shares.items()]
        who = f"{', '.join(self.top)} v {', '.join(self.bottom)}"
        title = f"{self.deals:,} deals · {judges.rules.name} rules · seed {self.seed} · {who}"
        show(Table(title, ("tendency", "deals", "%", "95 % interval"), lines))
        if self.out is None:
            follow("to keep the deals", *self.again(out=Path("deals.csv")))
        else:
            pair, chosen = (self.top[0], self.bottom[0]), ("--deal-file", self.out, "--tendency", "none")
            rules = commands.rules_words(self.rules)
            follow("to play those without a tendency", "arena", *pair, *chosen, "--seed", self.seed, *rules)


# --- ddz reproduce -----------------------------------------------------------


class ReproduceCommand(Command):
    """An experiment.

    Attributes:
        experiment: Which one.
        out: Save results as they come, in FILE.sqlite, and write FILE.csv at the end; what is there is resumed.
    """

    experiment: ClassVar[Any]

    out: Annotated[Path | None, File(".csv", ".sqlite", use="results")] = None

    def run(self) -> None:
        """Do its tasks and print its tables."""
        one = self.experiment
        options = one.options(**{option.name: getattr(self, option.name) for option in one.options.options()})
        with bar(one.unit) as on_progress:
            saved = one.run(options, self.out, on_progress)
        for table in one.tables.values():
            show(table(saved))
        plot = getattr(self, "plot", None)
        if one.plot is not None and plot is not None:
            one.plot(saved, plot)


class PlottedCommand(ReproduceCommand):
    """An experiment with a plot.

    Attributes:
        plot: Write a plot here (.png, .pdf or .svg).
    """

    plot: Annotated[Path | None, PLOT] = None


def _reproduce(name: str) -> type[Command]:
    """The command of an experiment: its options are the experiment's own, and where to save."""
    one = registry.load_experiment(name)
    example = f"ddz reproduce {name} --out {one.file}.csv{' --plot plot.png' if one.plot else ''}"
    text = f"{commands.unmarked(inspect.cleandoc(one.about))}\n\nExample:\n    {example}"
    base: type[ReproduceCommand] = PlottedCommand if one.plot else ReproduceCommand
    parallel = any(option.name == "processes" for option in one.options.options())
    namespace = {"__doc__": text, "experiment": one, "error": one.options.error, "ray": parallel}
    namespace["words"] = ("reproduce", name)
    return type(name, (base, one.options), namespace)


reproduce = Group(
    "reproduce",
    "Repeat experiments of the literature; a run that was cut off resumes where it stopped.",
    {"Experiments": dict.fromkeys(registry.EXPERIMENTS, _reproduce)},
    "ddz reproduce mini-census --out mini_census.csv",
)
