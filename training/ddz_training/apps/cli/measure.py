"""``ddz arena``, ``rate`` and ``benchmark``: who plays better, on duplicate deals."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click
from click import argument, option

from ddz_env.core.checks import check_choice
from ddz_env.core.errors import plural
from ddz_training.apps.cli.console import EXIT_INTERRUPTED, complain, quoted, remark, show, tell
from ddz_training.apps.cli.faults import agent_failed
from ddz_training.apps.cli.options import COUNT, NATURAL, PATH, SECONDS, Parallel, Playing, Texts
from ddz_training.apps.cli.outputs import LEAGUE, TABLE, plot_option, results_option
from ddz_training.apps.cli.typed import follow, leave_out
from ddz_training.measure.errors import InvalidArenaError, InvalidBenchmarkRequestError
from ddz_training.measure.markdown import Table

if TYPE_CHECKING:
    from ddz_training.measure import contest, duplicate, ratings, statistics
    from ddz_training.measure.benchmark import play

ANCHOR, MEAN = "rules", "mean"
"""The agent that is rated 0, as in the benchmark's ratings; and the word for the mean of the league."""
TENDENCIES = ("none", "landlord", "peasants")
_BLOCK = 25
"""Deals that a league schedules at a time."""
_QUICK_DEALS, _FULL_DEALS = 400, 1000
_CITED = "reporting"
"""The list of deals whose results may be cited."""

_agents_help = "Agents (ddz agents), or your own (mymodule:MyAgent); NAME=AGENT gives one a name for the tables."


@dataclass(frozen=True)
class Match(Playing):
    """How agents play each other.

    Attributes:
        timing: Whether times are recorded.
        time_limit: Seconds that a decision may take.
    """

    timing: bool
    time_limit: float | None

    def contest(self, agents: Sequence[str]) -> contest.Arena:
        """Who plays under which settings; with ``--debug`` the first fault of an agent ends it."""
        from ddz_training.measure.contest import Arena

        debug = click.get_current_context().find_root().params["debug"]
        on_fault: Literal["lose", "stop"] = "stop" if debug else "lose"
        named = [agent.partition("=")[::2] if re.match("[^:=]+=", agent) else ("", agent) for agent in agents]
        names = tuple(name or agent for name, agent in named) if any(name for name, _ in named) else ()
        settings = (self.preset, self.seed, self.timing, self.time_limit, on_fault, names)
        return Arena(tuple(agent for _, agent in named), *settings)


_match_options = Match.playing(
    option("--timing/--no-timing", default=True, help="Record times; --no-timing makes equal runs write equal files."),
    option("--time-limit", type=SECONDS, help="Seconds a decision may take; a longer one loses the game. No limit."),
)


@contextmanager
def _reporting(out: Path | None, report: Callable[[], None]) -> Iterator[None]:
    """Report after a block of games; after one that Ctrl-C ends, also say that it can be continued."""
    try:
        yield
    except KeyboardInterrupt as error:
        report()
        kept = f"; {quoted(out)} is valid, and the same command resumes it" if out else ""
        complain(f"interrupted{kept}")
        raise click.exceptions.Exit(EXIT_INTERRUPTED) from error
    report()


# --- results ---------------------------------------------------------------


def milliseconds(value: float) -> str:
    """Milliseconds per decision with three digits."""
    return "–" if math.isnan(value) or value == 0 else f"{value:#.3g}".rstrip(".")


_COLUMNS: dict[str, Callable[[statistics.AgentResult], str]] = {
    "agent": lambda result: result.agent,
    "against": lambda result: result.opponent,
    "deals": lambda result: str(result.deals),
    "games": lambda result: str(result.games),
    "win % landlord": lambda result: result.landlord_wins.percent(),
    "win % peasants": lambda result: result.peasant_wins.percent(),
    "win % overall": lambda result: result.wins.percent(),
    "score landlord": lambda result: result.landlord_score.score(),
    "score peasants": lambda result: result.peasant_score.score(),
    "score overall": lambda result: result.score.score(),
    "ms per decision": lambda result: milliseconds(result.ms_per_decision),
}


def results_table(results: Sequence[statistics.AgentResult], title: str, scoring: str, *left_out: str) -> Table:
    """The table that ``ddz arena``, ``ddz benchmark`` and ``ddz demo`` end with.

    Args:
        results: Two per pair, or standings.
        title: Its title.
        scoring: What scores are of.  Those of ``win`` repeat the win rates, and are left out.
        *left_out: Further columns that are left out.
    """
    repeated = "score" if scoring == "win" else None
    columns = {name: cell for name, cell in _COLUMNS.items() if name not in left_out and name.split()[0] != repeated}
    return Table(title, list(columns), [[cell(result) for cell in columns.values()] for result in results])


def note(scoring: str) -> str:
    """What a page says below tables of results."""
    intervals = "95 % intervals: Wilson for one role, normal on the means of the deals for the rest."
    return intervals if scoring == "win" else f"{intervals} A score is a side's (both peasants together)."


_TOGETHER = " The two rates of a pair add up to more than 100 %: both win where both are peasants of one game."
"""What is true of games with an auction."""


def report_faults(records: Sequence[duplicate.GameRecord]) -> None:
    """A red line for each agent that lost games by faults of its own: how many, and the first."""
    for agent in dict.fromkeys(record.label(letter) for record in records for letter in "ab"):
        own = [record for record in records if agent in (record.a, record.b)]
        lost = [record for record in own if record.fault_by and record.label(record.fault_by) == agent]
        if lost:
            first = f"deal {lost[0].deal}, game {lost[0].game}, {lost[0].fault}"
            of_its = plural(len(own), "game")
            agent_failed(f"{agent} failed, and so lost, {len(lost)} of its {of_its}; first in {first}")


def write_table(
    path: Path,
    settings: Mapping[str, Any],
    results: Sequence[statistics.AgentResult | ratings.Rating],
    more: Sequence[statistics.AgentResult] = (),
) -> None:
    """Write results as comma-separated values, three columns per interval, or as JSON with their settings.

    Args:
        path: The file; its suffix says which.
        settings: What the results depend on.
        results: The results.
        more: What only JSON has room for, as its ``pairs``.
    """
    from ddz_env.core.whole_file import replace_file
    from ddz_training.measure import statistics

    rows = list(map(statistics.plain_values, results))
    if path.suffix.lower() == ".json":
        document = {"settings": dict(settings), "results": rows}
        document |= {"pairs": list(map(statistics.plain_values, more))} if more else {}
        text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    else:
        file = io.StringIO()
        writer = csv.DictWriter(file, _flat(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(map(_flat, rows))
        text = file.getvalue()
    replace_file(path, text.encode())


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with the mean and the ends of each interval in columns of their own."""
    flat: dict[str, Any] = {}
    for name, value in row.items():
        ends = value if isinstance(value, dict) else {"mean": value}
        flat |= {f"{name}_{end}".removesuffix("_mean"): part for end, part in ends.items() if end != "count"}
    return flat


# --- ddz arena ---------------------------------------------------------------


@click.command()
@argument("agents", nargs=-1, required=True, help=_agents_help)
@results_option
@option("--deals", type=COUNT, default=1000, help="Deals per pair; each is two games, six with bidding.")
@option("--first-deal", type=NATURAL, default=0, help="Number of the first deal under the seed.")
@option("--deal-file", type=PATH, help="Play deals of this file of ddz study tendency only, the first --deals of them.")
@option("--tendency", type=click.Choice(TENDENCIES), help="Of the deal file only those that lean so.")
@option(
    "--scoring", type=click.Choice(("win", "stake", "botzone")), help="What scores are of; by default as the rules."
)
@option("--table", type=TABLE, help="Write the final table here (FILE.csv), or table and settings (FILE.json).")
@_match_options
def arena(
    playing: Match, agents: Texts, out: Path | None, table: Path | None, deals: int, scoring: str | None, **chosen: Any
) -> None:
    """Play duplicate deals, each from both sides, and print win rates and scores with 95 % intervals.

    \b
    Examples:
      ddz arena rollout rules --deals 200
      ddz arena short=isuct:iterations=500 long=isuct
      ddz arena rules random --rules bidding,doubling=true --out games.csv
      ddz arena mymodule:MyAgent rules --deals 400 --out games.csv
      ddz arena rollout isuct --deal-file deals.csv --tendency none
    """
    from ddz_training.measure.contest import run_arena

    contest = playing.contest(agents)
    scoring = scoring or contest.rules.scoring
    numbers = _numbers(contest, deals, **chosen)
    store = contest.store(out, True)
    records: list[duplicate.GameRecord] = []

    def report() -> None:
        played = records or store.results
        if played and (results := _report_arena(contest, played, scoring)) and table is not None:
            write_table(table, {**store.settings, "scoring": scoring}, results)

    pairs = f"deals × {plural(contest.pairs, 'pair')}"
    with _reporting(out, report), playing.working(pairs) as how:
        records += run_arena(contest, numbers, first_deal=chosen["first_deal"], store=store, **how)


def _numbers(
    contest: contest.Arena, deals: int, first_deal: int, deal_file: Path | None, tendency: str | None
) -> int | Sequence[int]:
    """How many deals are played, or the numbers of those of the file."""
    from ddz_training.measure.tendency import deals_of_file

    if deal_file is None:
        leave_out("only --deal-file knows what deals lean to", "tendency")
        return deals
    numbers = deals_of_file(deal_file, tendency, contest.rules, contest.seed)
    left = [number for number in numbers if number >= first_deal]
    if not left:
        raise InvalidArenaError(f"{deal_file} has no such deal from number {first_deal} on")
    return left[:deals]


def _report_arena(
    contest: contest.Arena, records: Sequence[duplicate.GameRecord], scoring: str
) -> list[statistics.AgentResult]:
    """Print the tables; what is in them."""
    from ddz_training.measure import statistics

    results = statistics.summarize(records, scoring)
    totals = statistics.standings(records, scoring) if len(contest.agents) > 2 else []
    deals = plural(len({record.deal for record in records}), "duplicate deal")
    title = f"{deals} · {contest.rules.name} rules · {scoring} scoring · seed {contest.seed}"
    show(results_table(results, title, scoring), sections=range(1, len(results), 2))
    if totals:
        show(results_table(totals, "Against all others", scoring, "against"))
    remark(note(scoring) + (_TOGETHER if contest.rules.bidding != "fixed" else ""), dim=True)
    report_faults(records)
    return [*results, *totals]


# --- ddz rate ----------------------------------------------------------------


@click.command()
@argument("agents", nargs=-1, help="Agents, as for ddz arena; without any, the tables of the file are printed.")
@option("--out", type=LEAGUE, default=Path("league.sqlite"), help="Save every game here; an existing league goes on.")
@option("--deals", type=COUNT, default=200, help="Deals per pair on average; each is two games, six with bidding.")
@option("--until-decided", is_flag=True, help="End as soon as it is known of every pair who is better (error 5 %).")
@option("--anchor", help="The agent that is rated 0, or mean (of the league); by default rules, where it plays.")
@option("--table", type=TABLE, help="Write the ratings here (FILE.csv), or ratings, pairs and settings (FILE.json).")
@plot_option
@_match_options
def rate(playing: Match, agents: Texts, out: Path, deals: int, until_decided: bool, **report: Any) -> None:
    """Rate agents in a league on duplicate deals; those play next whose games say most.

    \b
    Examples:
      ddz rate random random-staged rules rlcard-rule --deals 100
      ddz rate rules policy rollout --out my.sqlite --until-decided
      ddz rate --out my.sqlite --anchor rules --plot ratings.png
    """
    from ddz_training.measure import league

    if not agents:
        ignored = ("deals", "until_decided", "rules", "seed", "processes", "timing", "time_limit")
        leave_out("without agents only the tables of --out are printed", *ignored)
        _report_league(out, **report)
        return
    contest = playing.contest(agents)
    if report["anchor"] not in (None, MEAN):
        _check_anchor(report["anchor"], contest, out)
    store = league.LeagueStore(out, contest, True)
    tell(f"Every game is kept in {quoted(out)}.", err=True, dim=True)
    pairs = f"deals × {plural(contest.pairs, 'pair')}"
    with _reporting(out, lambda: _report_league(out, **report)), playing.working(pairs) as how:
        league.play_league(store, deals, block=_BLOCK, until_decided=until_decided, **how)


def _check_anchor(anchor: str | None, contest: contest.Arena, out: Path) -> None:
    """Refuse an anchor that will have played no game: an agent neither of this run nor of the file."""
    from ddz_training.measure.league import read_league

    known = list(contest.labels)
    if anchor not in known and out.is_file() and out.stat().st_size:
        known += [label for game in read_league(out)[1] for label in (game.a, game.b)]
    check_choice("anchor", anchor, dict.fromkeys(known), InvalidArenaError)


def _report_league(out: Path, anchor: str | None, table: Path | None, plot: Path | None) -> None:
    """Print the tables of the file, and write what is wanted."""
    from ddz_training.measure import league, ratings, statistics

    settings, games = league.read_league(out)
    if not games:
        complain(f"{quoted(out)} holds no games yet")
        return
    plays = any(ANCHOR in (game.a, game.b) for game in games)
    anchor = {None: ANCHOR if plays else None, MEAN: None}.get(anchor, anchor)
    rated, advantage = ratings.rate(games, anchor)
    title = f"{plural(len(games), 'game')} · {settings['rules']['name']} rules · seed {settings['seed']}"
    show(league.ratings_table(rated, advantage, title, anchor))
    show(league.cross_table(rated, games))
    report_faults(games)
    if table is not None:
        write_table(table, settings, rated, statistics.summarize(games))
    if plot is not None:
        league.plot_ratings(rated, plot)


# --- ddz benchmark -----------------------------------------------------------


@click.command()
@argument("agent", required=False, help="Your agent (mymodule:MyAgent), or one by name with options.")
@option("--name", default="", help="What results call it; its specification by default.")
@option("--full", is_flag=True, help="The whole field on the deals for reporting; hours on two cores.")
@option("--field", is_flag=True, help="Play the field against itself, which gives its ratings; hours with --full.")
@option("--check", type=PATH, help="Check a file of results by playing some of its deals again.")
@option("--sample", type=COUNT, default=10, help="Deals per pair that --check plays, drawn afresh each time.")
@option("--all", "every", is_flag=True, help="Let --check play all of them.")
@option("--deals", type=COUNT, help="Deals per pair; 400 by default, 1000 with --full and --field.")
@results_option
@Parallel.options()
def benchmark(
    parallel: Parallel, agent: str | None, field: bool, check: Path | None, sample: int, every: bool, **played: Any
) -> None:
    """Place an agent in a frozen field, in about five minutes; or play, write and check results that can be cited.

    \b
    Examples:
      ddz benchmark mymodule:MyAgent
      ddz benchmark mymodule:MyAgent --full --out mine.csv
      ddz benchmark --check mine.csv
      ddz benchmark --field --full --out runs/field.csv
    """
    if sum((agent is not None, field, check is not None)) != 1:
        raise InvalidBenchmarkRequestError("name an agent, or --field, or --check FILE: one of the three")
    if check is not None:
        leave_out("--check plays what its file says", "name", "full", "deals", "out")
        _check_results(check, None if every else sample, parallel)
        return
    leave_out("only --check plays the games of a file again", "sample", "every")
    if field:
        leave_out("the field's agents have their names", "name")
    results, out = _play_field(parallel, agent, **played), played["out"]
    _report_benchmark(results)
    if played["full"] and out is not None:
        follow("to let anybody check it", "benchmark", "--check", out)
    else:  # the file of --out holds other deals
        whole = Path("mine.csv") if out is None else out.with_stem(f"{out.stem}-full")
        follow("to play games that can be cited", "benchmark", agent or "--field", "--full", "--out", whole)
    report_faults(results.records)


def _play_field(
    parallel: Parallel, agent: str | None, name: str, full: bool, deals: int | None, out: Path | None
) -> play.Results:
    """The games of an agent against the field, or of the field against itself."""
    from ddz_training.measure.benchmark import play
    from ddz_training.measure.benchmark.field import deal_list

    drawn = deal_list(_CITED if full else "choosing")
    if agent is None:
        contest = play.field_contest(drawn, quick=not full)
    else:
        contest = play.against_field(agent, drawn, name=name, quick=not full)
    deals = deals or (_FULL_DEALS if full or agent is None else _QUICK_DEALS)
    contest.deals.check_count(deals)
    store = contest.store(out)
    with parallel.working("deals × pairs") as work:
        records = play.play_contest(contest, deals, store=store, **work)
    return play.results_of(contest, records, store)


def _check_results(path: Path, sample: int | None, parallel: Parallel) -> None:
    """Play deals of a file again."""
    from numpy.random import default_rng

    from ddz_env import __version__
    from ddz_training.measure.benchmark import play

    results = play.read_file(path)
    with parallel.working("deals × pairs") as work:
        same = play.replay(results, sample, default_rng(), **work)
    _report_benchmark(results)
    what = "all" if sample is None else "drawn at random"
    tell(f"{quoted(path)}: {same} deals ({what}) were played again, and every game ended as it says")
    tell(f"It was played by version {' and '.join(results.code)}, this is {__version__}.", dim=True)


def _report_benchmark(results: play.Results) -> None:
    """Tables of an agent, or of the field's ratings."""
    from ddz_training.measure import statistics
    from ddz_training.measure.benchmark import field, leaderboard
    from ddz_training.measure.benchmark.play import SCORING

    deals, own = results.contest.deals, [name for name in results.contest.agents if name not in field.FIELD]
    totals = {line.agent: line for line in statistics.standings(results.records, SCORING)}
    for name in own or results.contest.agents:
        lines = [line for line in results.summary() if line.agent == name]
        title = f"{name}: {plural(results.deals, 'duplicate deal')} each, list {deals.name!r}"
        show(results_table([*lines, totals[name]], title, SCORING, "agent"), sections=[len(lines) - 1])
    remark(note(SCORING), dim=True)
    for name in own:
        ratings = leaderboard.field_ratings()
        show(leaderboard.placement_table(name, leaderboard.place(results.records, name, ratings.fixed), ratings))
    if deals.name != _CITED:
        remark(
            "Not for citing: agents are chosen on these deals. What --full plays, the list "
            f"{_CITED!r}, can be cited and checked."
        )
