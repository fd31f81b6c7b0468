"""``ddz study``: what search equals an agent, whom deals favour."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from ddz_env import Rules
from ddz_env.core.checks import check_choice
from ddz_training.apps.cli import options
from ddz_training.apps.cli.commands import again, follow, group, rules_option
from ddz_training.apps.cli.console import show, with_bar
from ddz_training.apps.cli.lazily import lazily
from ddz_training.experiments.experiment import Table
from ddz_training.measure.errors import InvalidExperimentError
from ddz_training.measure.store import OnProgress

with lazily():
    from ddz_training.measure import equivalent as duels
    from ddz_training.measure import statistics
    from ddz_training.measure import tendency as deal_tendency

METHODS = ("sequential", "binary")


def equivalent(
    agent: Annotated[str, typer.Argument()],
    search: str = "isuct",
    method: str = "sequential",
    rules: options.Preset = "half-deck",
    lower: options.OptionalCount = None,
    upper: options.OptionalCount = None,
    deals: options.OptionalCount = None,
    precision: Annotated[float, typer.Option(min=1.01)] = 1.25,
    most: options.Count = 1000000,
    seed: options.Natural = 0,
    processes: options.Count = 2,
    ray: options.OnRay = False,
    out: options.Out = None,
    allow_other_code: options.OtherCode = False,
) -> None:
    """Find the number of search iterations that plays as strongly as an agent, with its 95 % interval.

    Options:
        agent: The agent, as for ddz arena.
        search: The search whose iterations are counted, with other options if wanted.
        method: sequential (fewer games), or binary: the thesis's algorithms 4 and 5.
        lower: Where to look: from so many iterations (1; binary: 1).
        upper: Up to so many (--most; binary: 100, doubled until the search wins).
        deals: Duplicate deals, two games each: at most 2,000, or 500 for each step of binary.
        precision: End when the interval reaches no farther than a factor of this.
        most: The most iterations that are tried.
        seed: Seed of deals and agents.
        processes: Worker processes; the results do not depend on them.

    Example:
        ddz study equivalent rules
        ddz study equivalent policy --search rollout --most 10000 --out policy.csv
        ddz study equivalent rlcard-rule --method binary --upper 100 --deals 100
    """
    check_choice("method", method, METHODS, InvalidExperimentError)
    ladder = duels.Ladder(agent, search, Rules.preset(rules), seed)
    ladder.check()
    named = {"deals": deals} if deals else {}
    wanted = duels.SequentialOptions(most=most, precision=precision, **named)
    where = duels.Bounds.of(lower or 1, upper or (most if method == "sequential" else min(100, most)))

    def find(tell: OnProgress) -> duels.Found:
        with duels.playing(ladder, duels.duel_store(ladder, out), processes, tell) as play:
            if method == "sequential":
                return duels.sequential_search(play, wanted, where)
            steps = deals or duels.STEP_DEALS
            bounds, _ = duels.initial_bounds(play, where, steps, np.random.default_rng(seed), most)
            return duels.binary_search(play, bounds, steps)

    found = with_bar("deals", find)
    show(_equivalent_table(ladder, found))
    if not found.beyond:
        searching = f"{search}{',' if ':' in search else ':'}iterations={max(1, round(found.iterations.mean))}"
        follow("to see them play each other", "arena", agent, searching, *rules_option(rules))


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


def tendency(
    context: typer.Context,
    deals: options.Count = 1000,
    first_deal: options.Natural = 0,
    top: list[str] | None = None,
    bottom: list[str] | None = None,
    rules: options.Preset = "standard",
    seed: options.Natural = 0,
    processes: options.Count = 2,
    ray: options.OnRay = False,
    out: options.ResultsFile = None,
    allow_other_code: options.OtherCode = False,
) -> None:
    """Judge deals: do they lean to the landlord, to the peasants, or to neither?

    Options:
        deals: How many deals; two games each.
        first_deal: Number of the first deal under the seed.
        top: A strong agent; of several one is drawn a deal. By default policy.
        bottom: A weak agent, likewise. By default rules.
        seed: Seed of deals and agents.
        processes: Worker processes; the results do not depend on them.
        out: Save every deal here with its tendency, for ddz arena --deal-file; resumes an existing file.

    Example:
        ddz study tendency --out deals.csv
        ddz study tendency --top policy --top rules --bottom random --deals 500
    """
    judges = deal_tendency.Judges(tuple(top or ("policy",)), tuple(bottom or ("rules",)), Rules.preset(rules), seed)
    settings = {"first_deal": first_deal, "processes": processes}
    judged = with_bar("deals", lambda tell: deal_tendency.judge_deals(judges, deals, out, on_progress=tell, **settings))
    found = deal_tendency.counts(judged)
    shares = {name: statistics.wilson_interval(found[name], deals) for name in deal_tendency.TENDENCIES}
    lines = [(name, f"{found[name]:,}", share.text(), share.span()) for name, share in shares.items()]
    who = f"{', '.join(judges.top)} v {', '.join(judges.bottom)}"
    title = f"{deals:,} deals · {judges.rules.name} rules · seed {seed} · {who}"
    show(Table(title, ("tendency", "deals", "%", "95 % interval"), lines))
    if out is None:
        follow("to keep the deals", *again(context, out=Path("deals.csv")))
    else:
        seeded = ["--seed", str(seed)] if seed else []
        chosen = ["--deal-file", str(out), "--tendency", "none", *rules_option(rules), *seeded]
        follow("to play those without a tendency", "arena", judges.top[0], judges.bottom[0], *chosen)


app = group(
    "Study agents and deals: what search equals an agent, whom deals favour.",
    (equivalent, tendency),
    "ddz study equivalent rules",
)
