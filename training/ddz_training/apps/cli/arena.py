"""``ddz arena``: duplicate deals between agents."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ddz_env.core.errors import plural
from ddz_training.apps.cli.console import complain, counting_bar, quoted, remark, tell
from ddz_training.apps.cli.experiment import OtherCode, show
from ddz_training.apps.cli.faults import EXIT_AGENT_FAILED
from ddz_training.apps.cli.following import again, follow, resuming
from ddz_training.apps.cli.help import RULES
from ddz_training.apps.cli.options import Names, OnFault, OnRay, TimeLimit
from ddz_training.apps.cli.outputs import input_file, results_file, table_file
from ddz_training.apps.cli.signals import EXIT_INTERRUPTED
from ddz_training.apps.cli.tables import fault_lines, note, results_table, write_csv, write_json

if TYPE_CHECKING:
    from ddz_env import Rules
    from ddz_training.measure.match.duplicate import GameRecord
    from ddz_training.measure.match.results import ResultStore
    from ddz_training.measure.match.round_robin import Arena


def arena(
    context: typer.Context,
    agents: Annotated[
        list[str],
        typer.Argument(
            help="Agents by name (ddz agents), with options (isuct:iterations=2000), or your own (mymodule:MyAgent). "
            "Every pair plays."
        ),
    ],
    name: Names = None,
    deals: Annotated[
        int, typer.Option(min=1, help="Duplicate deals per pair; a deal is two games, six with bidding.")
    ] = 1000,
    first_deal: Annotated[int, typer.Option(min=0, help="Number of the first deal under the seed.")] = 0,
    deal_file: Annotated[
        Path | None,
        typer.Option(
            help="Play deals of this file only, the first --deals of them (ddz study tendency --out).",
            callback=input_file,
        ),
    ] = None,
    tendency: Annotated[
        str | None, typer.Option(help="Of the deal file only those that lean so: none, landlord or peasants.")
    ] = None,
    rules: Annotated[str, typer.Option(help=RULES)] = "standard",
    scoring: Annotated[str | None, typer.Option(help="win, stake or botzone; the preset's own by default.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of deals and agents.")] = 0,
    processes: Annotated[int, typer.Option(min=1, help="Worker processes; the results do not depend on them.")] = 2,
    ray: OnRay = False,
    out: Annotated[
        Path | None,
        typer.Option(help="Save every game here as it is played: FILE.csv or FILE.jsonl.", callback=results_file),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Resume the file of --out.")] = False,
    allow_other_code: OtherCode = False,
    timing: Annotated[bool, typer.Option(help="Record times; --no-timing makes equal runs write equal files.")] = True,
    time_limit: TimeLimit = None,
    on_fault: OnFault = "lose",
    csv: Annotated[
        Path | None, typer.Option(help="Write the final table here (FILE.csv).", callback=table_file(".csv"))
    ] = None,
    json: Annotated[
        Path | None,
        typer.Option(help="Write the final table and the settings here (FILE.json).", callback=table_file(".json")),
    ] = None,
) -> None:
    """Play duplicate deals, each from both sides, and print win rates and scores with 95 % intervals."""
    from ddz_env import Rules
    from ddz_env.core.errors import DouDizhuError, InvalidRulesError, unknown
    from ddz_env.core.state import SCORINGS
    from ddz_training.measure.match.errors import InvalidArenaError
    from ddz_training.measure.match.provenance import other_code
    from ddz_training.measure.match.round_robin import Arena

    preset = Rules.preset(rules)
    if scoring is not None and scoring not in SCORINGS:
        raise InvalidRulesError(unknown("scoring", scoring, SCORINGS))
    if resume and out is None:
        raise InvalidArenaError("--resume needs the file: --out FILE")
    chosen = _chosen(deal_file, tendency, preset, seed, first_deal)
    contest = Arena(tuple(agents), preset, seed, timing, time_limit, on_fault, tuple(name or ()))
    store, ended = contest.store(out, resume), None
    with fault_warnings() as warned:
        try:
            with other_code(allow_other_code):
                records = run_with_progress(
                    contest,
                    deals if chosen is None else chosen[:deals],
                    first_deal=first_deal,
                    processes=processes,
                    store=store,
                )
        except (KeyboardInterrupt, DouDizhuError) as error:
            records, ended = store.results, error
    _report(contest, records, scoring or preset.scoring, csv, json, store.settings)
    for text in warned:
        tell(text, "bold red")
    if isinstance(ended, DouDizhuError):
        raise ended
    if ended is not None:
        saved = f"; {quoted(out)} is valid, go on with: {resuming(context)}" if out else ""
        complain(f"interrupted after {plural(len(records), 'game')}{saved}")
        raise typer.Exit(EXIT_INTERRUPTED)
    follow("to halve the intervals", *again(context, deals=4 * deals, out=out or Path("games.csv"), resume=bool(out)))
    if warned or any(record.fault_by for record in records):
        raise typer.Exit(EXIT_AGENT_FAILED)


def _chosen(deal_file: Path | None, tendency: str | None, rules: Rules, seed: int, first_deal: int) -> list[int] | None:
    """The numbers of the deals of a file; None if no file is named."""
    from ddz_env.core.checks import check_choice
    from ddz_training.measure.match.errors import InvalidArenaError
    from ddz_training.measure.tendency import TENDENCIES, deals_of_file

    if tendency is not None:
        check_choice("tendency", tendency, TENDENCIES, InvalidArenaError)
        if deal_file is None:
            raise InvalidArenaError("--tendency needs the deals: --deal-file FILE (ddz study tendency --out FILE)")
    if deal_file is None:
        return None
    numbers = deals_of_file(deal_file, tendency, rules, seed)
    left = [number for number in numbers if number >= first_deal]
    if not left:
        found = plural(len(numbers), "deal") + ("" if tendency is None else f" of tendency {tendency!r}")
        raise InvalidArenaError(
            f"{deal_file} has {found}, numbered up to {numbers[-1]}: --first-deal {first_deal} leaves none"
        )
    return left


@contextmanager
def fault_warnings() -> Iterator[list[str]]:
    """Collect what is said of agents that fail when they are closed, each text once; other warnings go their way."""
    from ddz_training.measure.match.errors import AgentFaultWarning

    texts: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("always", AgentFaultWarning)
        show = warnings.showwarning

        def note(message: Warning | str, category: type[Warning], *place: Any) -> None:
            if not issubclass(category, AgentFaultWarning):
                show(message, category, *place)
            elif str(message) not in texts:
                texts.append(str(message))

        warnings.showwarning = note  # type: ignore[assignment]  # its last two parameters are passed on
        yield texts


def run_with_progress(
    arena: Arena,
    deals: int | Sequence[int],
    *,
    first_deal: int = 0,
    processes: int = 1,
    store: ResultStore[GameRecord] | None = None,
) -> list[GameRecord]:
    """Play an arena and show how far it is.

    Args:
        arena: Agents, rules and seed.
        deals: Deals a pair, or their numbers.
        first_deal: Number of the first deal.
        processes: Worker processes.
        store: Where to keep the games.
    """
    from ddz_training.measure.match.round_robin import run_arena

    what = "deals" if arena.pairs == 1 else f"deals × {arena.pairs} pairs"
    with counting_bar() as progress:
        bar = progress.add_task(what, total=None, visible=False)
        return run_arena(
            arena,
            deals,
            first_deal=first_deal,
            processes=processes,
            store=store,
            on_progress=lambda done, total: progress.update(bar, completed=done, total=total, visible=True),
        )


def _report(
    contest: Arena,
    records: list[GameRecord],
    scoring: str,
    csv: Path | None,
    json: Path | None,
    settings: Mapping[str, Any],
) -> None:
    """Print the tables and write the files."""
    from ddz_training.measure.match.statistics import standings, summarize

    if not records:
        return
    results = summarize(records, scoring)
    totals = standings(records, scoring) if len(contest.agents) > 2 else []
    deals = len({record.deal for record in records})
    title = f"{plural(deals, 'duplicate deal')} · {contest.rules.name} rules · {scoring} scoring · seed {contest.seed}"
    show(results_table(results, title, scoring), sections=range(1, len(results), 2))
    if totals:
        show(results_table(totals, "Against all others", scoring, ("agent",)))
    remark(note(scoring))
    for line in fault_lines(records):
        tell(line, "bold red")
    if json is not None:
        write_json(json, {**settings, "scoring": scoring}, [*results, *totals])
    if csv is not None:
        write_csv(csv, [*results, *totals])
