"""Card ranks 0..14, card ids 0..53, and conversions between ids, names and rank counts.

A rank is an integer 0..14 (``3 4 5 6 7 8 9 T J Q K A 2 B R``; B is the black and R the red joker).  Suits
never matter in Dou Dizhu.  A card id 0..53 exists only at the borders (Botzone, display): ids 0..51 are
``4 * rank + suit`` and 52, 53 are the jokers, which is the numbering of Botzone's FightTheLandlord.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ddz_env.support.checks import check_integer
from ddz_env.support.errors import InvalidHandError, short_repr

RANK_NAMES: str = "3456789TJQKA2BR"
"""One letter per rank, in playing order."""

SUIT_SYMBOLS: str = "♥♦♠♣"
"""Suits in Botzone's order: heart, diamond, spade, club."""

NUM_RANKS: int = 15
NUM_CARDS: int = 54
CHAIN_RANKS: int = 12
"""Ranks 0..11 (3 to A) can be part of a chain; 2 and the jokers cannot."""

BLACK_JOKER: int = 13
RED_JOKER: int = 14

FULL_DECK: tuple[int, ...] = (4,) * 13 + (1, 1)
"""How many cards of each rank a pack has."""

MAX_HAND: int = 20
"""Cards that a hand can hold: 17 and the three landlord cards."""


def card_rank(card: int) -> int:
    """Return the rank 0..14 of a card id 0..53.

    Raises:
        InvalidHandError: If ``card`` is not a card id.
    """
    card = check_integer("card id", card, 0, NUM_CARDS - 1, InvalidHandError)
    return card // 4 if card < 52 else card - 39


def card_name(card: int) -> str:
    """Return a card's display name, for example ``♥3``, ``♠T`` or ``R``."""
    rank = card_rank(card)
    return RANK_NAMES[rank] if card >= 52 else SUIT_SYMBOLS[card % 4] + RANK_NAMES[rank]


def cards_to_counts(cards: Iterable[int]) -> list[int]:
    """Count card ids 0..53 by rank, and return the 15 counts.

    Args:
        cards: Card ids 0..53, each at most once.

    Returns:
        A list of 15 counts.

    Raises:
        InvalidHandError: If an id does not exist or is named twice.
    """
    try:
        ids = list(cards)
    except TypeError as error:
        raise InvalidHandError(f"card ids are whole numbers in a list, not {short_repr(cards)}") from error
    counts = [0] * NUM_RANKS
    seen: set[int] = set()
    for card in ids:
        rank = card_rank(card)
        if card in seen:
            raise InvalidHandError(f"card id {card} ({card_name(card)}) is named twice")
        seen.add(card)
        counts[rank] += 1
    return counts


def counts_to_word(counts: Sequence[int]) -> int:
    """Pack 15 rank counts into a 64-bit hand word (see :mod:`ddz_env.core.engine.words`)."""
    word = 0
    for rank, count in enumerate(counts):
        for copy in range(count):
            word |= 1 << (16 * copy + rank)
    return word
