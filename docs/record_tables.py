"""Tables of strength from records: what pages show of the files in ``docs/results/records``."""

from __future__ import annotations

import csv
import functools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ddz_training.measure.markdown import format_markdown_table
from ddz_training.measure.records import GameLead, Strength, estimate_strengths
from ddz_training.measure.statistics import Interval
from ddz_training.measure.store import read_format

RECORDS = Path(__file__).parent / "results" / "records"
DOUZERO, SEARCH = "douzero", "douzero-search"
"""The files of the games of players who have not been met, by a policy and by a search."""


@functools.cache
def _leads(name: str) -> Sequence[GameLead]:
    return read_format(RECORDS / f"{name}.csv", GameLead, "ddz-records-1")[1]


class Control(NamedTuple):
    """What records and matches say of the same two.

    Attributes:
        players: Who played the recorded games.
        estimate: What records say that the agent wins against them.
        played: What it wins.
        deals: On how many duplicate deals.
    """

    players: str
    estimate: Strength
    played: Interval
    deals: int


def controls() -> Iterator[Control]:
    """The players whom the agent has met as well, in the order of the file of matches."""
    with (RECORDS / "played.csv").open(newline="", encoding="utf-8") as file:
        for line in csv.DictReader(file):
            [estimate] = estimate_strengths(_leads(line["opponent"]))
            rates = (float(line[name]) for name in ("wins", "wins_low", "wins_high"))
            deals = int(line["deals"])
            yield Control(line["opponent"], estimate, Interval(*rates, deals), deals)


def records_controls() -> str:
    """Estimates from records beside matches."""
    lines = [
        (
            f"`{each.players}`",
            f"{each.estimate.games:,}",
            *(each.estimate.wins.text_with_range(to="–"), f"{each.deals:,}", each.played.text_with_range(to="–")),
            f"{100 * (each.estimate.wins.mean - each.played.mean):+.1f}",
        )
        for each in controls()
    ]
    header = ("players", "games", "by records, %", "deals", "played, %", "difference")
    return format_markdown_table(header, lines)


def records_douzero() -> str:
    """What records say of DouZero, by halves of the file: one is there to choose by, and the other to report."""
    leads, half = _leads(DOUZERO), len(_leads(DOUZERO)) // 2
    lines = []
    for name, part in ((f"first {half:,}", leads[:half]), (f"last {half:,}", leads[half:]), ("all", leads)):
        [strength] = estimate_strengths(part)
        roles = (role.text_with_range("+.1f") for role in strength.roles)
        lines.append((name, strength.wins.text_with_range(to="–"), *roles, strength.agreement.text()))
    header = ("games", "`policy-v3` wins %", "landlord", "peasant after", "peasant before", "same move %")
    return format_markdown_table(header, lines)


def search_over_policy() -> Sequence[Strength]:
    """What the games that the search was measured by say of the policy, and of the search."""
    search = _leads(SEARCH)
    games = {lead.game for lead in search}
    return estimate_strengths([*(lead for lead in _leads(DOUZERO) if lead.game in games), *search])


def records_search() -> str:
    """A policy and a search by the same games of DouZero."""
    lines = [
        (
            f"`{each.agent}`",
            f"{each.games:,}",
            each.wins.text_with_range(to="–"),
            *(role.text_with_range("+.1f") for role in each.roles),
            each.over_first.text_with_range("+.1f") if number else "",
        )
        for number, each in enumerate(search_over_policy())
    ]
    header = ("agent", "games", "wins %", "landlord", "peasant after", "peasant before", "over the policy")
    return format_markdown_table(header, lines)


TABLES: dict[str, Callable[[], str]] = {
    "records-controls": records_controls,
    "records-douzero": records_douzero,
    "records-search": records_search,
}
