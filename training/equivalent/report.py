"""An equivalent as a table: what was played, and what follows."""

from __future__ import annotations

from training.equivalent.playing import Ladder
from training.equivalent.search import Found, wins
from training.experiments.experiment import Table


def found_table(ladder: Ladder, found: Found) -> Table:
    """What was played against how many iterations, and the equivalent below."""
    lines = [
        (f"{many:,}", str(tally.deals), str(tally.ahead), str(tally.behind), wins(tally).percent())
        for many, tally in sorted(found.tallies.items())
    ]
    header = ("iterations", "deals", "agent ahead", "search ahead", "agent wins %")
    if found.beyond:
        note = f"Not even the search at the edge is its equal: {found.text()}."
    else:
        note = f"{ladder.search} plays as strongly as {ladder.agent} with {found.text()} iterations (95 % interval)."
    deals = f"{found.iterations.count} duplicate deals"
    title = f"Monte Carlo equivalent · {deals} · {ladder.rules.name} rules · seed {ladder.seed}"
    return Table(title, header, lines, note)
