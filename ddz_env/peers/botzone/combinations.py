"""What cards mean to a judge, and why it refuses them: a judge sees card ids, not moves.

The older judge wants one kicker a quad of a shuttle.  The action table has two a quad, as nearly everybody plays, so
these combinations are read here and have no move.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

from ddz_env.core.actions import CATEGORIES
from ddz_env.core.cards import CHAIN_RANKS, cards_to_counts
from ddz_env.core.notation import Hand, readings_of
from ddz_env.peers.botzone.games import BotzoneGame, botzone_game

PRIORITIES = {"rocket": 3, "bomb": 2}
_LONG = 3
"""From so many quads on a shuttle weighs more."""


class Combination(NamedTuple):
    """Cards as a judge reads them.

    Attributes:
        category: The name of its category in the action table; ``pass`` for no cards.
        rank: The lowest rank of the body.
        length: Ranks in the body.
        kickers: Cards beside the body.
    """

    category: str
    rank: int
    length: int
    kickers: int

    @property
    def weight(self) -> int:
        """Hundredths of a point that the older game gives for it."""
        category = next(category for category in CATEGORIES if category.name == self.category)
        if self.length >= _LONG and category.long_weight is not None:
            return category.long_weight
        return category.weight

    def refusal(self, target: Combination) -> str:
        """Why a judge refuses this as an answer to ``target``: its own word, empty if it is legal."""
        mine, theirs = (PRIORITIES.get(each.category, 1) for each in (self, target))
        if mine != theirs:
            return "" if mine > theirs else "LESS_COMPARE"
        if self.category != target.category:
            return "MISMATCH_CARDTYPE"
        if (self.length, self.kickers) != (target.length, target.kickers):
            return "MISMATCH_CARDLENGTH"
        return "" if self.rank > target.rank else "LESS_COMPARE"


PASS = Combination("pass", -1, 0, 0)


def combination(cards: Sequence[int], game: BotzoneGame) -> Combination | None:
    """What card ids mean in a game; None if they are nothing.

    Raises:
        InvalidHandError: If an id does not exist or stands twice.

    Example:
        >>> from ddz_env.peers.botzone.games import GAMES
        >>> combination([0, 1, 2, 3, 4, 5, 6, 7, 8, 12], GAMES["FightTheLandlord"])
        Combination(category='shuttle+solos', rank=0, length=2, kickers=2)
        >>> combination([0, 1, 2, 3, 4, 5, 6, 7, 8, 12], GAMES["FightTheLandlord2"]) is None
        True
    """
    return _read(tuple(cards_to_counts(cards)), game.name) if cards else PASS


@functools.lru_cache(maxsize=1 << 14)
def _read(counts: tuple[int, ...], name: str) -> Combination | None:
    game, hand = botzone_game(name), Hand(counts)
    for move in readings_of(hand, game.rules):
        if (group := move.group) is not None:
            return Combination(move.category, group.rank, group.length, len(hand) - sum(group.need))
    return _sparse_shuttle(counts) if game.quad_kickers == 1 else None


def _sparse_shuttle(counts: tuple[int, ...]) -> Combination | None:
    """A shuttle with one solo or one pair a quad."""
    quads = [rank for rank, count in enumerate(counts) if count == 4]
    if len(quads) < 2 or quads[-1] - quads[0] != len(quads) - 1 or quads[-1] >= CHAIN_RANKS:
        return None
    rest = [count for count in counts if count not in (0, 4)]
    for size, category in ((1, "shuttle+solos"), (2, "shuttle+pairs")):
        if rest == [size] * len(quads):
            return Combination(category, quads[0], len(quads), sum(rest))
    return None
