"""Tables printed by the command line: actions, observations, rules and options (also in the docs), and results."""

from __future__ import annotations

import csv
import functools
import io
import itertools
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ddz_env.core import actions
from ddz_env.core.observation import Layout
from ddz_env.core.observation.layout import HISTORY, WORD
from ddz_env.core.rules import PRESETS, Rules, differing_options
from ddz_env.core.view import ROLES
from ddz_env.support.atomic_files import replace_file
from ddz_env.support.errors import pluralize
from ddz_env.support.options import Option, format_option_value
from ddz_training.measure import records, summaries
from ddz_training.measure.markdown import Table
from ddz_training.measure.statistics import Interval

if TYPE_CHECKING:
    from ddz_training.learn.strength import Evaluation
    from ddz_training.measure.ratings import Rating
    from ddz_training.measure.records import Comparison, GameLead

STRENGTHS_FILE = Path(__file__).with_name("strengths.json")
"""What ``docs/generate.py`` computes from committed results: the package is installed without ``docs/``."""


def make_action_table() -> Table:
    """Make the table of actions, one line per category: its ids, the number of its actions, and an example."""
    rows: list[tuple[str, ...]] = []
    for index, category in enumerate(actions.CATEGORIES):
        groups = [group for group in actions.MAIN_GROUPS if group.category == index]
        segments = [segment for segment in actions.SEGMENTS if segment.category == index]
        lengths = f"{segments[0].length}–{segments[-1].length}" if len(segments) > 1 else "–"
        kickers = "–"
        if category.kicker_size:
            what = "solo" if category.kicker_size == 1 else "pair"
            each = "each link" if len(segments) > 1 else ""
            kickers = f"{category.kickers_per_link} {what}{'s' if category.kickers_per_link > 1 else ''} {each}".strip()
        ids = f"{groups[0].id}–{groups[-1].id}" if len(groups) > 1 else str(groups[0].id)
        example = groups[0].name.removeprefix(category.name).strip() or "pass"
        rows.append((ids, category.name, str(len(groups)), lengths, kickers, f"`{example}`"))
    bases = (actions.KICKER_BASE, actions.BID_BASE, actions.DOUBLE_BASE, actions.NUM_ACTIONS)
    for (base, end), what in zip(itertools.pairwise(bases), ("kicker rank", "bid", "doubling"), strict=True):
        rows.append((f"{base}–{end - 1}", what, str(end - base), "–", "–", f"`{actions.action_name(base)}`"))
    title = f"{actions.NUM_ACTIONS} actions"
    return Table(title, ("ids", "category", "count", "length", "kickers", "first"), rows)


def make_layout_table(title: str, layout: Layout) -> Table:
    """Make the table of an encoded vector's features; earlier moves, which are encoded alike, share one row."""
    rows = [row for row in layout.table_rows() if not re.fullmatch(r"(move|actor)_([2-9]|1\d)", row[1])]
    if (last := layout.offsets.get(f"actor_{HISTORY}")) is not None:
        next_row = next(number for number, row in enumerate(rows) if row[1] == "actor_1") + 1
        meaning = f"the same of the completed moves 2 to {HISTORY} back, {2 * WORD} bytes per move"
        older = f"{layout.offsets['move_2']}..{last}", f"move_2, actor_2 … actor_{HISTORY}", "likewise", meaning
        rows.insert(next_row, older)
    return Table(f"{title}, {layout.size} bytes", ("bytes", "feature", "range", "meaning"), rows)


def make_preset_table() -> Table:
    """Make the table that shows what each preset changes in the standard rules."""
    standard = Rules()
    rows = []
    for name, rules in PRESETS.items():
        options = (option for option in differing_options() if getattr(rules, option) != getattr(standard, option))
        changes = [f"`{option}={format_option_value(getattr(rules, option))}`" for option in options]
        changes += [
            f"other {field}" for field in ("categories", "deck") if getattr(rules, field) != getattr(standard, field)
        ]
        rows.append((f"`{name}`", ", ".join(changes) or "–"))
    note = "ddz show rules PRESET shows one in full."
    return Table("Rule presets", ("preset", "differs from `standard` in"), rows, note)


def make_options_table(what: str, options: Iterable[Option]) -> Table:
    """Make the table of an agent's or an experiment's options, with defaults, values and meanings."""
    lines = [(f"`{option.name}`", option.default_text, option.allowed_values, option.meaning) for option in options]
    return Table(f"Options of {what}", ("option", "default", "values", "meaning"), lines)


# --- what was played ---------------------------------------------------------


def _format_milliseconds(value: float) -> str:
    """Format milliseconds per decision to three significant digits."""
    return "–" if math.isnan(value) or value == 0 else f"{value:#.3g}".rstrip(".")


CPU_TIME = "CPU ms"
"""The column that says whether agents that are given milliseconds got them: a busy machine takes some away."""

_RESULT_COLUMNS: dict[str, Callable[[summaries.AgentResult], str]] = {
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
    "ms per decision": lambda result: _format_milliseconds(result.ms_per_decision),
    CPU_TIME: lambda result: _format_milliseconds(result.cpu_ms_per_decision),
}


def make_results_table(results: Sequence[summaries.AgentResult], title: str, scoring: str, *left_out: str) -> Table:
    """Make the results table that ``ddz arena``, ``ddz benchmark`` and ``ddz demo`` print at the end.

    Args:
        results: Two per pair, or standings.
        title: Its title.
        scoring: What scores are of.  Those of ``win`` repeat the win rates, and are left out.
        *left_out: Further columns that are left out.
    """
    repeated = "score" if scoring == "win" else None
    columns = {
        name: cell for name, cell in _RESULT_COLUMNS.items() if name not in left_out and name.split()[0] != repeated
    }
    return Table(title, list(columns), [[cell(result) for cell in columns.values()] for result in results])


def make_differences_table(differences: Sequence[summaries.PairedDifference], scoring: str) -> Table:
    """Make the table of differences from a reference agent in win rate and score, on common deals.

    Args:
        differences: One line each.
        scoring: What scores are of.  Those of ``win`` repeat the win rates, and are left out.
    """
    lines = [
        (
            *(line.agent, line.over, line.opponent, f"{line.wins.count:,}"),
            *(rate.text_with_range("+.1f") for rate in (line.landlord_wins, line.peasant_wins, line.wins)),
            line.score.plus_minus(),
        )
        for line in differences
    ]
    header = ("agent", "over", "against", "deals", "landlord", "peasants", "overall", "score")
    shown = len(header) - (scoring == "win")
    title = "Differences on the same deals, in points of the win rate"
    return Table(title, header[:shown], [line[:shown] for line in lines])


def explain_intervals(scoring: str) -> str:
    """Return the note on confidence intervals that is shown below tables of results."""
    intervals = "95 % intervals: Wilson for win rates, normal on the means of the deals for scores."
    return intervals if scoring == "win" else f"{intervals} A score is a side's (both peasants together)."


def deals_for_one_percent(rate: Interval) -> int:
    """Estimate how many deals it takes to narrow a win rate's interval to ± 1 %; return 0 if its width is 0.

    Example:
        >>> deals_for_one_percent(Interval(0.5, 0.45, 0.55, count=100))
        2500
    """
    width = rate.half_width
    return int(float(f"{rate.count * (width / 0.01) ** 2:.1e}")) if width > 0 else 0


def write_table(
    path: Path,
    settings: Mapping[str, Any],
    results: Sequence[summaries.AgentResult | Rating],
    more: Sequence[summaries.AgentResult] = (),
) -> None:
    """Write results as JSON with their settings, or as CSV with three columns per interval.

    Args:
        path: The file; ``.json`` at its end asks for JSON.
        settings: What the results depend on.
        results: The results.
        more: What only JSON has room for, as its ``pairs``.
    """
    rows, pairs = (list(map(summaries.to_plain_values, lines)) for lines in (results, more))
    if path.suffix.lower() == ".json":
        document = {"settings": dict(settings), "results": rows, **({"pairs": pairs} if pairs else {})}
        text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    else:
        file = io.StringIO()
        writer = csv.DictWriter(file, _flatten_intervals(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(map(_flatten_intervals, rows))
        text = file.getvalue()
    replace_file(path, text.encode())


def _flatten_intervals(row: Mapping[str, Any]) -> dict[str, Any]:
    """Flatten each interval in a row into separate columns for its mean and its ends."""
    flat: dict[str, Any] = {}
    for name, value in row.items():
        ends = value if isinstance(value, dict) else {"mean": value}
        flat |= {f"{name}_{end}".removesuffix("_mean"): part for end, part in ends.items() if end != "count"}
    return flat


def make_evaluation_table(evaluations: Sequence[Evaluation]) -> Table:
    """Make the table of the evaluations after one update, with one line per opponent."""
    updates, deals = pluralize(evaluations[0].update, "update"), pluralize(evaluations[0].deals, "duplicate deal")
    title = f"After {updates}, {deals} each"
    lines = [
        (
            line.opponent,
            line.interval.text_with_range(to="–"),
            f"{100 * line.landlord:.1f}",
            f"{100 * line.peasants:.1f}",
        )
        for line in evaluations
    ]
    return Table(title, ("against", "wins %", "landlord %", "peasants %"), lines)


def make_records_table(leads: Sequence[GameLead], title: str, note: str = "") -> Table:
    """Make the table of each agent's estimated gain over the players of recorded games."""
    first, *others = records.estimate_strengths(leads)
    lines = [
        (
            strength.agent,
            *(strength.wins.text_with_range(to="–"), *(role.text_with_range("+.1f") for role in strength.roles)),
            strength.agreement.text(),
            "" if strength is first else strength.over_first.text_with_range("+.1f"),
        )
        for strength in (first, *others)
    ]
    roles = (f"players' {role.replace('_', ' ')}" for role in ROLES)
    header = ("agent", "wins %", *roles, "same move %", f"over {first.agent}")
    return Table(title, header if others else header[:-1], [line if others else line[:-1] for line in lines], note)


def make_kinds_table(comparison: Comparison, most: int) -> Table:
    """Make the table of the kinds of recorded move that cost or gain the players most compared with an agent.

    Args:
        comparison: The recorded games beside the agent.
        most: How many of each are shown.
    """
    kinds = records.compute_kind_gains(comparison)
    lines = [
        (
            f"{gain.kind.role.replace('_', ' ')} {'leads' if gain.kind.lead else 'follows'}: {gain.kind.category}",
            f"{gain.decisions:,}",
            f"{100 * gain.agreed:.0f}",
            gain.gain.text_with_range("+.1f"),
            f"{100 * gain.per_game:+.2f}",
        )
        for gain in (kinds if len(kinds) <= 2 * most else kinds[:most] + kinds[-most:])
    ]
    header = ("move", "times", f"{comparison.agent} too %", "gain each", "gain per game")
    return Table(f"Kinds of move, gains over {comparison.agent} in points", header, lines)


class Strength(NamedTuple):
    """A named agent's strength with default options: its win rate against the rule agent, and its thinking time.

    Attributes:
        wins: The share of games that it won, over both roles, with its 95 % interval.
        ms: Milliseconds of a processor per decision.
        source: The file that the share is from, below ``docs/results``.
    """

    wins: Interval
    ms: float
    source: str


@functools.cache
def read_strengths() -> dict[str, Strength]:
    """Read the measured strengths of agents that ship with the package, strongest agent first."""
    document = json.loads(STRENGTHS_FILE.read_text(encoding="utf-8"))
    return {name: Strength(Interval(*line[:4]), *line[4:]) for name, line in document.items()}
