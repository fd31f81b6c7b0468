"""How the open-card solver searches: limits, memory, and each technique with a switch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from ddz_agents.open_cards.solver.memory import ANY_WIN, Technique
from ddz_env.core.options import Options, Range

TECHNIQUES = ("table", "tighten", "quick_wins", "threats", "ranks", "order")
"""Options that switch a technique."""

# How the first move to try is found: points for each thing, the highest first.
MOVE_POINTS, CARD_POINTS, RANK_POINTS, PASS_POINTS = 80, 25, 4, -200


@dataclass(frozen=True)
class SolverOptions(Options):
    """Limits, memory and techniques of the open-card solver.  No technique changes a verdict.

    Attributes:
        nodes: Positions that a search may open; none for any number.
        seconds: Time that a search may take; none for any time.
        megabytes: Size of the transposition table, rounded down to a power of two.
        table: Look positions up in the transposition table.
        tighten: Raise a target to the highest that lets the same replies through.
        quick_wins: Where a leader that provably keeps or retakes the lead to its end has won: nowhere, or where its
            search begins (``tricks``).
        threats: Drop moves that an opponent beats by a reply that stands and after which it provably runs out.
        ranks: Take ranks that nobody holds any more out of a position before it is looked up.
        order: Try moves first after which the hand needs the fewest moves, that play many cards or low ones; pass last.
    """

    gone = {  # noqa: RUF012 - a class attribute without an annotation is no field
        "ways": (4, "the number of entries a bucket hardly mattered"),
        "ahead": (False, "looking moves up beforehand saved fewer nodes than it cost time"),
        "history": (False, "it cost time and saved no nodes"),
        "killers": (False, "more nodes followed from them"),
    }
    nodes: Annotated[int, Range(1)] | None = None
    seconds: Annotated[float, Range(0, above=True)] | None = None
    megabytes: Annotated[float, Range(0.01, 65536)] = 64
    table: bool = True
    tighten: bool = True
    quick_wins: Literal["never", "tricks"] = "tricks"
    threats: bool = True
    ranks: bool = True
    order: bool = True

    def technique(self, landlord: int, goal: int = int(ANY_WIN), *, spring: bool = True) -> Technique:
        """The same for the kernels.

        Args:
            landlord: The landlord's seat.
            goal: What the landlord shall reach (:func:`ddz_agents.open_cards.solver.tricks.reached`).
            spring: Whether spring doubles the stake.
        """
        return Technique(
            table=np.bool_(self.table),
            tighten=np.bool_(self.tighten),
            quick_wins=np.bool_(self.quick_wins != "never"),
            order=np.bool_(self.order),
            goal=np.int64(goal),
            spring=np.bool_(spring),
            landlord=np.int64(landlord),
            threats=np.bool_(self.threats),
            ranks=np.bool_(self.ranks),
            move_points=np.int64(MOVE_POINTS),
            card_points=np.int64(CARD_POINTS),
            rank_points=np.int64(RANK_POINTS),
            pass_points=np.int64(PASS_POINTS),
        )
