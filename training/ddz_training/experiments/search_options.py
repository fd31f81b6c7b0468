"""Searches on the same duplicate deals: options at equal time, and strength by depth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ddz_training.experiments import experiment as ex
from ddz_training.experiments import matches
from ddz_training.measure.statistics import normal_interval

PLAIN = "isuct"
RULES = "rules"
VARIANTS: Mapping[str, str] = {
    "plain": "isuct:iterations={}",
    "4 trees": "isuct:iterations={},trees=4",
    "inference": "isuct:iterations={},particles=100",
    "duplicate rollouts (rules)": "rollout:iterations={},caution=0,particles=0",
    "cautious rollouts (rules)": "rollout:iterations={},caution=0.5,particles=0",
    "more cautious rollouts (rules)": "rollout:iterations={},caution=1,particles=0",
    "cautious rollouts with inference": "rollout:iterations={},caution=0.5,particles=100",
}
"""Specifications by name, with a place for the iterations.  A file may hold others, of searches that went."""

EQUAL_TIME: Mapping[str, float] = {
    "plain": 1.0,
    "4 trees": 0.26,
    "inference": 0.63,
    "duplicate rollouts (rules)": 0.06,
    "cautious rollouts (rules)": 0.058,
    "more cautious rollouts (rules)": 0.057,
    "cautious rollouts with inference": 0.037,
}
"""The iterations with which each takes as long as the plain search with one; inference as with 10,000."""

QUICK = tuple(name for name in VARIANTS if "inference" not in name)
"""Variants without a large fixed cost a decision; the others are played if they are named."""

WITHOUT_INFERENCE: Mapping[str, str] = {"cautious rollouts with inference": "cautious rollouts (rules)"}
"""The same rollouts without inference; a report that has both compares them deal by deal."""


class DealResult(ex.Result):
    """A duplicate deal.

    Attributes:
        variant: Name of the variant.
        opponent: Specification of the opponent.
        deal: Number of the deal.
        landlord: Whether the variant won as landlord.
        peasants: Whether it won as peasants.
    """

    variant: str
    opponent: str
    deal: int
    landlord: int
    peasants: int


def option_cells(results: Sequence[DealResult]) -> list[tuple[str, ...]]:
    """A line a variant and opponent: name, opponent, deals, win rates by side and over both with its interval, in %."""
    lines = []
    for (variant, opponent), own in ex.grouped(results, "variant", "opponent").items():
        both = normal_interval([matches.won(result) for result in own])
        lines.append((variant, opponent, str(len(own)), *matches.side_rates(own), both.text(), both.span()))
    return lines


# --- Equal time -------------------------------------------------------------------------------------------------------


class SearchOptions(matches.DealOptions):
    """What is compared.

    Attributes:
        only: Only this variant; may be repeated.
        against: Opponent: isuct (the plain search) or an agent; may be repeated.
        iterations: Iterations of the plain search; they set the time for all.
    """

    against: tuple[str, ...] | None = None
    iterations: ex.Count = 1500
    deals: ex.Count = 1000
    first_deal: ex.Natural = 20_000


def option_pairs(options: SearchOptions) -> dict[matches.Pair, int]:
    """Every option of the search at equal time against plain information-set UCT.

    By default 3 CPU minutes for each option.
    """
    names = ex.chosen("variant", options.only or QUICK, VARIANTS)
    pairs = [(name, opponent) for opponent in options.against or (PLAIN,) for name in names]
    return {pair: options.deals for pair in pairs if pair != ("plain", PLAIN)}


def equal_time_specs(options: SearchOptions) -> dict[str, str]:
    """The specifications of all variants, and of the plain search as an opponent."""
    budgets = {name: max(1, round(share * options.iterations)) for name, share in EQUAL_TIME.items()}
    specs = {name: spec.format(budgets[name]) for name, spec in VARIANTS.items()}
    return {**specs, PLAIN: specs["plain"]}


def option_table(saved: ex.Saved[DealResult]) -> ex.Table:
    """Options of the search at equal time, with a sentence for each pair of rows that differ in inference alone."""
    header = ("variant", "against", "deals", "landlord %", "peasants %", "both %", "95 % interval")
    notes = [f"{matches.deals_note(saved)}, {saved.name}. `plain` has {saved.settings['base']:,} iterations."]
    groups = ex.grouped(saved.results, "variant", "opponent")
    for (variant, opponent), own in groups.items():
        base = WITHOUT_INFERENCE.get(variant, "")
        if (base, opponent) in groups:
            gain = matches.win_gain(own, groups[base, opponent])
            points = f"{gain.text('+.1f')} points ({gain.span('+.1f')}), paired by deal"
            notes.append(f"Against `{opponent}`, {variant} over {base}: {points}.")
    return ex.Table("Options of the search at equal time", header, option_cells(saved.results), " ".join(notes))


SEARCH_OPTIONS = matches.rates(
    "search-options",
    option_pairs,
    {"search-options": option_table},
    specs=equal_time_specs,
    result=DealResult,
    player={"timing": False},
    more=lambda options: {"base": options.iterations},
)


# --- Depth ------------------------------------------------------------------------------------------------------------

DEPTHS: Mapping[str, str] = {
    **{f"open hands, depth {depth}": f"cheating-alpha-beta:depth={depth}" for depth in (1, 2, 3, 4, 6)},
    "open hands, depth 4, no quiescence": "cheating-alpha-beta:depth=4,quiescence=off",
    "open hands, depth 4, bombs only": "cheating-alpha-beta:depth=4,quiescence=bombs",
    "open hands, depth 4, singular": "cheating-alpha-beta:depth=4,singular=0.2",
    **{f"sampled deals, depth {depth}": f"expectiminimax:depth={depth}" for depth in (1, 2, 3, 4)},
}
"""Specifications by name."""


class DepthOptions(matches.DealOptions):
    """Which searches play how much against the rule agent.

    Attributes:
        only: Only this search; may be repeated.
    """

    first_deal: ex.Natural = 70_000


def depth_pairs(options: DepthOptions) -> dict[matches.Pair, int]:
    """Depth-limited searches against the rule agent, by depth."""
    return {(name, RULES): options.deals for name in ex.chosen("search", options.only, DEPTHS)}


def depth_table(saved: ex.Saved[DealResult]) -> ex.Table:
    """Win rates by depth; a search that went has its name instead of its agent's."""
    agents = {variant: f"`{agent}`" for variant, agent in DEPTHS.items()}
    lines = [(variant, agents.get(variant, variant), *cells) for variant, _, *cells in option_cells(saved.results)]
    header = ("search", "agent", "deals", "landlord %", "peasants %", "both %", "95 % interval")
    note = f"Against `{RULES}`, d{matches.deals_note(saved)[1:]}; {saved.name}."
    return ex.Table("Strength by depth", header, lines, note)


SEARCH_DEPTH = matches.rates(
    "search-depth",
    depth_pairs,
    {"search-depth": depth_table},
    specs=lambda options: DEPTHS,
    result=DealResult,
    player={"timing": False},
)
"""Alpha-beta on the true game, and expectiminimax over sampled deals, against the rule agent."""
