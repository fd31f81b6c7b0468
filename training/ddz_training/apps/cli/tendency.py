"""``ddz study tendency``: whom deals favour, and files of deals for the arena."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ddz_training.apps.cli.experiment import OtherCode, show, with_bar
from ddz_training.apps.cli.following import again, follow, rules_option
from ddz_training.apps.cli.help import RULES
from ddz_training.apps.cli.options import OnRay
from ddz_training.apps.cli.outputs import results_file


def tendency(
    context: typer.Context,
    deals: Annotated[int, typer.Option(min=1, help="How many deals; two games each.")] = 1000,
    first_deal: Annotated[int, typer.Option(min=0, help="Number of the first deal under the seed.")] = 0,
    top: Annotated[
        list[str] | None, typer.Option(help="A strong agent; of several one is drawn a deal. By default policy.")
    ] = None,
    bottom: Annotated[list[str] | None, typer.Option(help="A weak agent, likewise. By default rules.")] = None,
    rules: Annotated[str, typer.Option(help=RULES)] = "standard",
    seed: Annotated[int, typer.Option(min=0, help="Seed of deals and agents.")] = 0,
    processes: Annotated[int, typer.Option(min=1, help="Worker processes; the results do not depend on them.")] = 2,
    ray: OnRay = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Save every deal here with its tendency, for ddz arena --deal-file; resumes an existing file.",
            callback=results_file,
        ),
    ] = None,
    allow_other_code: OtherCode = False,
) -> None:
    """Judge deals: do they lean to the landlord, to the peasants, or to neither?"""
    from ddz_env import Rules
    from ddz_training.experiments.experiment import Table
    from ddz_training.measure.match.provenance import other_code
    from ddz_training.measure.match.statistics import wilson_interval
    from ddz_training.measure.tendency import TENDENCIES, Judges, counts, judge_deals

    judges = Judges(tuple(top or ("policy",)), tuple(bottom or ("rules",)), Rules.preset(rules), seed)
    with other_code(allow_other_code):
        judged = with_bar(
            "deals",
            lambda tell: judge_deals(judges, deals, out, first_deal=first_deal, processes=processes, on_progress=tell),
        )
    found = counts(judged)
    lines = [
        (name, f"{found[name]:,}", *(lambda share: (share.text(), share.span()))(wilson_interval(found[name], deals)))
        for name in TENDENCIES
    ]
    title = f"{deals:,} deals · {judges.rules.name} rules · seed {seed} · {', '.join(judges.top)} v " + ", ".join(
        judges.bottom
    )
    show(Table(title, ("tendency", "deals", "%", "95 % interval"), lines))
    if out is None:
        follow("to keep the deals", *again(context, out=Path("deals.csv")))
    else:
        seeded = ["--seed", str(seed)] if seed else []
        chosen = ["--deal-file", str(out), "--tendency", "none", *rules_option(rules), *seeded]
        follow("to play those without a tendency", "arena", judges.top[0], judges.bottom[0], *chosen)
