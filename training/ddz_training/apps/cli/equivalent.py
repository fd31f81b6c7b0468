"""``ddz study equivalent``: how many iterations of a search play as strongly as an agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ddz_training.apps.cli.console import counting_bar
from ddz_training.apps.cli.experiment import OtherCode, Out, show
from ddz_training.apps.cli.following import follow, rules_option
from ddz_training.apps.cli.help import RULES
from ddz_training.apps.cli.options import OnRay

if TYPE_CHECKING:
    from ddz_training.experiments.experiment import Table
    from ddz_training.measure.equivalent import Found, Ladder

METHODS = ("sequential", "binary")


def equivalent(
    agent: Annotated[str, typer.Argument(help="The agent, as for ddz arena.")],
    search: Annotated[
        str, typer.Option(help="The search whose iterations are counted, with other options if wanted.")
    ] = "isuct",
    method: Annotated[
        str, typer.Option(help="sequential (fewer games), or binary: the thesis's algorithms 4 and 5.")
    ] = "sequential",
    rules: Annotated[str, typer.Option(help=RULES)] = "half-deck",
    lower: Annotated[
        int | None, typer.Option(min=1, help="Where to look: from so many iterations (1; binary: 1).")
    ] = None,
    upper: Annotated[
        int | None, typer.Option(min=1, help="Up to so many (--most; binary: 100, doubled until the search wins).")
    ] = None,
    deals: Annotated[
        int | None,
        typer.Option(min=1, help="Duplicate deals, two games each: at most 2,000, or 500 for each step of binary."),
    ] = None,
    precision: Annotated[
        float, typer.Option(min=1.01, help="End when the interval reaches no farther than a factor of this.")
    ] = 1.25,
    most: Annotated[int, typer.Option(min=1, help="The most iterations that are tried.")] = 1_000_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of deals and agents.")] = 0,
    processes: Annotated[int, typer.Option(min=1, help="Worker processes; the results do not depend on them.")] = 2,
    ray: OnRay = False,
    out: Out = None,
    allow_other_code: OtherCode = False,
) -> None:
    """Find the number of search iterations that plays as strongly as an agent, with its 95 % interval."""
    import numpy as np

    from ddz_env import Rules
    from ddz_env.core.errors import unknown
    from ddz_training.measure.equivalent import (
        STEP_DEALS,
        Bounds,
        Ladder,
        SequentialOptions,
        binary_search,
        duel_store,
        initial_bounds,
        playing,
        sequential_search,
    )
    from ddz_training.measure.match.errors import InvalidExperimentError
    from ddz_training.measure.match.provenance import other_code

    if method not in METHODS:
        raise InvalidExperimentError(unknown("method", method, METHODS))
    ladder = Ladder(agent, search, Rules.preset(rules), seed)
    ladder.check()
    wanted = SequentialOptions(most=most, precision=precision, **({"deals": deals} if deals else {}))
    where = Bounds.of(lower or 1, upper or (most if method == "sequential" else min(100, most)))
    with other_code(allow_other_code), counting_bar() as progress:
        bar = progress.add_task("deals", total=None)
        with playing(
            ladder,
            duel_store(ladder, out),
            processes,
            lambda done, total: progress.update(bar, completed=done, total=total),
        ) as play:
            if method == "sequential":
                found = sequential_search(play, wanted, where)
            else:
                steps = deals or STEP_DEALS
                where, _ = initial_bounds(play, where, steps, np.random.default_rng(seed), most)
                found = binary_search(play, where, steps)
    show(_table(ladder, found))
    if not found.beyond:
        searching = f"{search}{',' if ':' in search else ':'}iterations={max(1, round(found.iterations.mean))}"
        follow("to see them play each other", "arena", agent, searching, *rules_option(rules))


def _table(ladder: Ladder, found: Found) -> Table:
    """What was played against how many iterations, and the equivalent below."""
    from ddz_training.experiments.experiment import Table
    from ddz_training.measure.equivalent import wins

    lines = [
        (f"{many:,}", str(tally.deals), str(tally.ahead), str(tally.behind), wins(tally).percent())
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
