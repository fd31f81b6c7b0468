"""Tables of the benchmark, from the committed files; and the field's ratings, which are fitted to its committed games.

``python docs/benchmark_tables.py docs/results/benchmark/field*.csv`` fits the ratings to the games of ``ddz benchmark
field --out FILE``, with ``--full`` and without, and writes them into the package.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from ddz_agents.neural.onnx_policy import OnnxPolicy
from ddz_agents.neural.shipped import BY_ID, RAW, policy_path
from ddz_agents.neural.weights import load_weights
from ddz_training.measure.benchmark.field import ANCHOR, DEALS, FIELD, hash_moves, read_committed_moves
from ddz_training.measure.benchmark.leaderboard import RATINGS_FILE, rate_in_field, read_field_ratings
from ddz_training.measure.benchmark.play import SCORING, BenchmarkResults, read_benchmark_file
from ddz_training.measure.markdown import format_markdown_table
from ddz_training.measure.provenance import digest_file
from ddz_training.measure.ratings import fit_ratings, make_scores
from ddz_training.measure.statistics import Interval
from ddz_training.measure.summaries import AgentResult, compute_standings

FOLDER = Path(__file__).with_name("results") / "benchmark"
_NONE = "*There are no committed results yet.*"


def committed(folder: Path) -> list[BenchmarkResults]:
    """The results that are committed, checked.

    Args:
        folder: Where the files are.

    Raises:
        BenchmarkFileError: If a file is not one of the benchmark's.
    """
    checked = [read_benchmark_file(path) for path in sorted(folder.glob("*.csv"))]
    return [results for results in checked if results.contest.deals.name == "reporting"]


def leaderboard(folder: Path = FOLDER) -> str:
    """The agents that were placed, and the field, the strongest first."""
    rows = [row for _, row in sorted(_entries(folder), key=lambda entry: -entry[0])]
    header = ("agent", "Elo", "landlord win %", "peasants win %", "win %", "score", "ms")
    return format_markdown_table(header, rows) if rows else _NONE


def _entries(folder: Path) -> Iterator[tuple[float, tuple[str, ...]]]:
    """A rating and a line of the leaderboard for each agent."""
    ratings = read_field_ratings()
    for results in committed(folder):
        own = results.contest.agents.keys() - FIELD.keys()
        for line in compute_standings(results.records, SCORING):
            if line.agent in own or not own:
                rating = rate_in_field(results.records, line.agent, ratings.fixed) if own else ratings.elo[line.agent]
                yield rating.mean, _entry(line, rating, results)


def _entry(line: AgentResult, elo: Interval, results: BenchmarkResults) -> tuple[str, ...]:
    times = [summary.ms_per_decision for summary in results.summary() if summary.agent == line.agent]
    rates = (rate.text_with_range(to="–") for rate in (line.landlord_wins, line.peasant_wins, line.wins))
    return f"`{line.agent}`", elo.elo(), *rates, line.score.plus_minus(), f"{sum(times) / len(times):.3g}"


def cross(folder: Path = FOLDER) -> str:
    """Win rates of the field's players against each other."""
    pages = []
    for results in committed(folder):
        names = list(results.contest.agents)
        if FIELD.keys() >= {*names}:
            rates = {(line.agent, line.opponent): line.wins.text_with_range(to="–") for line in results.summary()}
            rows = [(f"`{a}`", *(rates.get((a, b), "") for b in names)) for a in names]
            pages.append(format_markdown_table(("win % of … against", *(f"`{name}`" for name in names)), rows))
    return "\n\n".join(pages) or _NONE


def field_table() -> str:
    """The players of the field."""
    rows = [(f"`{member.name}`", f"`{member.agent}`", "yes" if member.quick else "") for member in FIELD.values()]
    table = format_markdown_table(("name", "agent", "quick"), rows)
    return f"{table}\n\nThe ratings are fitted to {read_field_ratings().played}."


TRAINED = {
    "policy-v1": ("2026-11-21", "two cores of one processor"),
    "policy-v2": ("2026-11-25", "one core"),
    "policy-v3": ("2026-11-28", "one H200, 16 virtual cores"),
    "policy-raw": ("2026-11-29", "one core, taught by `policy-v3`"),
}
"""When a policy first shipped, and on what it learned what its file notes; all else in the table is read or fitted."""


def frozen_policies(folder: Path = FOLDER) -> str:
    """The policies that ship under an id: what they are, and their ratings among the quick players."""
    ratings, rows = read_field_ratings(), []
    for name, digests in sorted(BY_ID.items(), key=lambda entry: TRAINED[entry[0]]):
        path = policy_path(name)
        assert digest_file(path) == digests[-1], f"{path} is another file than the one that shipped"
        notes = OnnxPolicy(path).notes if name == RAW else load_weights(path).notes
        date, hardware = TRAINED[name]
        elo = ratings.elo.get(name)
        if elo is None:
            elo = rate_in_field(read_benchmark_file(folder / f"{name}.csv").records, name, ratings.fixed)
        made = f"{notes['decisions'] / 1e6:,.0f}", f"{notes['hours']:.2g}", hardware
        rows.append((f"`{name}`", date, f"`{digests[0]}`", f"`{digests[-1]}`", *made, elo.elo()))
    header = ("id", "shipped", "digest as trained", "digest as it ships", "million decisions", "hours", "on", "Elo")
    return format_markdown_table(header, rows)


def frozen_field() -> str:
    """The players of the field, with what freezes them and their ratings."""
    ratings, moves = read_field_ratings(), read_committed_moves()
    rows = [
        (f"`{member.name}`", f"`{hash_moves(moves[member.name])}`", ratings.elo[member.name].elo())
        for member in FIELD.values()
    ]
    return format_markdown_table(("id", "digest of its moves", "Elo"), rows)


def deals_table() -> str:
    """The lists of deals."""
    rows = [(f"`{deals.name}`", str(deals.seed), str(deals.count), f"`{deals.sha256}`") for deals in DEALS.values()]
    return format_markdown_table(("list", "seed", "deals", "SHA-256"), rows)


TABLES: dict[str, Callable[[], str]] = {
    "leaderboard": leaderboard,
    "benchmark-cross": cross,
    "benchmark-field": field_table,
    "benchmark-deals": deals_table,
    "frozen-policies": frozen_policies,
    "frozen-field": frozen_field,
}


def write_field_ratings(*results: BenchmarkResults) -> None:
    """Fit the field's ratings to its games, of all files at once, and make them the committed ones."""
    games = [record for result in results for record in result.records if {record.a, record.b} <= FIELD.keys()]
    elo = {ANCHOR: Interval(0.0, 0.0, 0.0, len(games)), **fit_ratings(make_scores(games), {ANCHOR: 0.0})}
    document = {
        "played": " and ".join(_played(result) for result in results),
        "deals": sum(result.deals for result in results),
        "code": sorted({code for result in results for code in result.code}),
        "elo": {name: [round(end, 1) for end in elo[name].ends] for name in FIELD if name in elo},
    }
    RATINGS_FILE.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def _played(results: BenchmarkResults) -> str:
    who = "all pairs" if results.contest.agents.keys() >= FIELD.keys() else "the quick players' pairs"
    return f"the first {results.deals} deals of the list {results.contest.deals.name!r} ({who})"


if __name__ == "__main__":
    write_field_ratings(*(read_benchmark_file(Path(argument)) for argument in sys.argv[1:]))
