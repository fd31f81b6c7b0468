"""``ddz study`` and ``ddz speed``: what search equals an agent, whom deals favour, how fast everything is."""

from __future__ import annotations

import dataclasses
import json as json_module
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ddz_env import Rules
from ddz_env.core.checks import check_choice
from ddz_env.core.whole_file import replace_file
from ddz_training.apps.cli import options
from ddz_training.apps.cli.commands import again, follow, group, rules_option
from ddz_training.apps.cli.console import error_console, remark, show, with_bar
from ddz_training.apps.cli.lazily import lazily
from ddz_training.experiments.experiment import Spare, Table
from ddz_training.measure.match.errors import InvalidExperimentError
from ddz_training.measure.match.results import OnProgress
from ddz_training.measure.speed.benchmark import (
    InvalidBenchmarkError,
    Measurement,
    Part,
    machine,
    machine_lines,
    measure,
    short_number,
    target_text,
)
from ddz_training.measure.speed.parts import PARTS

with lazily():
    from ddz_training.measure import equivalent as duels
    from ddz_training.measure import tendency as deal_tendency
    from ddz_training.measure.match import statistics

METHODS = ("sequential", "binary")
_QUICK_REPEATS, _QUICK_SECONDS = 2, 0.1
_IDLE_LOAD = 0.5
_HEADER = ("what", "median", "range", "unit", "target", "ours ÷ peer", "ratio target", "reached")


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


# --- ddz speed ---------------------------------------------------------------


_ALWAYS, _ASKED = (", ".join(key for key, part in PARTS.items() if part.on_request == asked) for asked in (False, True))
_ONLY = f"Parts, with commas: {_ALWAYS}; when named also {_ASKED} (some take minutes or Chromium)."


def speed(
    only: Annotated[str | None, typer.Option(help=_ONLY)] = None,
    repeats: options.Count = 7,
    quick: bool = False,
    json: options.JsonFile = None,
) -> None:
    """Measure speeds in alternation with the installed peers, and the ratios to them.

    Options:
        repeats: Repeats of each measurement; the medians count.
        quick: Two short repeats: for a first look, not for figures to quote.
        json: Write every repeat to this file (FILE.json).

    Example:
        ddz speed --quick
        ddz speed --only engine,search --json speeds.json
    """
    parts, facts = _parts(only), machine()
    measured: list[Measurement] = []
    with error_console().status("") as status:
        for part in parts:

            def on_name(name: str, part: Part = part) -> None:
                status.update(f"{part.key}: {name}")

            measured += measure(part, _QUICK_REPEATS if quick else repeats, _QUICK_SECONDS if quick else None, on_name)
    for table in _tables(measured):
        show(table)
    remark(_facts(facts, quick))
    if json is not None:
        document = {"machine": facts, "quick": quick, "measurements": [dataclasses.asdict(m) for m in measured]}
        replace_file(json, (json_module.dumps(document, indent=2) + "\n").encode())


def _parts(only: str | None) -> list[Part]:

    if only is None:
        return [part for part in PARTS.values() if not part.on_request]
    names = [name.strip() for name in only.split(",") if name.strip()]
    if not names:
        raise InvalidBenchmarkError(f"--only names no part; choose from {', '.join(PARTS)}")
    for name in names:
        check_choice("part", name, PARTS, InvalidBenchmarkError)
    return [PARTS[name] for name in names]


def _tables(measured: Sequence[Measurement]) -> Iterator[Table]:
    """A table a part; a peer's ratio is ours over the peer's."""
    for part in dict.fromkeys(row.part for row in measured):
        rows = [row for row in measured if row.part == part]
        yield Table(rows[0].title, _HEADER, list(map(_cells, rows)), spare=[Spare("range")])


def _cells(row: Measurement) -> list[str]:

    target = target_text(row.target, row.unit, is_peer=row.is_peer)
    return [
        ("peer: " if row.is_peer else "") + row.name,
        row.note or (short_number(row.median) if row.median is not None else ""),
        f"{short_number(min(row.values))}–{short_number(max(row.values))}" if len(row.values) > 1 else "",
        row.unit,
        "" if row.is_peer else target,
        f"{row.ratio:,.1f} ×" if row.ratio is not None else "",
        target if row.is_peer else "",
        {None: "", True: "yes", False: "no"}[row.reached],
    ]


def _facts(facts: dict[str, Any], quick: bool) -> str:

    notes = ["Repeats are interleaved; a ratio is the median of the ratios of single repeats."]
    if quick:
        notes.append("--quick: two short repeats; these are no figures to quote.")
    if (facts["load"] or 0) > _IDLE_LOAD:
        notes.append(f"The machine was busy (load {facts['load']}): ratios count, absolute figures are too low.")
    return "\n".join([*machine_lines(facts), *notes])
