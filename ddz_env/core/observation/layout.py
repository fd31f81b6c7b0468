"""The layout tables of the observation vectors, which list the features in order with ranges and meanings."""

from __future__ import annotations

import hashlib
import sys
from collections import namedtuple
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ddz_env.core.actions import MAX_KICKERS, NUM_ACTIONS, action_name
from ddz_env.core.cards import FULL_DECK, NUM_CARDS
from ddz_env.core.engine.layout import HISTORY_MOVES

WORD = 8
"""Bytes per word."""

HISTORY = HISTORY_MOVES - 1
"""How many completed moves an observation shows."""


@dataclass(frozen=True)
class Feature:
    """A feature of a vector: consecutive bytes with a name, a range and a meaning.

    Attributes:
        name: Its name in docs and in :meth:`Layout.split`.
        size: Bytes.
        low: Lowest value of every byte.
        high: Highest value, of every byte or byte by byte.
        description: What it means, for the docs page.
    """

    name: str
    size: int
    low: int
    high: int | tuple[int, ...]
    description: str

    @property
    def highs(self) -> tuple[int, ...]:
        """The highest value of each byte of the feature."""
        return self.high if isinstance(self.high, tuple) else (self.high,) * self.size


class Layout:
    """The layout of a vector: its features in order, and the sizes, ranges and offsets that result from them.

    Args:
        features: The table.

    Attributes:
        features: The table.
        offsets: Feature name → offset of its first byte.
        size: Bytes of the vector.
        words: 64-bit words of the vector.
        low: Lowest values, shape ``[size]``, int8.
        high: Highest values, shape ``[size]``, int8.
    """

    def __init__(self, features: Sequence[Feature]) -> None:
        self.features = tuple(features)
        self.offsets: dict[str, int] = {}
        self.size = 0
        for feature in self.features:
            self.offsets[feature.name] = self.size
            self.size += feature.size
        if self.size % WORD:
            raise ValueError(f"a vector of {self.size} bytes is not a whole number of words")
        self.words = self.size // WORD
        self.low = np.array([f.low for f in self.features for _ in range(f.size)], np.int8)
        self.high = np.array([high for f in self.features for high in f.highs], np.int8)

    @property
    def word_offsets(self) -> Any:
        """The word index of each feature that starts at a 64-bit word boundary, by feature name."""
        starts = {name: offset // WORD for name, offset in self.offsets.items() if offset % WORD == 0}
        return namedtuple("word_offsets", starts)(**starts)

    def byte_offsets_from(self, name: str) -> Any:
        """Return byte offsets, relative to a named feature, of that feature and all later ones, as uint64."""
        first = self.offsets[name]
        distances = {name: np.uint64(offset - first) for name, offset in self.offsets.items() if offset >= first}
        return namedtuple("byte_offsets", distances)(**distances)

    def split(self, vector: npt.NDArray[np.int8]) -> dict[str, npt.NDArray[np.int8]]:
        """Split a vector, or a batch of vectors, into a dict of features by name.

        Args:
            vector: Shape ``[..., size]``.

        Returns:
            Feature name → shape ``[..., feature.size]``, views of ``vector``.
        """
        return {f.name: vector[..., self.offsets[f.name] : self.offsets[f.name] + f.size] for f in self.features}

    def table_rows(self) -> Iterator[tuple[str, str, str, str]]:
        """Yield one row of the documentation's table per feature: bytes, name, range and meaning."""
        for feature in self.features:
            first = self.offsets[feature.name]
            positions = f"{first}..{first + feature.size - 1}" if feature.size > 1 else str(first)
            yield positions, feature.name, f"{feature.low}..{max(feature.highs)}", feature.description

    def feature_lines(self) -> Iterator[str]:
        """Yield one line per feature: its name, first byte, number of bytes, and lowest and highest values."""
        for feature in self.features:
            yield f"{feature.name} {self.offsets[feature.name]} {feature.size} {feature.low} {feature.highs}"


def _card_field(name: str, description: str, beside: str, high: int, meaning: str) -> tuple[Feature, Feature]:
    """Make a feature of 15 card counts, and a one-byte feature that pads it to two 64-bit words."""
    return Feature(name, len(FULL_DECK), 0, FULL_DECK, description), Feature(beside, 1, 0, high, meaning)


def _field_of_each_seat(
    seats: Iterable[object], name: str, description: str, beside: str, high: int, meaning: str
) -> Iterator[Feature]:
    """Yield the card features of each seat, with the seat filled into names and descriptions."""
    for seat in seats:
        yield from _card_field(
            name.format(seat), description.format(seat), beside.format(seat), high, meaning.format(seat)
        )


def _history_fields() -> Iterator[Feature]:
    for ago in range(1, HISTORY + 1):
        yield from _card_field(
            f"move_{ago}",
            f"cards of the completed move {ago} back" if ago > 1 else "cards of the last completed move",
            f"actor_{ago}",
            6,
            "0 no such move; in play 1 self, 2 next, 3 previous seat; in the auction and doubling 4, 5, 6",
        )


_TARGET_KEY = "target_key", 15, "1 + the rank to exceed, 1 after the rocket; 0 on lead"
_KICKERS_LEFT = "kickers_left", MAX_KICKERS, "kickers still to choose"
_HELD = _card_field("landlord_cards_held", "those the landlord has not played yet", "highest_bid", 3, "highest bid")
_RELATIVE = ("self", "next", "previous")
_KIND = "0 has not moved in play, 1 passed, 2 played cards"

OBSERVATION = Layout(
    (
        *_card_field("hand", "own hand", "bid_self", 4, "own bid: 0 not spoken, 1 no bid, 2..4 bid 1..3"),
        *_card_field(
            "unseen",
            "cards in nobody's sight (face-up landlord cards still held count)",
            "unseen_cards",
            54,
            "their number",
        ),
        *_field_of_each_seat(_RELATIVE, "played_{}", "cards played by {}", "cards_left_{}", 20, "hand size of {}"),
        *_field_of_each_seat(_RELATIVE, "last_{}", "cards of the last move of {}", "last_kind_{}", 2, _KIND),
        *_card_field("landlord_cards", "the landlord cards, once face up", "bombs", 14, "bombs and rockets played"),
        *_HELD,
        *_card_field(
            "target", "cards of the move to beat, kickers included; zero on lead", "passes", 3, "passes in a row"
        ),
        *_card_field("target_body", "its main group as the rules read it", *_TARGET_KEY),
        *_card_field("pending_body", "own half-built move: its main group", *_KICKERS_LEFT),
        *_card_field("kickers", "own half-built move: the kickers so far", "kicker_size", 2, "cards per kicker"),
        *_card_field("hand_next", "hand of the next seat (open hands only)", "bid_next", 4, "bid of the next seat"),
        *_card_field(
            "hand_previous",
            "hand of the previous seat (open hands only)",
            "bid_previous",
            4,
            "bid of the previous seat",
        ),
        *_history_fields(),
        Feature("role", 4, 0, 1, "landlord, peasant down, peasant up, none yet (one-hot)"),
        Feature("stage", 5, 0, 1, "lead, follow, kicker, bid, double (one-hot); zero when the game is over"),
        Feature("to_act", 3, 0, 1, "the seat to act: self, next, previous (one-hot)"),
        Feature("doubles", 3, 0, 2, "answers to doubling of self, next, previous: 0 not spoken, 1 no, 2 doubled"),
        Feature("over", 1, 0, 1, "whether the game is over"),
    )
)
"""What the seat ``self`` sees.  Seats are relative: next acts after self, previous before (none with two players)."""

STATE = Layout(
    (
        *_field_of_each_seat(range(3), "hand_{}", "hand of seat {}", "cards_left_{}", 20, "its size"),
        *_card_field("undealt", "cards that no seat holds", "passes", 3, "passes in a row"),
        *_field_of_each_seat(range(3), "played_{}", "cards played by seat {}", "plays_{}", 54, "moves it has played"),
        *_card_field("landlord_cards", "the landlord cards, face up or not", "bombs", 14, "bombs and rockets played"),
        *_HELD,
        *_card_field("target_body", "the main group to beat; zero on lead", *_TARGET_KEY),
        *_card_field("pending_body", "the half-built move: its main group", *_KICKERS_LEFT),
        *_card_field("kickers", "the half-built move: the kickers so far", "kicker_size", 2, "cards per kicker"),
        Feature("seat", 3, 0, 1, "the seat to act (one-hot)"),
        Feature("landlord", 4, 0, 1, "the landlord's seat, or none yet (one-hot)"),
        Feature("stage", 5, 0, 1, "lead, follow, kicker, bid, double (one-hot)"),
        Feature("over", 1, 0, 1, "whether the game is over"),
        Feature("owner", 3, 0, 1, "the seat that played the move to beat (one-hot; zero on lead)"),
        Feature("bids", 3, 0, 4, "bids of seats 0, 1, 2: 0 not spoken, 1 no bid, 2..4 bid 1..3"),
        Feature("doubles", 3, 0, 2, "answers to doubling: 0 not spoken, 1 no, 2 doubled"),
        Feature("players", 2, 0, 1, "two players, three players (one-hot)"),
    )
)
"""The whole game, for centralized critics.  Seats are absolute."""

CONCEALED = Layout(
    (
        *_card_field("hand_next", "hand of the next seat", "cards_left_next", 20, "its size"),
        *_card_field("hand_previous", "hand of the previous seat", "cards_left_previous", 20, "its size"),
        *_card_field("undealt", "cards that no seat holds and nobody sees", "undealt_cards", NUM_CARDS, "their number"),
    )
)
"""What an observation conceals: with both, a critic sees everything.  Never a policy's input."""

OBSERVATION_SIZE: int = OBSERVATION.size
OBSERVATION_WORDS: int = OBSERVATION.words
STATE_SIZE: int = STATE.size
STATE_WORDS: int = STATE.words
CONCEALED_WORDS: int = CONCEALED.words
MASK_BYTE_WORDS: int = -(-NUM_ACTIONS // WORD)
"""Words of a mask of bytes; bytes beyond the last action id are zero."""

if sys.byteorder != "little":  # pragma: no cover
    raise ImportError("ddz_env runs on little-endian machines only, and this machine is big-endian")


def fingerprint(concealed: bool = False, *more: str, places: int | None = None) -> str:
    """Return a hash of the observation layout and the action table, as sixteen hexadecimal digits.

    It is made of names, places, sizes and ranges, not of descriptions: a description may be reworded.

    Args:
        concealed: Whether what a seat does not see (:data:`CONCEALED`) is part of it.
        more: What else gives numbers a meaning.
        places: How many of the observation's places count, from the first; by default all.
    """
    hidden = CONCEALED.feature_lines() if concealed else ()
    lines = [*[*OBSERVATION.feature_lines()][:places], *hidden, *map(action_name, range(NUM_ACTIONS)), *more]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
