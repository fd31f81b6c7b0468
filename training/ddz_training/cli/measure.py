"""The ``ddz arena`` and ``ddz rate`` commands, which compare agents on duplicate deals."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click import argument, option

from ddz_env.support.checks import check_choice
from ddz_env.support.errors import pluralize
from ddz_training.cli.console import make_console, print_error, print_prose, print_table, quote_path
from ddz_training.cli.faults import report_failed_agent
from ddz_training.cli.options import (
    COUNT,
    LEAGUE,
    TABLE,
    PlayingOptions,
    deal_file_option,
    plot_option,
    results_option,
    take_options_of,
    work_under_bar,
)
from ddz_training.measure.errors import InvalidArenaError

if TYPE_CHECKING:
    from ddz_training.measure import contest, duplicate, summaries

ANCHOR, MEAN = "rules", "mean"
"""The agent that is rated 0, as in the benchmark's ratings; and the word for the mean of the league."""
TENDENCIES = ("none", "landlord", "peasants")
_DEALS_AT_A_TIME = 25
"""Deals that a league schedules at a time."""
_WIDE_SCREEN = 140
"""Columns of a screen on which win rates and scores stand side by side."""

_agents_help = "Agents (ddz agents), or your own (mymodule:MyAgent); NAME=AGENT gives one a name for the tables."


@dataclass(frozen=True)
class ContestOptions(PlayingOptions):
    """Options for how ``ddz arena`` and ``ddz rate`` play their games.

    Attributes:
        timing: Record times; --no-timing makes equal runs write equal files.
        time_limit: Seconds a decision may take; a longer one loses the game. No limit.
    """

    timing: bool = True
    time_limit: float | None = None


def _make_arena(agents: Sequence[str], options: ContestOptions) -> contest.Arena:
    """Create the arena that a command's options describe; ``--debug`` makes an agent's first fault end the arena."""
    from ddz_env import Rules
    from ddz_training.measure.contest import Arena

    debug = click.get_current_context().find_root().params["debug"]
    named = [agent.partition("=")[::2] if re.match("[^:=]+=", agent) else ("", agent) for agent in agents]
    return Arena(
        tuple(agent for _, agent in named),
        Rules.preset(options.rules),
        options.seed,
        options.timing,
        options.time_limit,
        on_fault="stop" if debug else "lose",
        names=tuple(name or agent for name, agent in named) if any(name for name, _ in named) else (),
    )


@contextmanager
def _report_at_end(report: Callable[[], None]) -> Iterator[None]:
    """Call a report function at the end of a ``with`` block, even if Ctrl-C ends the block."""
    try:
        yield
    except KeyboardInterrupt:
        report()
        raise
    report()


# --- results ---------------------------------------------------------------

_PEASANTS_TOGETHER = " The two rates of a pair add up to more than 100 %: both win where both are peasants of one game."
"""What is true of games with an auction."""


def print_faults(records: Sequence[duplicate.GameResult]) -> None:
    """Print a red line for each agent that lost games by its own faults: the number of faults and the first one."""
    from ddz_training.measure.summaries import group_by

    faults = (record for record in records if record.fault_by)
    for agent, lost in group_by(faults, lambda record: record.agent_of(record.fault_by)).items():
        played = sum(agent in (record.a, record.b) for record in records) or len(records)  # a partner is in all of them
        first = f"deal {lost[0].deal}, game {lost[0].game}, {lost[0].fault}"
        of_its = pluralize(played, "game")
        report_failed_agent(f"{agent} failed, and so lost, {len(lost)} of its {of_its}; first in {first}")


# --- ddz arena ---------------------------------------------------------------


@click.command()
@argument("agents", nargs=-1, required=True, help=_agents_help)
@results_option
@option("--deals", type=COUNT, default=1000, help="Deals per pair; each is two games, six with bidding.")
@option("--first-deal", default=0, help="Number of the first deal under the seed.")
@deal_file_option
@option("--tendency", type=click.Choice(TENDENCIES), help="Of a file of ddz study tendency only those that lean so.")
@option(
    "--scoring", type=click.Choice(("win", "stake", "botzone")), help="What scores are of; by default as the rules."
)
@option("--over", help="Print also by how much each agent does better than this one against the same opponents.")
@option("--partner", help="An agent that plays the second peasant beside every other; each deal is then four games.")
@option("--table", type=TABLE, help="Write the final table here (FILE.csv), or table and settings (FILE.json).")
@take_options_of(ContestOptions)
def arena(
    agents: tuple[str, ...],
    out: Path | None,
    deals: int,
    first_deal: int,
    deal_file: Path | None,
    tendency: str | None,
    scoring: str | None,
    over: str | None,
    partner: str | None,
    table: Path | None,
    options: ContestOptions,
) -> None:
    """Play duplicate deals, each from both sides, and print win rates and scores with 95 % intervals.

    \b
    Examples:
      ddz arena rollout rules --deals 200
      ddz arena short=isuct:iterations=500 long=isuct
      ddz arena rules random --rules bidding,doubling=true --out games.csv
      ddz arena mymodule:MyAgent rules --deals 400 --out games.csv
      ddz arena rollout isuct --deal-file deals.csv --tendency none
      ddz arena policy policy-v2 rules --over policy-v2
      ddz arena policy rules --partner rlcard-rule
    """
    from ddz_training.cli.tables import write_table
    from ddz_training.measure.contest import run_arena
    from ddz_training.measure.deal_file import read_deal_file

    contest = replace(_make_arena(agents, options), partner=partner)
    if over is not None:
        _check_compared(over, contest)
    numbers: int | list[int] = deals
    if deal_file is None and tendency is not None:
        raise InvalidArenaError(
            "--tendency needs a --deal-file of ddz study tendency: name one, or leave out --tendency"
        )
    if deal_file is not None:
        listed = read_deal_file(deal_file, contest.rules, contest.seed, tendency, deals=first_deal + deals)
        contest, numbers = replace(contest, hands=listed.hands), listed.select_numbers(deals, first_deal)
    scoring = scoring or contest.rules.scoring
    store = contest.store(out, True)
    records: list[duplicate.GameResult] = []

    def report() -> None:
        played = records or store.results
        if played and (results := _print_arena(contest, played, scoring, over)) and table is not None:
            write_table(table, {**store.settings, "scoring": scoring}, results)

    with (
        _report_at_end(report),
        work_under_bar(f"deals × {pluralize(contest.num_pairs, 'pair')}", options.workers) as how,
    ):
        records += run_arena(contest, numbers, first_deal=first_deal, store=store, **how)


def _check_compared(over: str, contest: contest.Arena) -> None:
    """Raise an error if ``--over`` names an agent that does not play, or if fewer than three agents play."""
    check_choice("--over", over, contest.labels, InvalidArenaError)
    if len(contest.labels) < 3:
        raise InvalidArenaError("--over compares two agents against a third one: name at least three agents")


def _print_arena(
    contest: contest.Arena, records: Sequence[duplicate.GameResult], scoring: str, over: str | None
) -> list[summaries.AgentResult]:
    """Print an arena's result tables, and return the results shown in them."""
    from ddz_env.playing.registry import has_time_limit
    from ddz_training.cli.tables import (
        CPU_TIME,
        deals_for_one_percent,
        explain_intervals,
        make_differences_table,
    )
    from ddz_training.measure import summaries

    measured = contest.timing and contest.time_limit is None
    hidden = [] if measured and any(map(has_time_limit, contest.agents)) else [CPU_TIME]
    results = summaries.summarize(records, scoring)
    totals = summaries.compute_standings(records, scoring) if len(contest.agents) > 2 else []
    deals = len({record.deal for record in records})
    number = pluralize(deals, "duplicate deal")
    beside = "" if contest.partner is None else f" · {contest.partner} is the second peasant"
    title = f"{number} · {contest.rules.name} rules · {scoring} scoring · seed {contest.seed}{beside}"
    _print_results(results, title, scoring, *hidden, sections=range(1, len(results), 2))
    if totals:
        _print_results(totals, "Against all others", scoring, "against", *hidden)
    if over is not None:
        print_table(make_differences_table(summaries.compare_agents(records, over, scoring), scoring))
    print_prose(explain_intervals(scoring) + (_PEASANTS_TOGETHER if contest.rules.bidding != "fixed" else ""), dim=True)
    if (most := max(deals_for_one_percent(result.wins) for result in results)) > deals:
        print_prose(f"For intervals of ± 1 % play about {most:,} deals.", dim=True)
    print_faults(records)
    return [*results, *totals]


def _print_results(
    results: Sequence[summaries.AgentResult], title: str, scoring: str, *hidden: str, sections: Collection[int] = ()
) -> None:
    """Print results as a table; on a narrow screen, scores other than wins get a table of their own."""
    from ddz_training.cli.tables import make_results_table

    if scoring == "win" or make_console().width >= _WIDE_SCREEN:
        print_table(make_results_table(results, title, scoring, *hidden), sections=sections)
        return
    wins = make_results_table(results, title, "win", *hidden)
    only_there = [column for column in wins.header if column not in ("agent", "against", "deals")]
    print_table(wins, sections=sections)
    print_table(make_results_table(results, "Scores", scoring, *hidden, *only_there), sections=sections)


# --- ddz rate ----------------------------------------------------------------


@click.command()
@argument("agents", nargs=-1, help="Agents, as for ddz arena; without any, the tables of the file are printed.")
@option("--out", type=LEAGUE, default=Path("league.sqlite"), help="Save every game here; an existing league goes on.")
@option("--deals", type=COUNT, default=200, help="Deals per pair on average; each is two games, six with bidding.")
@option("--until-decided", is_flag=True, help="End as soon as it is known of every pair who is better (error 5 %).")
@option("--anchor", help="The agent that is rated 0, or mean (of the league); by default rules, where it plays.")
@option("--table", type=TABLE, help="Write the ratings here (FILE.csv), or ratings, pairs and settings (FILE.json).")
@plot_option
@take_options_of(ContestOptions)
def rate(
    agents: tuple[str, ...],
    out: Path,
    deals: int,
    until_decided: bool,
    anchor: str | None,
    table: Path | None,
    plot: Path | None,
    options: ContestOptions,
) -> None:
    """Rate agents in a league on duplicate deals; pairs that narrow the ratings most play more.

    \b
    Examples:
      ddz rate random random-staged rules rlcard-rule --deals 100
      ddz rate rules policy rollout --out my.sqlite --until-decided
      ddz rate --out my.sqlite --anchor rules --plot ratings.png
    """
    from ddz_training.measure import league

    if not agents:
        _print_league(out, anchor, table, plot)
        return
    contest = _make_arena(agents, options)
    if anchor not in (None, MEAN):  # it plays, or has played in the file
        played = league.read_league(out)[1] if out.is_file() else []
        known = [*contest.labels, *(label for game in played for label in (game.a, game.b))]
        check_choice("anchor", anchor, dict.fromkeys(known), InvalidArenaError)
    store = league.LeagueStore(out, contest, True)
    click.secho(f"Every game is kept in {quote_path(out)}.", err=True, dim=True)
    report = functools.partial(_print_league, out, anchor, table, plot)
    with (
        _report_at_end(report),
        work_under_bar(f"deals × {pluralize(contest.num_pairs, 'pair')}", options.workers) as how,
    ):
        league.play_league(store, deals, block=_DEALS_AT_A_TIME, until_decided=until_decided, **how)


def _print_league(out: Path, anchor: str | None, table: Path | None, plot: Path | None) -> None:
    """Print the tables of a league file, and write the requested table and plot."""
    from ddz_training.cli.tables import write_table
    from ddz_training.measure import league, ratings, summaries

    settings, games = league.read_league(out)
    if not games:
        print_error(f"{quote_path(out)} holds no games yet")
        return
    plays = any(ANCHOR in (game.a, game.b) for game in games)
    anchor = {None: ANCHOR if plays else None, MEAN: None}.get(anchor, anchor)
    rated, advantage = ratings.rate_agents(games, anchor)
    title = f"{pluralize(len(games), 'game')} · {settings['rules']['name']} rules · seed {settings['seed']}"
    print_table(league.make_ratings_table(rated, advantage, title, anchor))
    print_table(league.make_cross_table(rated, games))
    print_faults(games)
    if table is not None:
        write_table(table, settings, rated, summaries.summarize(games))
    if plot is not None:
        league.plot_ratings(rated, plot)
