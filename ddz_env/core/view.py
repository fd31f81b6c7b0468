"""The information-set view of one seat, which agents receive instead of the full state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ddz_env.core.engine import layout as at
from ddz_env.core.engine.legal import write_legal_mask
from ddz_env.core.engine.moves import list_all_moves
from ddz_env.core.engine.score import compute_stake, get_bid, is_hand_shown
from ddz_env.core.engine.tables import MASK_WORDS
from ddz_env.core.engine.words import U0, U8, add_hand, popcount, remove_hand
from ddz_env.core.engine.worlds import sample_hands
from ddz_env.core.notation import Hand, Move, word_to_counts
from ddz_env.core.rules import R_DECK, R_OPEN_HANDS, R_PLAYERS, Rules
from ddz_env.support.arrays import WritableAfterUnpickling
from ddz_env.support.checks import check_integer
from ddz_env.support.compiling import part_kernel, pure_kernel
from ddz_env.support.errors import InconsistentViewError, InvalidDealError, short_repr

ROLES = ("landlord", "peasant_down", "peasant_up")
"""Role by distance from the landlord in playing order."""

NO_ROLE = 3
"""The number that stands for no role before there is a landlord."""

STAGE_NAMES = ("play", "kicker", "bid", "double", "over", "show")

AUCTION_STAGES = ("bid", "double", "show")
"""The stages before the cards are played, in which stakes are named."""

_NO_SEAT = np.uint64(at.NO_SEAT)

WorldWeights = Callable[[npt.NDArray[np.uint64]], npt.NDArray[Any]]
"""How plausible worlds are: of hands, shape ``[n, 4]``, to numbers from 0, shape ``[n]``."""

_OVERSAMPLING = 8
"""Worlds that are drawn for each that stays, where they are weighed."""


@part_kernel
def write_view(
    row: npt.NDArray[np.uint64], seat: int, rules: npt.NDArray[np.uint64], out: npt.NDArray[np.uint64]
) -> None:
    """Write what a seat knows of a game into an array, with the other hands merged into a pool of unseen cards.

    Args:
        row: The game, shape ``[32]``.
        seat: The observer.
        rules: The rules array.
        out: Output, shape ``[32]``: the row with the other hands zeroed, the pool of cards the observer cannot
            place in ``HIDDEN`` (without the face-up landlord cards still in the landlord's hand), the hand sizes in
            ``SIZES`` and no generator state.
    """
    for word in range(at.ROW_WORDS):
        out[word] = row[word]
    out[at.RNG] = U0
    out[at.SIZES] = U0
    players = np.int64(rules[R_PLAYERS])
    pool = row[at.HIDDEN]
    for other in range(players):
        hand = row[at.HANDS + other]
        out[at.SIZES] |= popcount(hand) << (U8 * np.uint64(other))
        if other != seat and rules[R_OPEN_HANDS] == U0:
            if np.uint64(other) == row[at.LANDLORD]:
                hand = remove_hand(hand, row[at.KNOWN])
            pool = add_hand(pool, hand)
            out[at.HANDS + other] = U0
    if row[at.LANDLORD] == _NO_SEAT:
        pool = add_hand(pool, row[at.BOTTOM])
        out[at.BOTTOM] = U0
    out[at.HIDDEN] = pool
    if np.uint64(seat) != row[at.SEAT] and row[at.STAGE] == at.STAGE_KICKER:
        # The half-built move of another seat is not on the table yet.
        out[at.PENDING] = U0
        out[at.CHOSEN] = U0
        out[at.LEFT] = U0
        out[at.FLOOR] = U0
        out[at.STAGE] = U0


def mask_to_ids(mask: npt.NDArray[np.uint64]) -> list[int]:
    """Return the action ids that are set in a mask of shape ``[MASK_WORDS]``, uint64, in ascending order."""
    ids: list[int] = np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little")).tolist()
    return ids


def list_legal_actions(row: npt.NDArray[np.uint64], rules: npt.NDArray[np.uint64]) -> list[int]:
    """List the legal action ids of a game-state array in ascending order."""
    mask = np.empty(MASK_WORDS, np.uint64)
    write_legal_mask(row, rules, mask)
    return mask_to_ids(mask)


def list_legal_moves(row: npt.NDArray[np.uint64], rules: npt.NDArray[np.uint64]) -> list[Move]:
    """List the legal whole moves of a game-state array, by action id and then by kickers."""
    mains, kickers = list_all_moves(row, rules)
    return [Move.from_words(main, kicker) for main, kicker in zip(mains.tolist(), kickers.tolist(), strict=True)]


@dataclass(eq=False, repr=False)
class View(WritableAfterUnpickling):
    """Everything that one seat knows of a game, and nothing else.

    A view of two games that differ only in cards the seat cannot see is the same to the bit.  All arrays are the view's
    own copies: writing to them changes what this view says, never the game.

    Attributes:
        row: The scrubbed row of :func:`write_view`, shape ``[32]``, uint64.
        rules: The rules.
        rule_words: ``rules.words()``, a copy of the view's own.
        seat: The observer's seat.
        history: ``(seat, move)`` for every completed move of the deal, oldest first.
        ring: The recent moves as words, shape ``[16, 2]``, uint64 (:mod:`ddz_env.core.engine.layout`).
    """

    row: npt.NDArray[np.uint64]
    rules: Rules
    rule_words: npt.NDArray[np.uint64]
    seat: int
    history: Sequence[tuple[int, Move]]
    ring: npt.NDArray[np.uint64]

    @property
    def hand(self) -> Hand:
        """The observer's hand."""
        return Hand.from_word(int(self.row[at.HANDS + self.seat]))

    @property
    def unseen(self) -> Hand:
        """The cards hidden from the observer (in other hands or undealt), plus another landlord's face-up cards."""
        face_up = int(self.row[at.KNOWN]) if self.landlord not in (None, self.seat) and not self.rules.open_hands else 0
        return Hand.from_word(int(add_hand(self.row[at.HIDDEN], np.uint64(face_up))))

    @property
    def hand_sizes(self) -> tuple[int, ...]:
        """The number of cards in each seat's hand."""
        sizes = int(self.row[at.SIZES])
        return tuple((sizes >> (8 * seat)) & 255 for seat in range(self.rules.players))

    @property
    def landlord(self) -> int | None:
        """The landlord's seat, or None before the auction has ended."""
        seat = int(self.row[at.LANDLORD])
        return None if seat == at.NO_SEAT else seat

    @property
    def role(self) -> str | None:
        """The observer's role: ``landlord``, ``peasant_down`` or ``peasant_up``; None during the auction."""
        return role_name(self.row, self.seat, self.rules.players)

    @property
    def landlord_cards(self) -> Hand:
        """The landlord cards once they are face up; an empty hand before that."""
        return Hand.from_word(int(self.row[at.BOTTOM]))

    @property
    def known_cards(self) -> Hand:
        """The unplayed cards that all seats know the landlord to hold: landlord cards or a shown hand."""
        return Hand.from_word(int(self.row[at.KNOWN]))

    @property
    def left_out(self) -> Hand:
        """The undealt cards that lie face up from the beginning, if the rules set ``left_out_open``."""
        return Hand.from_word(int(self.row[at.LEFT_OUT]))

    def played(self, seat: int) -> Hand:
        """Return the cards that a seat has played.

        Raises:
            InvalidDealError: If there is no such seat.
        """
        seat = check_integer("seat", seat, 0, self.rules.players - 1, InvalidDealError)
        return Hand.from_word(int(self.row[at.PLAYED + seat]))

    @property
    def acting_seat(self) -> int:
        """The seat to act (0, 1 or 2)."""
        return int(self.row[at.SEAT])

    @property
    def stage(self) -> str:
        """The stage of the game: ``play``, ``kicker``, ``bid``, ``double``, ``show`` or ``over``."""
        return STAGE_NAMES[int(self.row[at.STAGE])]

    @property
    def on_lead(self) -> bool:
        """Whether the seat to act leads a trick, and so may play any move."""
        return self.stage in ("play", "kicker") and int(self.row[at.TARGET]) == 0

    @property
    def target(self) -> tuple[int, Move] | None:
        """The move to beat and the seat that played it; None on lead, or where the history is unknown."""
        if int(self.row[at.TARGET]) == 0:
            return None
        owner = int(self.row[at.OWNER])
        played = ((seat, move) for seat, move in reversed(self.history) if seat == owner and not move.is_pass)
        return next(played, None)

    @property
    def passes(self) -> int:
        """The number of consecutive passes since cards were last played."""
        return int(self.row[at.PASSES])

    @property
    def highest_bid(self) -> int:
        """The highest bid so far, or 0 if there is none; with robbing, 1 once somebody has called."""
        return int(get_bid(self.row, at.HIGHEST_BID))

    @property
    def robs(self) -> int:
        """The number of robs in the auction, each of which takes over the landlord's role."""
        return int(get_bid(self.row, at.ROBS))

    @property
    def is_shown(self) -> bool:
        """Whether the landlord has shown its hand (its cards are :attr:`known_cards`)."""
        return bool(is_hand_shown(self.row))

    @property
    def stake(self) -> int:
        """The current stake: the highest bid (at least 1), doubled for each rob, shown hand, bomb and rocket."""
        return int(compute_stake(self.row))

    def legal_actions(self) -> list[int]:
        """List the legal action ids in ascending order; the list is empty unless it is the observer's turn."""
        return list_legal_actions(self.row, self.rule_words) if self.acting_seat == self.seat else []

    def legal_moves(self) -> list[Move]:
        """List the legal whole moves, by action id and then by kickers; empty unless it is the observer's turn."""
        return list_legal_moves(self.row, self.rule_words) if self.acting_seat == self.seat else []

    def sample_worlds(
        self, count: int, rng: np.random.Generator, weights: WorldWeights | None = None
    ) -> npt.NDArray[np.uint64]:
        """Draw deals (hands of all seats) that agree with all that the seat knows, uniformly or by ``weights``.

        :meth:`ddz_env.State.from_view` makes a game of a row; :meth:`ddz_env.State.sample` draws one game.

        Args:
            count: How many worlds.
            rng: The only source of randomness.
            weights: How plausible worlds are: a function of worlds, ``[n, 4]``, to numbers from 0 in any unit, ``[n]``.
                It is asked once, about eight times as many uniform worlds, from which the ``count`` are drawn with
                replacement by these weights (sampling importance resampling, Rubin 1987).

        Returns:
            The hands of the three seats and the cards that none of them holds, as words
            (:meth:`ddz_env.Hand.from_word`), shape ``[count, 4]``, uint64.

        Raises:
            InvalidDealError: If the count is negative, or the weights are not as above, or all 0.
            InconsistentViewError: If no deal agrees with the view.

        Example:
            >>> from ddz_env import State
            >>> view = State.new(seed=1).view()
            >>> worlds = view.sample_worlds(1000, np.random.default_rng(0))
            >>> worlds.shape, bool((worlds[:, view.seat] == view.hand.word).all())
            ((1000, 4), True)
        """
        check_view_cards(self.row, self.seat, self.rule_words)
        count = check_integer("count", count, 0, 2**32, InvalidDealError)
        hands = np.empty((count if weights is None else _OVERSAMPLING * count, 4), np.uint64)
        state = rng.integers(0, 2**64, dtype=np.uint64)
        sample_hands(self.row, np.uint64(self.seat), self.rule_words, state, hands)
        return hands if weights is None else _resample_worlds(hands, weights(hands), count, rng)

    def key(self) -> bytes:
        """Return the seat's knowledge as bytes, equal for two games exactly if the seat cannot tell them apart."""
        moves = np.array([(seat, *move.words) for seat, move in self.history], np.uint64)
        return self.row.tobytes() + moves.tobytes()

    def __repr__(self) -> str:
        return f"<View of seat {self.seat} ({self.role}): {self.hand}, stage {self.stage}>"


def _resample_worlds(
    hands: npt.NDArray[np.uint64], weights: npt.NDArray[Any], count: int, rng: np.random.Generator
) -> npt.NDArray[np.uint64]:
    """Draw ``count`` of the sampled deals with replacement, in proportion to their weights."""
    chances = np.asarray(weights, np.float64)
    if chances.shape != (len(hands),):
        raise InvalidDealError(f"weights must be of shape [{len(hands)}], one per deal, not {list(chances.shape)}")
    if not (chances >= 0).all() or (count and not 0 < chances.sum() < np.inf):
        raise InvalidDealError(f"weights must be finite, 0 or more, and not all 0, not {short_repr(weights)}")
    return hands[rng.choice(len(hands), count, p=chances / chances.sum())] if count else hands


def check_view_cards(row: npt.NDArray[np.uint64], seat: int, rules: npt.NDArray[np.uint64]) -> None:
    """Raise an error unless at least one deal agrees with the cards and hand sizes of a view.

    Args:
        row: A view's row (:func:`write_view`), shape ``[32]``.
        seat: The observer.
        rules: The rules array.

    Raises:
        InconsistentViewError: If the hand sizes or the cards do not add up.
    """
    players, landlord, open_hands = int(rules[R_PLAYERS]), int(row[at.LANDLORD]), bool(rules[R_OPEN_HANDS])
    sizes = [(int(row[at.SIZES]) >> (8 * other)) & 255 for other in range(players)]
    for other in range(players) if open_hands else (seat,):
        held = int(row[at.HANDS + other]).bit_count()
        if held != sizes[other]:
            raise InconsistentViewError(
                f"seat {other}'s hand has {held} cards, but its size is given as {sizes[other]}"
            )
    words = [row[at.HIDDEN], row[at.LEFT_OUT], *row[at.PLAYED : at.PLAYED + 3], *row[at.HANDS : at.HANDS + 3]]
    if not open_hands and landlord not in (seat, at.NO_SEAT):  # landlord cards that the landlord still holds
        words.append(row[at.KNOWN])
        sizes[landlord] -= int(row[at.KNOWN]).bit_count()
    others = [size for other, size in enumerate(sizes) if other != seat]
    pool = int(row[at.HIDDEN]).bit_count()
    if not open_hands and (min(others) < 0 or sum(others) > pool):
        raise InconsistentViewError(f"seat {seat} sees {pool} unplaced cards for hands of {others}: no deal agrees")
    cards = [sum(column) for column in zip(*(word_to_counts(int(word)) for word in words), strict=True)]
    deck = list(word_to_counts(int(rules[R_DECK])))
    if cards != deck:
        raise InconsistentViewError(
            f"the hand, the played and the unseen cards add up to {cards} by rank, but the deck is {deck}"
        )


@pure_kernel
def role_number(row: npt.NDArray[np.uint64], seat: np.uint64, rules: npt.NDArray[np.uint64]) -> np.int64:
    """Return the index of a seat's role in :data:`ROLES`, or ``NO_ROLE`` before there is a landlord."""
    if row[at.LANDLORD] == _NO_SEAT:
        return np.int64(NO_ROLE)
    turns = seat + rules[R_PLAYERS] - row[at.LANDLORD]
    return np.int64(turns if turns < rules[R_PLAYERS] else turns - rules[R_PLAYERS])


def role_name(row: npt.NDArray[np.uint64], seat: int, players: int) -> str | None:
    """Return the name of a seat's role, or None before there is a landlord."""
    landlord = int(row[at.LANDLORD])
    return None if landlord == at.NO_SEAT else ROLES[(seat - landlord) % players]
