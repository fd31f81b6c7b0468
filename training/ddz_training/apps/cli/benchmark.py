"""``ddz benchmark``: an agent against a field that never changes, on deals that never change."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ddz_training.apps.cli.console import quoted, remark, tell
from ddz_training.apps.cli.experiment import OtherCode, show, with_bar
from ddz_training.apps.cli.faults import EXIT_AGENT_FAILED
from ddz_training.apps.cli.following import again, follow
from ddz_training.apps.cli.options import OnRay, leave_out
from ddz_training.apps.cli.outputs import check_new, input_file, output_file
from ddz_training.apps.cli.tables import fault_lines, note, results_table

if TYPE_CHECKING:
    from ddz_training.measure.benchmark.file import Results
    from ddz_training.measure.benchmark.play import Contest

_UNIT = "deals × pairs"
_QUICK_DEALS, _FULL_DEALS = 400, 1000
_CITED = "reporting"
"""The list of deals whose results may be cited."""
_OF_PLAYING = ("--name", "--full", "--deals", "--out", "--allow-other-code")
"""Options that only new games need."""


def benchmark(
    context: typer.Context,
    agent: Annotated[
        str | None,
        typer.Argument(help="Your agent (mymodule:MyAgent), or one by name with options (isuct:iterations=2000)."),
    ] = None,
    name: Annotated[str, typer.Option(help="What results call it; its specification by default.")] = "",
    full: Annotated[
        bool, typer.Option("--full", help="The whole field on the deals for reporting; hours on two cores.")
    ] = False,
    field: Annotated[
        bool,
        typer.Option("--field", help="Play the field against itself, which gives its ratings; hours with --full."),
    ] = False,
    check: Annotated[
        Path | None,
        typer.Option(help="Check a file of results by playing some of its deals again.", callback=input_file),
    ] = None,
    sample: Annotated[int, typer.Option(min=1, help="Deals a pair that --check plays, drawn anew each time.")] = 10,
    every: Annotated[bool, typer.Option("--all", help="Let --check play all of them.")] = False,
    deals: Annotated[
        int | None,
        typer.Option(min=1, help=f"Deals a pair; {_QUICK_DEALS} by default, {_FULL_DEALS} with --full and --field."),
    ] = None,
    processes: Annotated[int, typer.Option(min=1, help="Worker processes; results do not depend on them.")] = 2,
    ray: OnRay = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write the results here (FILE.json). Games go to FILE.csv as they are played, and are resumed.",
            callback=output_file(".json"),
        ),
    ] = None,
    allow_other_code: OtherCode = False,
) -> None:
    """Place an agent in a frozen field, in about five minutes; or play, write and check results that can be cited."""
    from ddz_training.measure.benchmark.field import deal_list
    from ddz_training.measure.benchmark.play import against_field, field_contest
    from ddz_training.measure.match.errors import InvalidBenchmarkRequestError
    from ddz_training.measure.match.provenance import other_code

    if sum((agent is not None, field, check is not None)) != 1:
        raise InvalidBenchmarkRequestError("name an agent, or --field, or --check FILE: one of the three")
    if check is None:
        leave_out(context, "only --check plays the games of a file again", "--sample", "--all")
    else:
        leave_out(context, "--check plays what its file says", *_OF_PLAYING)
        _check(check, None if every else sample, processes)
        return
    if field:
        leave_out(context, "the field's agents have their names", "--name")
    drawn = deal_list(_CITED if full else "choosing")
    if agent is None:
        contest = field_contest(drawn, quick=not full)
    else:
        contest = against_field(agent, drawn, name=name, quick=not full)
    with other_code(allow_other_code):
        results = _play(contest, deals or (_FULL_DEALS if full or field else _QUICK_DEALS), processes, out)
    _report(results)
    if not (full and out is not None):
        whole = Path("mine.json") if out is None else out.with_stem(f"{out.stem}-full")  # this one holds other deals
        follow("to play games that can be cited", *again(context, full=True, out=whole, deals=None))
    else:
        follow("to let anybody check it", "benchmark", "--check", out)
    faults = fault_lines(results.records)
    for line in faults:
        tell(line, "bold red")
    if faults:
        raise typer.Exit(EXIT_AGENT_FAILED)


def _play(contest: Contest, deals: int, processes: int, out: Path | None) -> Results:
    from ddz_training.measure.benchmark.file import results_of, write_file
    from ddz_training.measure.benchmark.play import play_contest

    contest.deals.check_count(deals)
    games = out.with_suffix(".csv") if out else None
    if out is not None and games is not None and not games.exists():
        check_new(out)  # another run's, whose games are elsewhere
    store = contest.store(games)
    records = with_bar(
        _UNIT, lambda tell: play_contest(contest, deals, processes=processes, store=store, on_progress=tell)
    )
    results = results_of(contest, records, store)
    if out is not None:
        write_file(out, results)
    return results


def _report(results: Results) -> None:
    """Tables of an agent, or of the field's ratings."""
    from ddz_env.core.errors import plural
    from ddz_training.measure.benchmark.field import FIELD
    from ddz_training.measure.benchmark.file import SCORING
    from ddz_training.measure.benchmark.leaderboard import field_ratings, place, placement_table
    from ddz_training.measure.match.statistics import standings

    deals, own = results.contest.deals, [name for name in results.contest.agents if name not in FIELD]
    totals = {line.agent: line for line in standings(results.records, SCORING)}
    for name in own or results.contest.agents:
        lines = [line for line in results.summary() if line.agent == name]
        title = f"{name}: {plural(results.deals, 'duplicate deal')} each, list {deals.name!r}"
        show(results_table([*lines, totals[name]], title, SCORING, ("against",)), sections=[len(lines) - 1])
    remark(note(SCORING))
    for name in own:
        ratings = field_ratings()
        show(placement_table(name, place(results.records, name, ratings.fixed), ratings))
    if deals.name != _CITED:
        remark(
            "Not for citing: agents are chosen on these deals. What --full plays, the list "
            f"{_CITED!r}, can be cited and checked.",
            None,
        )


def _check(path: Path, sample: int | None, processes: int) -> None:
    import numpy as np

    from ddz_env.playing.provenance import code_stamp
    from ddz_training.measure.benchmark.file import read_file, replay

    results = read_file(path)
    same = with_bar(
        _UNIT, lambda tell: replay(results, sample, np.random.default_rng(), processes=processes, on_progress=tell)
    )
    _report(results)
    what = "all" if sample is None else "drawn at random"
    tell(f"{quoted(path)}: {same} deals ({what}) were played again, and every game ended as it says")
    if code_stamp() not in results.code:
        played = " and ".join(results.code)
        tell(f"It was played by the code {played}, this is {code_stamp()}.", "dim")
