"""How the open-card solver searches: limits, memory, and each technique with a switch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, get_args

import numpy as np

from agents.solver.memory import ANY_WIN, Technique
from ddz_env.options import Options, Range

QuickWins = Literal["never", "tricks", "everywhere"]
_QUICK_WINS = get_args(QuickWins)

TECHNIQUES = ("table", "tighten", "quick_wins", "threats", "ranks", "ahead", "order", "history", "killers")
"""Options that switch a technique."""

# How the first move to try is found: points for each thing, the highest first.
MOVE_POINTS, CARD_POINTS, RANK_POINTS, LEAD_POINTS, PASS_POINTS, MOST_HISTORY = 80, 25, 4, 20, -200, 10


@dataclass(frozen=True)
class SolverOptions(Options):
    """Limits, memory and techniques of the open-card solver.  No technique changes a verdict.

    Attributes:
        nodes: Positions that a search may open; none for any number.
        seconds: Time that a search may take; none for any time.
        megabytes: Size of the transposition table, rounded down to a power of two.
        table: Look positions up in the transposition table.
        ways: Entries a bucket of the table.
        tighten: Raise a target to the highest that lets the same replies through.
        quick_wins: Where a leader that provably keeps or retakes the lead to its end has won: nowhere, where its search
            begins (``tricks``), or also among the moves of the node before (``everywhere``).
        threats: Drop moves that an opponent beats by a reply that stands and after which it provably runs out.
        ranks: Take ranks that nobody holds any more out of a position before it is looked up.
        ahead: Look every move's position up before any is searched, and drop those that lose at once;
            off, because it saves fewer nodes than it costs time.
        order: Try moves first after which the hand needs the fewest moves, that play many cards or low ones; pass last.
        history: Prefer moves that ended a search elsewhere; off, because it costs time and saves no nodes.
        killers: Prefer the move that last ended a search as deep as this; off, because more nodes follow from it.
    """

    nodes: Annotated[int, Range(1)] | None = None
    seconds: Annotated[float, Range(0, above=True)] | None = None
    megabytes: Annotated[float, Range(0.01, 65536)] = 64
    table: bool = True
    ways: Literal[1, 2, 4, 8, 16] = 4
    tighten: bool = True
    quick_wins: QuickWins = "tricks"
    threats: bool = True
    ranks: bool = True
    ahead: bool = False
    order: bool = True
    history: bool = False
    killers: bool = False

    def technique(self, landlord: int, goal: int = int(ANY_WIN), *, spring: bool = True) -> Technique:
        """The same for the kernels.

        Args:
            landlord: The landlord's seat.
            goal: What the landlord shall reach (:func:`agents.solver.tricks.reached`).
            spring: Whether spring doubles the stake.
        """
        return Technique(
            table=np.bool_(self.table),
            ways=np.uint64(self.ways),
            tighten=np.bool_(self.tighten),
            runs=np.int64(_QUICK_WINS.index(self.quick_wins)),
            order=np.bool_(self.order),
            history=np.bool_(self.history),
            killers=np.bool_(self.killers),
            goal=np.int64(goal),
            spring=np.bool_(spring),
            landlord=np.int64(landlord),
            threats=np.bool_(self.threats),
            ranks=np.bool_(self.ranks),
            ahead=np.bool_(self.ahead),
            move_points=np.int64(MOVE_POINTS),
            card_points=np.int64(CARD_POINTS),
            rank_points=np.int64(RANK_POINTS),
            lead_points=np.int64(LEAD_POINTS),
            pass_points=np.int64(PASS_POINTS),
            most_history=np.int64(MOST_HISTORY),
        )
