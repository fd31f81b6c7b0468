"""Strength by depth: alpha-beta on the true game and expectiminimax over sampled deals, against the rule agent."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from ddz_training.experiments import experiment as ex
from ddz_training.experiments import matches
from ddz_training.measure.statistics import normal_interval

FIRST_DEAL = 70_000
RULES = "rules"
DEPTHS: Mapping[str, str] = {
    **{f"open hands, depth {depth}": f"cheating-alpha-beta:depth={depth}" for depth in (1, 2, 3, 4, 6)},
    "open hands, depth 4, no quiescence": "cheating-alpha-beta:depth=4,quiescence=off",
    "open hands, depth 4, bombs only": "cheating-alpha-beta:depth=4,quiescence=bombs",
    "open hands, depth 4, singular": "cheating-alpha-beta:depth=4,singular=0.2",
    **{f"sampled deals, depth {depth}": f"expectiminimax:depth={depth}" for depth in (1, 2, 3, 4)},
}
"""Specifications by name."""


def depth_pairs(options: matches.DealOptions) -> dict[matches.Pair, int]:
    """Who plays how many deals."""
    return {(name, RULES): options.deals for name in ex.chosen("search", options.only, DEPTHS)}


def depth_table(saved: ex.Saved[matches.MatchResult]) -> ex.Table:
    """Win rates by depth; a search that went has its name instead of its agent's."""
    lines = []
    for name, own in ex.grouped(saved.results, "agent").items():
        agent, both = f"`{DEPTHS[name]}`" if name in DEPTHS else name, normal_interval([*map(matches.won, own)])
        lines.append((name, agent, str(len(own)), *matches.side_rates(own), both.text(), both.span()))
    header = ("search", "agent", "deals", "landlord %", "peasants %", "both %", "95 % interval")
    note = f"Against `{RULES}`, d{matches.deals_note(saved)[1:]}; {saved.name}."
    return ex.Table("Strength by depth", header, lines, note)


SEARCH_DEPTH = ex.Experiment(
    name="search-depth",
    about="Depth-limited searches against the rule agent, by depth.",
    options=matches.DealOptions,
    result=matches.MatchResult,
    key=matches.KEY,
    tasks=lambda options: matches.match_tasks(depth_pairs(options), FIRST_DEAL, DEPTHS),
    worker=functools.partial(matches.MatchWorker, matches.who_won, "standard", "none"),
    agents=lambda options: [RULES, *(DEPTHS[name] for name, _ in depth_pairs(options))],
    unit="duplicate deals",
    tables={"search-depth": depth_table},
)
