"""``ddz arena``, ``rate`` and ``benchmark``: who plays better, on duplicate deals."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

import click

import ddz_env
from ddz_env.core.checks import check_choice
from ddz_env.core.errors import plural
from ddz_env.core.whole_file import replace_file
from ddz_training.apps.cli.command import Argument, Count, Natural, Parallel, SavedGames, Seconds, agent_failed, follow
from ddz_training.apps.cli.console import complain, quoted, remark, show, tell
from ddz_training.apps.cli.lazily import lazily
from ddz_training.apps.cli.outputs import PLOT, File
from ddz_training.apps.cli.signals import EXIT_INTERRUPTED
from ddz_training.measure.markdown import Table

with lazily():
    from numpy import random

    from ddz_training.measure import contest as contests
    from ddz_training.measure import duplicate, league, ratings, statistics
    from ddz_training.measure import errors as match_errors
    from ddz_training.measure import tendency as deal_tendency
    from ddz_training.measure.benchmark import field as benchmark_field
    from ddz_training.measure.benchmark import leaderboard
    from ddz_training.measure.benchmark import play as benchmark_play

ANCHOR, MEAN = "rules", "mean"
"""The agent that is rated 0, as in the benchmark's ratings; and the word for the mean of the league."""
_BLOCK = 25
"""Deals that a league schedules at a time."""
_QUICK_DEALS, _FULL_DEALS = 400, 1000
_CITED = "reporting"
"""The list of deals whose results may be cited."""


class MatchCommand(SavedGames):
    """A match of agents.

    Attributes:
        agents: Agents by name (ddz agents), with options (isuct:iterations=2000), or your own (mymodule:MyAgent). Every
            pair plays. NAME=AGENT gives one a name for the tables (deep=isuct:iterations=20000).
        timing: Record times; --no-timing makes equal runs write equal files.
        time_limit: Seconds a decision may take; a longer one is cut off and loses the game. No limit by default.
        table: Write the final table here (FILE.csv), or table and settings (FILE.json).
    """

    timing: bool = True
    time_limit: Seconds | None = None
    table: Annotated[Path | None, File(".csv", ".json", stream=True)] = None

    def contest(self, agents: Sequence[str]) -> contests.Arena:
        """Who plays under which settings; with ``--debug`` the first fault of an agent ends it."""
        debug = click.get_current_context().find_root().params["debug"]
        on_fault: Literal["lose", "stop"] = "stop" if debug else "lose"
        named = [agent.partition("=")[::2] if re.match("[^:=]+=", agent) else ("", agent) for agent in agents]
        names = tuple(name or agent for name, agent in named) if any(name for name, _ in named) else ()
        settings = (self.preset, self.seed, self.timing, self.time_limit, on_fault, names)
        return contests.Arena(tuple(agent for _, agent in named), *settings)

    @contextmanager
    def reporting(self, report: Callable[[], None]) -> Iterator[None]:
        """Report after a block of games; after one that Ctrl-C ends, also say how to continue."""
        try:
            yield
        except KeyboardInterrupt as error:
            report()
            kept = f"; {quoted(self.out)} is valid, continue with: {self.resuming()}" if self.out else ""
            complain(f"interrupted{kept}")
            raise click.exceptions.Exit(EXIT_INTERRUPTED) from error
        report()


# --- results ---------------------------------------------------------------


def milliseconds(value: float) -> str:
    """Milliseconds a decision with three digits."""
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
        results: Two a pair, or standings.
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
    """Write results as comma-separated values, three columns an interval, or as JSON with their settings.

    Args:
        path: The file; its suffix says which.
        settings: What the results depend on.
        results: The results.
        more: What only JSON has room for, as its ``pairs``.
    """
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


class ArenaCommand(MatchCommand, call="arena", heading="Compare"):
    """Play duplicate deals, each from both sides, and print win rates and scores with 95 % intervals.

    Attributes:
        deals: Duplicate deals per pair; a deal is two games, six with bidding.
        first_deal: Number of the first deal under the seed.
        deal_file: Play deals of this file only, the first --deals of them (ddz study tendency --out).
        tendency: Of the deal file only those that lean so.
        scoring: What scores are of; the preset's own by default.

    Example:
        ddz arena rollout rules --deals 200
        ddz arena short=isuct:iterations=500 long=isuct
        ddz arena rules random --rules bidding,doubling=true --out games.csv
        ddz arena mymodule:MyAgent rules --deals 400 --out games.csv
        ddz arena rollout isuct --deal-file deals.csv --tendency none
    """

    agents: Argument[tuple[str, ...]]
    deals: Count = 1000
    first_deal: Natural = 0
    deal_file: Annotated[Path | None, File(use="read")] = None
    tendency: Literal["none", "landlord", "peasants"] | None = None
    scoring: Literal["win", "stake", "botzone"] | None = None

    def run(self) -> None:
        """Play, print the tables and write the files."""
        contest, chosen = self.contest(self.agents), self._chosen()
        numbers = self.deals if chosen is None else chosen[: self.deals]
        store = contest.store(self.out, True)
        records: list[duplicate.GameRecord] = []
        report = self.reporting(lambda: self._report(contest, records or store.results, store.settings))
        with report, self.working(f"deals × {plural(contest.pairs, 'pair')}") as how:
            records += contests.run_arena(contest, numbers, first_deal=self.first_deal, store=store, **how)
        follow("to halve the intervals", *self.again(deals=4 * self.deals, out=self.out or Path("games.csv")))

    def _chosen(self) -> list[int] | None:
        """The numbers of the deals of the file; None if no file is named."""
        if self.deal_file is None:
            self.leave_out("only --deal-file knows what deals lean to", "tendency")
            return None
        numbers = deal_tendency.deals_of_file(self.deal_file, self.tendency, self.preset, self.seed)
        left = [number for number in numbers if number >= self.first_deal]
        if not left:
            found = plural(len(numbers), "deal") + (f" of tendency {self.tendency!r}" if self.tendency else "")
            last = f"numbered up to {numbers[-1]}: --first-deal {self.first_deal} leaves none"
            raise match_errors.InvalidArenaError(f"{self.deal_file} has {found}, {last}")
        return left

    def _report(
        self, contest: contests.Arena, records: list[duplicate.GameRecord], settings: Mapping[str, Any]
    ) -> None:
        if not records:
            return
        scoring = self.scoring or contest.rules.scoring
        results = statistics.summarize(records, scoring)
        totals = statistics.standings(records, scoring) if len(contest.agents) > 2 else []
        deals = plural(len({record.deal for record in records}), "duplicate deal")
        title = f"{deals} · {contest.rules.name} rules · {scoring} scoring · seed {contest.seed}"
        show(results_table(results, title, scoring), sections=range(1, len(results), 2))
        if totals:
            show(results_table(totals, "Against all others", scoring, "against"))
        remark(note(scoring) + (_TOGETHER if contest.rules.bidding != "fixed" else ""), dim=True)
        report_faults(records)
        if self.table is not None:
            write_table(self.table, {**settings, "scoring": scoring}, [*results, *totals])


# --- ddz rate ----------------------------------------------------------------


class RateCommand(MatchCommand, call="rate", heading="Compare"):
    """Rate agents in a league on duplicate deals; those play next whose games say most.

    Attributes:
        agents: Agents, as for ddz arena. Without any, only the tables of the file are printed.
        out: Save every game here as it is played (FILE.sqlite or FILE.db); an existing league is resumed, and agents
            that are new to it join.
        deals: Duplicate deals per pair on average; a deal is two games, six with bidding.
        until_decided: End as soon as it is known of every pair who is better (error 5 %).
        anchor: The agent that is rated 0, or mean (of the league); by default rules, as in ddz benchmark, where it
            plays.
        table: Write the ratings here (FILE.csv), or ratings, pairs and settings (FILE.json).
        plot: Write a plot here (.png, .pdf or .svg).

    Example:
        ddz rate random random-staged rules rlcard-rule --deals 100
        ddz rate rules policy rollout --out my.sqlite --until-decided
        ddz rate --out my.sqlite --anchor rules --plot ratings.png
    """

    agents: Argument[tuple[str, ...]] = ()
    out: Annotated[Path, File(".sqlite", ".db")] = Path("league.sqlite")
    deals: Count = 200
    until_decided: bool = False
    anchor: str | None = None
    plot: Annotated[Path | None, PLOT] = None

    def run(self) -> None:
        """Play, if agents are named, and print the tables of the file."""
        if not self.agents:
            games_only = ("deals", "until_decided", "rules", "seed", "processes", "timing", "time_limit")
            self.leave_out("without agents only the tables of --out are printed", *games_only)
            self._report()
            if self.plot is None:
                follow("to see it", *self.again(plot=self.out.with_suffix(".png")))
            return
        contest = self.contest(self.agents)
        if self.anchor not in (None, MEAN):
            self._check_anchor(contest)
        tell(f"Every game is kept in {quoted(self.out)}.", err=True, dim=True)
        with self.reporting(self._report):
            self._play_league(contest)
        changed = {"out": self.out, "until_decided": True, "deals": 4 * self.deals}
        follow("to rate until it is known of every pair who is better", *self.again(**changed))

    def _check_anchor(self, contest: contests.Arena) -> None:
        """Refuse an anchor that will have played no game: an agent neither of this run nor of the file."""
        known = dict.fromkeys(contest.labels)
        if self.anchor not in known and self.out.is_file() and self.out.stat().st_size:
            _, games = league.read_league(self.out)
            known.update(dict.fromkeys(label for game in games for label in (game.a, game.b)))
        check_choice("anchor", self.anchor, known, match_errors.InvalidArenaError)

    def _play_league(self, contest: contests.Arena) -> None:
        store = league.LeagueStore(self.out, contest, True)
        with self.working(f"deals × {plural(contest.pairs, 'pair')}") as how:
            league.play_league(store, self.deals, block=_BLOCK, until_decided=self.until_decided, **how)

    def _report(self) -> None:
        """Print the tables of the file, and write what is wanted."""
        settings, games = league.read_league(self.out)
        if not games:
            complain(f"{quoted(self.out)} holds no games yet")
            return
        plays = any(ANCHOR in (game.a, game.b) for game in games)
        anchor = {None: ANCHOR if plays else None, MEAN: None}.get(self.anchor, self.anchor)
        rated, advantage = ratings.rate(games, anchor)
        title = f"{plural(len(games), 'game')} · {settings['rules']['name']} rules · seed {settings['seed']}"
        show(league.ratings_table(rated, advantage, title, anchor))
        show(league.cross_table(rated, games))
        report_faults(games)
        if self.table is not None:
            write_table(self.table, settings, rated, statistics.summarize(games))
        if self.plot is not None:
            league.plot_ratings(rated, self.plot)


# --- ddz benchmark -----------------------------------------------------------


class BenchmarkCommand(Parallel, call="benchmark", heading="Compare"):
    """Place an agent in a frozen field, in about five minutes; or play, write and check results that can be cited.

    Attributes:
        agent: Your agent (mymodule:MyAgent), or one by name with options (isuct:iterations=2000).
        name: What results call it; its specification by default.
        full: The whole field on the deals for reporting; hours on two cores.
        field: Play the field against itself, which gives its ratings; hours with --full.
        check_: Check a file of results by playing some of its deals again.
        sample: Deals a pair that --check plays, drawn afresh each time.
        all_: Let --check play all of them.
        deals: Deals a pair; 400 by default, 1000 with --full and --field.
        out: Save every game (FILE.csv), to be cited and checked; an existing file is resumed.

    Example:
        ddz benchmark mymodule:MyAgent
        ddz benchmark mymodule:MyAgent --full --out mine.csv
        ddz benchmark --check mine.csv
        ddz benchmark --field --full --out runs/field.csv
    """

    agent: Argument[str | None] = None
    name: str = ""
    full: bool = False
    field: bool = False
    check_: Annotated[Path | None, File(use="read")] = None
    sample: Count = 10
    all_: bool = False
    deals: Count | None = None
    out: Annotated[Path | None, File(".csv", ".sqlite", use="results")] = None

    def run(self) -> None:
        """Play games of the field, or check a file of them."""
        if sum((self.agent is not None, self.field, self.check_ is not None)) != 1:
            wanted = "name an agent, or --field, or --check FILE: one of the three"
            raise match_errors.InvalidBenchmarkRequestError(wanted)
        if self.check_ is not None:
            self.leave_out("--check plays what its file says", "name", "full", "deals", "out")
            self._check_file(self.check_)
            return
        self.leave_out("only --check plays the games of a file again", "sample", "all_")
        if self.field:
            self.leave_out("the field's agents have their names", "name")
        results = self._played()
        _report_benchmark(results)
        if self.full and self.out is not None:
            follow("to let anybody check it", "benchmark", "--check", self.out)
        else:  # the file of --out holds other deals
            whole = Path("mine.csv") if self.out is None else self.out.with_stem(f"{self.out.stem}-full")
            follow("to play games that can be cited", *self.again(full=True, out=whole, deals=None))
        report_faults(results.records)

    def _played(self) -> benchmark_play.Results:
        drawn = benchmark_field.deal_list(_CITED if self.full else "choosing")
        if self.agent is None:
            contest = benchmark_play.field_contest(drawn, quick=not self.full)
        else:
            contest = benchmark_play.against_field(self.agent, drawn, name=self.name, quick=not self.full)
        deals = self.deals or (_FULL_DEALS if self.full or self.field else _QUICK_DEALS)
        contest.deals.check_count(deals)
        store = contest.store(self.out)
        with self.working("deals × pairs") as how:
            records = benchmark_play.play_contest(contest, deals, store=store, **how)
        return benchmark_play.results_of(contest, records, store)

    def _check_file(self, path: Path) -> None:
        results, sample = benchmark_play.read_file(path), None if self.all_ else self.sample
        with self.working("deals × pairs") as how:
            same = benchmark_play.replay(results, sample, random.default_rng(), **how)
        _report_benchmark(results)
        what = "all" if sample is None else "drawn at random"
        tell(f"{quoted(path)}: {same} deals ({what}) were played again, and every game ended as it says")
        tell(f"It was played by version {' and '.join(results.code)}, this is {ddz_env.__version__}.", dim=True)


def _report_benchmark(results: benchmark_play.Results) -> None:
    """Tables of an agent, or of the field's ratings."""
    deals, own = results.contest.deals, [name for name in results.contest.agents if name not in benchmark_field.FIELD]
    scoring = benchmark_play.SCORING
    totals = {line.agent: line for line in statistics.standings(results.records, scoring)}
    for name in own or results.contest.agents:
        lines = [line for line in results.summary() if line.agent == name]
        title = f"{name}: {plural(results.deals, 'duplicate deal')} each, list {deals.name!r}"
        show(results_table([*lines, totals[name]], title, scoring, "agent"), sections=[len(lines) - 1])
    remark(note(scoring), dim=True)
    for name in own:
        ratings = leaderboard.field_ratings()
        show(leaderboard.placement_table(name, leaderboard.place(results.records, name, ratings.fixed), ratings))
    if deals.name != _CITED:
        remark(
            "Not for citing: agents are chosen on these deals. What --full plays, the list "
            f"{_CITED!r}, can be cited and checked."
        )
