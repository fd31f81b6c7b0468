"""The sizes of the full game's information sets (Whitehouse, Powley and Cowling 2011, section III.D)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ddz_env import View
from ddz_papers.determinization_2011.full_games import PAPER, DealListOptions
from ddz_papers.experiments import experiment as ex
from ddz_training.measure.markdown import Table

ROLES = ("landlord", "peasant down", "peasant up")


@dataclass(frozen=True)
class InformationSetResult:
    """The number of states that a seat thinks possible before the landlord's first move.

    Attributes:
        deal: Number of the deal.
        seat: The seat; 0 is the landlord.
        states: Ways to share out the unseen cards by rank.
    """

    deal: int
    seat: int
    states: int


def count_states(view: View) -> int:
    """Count the states that agree with a view: one opponent's unknown cards by rank; the other has the rest."""
    known, other = view.known_cards.counts, (view.seat + 1) % 3
    if view.seat == view.landlord:
        known = (0,) * len(known)  # its own cards are not among the unseen ones
    unknown = view.hand_sizes[other] - (sum(known) if other == view.landlord else 0)
    ways = np.ones(1, np.int64)
    for unseen, shown in zip(view.unseen.counts, known, strict=True):
        ways = np.convolve(ways, np.ones(unseen - shown + 1, np.int64))
    return int(ways[unknown])


def count_deal(options: DealListOptions, deal: int) -> list[InformationSetResult]:
    """Count the states of each seat of a deal."""
    state = options.new_game(deal)
    return [InformationSetResult(deal, seat, count_states(state.view(seat))) for seat in range(state.rules.players)]


def states_table(saved: ex.SavedResults[InformationSetResult]) -> Table:
    """Make the table of the median and the largest information set of each seat."""
    lines = []
    for seat, results in ex.group_by(saved.results, "seat").items():
        states = sorted(result.states for result in results)
        lines.append((ROLES[seat], f"{states[len(states) // 2]:,}", f"{states[-1]:,}"))
    note = f"{len(saved.results):,} information sets at the first decision; paper: up to 2.6 million. {saved.name}."
    return Table("States of an information set", ("seat", "median", "largest"), lines, note)


INFORMATION_SETS = ex.Experiment(
    name="information-sets",
    source=f"{PAPER}, section III.D",
    about="Sizes of the full game's information sets: just over 2.6 million states at most.",
    options=DealListOptions,
    result=InformationSetResult,
    key=("deal",),
    tasks=lambda options: [(deal,) for deal in options.numbers],
    work=count_deal,
    changeable=("deals", "deal_file"),
    more=lambda options: options.list_settings,
    unit="deals",
    tables={"full-states": states_table},
    file="full_states",
)
