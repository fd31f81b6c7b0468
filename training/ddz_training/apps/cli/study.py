"""``ddz study`` and ``ddz reproduce``: studies of agents and deals, and the experiments of the registry."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from ddz_env.core.options import Range
from ddz_training.apps.cli.command import (
    Argument,
    Command,
    Count,
    Group,
    Natural,
    SavedGames,
    follow,
    rules_words,
    unmarked,
)
from ddz_training.apps.cli.console import show, with_bar
from ddz_training.apps.cli.lazily import lazily
from ddz_training.apps.cli.outputs import File, Plot
from ddz_training.measure.markdown import Table

with lazily():
    from numpy import random

    from ddz_training.experiments import registry
    from ddz_training.measure import equivalent as duels
    from ddz_training.measure import statistics
    from ddz_training.measure import tendency as deal_tendency

if TYPE_CHECKING:
    from ddz_training.measure.store import OnProgress


class Equivalent(SavedGames):
    """Find the number of search iterations that plays as strongly as an agent, with its 95 % interval.

    Attributes:
        agent: The agent, as for ddz arena.
        search: The search whose iterations are counted, with other options if wanted.
        method: sequential (fewer games), or binary: the thesis's algorithms 4 and 5.
        lower: Where to look: from so many iterations (1; binary: 1).
        upper: Up to so many (--most; binary: 100, doubled until the search wins).
        deals: Duplicate deals, two games each: at most 2,000, or 500 for each step of binary.
        precision: End when the interval reaches no farther than a factor of this.
        most: The most iterations that are tried.

    Example:
        ddz study equivalent rules
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

    def run(self) -> None:
        """Play duels until the number is known."""
        ladder = duels.Ladder(self.agent, self.search, self.preset, self.seed)
        ladder.check()
        found = with_bar("deals", lambda tell: self._find(ladder, tell))
        show(_equivalent_table(ladder, found))
        if not found.beyond:
            iterations = max(1, round(found.iterations.mean))
            searching = f"{self.search}{',' if ':' in self.search else ':'}iterations={iterations}"
            follow("to see them play each other", "arena", self.agent, searching, *rules_words(self.rules))

    def _find(self, ladder: duels.Ladder, tell: OnProgress) -> duels.Found:
        sequential, most = self.method == "sequential", self.most
        where = duels.Bounds.of(self.lower or 1, self.upper or (most if sequential else min(100, most)))
        with duels.playing(ladder, self.out, self.processes, tell) as play:
            if sequential:
                named = {"deals": self.deals} if self.deals else {}
                wanted = duels.SequentialOptions(most=most, precision=self.precision, **named)
                return duels.sequential_search(play, wanted, where)
            steps = self.deals or duels.STEP_DEALS
            bounds, _ = duels.initial_bounds(play, where, steps, random.default_rng(self.seed), most)
            return duels.binary_search(play, bounds, steps)


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


class Tendency(SavedGames):
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
    top: tuple[str, ...] = ("policy",)
    bottom: tuple[str, ...] = ("rules",)

    def run(self) -> None:
        """Judge them and count."""
        judges = deal_tendency.Judges(self.top, self.bottom, self.preset, self.seed)
        settings = {"first_deal": self.first_deal, "processes": self.processes}
        judged = with_bar(
            "deals",
            lambda tell: deal_tendency.judge_deals(judges, self.deals, self.out, on_progress=tell, **settings),
        )
        found = deal_tendency.counts(judged)
        shares = {name: statistics.wilson_interval(found[name], self.deals) for name in deal_tendency.TENDENCIES}
        lines = [(name, f"{found[name]:,}", share.text(), share.span()) for name, share in shares.items()]
        who = f"{', '.join(self.top)} v {', '.join(self.bottom)}"
        title = f"{self.deals:,} deals · {judges.rules.name} rules · seed {self.seed} · {who}"
        show(Table(title, ("tendency", "deals", "%", "95 % interval"), lines))
        if self.out is None:
            follow("to keep the deals", *self.again(out=Path("deals.csv")))
        else:
            seeded = ["--seed", str(self.seed)] if self.seed else []
            chosen: list[str | Path] = [
                "--deal-file",
                self.out,
                "--tendency",
                "none",
                *rules_words(self.rules),
                *seeded,
            ]
            follow("to play those without a tendency", "arena", self.top[0], self.bottom[0], *chosen)


study = Group(
    ("study",),
    "Study agents and deals: what search equals an agent, whom deals favour.",
    {"Commands": {"equivalent": Equivalent, "tendency": Tendency}},
    "ddz study equivalent rules",
)


# --- ddz reproduce -----------------------------------------------------------


class Reproduce(Command):
    """An experiment.

    Attributes:
        experiment: Which one.
        out: Save results here as they come (FILE.csv); an existing file is resumed.
    """

    experiment: ClassVar[Any]

    out: Annotated[Path | None, File(".csv", ".jsonl", use="results")] = None

    def run(self) -> None:
        """Do its tasks and print its tables."""
        one = self.experiment
        options = one.options(**{option.name: getattr(self, option.name) for option in one.options.options()})
        saved = with_bar(one.unit, lambda tell: one.run(options, self.out, tell))
        for table in one.tables.values():
            show(table(saved))
        plot = getattr(self, "plot", None)
        if one.plot is not None and plot is not None:
            one.plot(saved, plot)


class Plotted(Reproduce):
    """An experiment with a plot.

    Attributes:
        plot: Write a plot here (.png, .pdf or .svg).
    """

    plot: Annotated[Path | None, Plot()] = None


def _reproduce(name: str) -> type[Command]:
    """The command of an experiment: its options are the experiment's own, and where to save."""
    one = registry.load_experiment(name)
    example = f"ddz reproduce {name} --out {one.file}.csv{' --plot plot.png' if one.plot else ''}"
    text = f"{unmarked(inspect.cleandoc(one.about))}\n\nExample:\n    {example}"
    base: type[Reproduce] = Plotted if one.plot else Reproduce
    namespace = {"__doc__": text, "experiment": one, "error": one.options.error}
    return type(name, (base, one.options), namespace)


reproduce = Group(
    ("reproduce",),
    "Repeat experiments of the literature; a run that was cut off resumes where it stopped.",
    lambda: {"Experiments": dict.fromkeys(registry.EXPERIMENTS, _reproduce)},
    "ddz reproduce mini-census --out mini_census.csv",
)
