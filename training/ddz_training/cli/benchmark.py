"""The ``ddz benchmark`` commands, which rate agents against fixed opponents and against players of recorded games."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click import argument, option

from ddz_env.support.errors import pluralize
from ddz_env.support.options import Options
from ddz_training.cli.console import print_prose, print_table, progress_bar, quote_path, suggest_command
from ddz_training.cli.measure import print_faults
from ddz_training.cli.options import (
    COUNT,
    NATURAL,
    Count,
    Workers,
    deal_file_option,
    results_option,
    take_options_of,
    work_under_bar,
)
from ddz_training.cli.renamed import RenamedGroup
from ddz_training.measure.errors import InvalidBenchmarkRequestError, InvalidRecordsError

if TYPE_CHECKING:
    from ddz_training.data.sources import ImportedGame
    from ddz_training.measure.benchmark import play
    from ddz_training.measure.benchmark.field import DealList

_QUICK_DEALS, _FULL_DEALS = 400, 1000
_CITED_LIST = "reporting"
"""The list of deals whose results may be cited."""
_KINDS_SHOWN = 6
"""Kinds of move that are shown of those that cost the players most, and of those that bring them most."""


def _words_of_today(words: Sequence[str]) -> Sequence[str] | None:
    """Translate an old ``ddz benchmark`` command line without subcommands; return None for a current one."""
    if not words or words[0] in ("run", "field", "check", "records", "-h", "--help"):
        return None
    for name in ("field", "check"):
        if f"--{name}" in words:
            return ["benchmark", name, *(word for word in words if word != f"--{name}")]
    return ["benchmark", "run", *words]


@click.group(cls=RenamedGroup, today=_words_of_today)
def benchmark() -> None:
    """Rate agents against fixed opponents or by recorded games, and check files of results.

    \b
    Example:
      ddz benchmark run mymodule:MyAgent
    """


@dataclasses.dataclass(frozen=True)
class BenchmarkOptions(Options):
    """Options of the ``ddz benchmark`` commands, which set what is played and where.

    Attributes:
        full: Play the whole field on the deals for reporting; hours on two cores.
        deals: Deals per pair; by default 400 of an agent without --full, else 1000.
        workers: Where it is played.
    """

    full: bool = False
    deals: Count | None = None
    workers: Workers = dataclasses.field(default_factory=Workers)


@benchmark.command()
@argument("agent", help="Your agent (mymodule:MyAgent), or one by name with options.")
@option("--name", default="", help="What results call it; its specification by default.")
@deal_file_option
@results_option
@take_options_of(BenchmarkOptions)
def run(agent: str, name: str, deal_file: Path | None, out: Path | None, options: BenchmarkOptions) -> None:
    """Rate an agent against fixed opponents, in about five minutes, or with --full for results that can be cited.

    \b
    Examples:
      ddz benchmark run mymodule:MyAgent
      ddz benchmark run mymodule:MyAgent --full --out mine.csv
    """
    from ddz_training.measure.benchmark import play

    drawn, numbers = _choose_deals(options, deal_file, _FULL_DEALS if options.full else _QUICK_DEALS)
    contest = play.contest_against_field(agent, drawn, name=name, quick=not options.full)
    _play_and_report(contest, numbers, out, options, ("run", agent))


@benchmark.command()
@deal_file_option
@results_option
@take_options_of(BenchmarkOptions)
def field(deal_file: Path | None, out: Path | None, options: BenchmarkOptions) -> None:
    """Play the opponents against each other, which gives their ratings; hours with --full.

    \b
    Example:
      ddz benchmark field --full --out runs/field.csv
    """
    from ddz_training.measure.benchmark import play

    drawn, numbers = _choose_deals(options, deal_file, _FULL_DEALS)
    _play_and_report(play.contest_within_field(drawn, quick=not options.full), numbers, out, options, ("field",))


@benchmark.command()
@argument("file", type=Path)
@option("--sample", type=COUNT, default=10, help="Deals per pair that are played at most, drawn afresh each time.")
@take_options_of(Workers, "workers")
def check(file: Path, sample: int, workers: Workers) -> None:
    """Check a file of results by playing some of its deals again.

    \b
    Example:
      ddz benchmark check mine.csv
    """
    from numpy.random import default_rng

    from ddz_env import __version__
    from ddz_training.measure.benchmark import play

    results = play.read_benchmark_file(file)
    with work_under_bar("deals × pairs", workers) as work:
        same = play.replay_sample(results, sample, default_rng(), **work)
    _print_results(results)
    click.echo(f"{quote_path(file)}: {same} deals (drawn at random) were played again, and every game ended as it says")
    click.secho(f"It was played by version {' and '.join(results.code)}, this is {__version__}.", dim=True)


def _choose_deals(options: BenchmarkOptions, deal_file: Path | None, deals: int) -> tuple[DealList, Sequence[int]]:
    """Return the list of deals, from a file if one is given, and the numbers of the deals to play."""
    from ddz_training.measure.benchmark.field import RULES, deal_list_of_hands, find_deal_list
    from ddz_training.measure.deal_file import read_deal_file

    deals = options.deals or deals
    drawn = find_deal_list(_CITED_LIST if options.full else "choosing")
    numbers: Sequence[int] = range(deals)
    if deal_file is not None:
        if options.full:
            raise InvalidBenchmarkRequestError("--full plays the deals that can be cited: leave out --deal-file")
        listed = read_deal_file(deal_file, RULES, drawn.seed, deals=deals)
        drawn = deal_list_of_hands(deal_file.name, listed.hands) if listed.hands else drawn
        numbers = listed.select_numbers(deals)
    drawn.check_count(numbers[-1] + 1)
    return drawn, numbers


def _play_and_report(
    contest: play.BenchmarkContest,
    numbers: Sequence[int],
    out: Path | None,
    options: BenchmarkOptions,
    command: Sequence[str],
) -> None:
    """Play a benchmark contest, print its tables, and suggest the next command."""
    from ddz_training.measure.benchmark import play

    store = contest.store(out)
    with work_under_bar("deals × pairs", options.workers) as work:
        results = play.make_results(contest, play.play_benchmark(contest, numbers, store=store, **work), store)
    _print_results(results)
    if options.full and out is not None:
        suggest_command("to let anybody check it", "benchmark", "check", out)
    else:  # the file of --out holds other deals
        whole = Path("mine.csv") if out is None else out.with_stem(f"{out.stem}-full")
        suggest_command("to play games that can be cited", "benchmark", *command, "--full", "--out", whole)
    print_faults(results.records)


def _print_results(results: play.BenchmarkResults) -> None:
    """Print the tables of an agent's results or of the benchmark field's ratings."""
    from ddz_training.cli.tables import CPU_TIME, explain_intervals, make_results_table
    from ddz_training.measure import summaries
    from ddz_training.measure.benchmark import field, leaderboard
    from ddz_training.measure.benchmark.play import SCORING

    deals, own = results.contest.deals, [name for name in results.contest.agents if name not in field.FIELD]
    totals = {line.agent: line for line in summaries.compute_standings(results.records, SCORING)}
    for name in own or results.contest.agents:
        lines = [line for line in results.summary() if line.agent == name]
        title = f"{name}: {pluralize(results.deals, 'duplicate deal')} each, list {deals.name!r}"
        print_table(
            make_results_table([*lines, totals[name]], title, SCORING, "agent", CPU_TIME), sections=[len(lines) - 1]
        )
    print_prose(explain_intervals(SCORING), dim=True)
    for name in own:
        ratings = leaderboard.read_field_ratings()
        print_table(
            leaderboard.make_placement_table(
                name, leaderboard.rate_in_field(results.records, name, ratings.fixed), ratings
            )
        )
    if deals.name != _CITED_LIST:
        print_prose(f"Not for citing: what --full plays, the list {_CITED_LIST!r}, can be cited and checked.")


# --- players of recorded games ------------------------------------------------


@benchmark.command()
@argument("file", type=Path, metavar="GAMES")
@option("--agent", "agents", multiple=True, default=("policy",), help="Who is measured; others are beside the first.")
@option("--games", type=COUNT, help="How many games; by default all.")
@option("--first-game", type=NATURAL, default=0, help="Number of the first game, among those with a winner.")
@option(
    "--repeats", type=COUNT, default=1, help="Finish each position so often: agents that draw moves become steadier."
)
@option("--seed", type=NATURAL, default=0, help="Seed of agents that draw their moves.")
@results_option
@take_options_of(Workers, "workers")
def records(
    file: Path,
    agents: tuple[str, ...],
    games: int | None,
    first_game: int,
    repeats: int,
    seed: int,
    out: Path | None,
    workers: Workers,
) -> None:
    """Measure agents by recorded games of other players (GAMES: a data set, or a file for ddz record --from).

    \b
    Examples:
      ddz benchmark records douzero.jsonl
      ddz benchmark records matches.jsonl --agent policy --agent rules
      ddz benchmark records douzero.jsonl --agent neural-ismcts --games 300 --out leads.csv
    """
    from ddz_training.cli.tables import make_kinds_table, make_records_table
    from ddz_training.data.games import find_games_file
    from ddz_training.data.sources import list_game_files, read_won_games
    from ddz_training.measure.agent_pool import check_agents
    from ddz_training.measure.lead_runs import LeadRun
    from ddz_training.measure.provenance import digest_file, rules_to_settings
    from ddz_training.measure.records import Comparison, compute_game_leads

    agents = tuple(dict.fromkeys(agents))
    check_agents(agents)  # before a long file is read
    won, left_out = read_won_games(file)
    chosen = won[first_game:][:games]
    if len(chosen) < (games or 1):
        raise InvalidRecordsError(
            f"{file} has {pluralize(len(won), 'game')} with a winner, {len(chosen)} of them from --first-game "
            f"{first_game} on: needed are {games or 'at least one'}"
        )
    run = LeadRun(chosen, first_game, repeats, seed)
    table = [each for each in (find_games_file(file),) if each.is_file()]
    at_once = {agent: check_agents([agent], rules=run.rules) for agent in agents}
    about = {
        "rules": rules_to_settings(run.rules),
        "players": _list_players(won),
        "games": {each.name: digest_file(each) for each in (table if table else list_game_files(file))},
    }
    store, comparisons = run.store(out, agents, about), dict[str, Comparison]()
    for agent in agents:
        keys = [(agent, number) for number in range(first_game, first_game + len(chosen))]
        if not at_once[agent]:
            with work_under_bar("games", workers) as work:
                run.measure_one_by_one(agent, store, **work)
        elif not store.has_units(keys):
            with progress_bar("decisions") as on_progress:
                comparisons[agent] = run.compare(agent, on_progress)
            leads = compute_game_leads(comparisons[agent], first_game)
            with store.open():  # nobody else adds to it from here on
                store.add([lead for lead in leads if (lead.agent, lead.game) not in store.units])
    numbers = range(first_game, first_game + len(chosen))
    leads = store.results_of((agent, number) for agent in agents for number in numbers)
    title = f"{pluralize(len(chosen), 'game')} of {_list_players(chosen)} · {run.rules.name} rules"
    print_table(make_records_table(leads, title))
    print_prose(f"Left out, without a winner or not whole: {left_out}." * bool(left_out), dim=True)
    for comparison in list(comparisons.values())[:1]:
        print_table(make_kinds_table(comparison, _KINDS_SHOWN))


def _list_players(games: Iterable[ImportedGame]) -> str:
    """List the players of recorded games, each once."""
    return ", ".join(dict.fromkeys(player for game in games for player in game.players))
