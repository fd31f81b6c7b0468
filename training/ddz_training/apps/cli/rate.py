"""``ddz rate``: a league on duplicate deals, and what its agents are rated."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ddz_training.apps.cli.arena import fault_warnings
from ddz_training.apps.cli.console import complain, counting_bar, error_console, quoted, tell
from ddz_training.apps.cli.experiment import OtherCode, Plot, draw, show
from ddz_training.apps.cli.faults import EXIT_AGENT_FAILED
from ddz_training.apps.cli.following import again, follow, resuming
from ddz_training.apps.cli.help import RULES
from ddz_training.apps.cli.options import Names, OnFault, OnRay, TimeLimit, leave_out
from ddz_training.apps.cli.outputs import output_file, table_file
from ddz_training.apps.cli.signals import EXIT_INTERRUPTED
from ddz_training.apps.cli.tables import fault_lines, write_csv

if TYPE_CHECKING:
    from ddz_training.measure.match.duplicate import GameRecord
    from ddz_training.measure.match.round_robin import Arena


ANCHOR, MEAN = "rules", "mean"
"""Who is rated 0, as in the benchmark's ratings; and what is 0 instead where that is asked for."""
_OF_PLAYING = (
    "--resume", "--name", "--deals", "--block", "--until-decided", "--rules", "--seed", "--processes", "--ray",
    "--allow-other-code", "--no-timing", "--time-limit", "--on-fault",
)  # fmt: skip
"""Options that only games need."""


def _league_file(context: typer.Context, option: typer.CallbackParam, path: Path | None) -> Path | None:
    from ddz_training.measure.league.store import SUFFIXES

    return output_file(*SUFFIXES)(context, option, path)


def rate(
    context: typer.Context,
    agents: Annotated[
        list[str] | None,
        typer.Argument(help="Agents, as for ddz arena. Without any, only the tables of the file are printed."),
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Save every game here as it is played: FILE.sqlite or FILE.db.", callback=_league_file)
    ] = Path("league.sqlite"),
    resume: Annotated[
        bool, typer.Option("--resume", help="Resume the file of --out; agents that are new to it join the league.")
    ] = False,
    name: Names = None,
    deals: Annotated[
        int, typer.Option(min=1, help="Duplicate deals per pair on average; a deal is two games, six with bidding.")
    ] = 200,
    block: Annotated[int, typer.Option(min=1, help="Deals that are scheduled at a time.")] = 25,
    until_decided: Annotated[
        bool,
        typer.Option("--until-decided", help="End as soon as it is known of every pair who is better (error 5 %)."),
    ] = False,
    rules: Annotated[str, typer.Option(help=RULES)] = "standard",
    seed: Annotated[int, typer.Option(min=0, help="Seed of deals and agents.")] = 0,
    processes: Annotated[int, typer.Option(min=1, help="Worker processes; the results do not depend on them.")] = 2,
    ray: OnRay = False,
    allow_other_code: OtherCode = False,
    timing: Annotated[bool, typer.Option(help="Record times; --no-timing makes equal runs save equal games.")] = True,
    time_limit: TimeLimit = None,
    on_fault: OnFault = "lose",
    anchor: Annotated[
        str | None,
        typer.Option(
            help=f"The agent that is rated 0, or {MEAN} (of the league); by default {ANCHOR}, as in ddz benchmark, "
            "where it plays."
        ),
    ] = None,
    csv: Annotated[
        Path | None, typer.Option(help="Write the ratings here (FILE.csv).", callback=table_file(".csv"))
    ] = None,
    cross_csv: Annotated[
        Path | None, typer.Option(help="Write the results of every pair here (FILE.csv).", callback=table_file(".csv"))
    ] = None,
    plot: Plot = None,
) -> None:
    """Rate agents in a league on duplicate deals; who plays next is whoever's games tell most."""
    from ddz_env import Rules
    from ddz_env.core.errors import DouDizhuError
    from ddz_training.measure.match.round_robin import Arena

    if not agents:
        leave_out(context, "without agents only the tables of --out are printed", *_OF_PLAYING)
    ended: BaseException | None = None
    with fault_warnings() as warned:
        if agents:
            contest = Arena(tuple(agents), Rules.preset(rules), seed, timing, time_limit, on_fault, tuple(name or ()))
            if anchor not in (None, MEAN):
                _check_anchor(anchor, contest, out if resume else None)
            tell(f"Every game is kept in {quoted(out)}.", "dim", screen=error_console())
            try:
                _play(contest, out, resume, allow_other_code, deals, block, processes, until_decided)
            except (KeyboardInterrupt, DouDizhuError) as error:
                ended = error
        if ended is None or isinstance(ended, KeyboardInterrupt):
            failed = _report(out, anchor, csv, cross_csv, plot)
    for text in warned:
        complain(text)
    if isinstance(ended, DouDizhuError):
        raise ended
    if ended is not None:
        complain(f"interrupted; {quoted(out)} is valid, go on with: {resuming(context)}")
        raise typer.Exit(EXIT_INTERRUPTED)
    if agents:
        follow(
            "to rate until it is known of every pair who is better",
            *again(context, out=out, resume=True, until_decided=True, deals=4 * deals),
        )
    elif plot is None:
        follow("to see it", *again(context, plot=out.with_suffix(".png")))
    if agents and (warned or failed):
        raise typer.Exit(EXIT_AGENT_FAILED)


def _check_anchor(anchor: str, contest: Arena, file: Path | None) -> None:
    """Refuse an anchor that will have played no game: an agent neither of this run nor of the file it resumes."""
    from contextlib import closing

    from ddz_env.core.errors import unknown
    from ddz_training.measure.league.store import League
    from ddz_training.measure.match.errors import InvalidArenaError

    known = dict.fromkeys(contest.labels)
    if anchor not in known and file is not None and file.is_file() and file.stat().st_size:
        with closing(League(file)) as league:
            known.update(dict.fromkeys(label for game in league.games() for label in (game.a, game.b)))
    if anchor not in known:
        raise InvalidArenaError(unknown("anchor", anchor, known))


def _play(
    contest: Arena,
    out: Path,
    resume: bool,
    allow_other_code: bool,
    deals: int,
    block: int,
    processes: int,
    until_decided: bool,
) -> None:
    """Play and show how far the league is."""
    from contextlib import closing

    from ddz_env.core.errors import plural
    from ddz_training.measure.league.playing import play_league
    from ddz_training.measure.league.store import LeagueStore
    from ddz_training.measure.match.provenance import other_code

    with closing(LeagueStore(out, contest, resume)) as store, other_code(allow_other_code), counting_bar() as progress:
        bar = progress.add_task(f"deals × {plural(contest.pairs, 'pair')}", total=None, visible=False)
        play_league(
            store,
            deals,
            block=block,
            processes=processes,
            until_decided=until_decided,
            on_progress=lambda done, total: progress.update(bar, completed=done, total=total, visible=True),
        )


def _anchor(anchor: str | None, games: Sequence[GameRecord]) -> str | None:
    """Who is rated 0; None for the mean of the league."""
    if anchor is None:
        return ANCHOR if any(ANCHOR in (game.a, game.b) for game in games) else None
    return None if anchor == MEAN else anchor


def _report(out: Path, anchor: str | None, csv: Path | None, cross_csv: Path | None, plot: Path | None) -> bool:
    """Print the tables of a file and write what was asked for; whether an agent lost a game by a fault."""
    from contextlib import closing

    from ddz_env.core.errors import plural
    from ddz_training.measure.league.bradley_terry import rate as rated
    from ddz_training.measure.league.report import cross_table, plot_ratings, ratings_table
    from ddz_training.measure.league.store import League
    from ddz_training.measure.match.statistics import summarize

    with closing(League(out)) as league:
        games, settings = league.games(), league.settings
    if not games:
        complain(f"{quoted(out)} holds no games yet")
        return False
    anchor = _anchor(anchor, games)
    ratings, advantage = rated(games, anchor)
    title = f"{plural(len(games), 'game')} · {settings['rules']['name']} rules · seed {settings['seed']}"
    show(ratings_table(ratings, advantage, title, anchor))
    show(cross_table(ratings, games))
    for line in fault_lines(games):
        complain(line)
    if csv is not None:
        write_csv(csv, ratings)
    if cross_csv is not None:
        write_csv(cross_csv, summarize(games))
    draw(plot, lambda path: plot_ratings(ratings, path))
    return any(game.fault_by for game in games)
