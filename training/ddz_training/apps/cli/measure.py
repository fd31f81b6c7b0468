"""``ddz arena``, ``rate`` and ``benchmark``: who plays better, on duplicate deals."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

import numpy as np
import typer

from ddz_env import Rules
from ddz_env.core.checks import check_choice
from ddz_env.core.errors import DouDizhuError, InvalidRulesError, plural
from ddz_env.core.state import SCORINGS
from ddz_env.playing.provenance import code_stamp
from ddz_training.apps.cli import options
from ddz_training.apps.cli.commands import EXIT_AGENT_FAILED, again, follow, leave_out, resuming
from ddz_training.apps.cli.console import complain, error_console, quoted, remark, show, tell, with_bar
from ddz_training.apps.cli.lazily import lazily
from ddz_training.apps.cli.results import fault_lines, note, results_table, write_csv, write_json
from ddz_training.apps.cli.signals import EXIT_INTERRUPTED
from ddz_training.measure.errors import AgentFaultWarning, InvalidArenaError

with lazily():
    from ddz_training.measure import contest as contests
    from ddz_training.measure import duplicate, league, ratings, statistics
    from ddz_training.measure import errors as match_errors
    from ddz_training.measure import tendency as deal_tendency
    from ddz_training.measure.benchmark import field as benchmark_field
    from ddz_training.measure.benchmark import leaderboard
    from ddz_training.measure.benchmark import play as benchmark_play

_Played = TypeVar("_Played")

ANCHOR, MEAN = "rules", "mean"
"""Who is rated 0, as in the benchmark's ratings; and what is 0 instead where that is asked for."""
_OF_RATING = (
    "--resume", "--name", "--deals", "--block", "--until-decided", "--rules", "--seed", "--processes", "--ray",
    "--allow-other-code", "--no-timing", "--time-limit", "--on-fault",
)  # fmt: skip
"""Options of ``ddz rate`` that only games need."""
_OF_BENCHMARK = ("--name", "--full", "--deals", "--out", "--allow-other-code")
"""Options of ``ddz benchmark`` that only new games need."""
_UNIT = "deals × pairs"
_QUICK_DEALS, _FULL_DEALS = 400, 1000
_CITED = "reporting"
"""The list of deals whose results may be cited."""


# --- playing -----------------------------------------------------------------


def _play(play: Callable[[], _Played]) -> tuple[_Played | None, BaseException | None, list[str]]:
    """Let games be played; what is made of them, or what ended them early, and what was said of failing agents."""
    played: _Played | None = None
    ended: BaseException | None = None
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", AgentFaultWarning)
        try:
            played = play()
        except (KeyboardInterrupt, DouDizhuError) as error:
            ended = error
    faults = [one for one in seen if issubclass(one.category, AgentFaultWarning)]
    for one in seen:
        if one not in faults:
            warnings.showwarning(one.message, one.category, one.filename, one.lineno)
    return played, ended, list(dict.fromkeys(str(one.message) for one in faults))


def _end(context: typer.Context, ended: BaseException | None, out: Path | None, interrupted: str) -> None:
    """End a command whose games ended early: with their error, or after Ctrl-C with what goes on with them."""
    if isinstance(ended, DouDizhuError):
        raise ended
    if ended is not None:
        complain(interrupted + (f"; {quoted(out)} is valid, go on with: {resuming(context)}" if out else ""))
        raise typer.Exit(EXIT_INTERRUPTED)


def run_with_progress(arena: contests.Arena, deals: int | Sequence[int], **settings: Any) -> list[Any]:
    """Play an arena and show how far it is.

    Args:
        arena: Agents, rules and seed.
        deals: Deals a pair, or their numbers.
        **settings: As for :func:`ddz_training.measure.contest.run_arena`.
    """
    what = "deals" if arena.pairs == 1 else f"deals × {arena.pairs} pairs"
    return with_bar(what, lambda tell: contests.run_arena(arena, deals, on_progress=tell, **settings))


# --- ddz arena ---------------------------------------------------------------


def arena(
    context: typer.Context,
    agents: Annotated[list[str], typer.Argument()],
    name: options.Names = None,
    deals: options.Count = 1000,
    first_deal: options.Natural = 0,
    deal_file: options.InputFile = None,
    tendency: str | None = None,
    rules: options.Preset = "standard",
    scoring: str | None = None,
    seed: options.Natural = 0,
    processes: options.Count = 2,
    ray: options.OnRay = False,
    out: options.ResultsFile = None,
    resume: bool = False,
    allow_other_code: options.OtherCode = False,
    timing: bool = True,
    time_limit: options.TimeLimit = None,
    on_fault: options.OnFault = "lose",
    csv: options.TableFile = None,
    json: options.JsonFile = None,
) -> None:
    """Play duplicate deals, each from both sides, and print win rates and scores with 95 % intervals.

    Options:
        agents: Agents by name (ddz agents), with options (isuct:iterations=2000), or your own (mymodule:MyAgent). Every
            pair plays.
        deals: Duplicate deals per pair; a deal is two games, six with bidding.
        first_deal: Number of the first deal under the seed.
        deal_file: Play deals of this file only, the first --deals of them (ddz study tendency --out).
        tendency: Of the deal file only those that lean so: none, landlord or peasants.
        scoring: win, stake or botzone; the preset's own by default.
        seed: Seed of deals and agents.
        processes: Worker processes; the results do not depend on them.
        out: Save every game here as it is played: FILE.csv or FILE.jsonl.
        resume: Resume the file of --out.
        timing: Record times; --no-timing makes equal runs write equal files.
        csv: Write the final table here (FILE.csv).
        json: Write the final table and the settings here (FILE.json).

    Example:
        ddz arena rollout rules --deals 200
        ddz arena isuct:iterations=500 isuct --name short --name long
        ddz arena rules random --rules bidding,doubling=true --out games.csv
        ddz arena mymodule:MyAgent rules --deals 400 --out games.csv --resume
        ddz arena rollout isuct --deal-file deals.csv --tendency none
    """
    preset = Rules.preset(rules)
    if scoring is not None:
        check_choice("scoring", scoring, SCORINGS, InvalidRulesError)
    if resume and out is None:
        raise InvalidArenaError("--resume needs the file: --out FILE")
    chosen = _chosen(deal_file, tendency, preset, seed, first_deal)
    contest = contests.Arena(tuple(agents), preset, seed, timing, time_limit, on_fault, tuple(name or ()))
    store, numbers = contest.store(out, resume), deals if chosen is None else chosen[:deals]
    settings = {"first_deal": first_deal, "processes": processes, "store": store}
    played, ended, warned = _play(lambda: run_with_progress(contest, numbers, **settings))
    records = store.results if played is None else played
    _report_arena(contest, records, scoring or preset.scoring, csv, json, store.settings)
    for text in warned:
        tell(text, "bold red")
    _end(context, ended, out, f"interrupted after {plural(len(records), 'game')}")
    follow("to halve the intervals", *again(context, deals=4 * deals, out=out or Path("games.csv"), resume=bool(out)))
    if warned or any(record.fault_by for record in records):
        raise typer.Exit(EXIT_AGENT_FAILED)


def _chosen(deal_file: Path | None, tendency: str | None, rules: Rules, seed: int, first_deal: int) -> list[int] | None:
    """The numbers of the deals of a file; None if no file is named."""
    if tendency is not None:
        check_choice("tendency", tendency, deal_tendency.TENDENCIES, InvalidArenaError)
        if deal_file is None:
            raise InvalidArenaError("--tendency needs the deals: --deal-file FILE (ddz study tendency --out FILE)")
    if deal_file is None:
        return None
    numbers = deal_tendency.deals_of_file(deal_file, tendency, rules, seed)
    left = [number for number in numbers if number >= first_deal]
    if not left:
        found = plural(len(numbers), "deal") + ("" if tendency is None else f" of tendency {tendency!r}")
        raise InvalidArenaError(
            f"{deal_file} has {found}, numbered up to {numbers[-1]}: --first-deal {first_deal} leaves none"
        )
    return left


def _report_arena(
    contest: contests.Arena,
    records: list[duplicate.GameRecord],
    scoring: str,
    csv: Path | None,
    json: Path | None,
    settings: Mapping[str, Any],
) -> None:
    """Print the tables and write the files."""
    if not records:
        return
    results = statistics.summarize(records, scoring)
    totals = statistics.standings(records, scoring) if len(contest.agents) > 2 else []
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


# --- ddz rate ----------------------------------------------------------------


def rate(
    context: typer.Context,
    agents: Annotated[list[str] | None, typer.Argument()] = None,
    out: Annotated[Path, typer.Option(callback=options.output_file(".sqlite", ".db"))] = Path("league.sqlite"),
    resume: bool = False,
    name: options.Names = None,
    deals: options.Count = 200,
    block: options.Count = 25,
    until_decided: bool = False,
    rules: options.Preset = "standard",
    seed: options.Natural = 0,
    processes: options.Count = 2,
    ray: options.OnRay = False,
    allow_other_code: options.OtherCode = False,
    timing: bool = True,
    time_limit: options.TimeLimit = None,
    on_fault: options.OnFault = "lose",
    anchor: str | None = None,
    csv: options.TableFile = None,
    cross_csv: options.TableFile = None,
    plot: options.Plot = None,
) -> None:
    """Rate agents in a league on duplicate deals; who plays next is whoever's games tell most.

    Options:
        agents: Agents, as for ddz arena. Without any, only the tables of the file are printed.
        out: Save every game here as it is played: FILE.sqlite or FILE.db.
        resume: Resume the file of --out; agents that are new to it join the league.
        deals: Duplicate deals per pair on average; a deal is two games, six with bidding.
        block: Deals that are scheduled at a time.
        until_decided: End as soon as it is known of every pair who is better (error 5 %).
        seed: Seed of deals and agents.
        processes: Worker processes; the results do not depend on them.
        timing: Record times; --no-timing makes equal runs save equal games.
        anchor: The agent that is rated 0, or mean (of the league); by default rules, as in ddz benchmark, where it
            plays.
        csv: Write the ratings here (FILE.csv).
        cross_csv: Write the results of every pair here (FILE.csv).

    Example:
        ddz rate random random-staged rules rlcard-rule --deals 100
        ddz rate rules policy rollout --out my.sqlite --resume --until-decided
        ddz rate --out my.sqlite --anchor rules --plot ratings.png
    """
    if not agents:
        leave_out(context, "without agents only the tables of --out are printed", *_OF_RATING)
    ended: BaseException | None = None
    warned: list[str] = []
    failed = False
    if agents:
        contest = contests.Arena(
            tuple(agents), Rules.preset(rules), seed, timing, time_limit, on_fault, tuple(name or ())
        )
        if anchor not in (None, MEAN):
            _check_anchor(anchor, contest, out if resume else None)
        tell(f"Every game is kept in {quoted(out)}.", "dim", screen=error_console())
        _, ended, warned = _play(lambda: _play_league(contest, out, resume, deals, block, processes, until_decided))
    if ended is None or isinstance(ended, KeyboardInterrupt):
        failed = _report_league(out, anchor, csv, cross_csv, plot)
    for text in warned:
        complain(text)
    _end(context, ended, out, "interrupted")
    if agents:
        changed = {"out": out, "resume": True, "until_decided": True, "deals": 4 * deals}
        follow("to rate until it is known of every pair who is better", *again(context, **changed))
    elif plot is None:
        follow("to see it", *again(context, plot=out.with_suffix(".png")))
    if agents and (warned or failed):
        raise typer.Exit(EXIT_AGENT_FAILED)


def _check_anchor(anchor: str | None, contest: contests.Arena, file: Path | None) -> None:
    """Refuse an anchor that will have played no game: an agent neither of this run nor of the file it resumes."""
    known = dict.fromkeys(contest.labels)
    if anchor not in known and file is not None and file.is_file() and file.stat().st_size:
        known.update(dict.fromkeys(label for game in league.read_league(file)[1] for label in (game.a, game.b)))
    check_choice("anchor", anchor, known, InvalidArenaError)


def _play_league(
    contest: contests.Arena, out: Path, resume: bool, deals: int, block: int, processes: int, until_decided: bool
) -> None:
    """Play and show how far the league is."""
    store = league.LeagueStore(out, contest, resume)
    settings: dict[str, Any] = {"block": block, "processes": processes, "until_decided": until_decided}
    with_bar(
        f"deals × {plural(contest.pairs, 'pair')}",
        lambda tell: league.play_league(store, deals, on_progress=tell, **settings),
    )


def _report_league(out: Path, anchor: str | None, csv: Path | None, cross_csv: Path | None, plot: Path | None) -> bool:
    """Print the tables of a file and write what was asked for; whether an agent lost a game by a fault."""
    settings, games = league.read_league(out)
    if not games:
        complain(f"{quoted(out)} holds no games yet")
        return False
    if anchor is None and any(ANCHOR in (game.a, game.b) for game in games):
        anchor = ANCHOR
    anchor = None if anchor == MEAN else anchor
    rated, advantage = ratings.rate(games, anchor)
    title = f"{plural(len(games), 'game')} · {settings['rules']['name']} rules · seed {settings['seed']}"
    show(league.ratings_table(rated, advantage, title, anchor))
    show(league.cross_table(rated, games))
    for line in fault_lines(games):
        complain(line)
    if csv is not None:
        write_csv(csv, rated)
    if cross_csv is not None:
        write_csv(cross_csv, statistics.summarize(games))
    if plot is not None:
        league.plot_ratings(rated, plot)
    return any(game.fault_by for game in games)


# --- ddz benchmark -----------------------------------------------------------


def benchmark(
    context: typer.Context,
    agent: Annotated[str | None, typer.Argument()] = None,
    name: str = "",
    full: bool = False,
    field: bool = False,
    check: options.InputFile = None,
    sample: options.Count = 10,
    every: Annotated[bool, typer.Option("--all")] = False,
    deals: Annotated[
        int | None,
        typer.Option(min=1, help=f"Deals a pair; {_QUICK_DEALS} by default, {_FULL_DEALS} with --full and --field."),
    ] = None,
    processes: options.Count = 2,
    ray: options.OnRay = False,
    out: options.ResultsFile = None,
    allow_other_code: options.OtherCode = False,
) -> None:
    """Place an agent in a frozen field, in about five minutes; or play, write and check results that can be cited.

    Options:
        agent: Your agent (mymodule:MyAgent), or one by name with options (isuct:iterations=2000).
        name: What results call it; its specification by default.
        full: The whole field on the deals for reporting; hours on two cores.
        field: Play the field against itself, which gives its ratings; hours with --full.
        check: Check a file of results by playing some of its deals again.
        sample: Deals a pair that --check plays, drawn anew each time.
        every: Let --check play all of them.
        processes: Worker processes; results do not depend on them.
        out: Save every game here (FILE.csv), to be cited and checked; resumes an existing file.

    Example:
        ddz benchmark mymodule:MyAgent
        ddz benchmark mymodule:MyAgent --full --out mine.csv
        ddz benchmark --check mine.csv
        ddz benchmark --field --full --out runs/field.csv
    """
    if sum((agent is not None, field, check is not None)) != 1:
        raise match_errors.InvalidBenchmarkRequestError("name an agent, or --field, or --check FILE: one of the three")
    if check is None:
        leave_out(context, "only --check plays the games of a file again", "--sample", "--all")
    else:
        leave_out(context, "--check plays what its file says", *_OF_BENCHMARK)
        _check_benchmark(check, None if every else sample, processes)
        return
    if field:
        leave_out(context, "the field's agents have their names", "--name")
    drawn = benchmark_field.deal_list(_CITED if full else "choosing")
    if agent is None:
        contest = benchmark_play.field_contest(drawn, quick=not full)
    else:
        contest = benchmark_play.against_field(agent, drawn, name=name, quick=not full)
    results = _play_benchmark(contest, deals or (_FULL_DEALS if full or field else _QUICK_DEALS), processes, out)
    _report_benchmark(results)
    if not (full and out is not None):
        whole = Path("mine.csv") if out is None else out.with_stem(f"{out.stem}-full")  # this one holds other deals
        follow("to play games that can be cited", *again(context, full=True, out=whole, deals=None))
    else:
        follow("to let anybody check it", "benchmark", "--check", out)
    faults = fault_lines(results.records)
    for line in faults:
        tell(line, "bold red")
    if faults:
        raise typer.Exit(EXIT_AGENT_FAILED)


def _play_benchmark(
    contest: benchmark_play.Contest, deals: int, processes: int, out: Path | None
) -> benchmark_play.Results:
    contest.deals.check_count(deals)
    store = contest.store(out)
    records = with_bar(
        _UNIT,
        lambda tell: benchmark_play.play_contest(contest, deals, processes=processes, store=store, on_progress=tell),
    )
    return benchmark_play.results_of(contest, records, store)


def _report_benchmark(results: benchmark_play.Results) -> None:
    """Tables of an agent, or of the field's ratings."""
    deals, own = results.contest.deals, [name for name in results.contest.agents if name not in benchmark_field.FIELD]
    totals = {line.agent: line for line in statistics.standings(results.records, benchmark_play.SCORING)}
    for name in own or results.contest.agents:
        lines = [line for line in results.summary() if line.agent == name]
        title = f"{name}: {plural(results.deals, 'duplicate deal')} each, list {deals.name!r}"
        show(
            results_table([*lines, totals[name]], title, benchmark_play.SCORING, ("against",)),
            sections=[len(lines) - 1],
        )
    remark(note(benchmark_play.SCORING))
    for name in own:
        ratings = leaderboard.field_ratings()
        show(leaderboard.placement_table(name, leaderboard.place(results.records, name, ratings.fixed), ratings))
    if deals.name != _CITED:
        remark(
            "Not for citing: agents are chosen on these deals. What --full plays, the list "
            f"{_CITED!r}, can be cited and checked.",
            None,
        )


def _check_benchmark(path: Path, sample: int | None, processes: int) -> None:
    results = benchmark_play.read_file(path)
    same = with_bar(
        _UNIT,
        lambda tell: benchmark_play.replay(
            results, sample, np.random.default_rng(), processes=processes, on_progress=tell
        ),
    )
    _report_benchmark(results)
    what = "all" if sample is None else "drawn at random"
    tell(f"{quoted(path)}: {same} deals ({what}) were played again, and every game ended as it says")
    if code_stamp() not in results.code:
        played = " and ".join(results.code)
        tell(f"It was played by the code {played}, this is {code_stamp()}.", "dim")
