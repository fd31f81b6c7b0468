"""A search agent's statistics beyond its move: candidate moves, and a belief over hidden cards.

Both come from optional methods of an agent (:class:`ddz_env.playing.agent.Agent`), and both are for the seat that
acts: they say nothing that its view does not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_env.core.cards import NUM_RANKS
from ddz_env.core.engine import layout as at
from ddz_env.core.notation import Hand, Move
from ddz_env.core.view import View

NO_HOLDER = 3
"""The holder of cards that no seat holds: undealt ones, and the landlord cards while they are face down."""


class Candidate(NamedTuple):
    """A whole move that a search considered, with its visits and its estimated chance of winning.

    Attributes:
        move: The move.
        visits: How often it was tried.
        chance: The share of those that its side won.
        line: What the search expects after it, move by move, as far as it has looked.
    """

    move: Move
    visits: int
    chance: float
    line: tuple[Move, ...] = ()


@dataclass(frozen=True, eq=False)
class Belief:
    """A probability distribution over who holds the hidden cards, from a seat's point of view.

    Attributes:
        chances: The chance that a holder has at least a number of cards of a rank, shape ``[4, 15, 5]``, float64:
            holder (three seats, then :data:`NO_HOLDER`), rank, number 0..4.
    """

    chances: npt.NDArray[np.float64]

    @classmethod
    def from_worlds(cls, hands: npt.NDArray[np.uint64], weights: npt.NDArray[np.float64]) -> Belief:
        """Make a belief from sampled deals, shape ``[n, 4]``, with weights that add up to one.

        Args:
            hands: The three hands and the cards that no seat holds, shape ``[n, 4]``, uint64.
            weights: Adding up to one, shape ``[n]``, float64.
        """
        copies = hands[:, :, None, None] >> np.arange(64, dtype=np.uint64).reshape(4, 16)
        counts = (copies & np.uint64(1)).sum(axis=2)[..., :NUM_RANKS].astype(np.int64)
        least = counts[..., None] >= np.arange(5)
        return cls(np.einsum("n,nhrk->hrk", weights, least))

    @classmethod
    def uniform(cls, view: View) -> Belief:
        """Make a seat's prior belief, in which all deals of the unseen cards are equally likely."""
        pool = Hand.from_word(int(view.row[at.HIDDEN])).counts
        known, room = _known_cards(view)
        total = sum(pool)
        chances = np.zeros((4, NUM_RANKS, 5))
        for holder in range(4):
            for rank in range(NUM_RANKS):
                for extra in range(pool[rank] + 1):
                    share = _hypergeometric(extra, pool[rank], total, room[holder])
                    chances[holder, rank, : known[holder][rank] + extra + 1] += share
        return cls(chances)

    def expected_counts(self) -> npt.NDArray[np.float64]:
        """Return the mean card counts by holder (each seat, then nobody) and rank, shape ``[4, 15]``, float64."""
        return np.asarray(self.chances[..., 1:].sum(axis=-1))

    def as_dict(self) -> dict[str, Any]:
        """Return the belief as plain lists and numbers, for JSON."""
        return {"expected": self.expected_counts().tolist(), "chances": self.chances.tolist()}


def _known_cards(view: View) -> tuple[list[Sequence[int]], list[int]]:
    """Return, by holder (each seat, then nobody), the counts of known cards and the number of unknown cards."""
    sizes = list(view.hand_sizes) + [0] * (3 - len(view.hand_sizes))
    hands = [view.row[at.HANDS + seat] for seat in range(3)]
    if view.landlord not in (None, view.seat) and not view.rules.open_hands:
        hands[view.landlord or 0] = view.row[at.KNOWN]
    known: list[Sequence[int]] = [Hand.from_word(int(hand)).counts for hand in hands]
    room = [size - sum(counts) for size, counts in zip(sizes, known, strict=True)]
    pool = Hand.from_word(int(view.row[at.HIDDEN]))
    return [*known, (0,) * NUM_RANKS], [*room, len(pool) - sum(room)]


def _hypergeometric(count: int, marked: int, total: int, drawn: int) -> float:
    """Return the hypergeometric probability that a draw contains exactly ``count`` of the marked cards."""
    if count > drawn or marked - count > total - drawn:
        return 0.0
    return math.comb(drawn, count) * math.comb(total - drawn, marked - count) / math.comb(total, marked)
