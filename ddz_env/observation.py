"""What a player sees, as numbers: one layout table, and the kernels that write by it.

Every vector here is a row of signed bytes.  Cards stand as 15 counts, one a rank; each such field is followed by
one byte that belongs to it, so that a field is two 64-bit words and is written by two stores.  Kernels therefore
take the vector as ``uint64`` words; :func:`observe` and the environments hand out its ``int8`` view.  (The byte
order is little-endian, as on every platform that Numba supports.)

The tables ``OBSERVATION``, ``STATE`` and ``CONCEALED`` are the only description of the vectors: offsets, bounds of
the ``Box`` spaces and the docs page are computed from them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from ddz_env.actions import NUM_ACTIONS
from ddz_env.cards import FULL_DECK, NUM_CARDS
from ddz_env.engine.compiling import inline_kernel, pure_kernel
from ddz_env.engine.history import HISTORY_MOVES
from ddz_env.engine.layout import (
    BIDS,
    BOMBS,
    BOMBS_ONLY,
    BOTTOM,
    CHOSEN,
    DOUBLES,
    HANDS,
    HIDDEN,
    KEY,
    KNOWN,
    LANDLORD,
    LEFT,
    MOVES,
    NO_SEAT,
    OWNER,
    PASSES,
    PENDING,
    PLAYED,
    PLAYS,
    SEAT,
    SIZES,
    STAGE,
    STAGE_BID,
    STAGE_DOUBLE,
    STAGE_KICKER,
    STAGE_OVER,
    TARGET,
)
from ddz_env.engine.legal import legal_mask
from ddz_env.engine.step import main_cards
from ddz_env.engine.tables import BID_ID, MAIN_SEGMENT, MASK_WORDS, SEGMENT_KICKER_SIZE
from ddz_env.engine.words import U0, U1, U2, U3, U4, U8, U16, popcount
from ddz_env.rules import R_DECK, R_OPEN_HANDS, R_PLAYERS

if TYPE_CHECKING:
    from ddz_env.state import State
    from ddz_env.view import View


class HasRow(Protocol):
    """A :class:`~ddz_env.State`, or the game of an environment."""

    @property
    def row(self) -> npt.NDArray[np.uint64]:
        """The engine's row, shape ``[32]``."""
        ...

    @property
    def rule_words(self) -> npt.NDArray[np.uint64]:
        """The rules array, shape ``[16]``."""
        ...


WORD = 8
"""Bytes a word."""

HISTORY = HISTORY_MOVES - 1
"""How many completed moves an observation shows."""


@dataclass(frozen=True)
class Feature:
    """A named run of bytes of a vector.

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
        """The highest value of each byte."""
        return self.high if isinstance(self.high, tuple) else (self.high,) * self.size


class Layout:
    """A layout table: features in order, and what follows from them.

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

    def word(self, name: str) -> int:
        """Index of the word that a feature starts in; card fields start on a word."""
        offset = self.offsets[name]
        if offset % WORD:
            raise ValueError(f"feature {name!r} does not start on a word")
        return offset // WORD

    def split(self, vector: npt.NDArray[np.int8]) -> dict[str, npt.NDArray[np.int8]]:
        """Name the parts of a vector or of a batch.

        Args:
            vector: Shape ``[..., size]``.

        Returns:
            Feature name → shape ``[..., feature.size]``, views of ``vector``.
        """
        return {f.name: vector[..., self.offsets[f.name] : self.offsets[f.name] + f.size] for f in self.features}

    def rows(self) -> Iterator[tuple[str, str, str, str]]:
        """The rows of the docs table: bytes, name, range, meaning."""
        for feature in self.features:
            first = self.offsets[feature.name]
            last = first + feature.size - 1
            where = f"{first}..{last}" if feature.size > 1 else str(first)
            yield where, feature.name, f"{feature.low}..{max(feature.highs)}", feature.description

    def markdown(self) -> str:
        """The docs table."""
        lines = ["| bytes | name | range | meaning |", "| --- | --- | --- | --- |"]
        lines += [f"| {where} | `{name}` | {span} | {text} |" for where, name, span, text in self.rows()]
        return "\n".join(lines) + "\n"


def _cards(name: str, description: str, beside: str, high: int, meaning: str) -> tuple[Feature, Feature]:
    """A card field and the byte that fills its second word."""
    return Feature(name, len(FULL_DECK), 0, FULL_DECK, description), Feature(beside, 1, 0, high, meaning)


def _history() -> Iterator[Feature]:
    for ago in range(1, HISTORY + 1):
        yield from _cards(
            f"move_{ago}",
            f"cards of the completed move {ago} back" if ago > 1 else "cards of the last completed move",
            f"actor_{ago}",
            6,
            "0 no such move; in play 1 self, 2 next, 3 previous seat; in the auction and doubling 4, 5, 6",
        )


_RELATIVE = ("self", "next", "previous")
_KIND = "0 has not moved in play, 1 passed, 2 played cards"

OBSERVATION = Layout(
    (
        *_cards("hand", "own hand", "bid_self", 4, "own bid: 0 not spoken, 1 no bid, 2..4 bid 1..3"),
        *_cards(
            "unseen",
            "cards in nobody's sight (face-up landlord cards still held count)",
            "unseen_cards",
            54,
            "their number",
        ),
        *(
            feature
            for seat in _RELATIVE
            for feature in _cards(
                f"played_{seat}", f"cards played by {seat}", f"cards_left_{seat}", 20, f"hand size of {seat}"
            )
        ),
        *(
            feature
            for seat in _RELATIVE
            for feature in _cards(f"last_{seat}", f"cards of the last move of {seat}", f"last_kind_{seat}", 2, _KIND)
        ),
        *_cards("landlord_cards", "the landlord cards, once face up", "bombs", 14, "bombs and rockets played"),
        *_cards("landlord_cards_held", "those the landlord has not played yet", "highest_bid", 3, "highest bid"),
        *_cards("target", "cards of the move to beat, kickers included; zero on lead", "passes", 3, "passes in a row"),
        *_cards(
            "target_body", "its main group as the rules read it", "target_key", 15, "1 + the rank to exceed; 0 on lead"
        ),
        *_cards("pending_body", "own half-built move: its main group", "kickers_left", 6, "kickers still to choose"),
        *_cards("kickers", "own half-built move: the kickers so far", "kicker_size", 2, "cards a kicker"),
        *_cards("hand_next", "hand of the next seat (open hands only)", "bid_next", 4, "bid of the next seat"),
        *_cards(
            "hand_previous",
            "hand of the previous seat (open hands only)",
            "bid_previous",
            4,
            "bid of the previous seat",
        ),
        *_history(),
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
        *(
            feature
            for seat in range(3)
            for feature in _cards(f"hand_{seat}", f"hand of seat {seat}", f"cards_left_{seat}", 20, "its size")
        ),
        *_cards("undealt", "cards that no seat holds", "passes", 3, "passes in a row"),
        *(
            feature
            for seat in range(3)
            for feature in _cards(
                f"played_{seat}", f"cards played by seat {seat}", f"plays_{seat}", 54, "moves it has played"
            )
        ),
        *_cards("landlord_cards", "the landlord cards, face up or not", "bombs", 14, "bombs and rockets played"),
        *_cards("landlord_cards_held", "those the landlord has not played yet", "highest_bid", 3, "highest bid"),
        *_cards(
            "target_body", "the main group to beat; zero on lead", "target_key", 15, "1 + the rank to exceed; 0 on lead"
        ),
        *_cards("pending_body", "the half-built move: its main group", "kickers_left", 6, "kickers still to choose"),
        *_cards("kickers", "the half-built move: the kickers so far", "kicker_size", 2, "cards a kicker"),
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
        *_cards("hand_next", "hand of the next seat", "cards_left_next", 20, "its size"),
        *_cards("hand_previous", "hand of the previous seat", "cards_left_previous", 20, "its size"),
        *_cards("undealt", "cards that no seat holds and nobody sees", "undealt_cards", NUM_CARDS, "their number"),
    )
)
"""What an observation conceals: with both, a critic sees everything.  Never a policy's input."""

OBSERVATION_SIZE: int = OBSERVATION.size
OBSERVATION_WORDS: int = OBSERVATION.words
STATE_SIZE: int = STATE.size
STATE_WORDS: int = STATE.words
CONCEALED_WORDS: int = CONCEALED.words
MASK_BYTE_WORDS: int = NUM_ACTIONS // WORD

if sys.byteorder != "little" or NUM_ACTIONS % WORD:  # pragma: no cover
    raise ImportError("the vectors are packed for little-endian machines and a mask of whole words")

_O_HAND = OBSERVATION.word("hand")
_O_UNSEEN = OBSERVATION.word("unseen")
_O_PLAYED = OBSERVATION.word("played_self")
_O_LAST = OBSERVATION.word("last_self")
_O_LANDLORD_CARDS = OBSERVATION.word("landlord_cards")
_O_HELD = OBSERVATION.word("landlord_cards_held")
_O_TARGET = OBSERVATION.word("target")
_O_TARGET_BODY = OBSERVATION.word("target_body")
_O_PENDING = OBSERVATION.word("pending_body")
_O_KICKERS = OBSERVATION.word("kickers")
_O_OPEN = OBSERVATION.word("hand_next")
_O_HISTORY = OBSERVATION.word("move_1")
_O_TAIL = OBSERVATION.word("role")
# The tail is two words that share the bytes of several features: first byte of each feature within the tail.
_T_ROLE, _T_STAGE, _T_TO_ACT, _T_DOUBLES, _T_OVER = (
    np.uint64(OBSERVATION.offsets[name] - OBSERVATION.offsets["role"])
    for name in ("role", "stage", "to_act", "doubles", "over")
)

_S_HANDS = STATE.word("hand_0")
_S_UNDEALT = STATE.word("undealt")
_S_PLAYED = STATE.word("played_0")
_S_LANDLORD_CARDS = STATE.word("landlord_cards")
_S_HELD = STATE.word("landlord_cards_held")
_S_TARGET_BODY = STATE.word("target_body")
_S_PENDING = STATE.word("pending_body")
_S_KICKERS = STATE.word("kickers")
_S_TAIL = STATE.word("seat")
_S_TAIL_WORDS = STATE.words - _S_TAIL
_S_SEAT, _S_LANDLORD, _S_STAGE, _S_OVER, _S_OWNER, _S_BIDS, _S_DOUBLES, _S_PLAYERS = (
    np.uint64(STATE.offsets[name] - STATE.offsets["seat"])
    for name in ("seat", "landlord", "stage", "over", "owner", "bids", "doubles", "players")
)

_ONES = np.uint64(0x0101010101010101)
_SEVEN_LANES = np.uint64(0x0002040810204081)
_LOW_7 = np.uint64(0x7F)
_BIT_7 = np.uint64(0x80)
_BYTE = np.uint64(0xFF)
_MAIN = np.uint64(0xFFFF)
_U7 = np.uint64(7)
_U12 = np.uint64(12)
_U15 = np.uint64(15)
_U49 = np.uint64(49)
_U56 = np.uint64(56)
_BID_ID = np.uint64(BID_ID)
_NO_SEAT = np.uint64(NO_SEAT)
_BOMBS_ONLY = np.uint64(BOMBS_ONLY)
_KICKER = np.uint64(STAGE_KICKER)
_BID = np.uint64(STAGE_BID)
_DOUBLE = np.uint64(STAGE_DOUBLE)
_OVER = np.uint64(STAGE_OVER)
# Places in the one-hot stage.
_AT_LEAD, _AT_FOLLOW, _AT_KICKER, _AT_BID, _AT_DOUBLE = U0, U1, U2, U3, U4


@inline_kernel
def byte_lanes(bits: np.uint64) -> np.uint64:
    """Spread eight bits over eight bytes: byte ``i`` is bit ``i``.

    The multiplication places seven copies seven bits apart, which never meet; the eighth bit moves on its own.
    """
    return (((bits & _LOW_7) * _SEVEN_LANES) & _ONES) | ((bits & _BIT_7) << _U49)


@inline_kernel
def low_counts(hand: np.uint64) -> np.uint64:
    """The counts of ranks 0..7 as bytes."""
    counts = byte_lanes(hand & _BYTE)
    hand >>= U16
    while hand != U0:
        counts += byte_lanes(hand & _BYTE)
        hand >>= U16
    return counts


@inline_kernel
def high_counts(hand: np.uint64) -> np.uint64:
    """The counts of ranks 8..14 as bytes; the eighth byte is free."""
    hand >>= U8
    counts = ((hand & _LOW_7) * _SEVEN_LANES) & _ONES
    hand >>= U16
    while hand != U0:
        counts += ((hand & _LOW_7) * _SEVEN_LANES) & _ONES
        hand >>= U16
    return counts


@inline_kernel
def _put_cards(out: np.ndarray, word: int, hand: np.uint64, beside: np.uint64) -> None:
    """Write a card field and the byte beside it."""
    out[word] = low_counts(hand)
    out[word + 1] = high_counts(hand) | (beside << _U56)


@inline_kernel
def _lane(value: np.uint64, lane: np.uint64) -> np.uint64:
    """A value in byte ``lane`` of a word; zero for lanes of other words (also below: the index wraps)."""
    return value << (U8 * lane) if lane < U8 else U0


@inline_kernel
def _relative(seat: np.uint64, observer: np.uint64, players: np.uint64) -> np.uint64:
    """How many turns after the observer a seat acts."""
    return seat - observer if seat >= observer else seat + players - observer


@inline_kernel
def _stage_place(row: np.ndarray, seat: np.uint64) -> np.uint64:
    """Place in the one-hot stage; the half-built move of another seat is not on the table yet."""
    stage = row[STAGE]
    if stage == _BID:
        return _AT_BID
    if stage == _DOUBLE:
        return _AT_DOUBLE
    if stage == _KICKER and row[SEAT] == seat:
        return _AT_KICKER
    return _AT_LEAD if row[TARGET] == U0 else _AT_FOLLOW


@inline_kernel
def _hand_size(row: np.ndarray, seat: np.uint64) -> np.uint64:
    """Cards in a hand: a view knows the size alone."""
    size: np.uint64 = popcount(row[HANDS + np.int64(seat)])
    if row[SIZES] != U0:
        size = (row[SIZES] >> (U8 * seat)) & _BYTE
    return size


@inline_kernel
def _bid_of(row: np.ndarray, seat: np.uint64) -> np.uint64:
    bid: np.uint64 = (row[BIDS] >> (U4 * seat)) & _U15
    return bid


@inline_kernel
def _slot_back(row: np.ndarray, back: np.uint64) -> np.int64:
    """Slot of the ring that holds the completed move ``back`` before the last one."""
    return np.int64((row[MOVES] - U1 - back) & _U15)


@pure_kernel
def _put_seats(
    row: np.ndarray, ring: np.ndarray, rules: np.ndarray, seat: np.uint64, players: np.uint64, out: np.ndarray
) -> None:
    """Write what belongs to each relative seat: played cards, hand sizes, last moves, bids, open hands; and unseen."""
    own = row[HANDS + np.int64(seat)]
    low = low_counts(rules[R_DECK]) - low_counts(own)
    high = high_counts(rules[R_DECK]) - high_counts(own)
    for relative in range(3):
        word = 2 * relative
        turns = np.uint64(relative)
        if turns >= players:
            for field in (_O_PLAYED, _O_LAST, _O_OPEN - 2):
                _put_cards(out, field + word, U0, U0)
            continue
        other = seat + turns
        if other >= players:
            other -= players
        _put_cards(out, _O_PLAYED + word, row[PLAYED + np.int64(other)], _hand_size(row, other))
        low -= out[_O_PLAYED + word]
        high -= high_counts(row[PLAYED + np.int64(other)])
        _put_cards(out, _O_LAST + word, U0, U0)
        if relative == 0:
            _put_cards(out, _O_HAND, own, _bid_of(row, seat))
        else:
            visible = row[HANDS + np.int64(other)] if rules[R_OPEN_HANDS] == U1 else U0
            _put_cards(out, _O_OPEN + word - 2, visible, _bid_of(row, other))
            low -= low_counts(visible)
            high -= high_counts(visible)
    out[_O_UNSEEN] = low
    out[_O_UNSEEN + 1] = high | (((low + high) * _ONES) >> _U56) << _U56


@pure_kernel
def _put_history(row: np.ndarray, ring: np.ndarray, seat: np.uint64, players: np.uint64, out: np.ndarray) -> None:
    """Write the recent moves and, from them, the last move of each seat."""
    back = U0
    in_play = True
    word = _O_HISTORY
    for _ in range(HISTORY):
        if back >= row[MOVES]:
            out[word] = U0
            out[word + 1] = U0
        else:
            slot = _slot_back(row, back)
            main = ring[slot, 1] & _MAIN
            relative = _relative(ring[slot, 1] >> U16, seat, players)
            low, high = low_counts(ring[slot, 0]), high_counts(ring[slot, 0])
            in_play = in_play and main < _BID_ID
            actor = relative + U1 if main < _BID_ID else relative + U4
            out[word] = low
            out[word + 1] = high | (actor << _U56)
            if in_play and back < players:
                last = _O_LAST + 2 * np.int64(relative)
                out[last] = low
                out[last + 1] = high | ((U1 if main == U0 else U2) << _U56)
        back += U1
        word += 2


@pure_kernel
def _put_table(row: np.ndarray, ring: np.ndarray, seat: np.uint64, out: np.ndarray) -> None:
    """Write the landlord cards, the move to beat and the own half-built move."""
    face_up = row[BOTTOM] if row[LANDLORD] != _NO_SEAT else U0
    _put_cards(out, _O_LANDLORD_CARDS, face_up, row[BOMBS])
    _put_cards(out, _O_HELD, row[KNOWN], (row[BIDS] >> _U12) & _U15)
    target = row[TARGET]
    cards = ring[_slot_back(row, row[PASSES]), 0] if target != U0 and row[MOVES] > U0 else U0
    _put_cards(out, _O_TARGET, cards, row[PASSES])
    _put_target_body(row, _O_TARGET_BODY, out)
    if row[STAGE] == _KICKER and row[SEAT] == seat:
        _put_half_built(row, _O_PENDING, _O_KICKERS, out)
    else:
        _put_cards(out, _O_PENDING, U0, U0)
        _put_cards(out, _O_KICKERS, U0, U0)


@inline_kernel
def _put_target_body(row: np.ndarray, word: int, out: np.ndarray) -> None:
    target = row[TARGET]
    if target == U0:
        _put_cards(out, word, U0, U0)
    else:
        _put_cards(out, word, main_cards(target) if target != _BOMBS_ONLY else U0, row[KEY] + U1)


@inline_kernel
def _put_half_built(row: np.ndarray, body_word: int, kicker_word: int, out: np.ndarray) -> None:
    pending = row[PENDING]
    _put_cards(out, body_word, main_cards(pending), row[LEFT])
    _put_cards(out, kicker_word, row[CHOSEN], SEGMENT_KICKER_SIZE[MAIN_SEGMENT[pending]])


@pure_kernel
def _put_tail(row: np.ndarray, seat: np.uint64, players: np.uint64, out: np.ndarray) -> None:
    """Write the small features, which share two words."""
    role = _NO_SEAT
    if row[LANDLORD] != _NO_SEAT:
        role = _relative(seat, row[LANDLORD], players)
    over = row[STAGE] == _OVER
    for half in range(2):
        first = U8 * np.uint64(half)
        word = _lane(U1, _T_ROLE + role - first)
        if over:
            word |= _lane(U1, _T_OVER - first)
        else:
            word |= _lane(U1, _T_STAGE + _stage_place(row, seat) - first)
            word |= _lane(U1, _T_TO_ACT + _relative(row[SEAT], seat, players) - first)
        turns = U0
        while turns < players:
            other = seat + turns if seat + turns < players else seat + turns - players
            word |= _lane((row[DOUBLES] >> (U2 * other)) & U3, _T_DOUBLES + turns - first)
            turns += U1
        out[_O_TAIL + half] = word


@pure_kernel
def write_observation(row: np.ndarray, ring: np.ndarray, rules: np.ndarray, seat: np.uint64, out: np.ndarray) -> None:
    """Write what a seat sees of a game, by the table ``OBSERVATION``.

    Nothing that the seat may not know is read, but its result would be the same if it were (see the metamorphic test).

    Args:
        row: The game, or a view of it for the same seat, shape ``[32]``, uint64.
        ring: The recent moves, shape ``[16, 2]``, uint64.
        rules: The rules array.
        seat: The observer.
        out: Output, shape ``[OBSERVATION_WORDS]``, uint64; its bytes are the observation.
    """
    players = rules[R_PLAYERS]
    _put_seats(row, ring, rules, seat, players, out)
    _put_history(row, ring, seat, players, out)
    _put_table(row, ring, seat, out)
    _put_tail(row, seat, players, out)


@pure_kernel
def expand_mask(mask: np.ndarray, out: np.ndarray) -> None:
    """Spread a mask of bits over bytes.

    Args:
        mask: Shape ``[7]``, uint64, as written by :func:`ddz_env.engine.legal.legal_mask`.
        out: Output, shape ``[50]``, uint64; its bytes are 0 or 1, one an action id.
    """
    place = 0
    for word in range(MASK_WORDS):
        bits = mask[word]
        stop = min(place + WORD, MASK_BYTE_WORDS)
        while place < stop:
            out[place] = byte_lanes(bits & _BYTE)
            bits >>= U8
            place += 1


@pure_kernel
def write_mask(row: np.ndarray, rules: np.ndarray, mask: np.ndarray, out: np.ndarray) -> None:
    """Write the legal actions of the seat to act, as bits and as bytes.

    Args:
        row: The game, shape ``[32]``, uint64.
        rules: The rules array.
        mask: Output, shape ``[7]``, uint64: bits.
        out: Output, shape ``[50]``, uint64: bytes (:func:`expand_mask`).
    """
    legal_mask(row, rules, mask)
    expand_mask(mask, out)


@pure_kernel
def write_concealed(row: np.ndarray, rules: np.ndarray, seat: np.uint64, out: np.ndarray) -> None:
    """Write what a seat does not see, by the table ``CONCEALED``.

    Args:
        row: The game, shape ``[32]``, uint64.
        rules: The rules array.
        seat: The observer.
        out: Output, shape ``[CONCEALED_WORDS]``, uint64.
    """
    players = rules[R_PLAYERS]
    for turns in range(1, 3):
        hand = U0
        if np.uint64(turns) < players:
            other = seat + np.uint64(turns)
            hand = row[HANDS + np.int64(other if other < players else other - players)]
        _put_cards(out, 2 * turns - 2, hand, popcount(hand))
    undealt = row[HIDDEN]
    low, high = low_counts(undealt), high_counts(undealt)
    if row[LANDLORD] == _NO_SEAT:
        low += low_counts(row[BOTTOM])
        high += high_counts(row[BOTTOM])
    out[4] = low
    out[5] = high | (((low + high) * _ONES) >> _U56) << _U56


@pure_kernel
def write_state(row: np.ndarray, rules: np.ndarray, out: np.ndarray) -> None:
    """Write the whole game, by the table ``STATE``.

    Args:
        row: The game, shape ``[32]``, uint64.
        rules: The rules array.
        out: Output, shape ``[STATE_WORDS]``, uint64.
    """
    for seat in range(3):
        dealt = np.uint64(seat) < rules[R_PLAYERS]
        hand = row[HANDS + seat] if dealt else U0
        played = row[PLAYED + seat] if dealt else U0
        _put_cards(out, _S_HANDS + 2 * seat, hand, popcount(hand))
        _put_cards(out, _S_PLAYED + 2 * seat, played, (row[PLAYS] >> (U8 * np.uint64(seat))) & _BYTE)
    _put_cards(out, _S_UNDEALT, row[HIDDEN], row[PASSES])
    _put_cards(out, _S_LANDLORD_CARDS, row[BOTTOM], row[BOMBS])
    _put_cards(out, _S_HELD, row[KNOWN], (row[BIDS] >> _U12) & _U15)
    _put_target_body(row, _S_TARGET_BODY, out)
    if row[STAGE] == _KICKER:
        _put_half_built(row, _S_PENDING, _S_KICKERS, out)
    else:
        _put_cards(out, _S_PENDING, U0, U0)
        _put_cards(out, _S_KICKERS, U0, U0)
    _put_state_tail(row, rules, out)


@pure_kernel
def _put_state_tail(row: np.ndarray, rules: np.ndarray, out: np.ndarray) -> None:
    over = row[STAGE] == _OVER
    for part in range(_S_TAIL_WORDS):
        first = U8 * np.uint64(part)
        word = _lane(U1, _S_LANDLORD + row[LANDLORD] - first)
        word |= _lane(U1, _S_PLAYERS + rules[R_PLAYERS] - U2 - first)
        if over:
            word |= _lane(U1, _S_OVER - first)
        else:
            word |= _lane(U1, _S_SEAT + row[SEAT] - first)
            word |= _lane(U1, _S_STAGE + _stage_place(row, row[SEAT]) - first)
        if row[TARGET] != U0:
            word |= _lane(U1, _S_OWNER + row[OWNER] - first)
        seat = U0
        while seat < rules[R_PLAYERS]:
            word |= _lane(_bid_of(row, seat), _S_BIDS + seat - first)
            word |= _lane((row[DOUBLES] >> (U2 * seat)) & U3, _S_DOUBLES + seat - first)
            seat += U1
        out[_S_TAIL + part] = word


def observe(game: State | View, seat: int | None = None) -> npt.NDArray[np.int8]:
    """What a seat sees of a game.

    Args:
        game: A state, or a view (of that seat).
        seat: The observer; by default the seat to act, or the view's own.

    Returns:
        Shape ``[OBSERVATION_SIZE]``, int8, by the table ``OBSERVATION``.

    Raises:
        ValueError: If a view is asked for another seat than its own, or the seat does not exist.
    """
    if seat is None:
        seat = game.seat
    if seat != game.seat and int(game.row[SIZES]):
        raise ValueError(f"a view of seat {game.seat} does not know what seat {seat} sees")
    if not 0 <= seat < game.rules.players:
        raise ValueError(f"seat {seat} does not exist: the {game.rules.name} rules have {game.rules.players} seats")
    out = np.empty(OBSERVATION_WORDS, np.uint64)
    write_observation(game.row, game.ring, game.rule_words, np.uint64(seat), out)
    return out.view(np.int8)


def action_mask(game: HasRow) -> npt.NDArray[np.int8]:
    """The legal actions of the seat to act; all zero when the game is over.

    Args:
        game: A state, or the game of an environment.

    Returns:
        Shape ``[400]``, int8, 1 where the action id is legal.
    """
    out = np.empty(MASK_BYTE_WORDS, np.uint64)
    write_mask(game.row, game.rule_words, np.empty(MASK_WORDS, np.uint64), out)
    return out.view(np.int8)


def full_state(game: HasRow) -> npt.NDArray[np.int8]:
    """The whole game.

    Args:
        game: A state, or the game of an environment.

    Returns:
        Shape ``[STATE_SIZE]``, int8, by the table ``STATE``.
    """
    out = np.empty(STATE_WORDS, np.uint64)
    write_state(game.row, game.rule_words, out)
    return out.view(np.int8)
