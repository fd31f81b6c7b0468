"""The initial cards of a game: dealt from a seed, given, or known to one seat only.

A seat at a real table knows its own hand, the landlord cards and what has been played.  Where hands are unknown, some
are made up that could have played all this.  The view of the observing seat does not show them, so it does not depend
on which ones were made up.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ddz_env import Hand, Move, Rules, State
from ddz_env.core.cards import NUM_RANKS, RANK_NAMES
from ddz_env.core.given_hands import check_landlord_cards
from ddz_env.core.refusals import ILLEGAL_MOVE_TEXT
from ddz_env.core.state import fill_hands
from ddz_env.support.checks import check_integer, check_seed
from ddz_env.support.errors import DouDizhuError, IllegalMoveError, InvalidDealError, Message, pluralize

_NOTHING = Hand((0,) * NUM_RANKS)
_MOVE_REFUSED = "move {number}, {move} of seat {seat}: {why}"

Moves = Sequence[tuple[int, Move]]
"""Whole moves with the seats that made them, in order."""


class SavedGameError(DouDizhuError):
    """Raised when a string is not a saved game or a move in it cannot be played; the message names the line."""


@dataclass(frozen=True)
class Deal:
    """The initial cards of a game: dealt from a seed, given in full, or known for one seat only.

    Attributes:
        rules: The rules.
        seed: Deals the cards; where they are given, it only draws the opener of an auction and deals again if all
            decline.
        game: Number of the game under that seed.
        hands: The hand of each seat without the landlord cards, None for a hand that is not known; or None where the
            seed deals.
        bottom: The landlord cards; None where the seed deals.
        endgame: Whether the hands may have any size, as in a puzzle.

    Raises:
        InvalidDealError: If the cards do not fit the rules.
    """

    rules: Rules
    seed: int = 0
    game: int = 0
    hands: tuple[Hand | None, ...] | None = None
    bottom: Hand | None = None
    endgame: bool = False

    def __post_init__(self) -> None:
        check_seed(self.seed)
        check_seed(self.game, "game")
        if self.observer is not None:
            self._check_observed()
        self.state()  # refuses what cannot be dealt

    @classmethod
    def from_one_hand(cls, rules: Rules, seat: int, hand: Hand, bottom: Hand) -> Deal:
        """Make a deal with one known hand, as at a real table (no auction; seat 0 is the landlord).

        Args:
            rules: The rules.
            seat: The observing seat.
            hand: Its cards as dealt, without the landlord cards.
            bottom: The landlord cards.

        Raises:
            InvalidDealError: If the cards do not fit the rules.
        """
        check_integer("seat", seat, 0, rules.players - 1, InvalidDealError)
        hands = tuple(hand if other == seat else None for other in range(rules.players))
        return cls(rules, hands=hands, bottom=bottom if rules.bottom else _NOTHING)

    @classmethod
    def from_cards(cls, rules: Rules, hands: Sequence[Hand], bottom: Hand, opener: int | None = None) -> Deal:
        """Make a deal from the hands of all seats and the landlord cards.

        Args:
            rules: The rules.
            hands: The hand of each seat, without the landlord cards.
            bottom: The landlord cards.
            opener: The seat that opens the auction.

        Raises:
            InvalidDealError: If the cards do not fit the rules.
        """
        deal = cls(rules, hands=tuple(hands), bottom=bottom)
        if opener is None or rules.bidding == "fixed":
            return deal
        check_integer("opener", opener, 0, rules.players - 1, InvalidDealError)
        deals = (replace(deal, seed=seed) for seed in itertools.count())
        return next(deal for deal in deals if deal.state().seat == opener)

    @property
    def observer(self) -> int | None:
        """The only seat whose hand is known, or None where all hands are known."""
        hands = self.hands or ()
        if None not in hands:
            return None
        return next((seat for seat, hand in enumerate(hands) if hand is not None), 0)

    def state(self, moves: Moves = ()) -> State:
        """Return the game that starts from these cards, after the given moves.

        Args:
            moves: All moves since the beginning, declined auctions included.

        Raises:
            IllegalMoveError: If one is impossible, or another seat was to move; the message says why.
        """
        if self.observer is not None:
            return self._invent_state(moves)
        if self.hands is None:
            state = State.new(self.seed, self.rules, self.game)
        else:
            hands = [hand for hand in self.hands if hand is not None]
            options: dict[str, Any] = {"check_sizes": not self.endgame, "seed": self.seed}
            state = State.from_hands(hands, self.bottom or _NOTHING, self.rules, **options)
        return _play_moves(state, moves)

    def _check_observed(self) -> None:
        rules, hands = self.rules, self.hands or ()
        if sum(hand is not None for hand in hands) != 1 or len(hands) != rules.players:
            raise InvalidDealError(f"a deal has {rules.players} hands, of which all are known or one; got {len(hands)}")
        if rules.half_deck:
            raise InvalidDealError(f"the {rules.name} rules deal hands of unknown size: give all hands, not one")
        if self.endgame or rules.open_hands or rules.showing or rules.bidding != "fixed":
            raise InvalidDealError("an endgame, an auction, or a game with open or shown hands needs all hands")
        [own] = [hand for hand in hands if hand is not None]
        if len(own) != rules.hand_size:
            raise InvalidDealError(
                "your hand has {cards}; {rules} deals {most}",
                cards=pluralize(len(own), "card"),
                rules=Message(rules.name),
                most=rules.hand_size,
            )
        check_landlord_cards(self.bottom or _NOTHING, rules)

    def _invent_state(self, moves: Moves) -> State:
        """Return the game after the given moves, with invented hands that could have played them."""
        needed = np.zeros((self.rules.players, NUM_RANKS), np.int64)
        for number, (seat, move) in enumerate(moves, 1):
            if not 0 <= seat < len(needed):
                raise IllegalMoveError(
                    _MOVE_REFUSED, number=number, move=move, seat=seat, why=Message("there is no such seat")
                )
            needed[seat] += move.cards.counts
        needed[0] = np.maximum(needed[0] - (self.bottom or _NOTHING).counts, 0)
        try:
            return _play_moves(self._fill_hands(needed), moves)
        except IllegalMoveError as error:
            if "moves" not in error.message.values:
                raise
            raise IllegalMoveError(
                ILLEGAL_MOVE_TEXT, **error.message.values
            ) from None  # those moves are of a hand that may be made up

    def _fill_hands(self, needed: npt.NDArray[np.int64]) -> State:
        """Start a game whose unknown hands hold their ``needed`` cards, ``[players, 15]``, and arbitrary others.

        Raises:
            IllegalMoveError: If the deck has too few cards.
        """
        rules = self.rules
        counts = [needed[seat] if hand is None else hand.counts for seat, hand in enumerate(self.hands or ())]
        least = np.array([*counts, (self.bottom or _NOTHING).counts])
        total = least.sum(axis=0)
        for short in np.flatnonzero(total > rules.deck):
            raise IllegalMoveError(
                "that would be {number} cards of rank {rank}, yours and the landlord cards included; the deck has "
                "{most}",
                number=total[short],
                rank=RANK_NAMES[short],
                most=rules.deck[short],
            )
        for seat in np.flatnonzero(least[:-1].sum(axis=1) > rules.hand_size):
            raise IllegalMoveError("seat {seat} would have played more cards than it was dealt", seat=seat)
        return fill_hands(least, rules, self.seed)


def _play_moves(state: State, moves: Moves) -> State:
    """Play ``(seat, move)`` pairs in order, and raise an error if a seat plays out of turn."""
    for number, (seat, move) in enumerate(moves, 1):
        if seat != state.seat or state.is_over:
            why = Message("the game is over") if state.is_over else Message("it is seat {seat}'s turn", seat=state.seat)
            raise IllegalMoveError(_MOVE_REFUSED, number=number, move=move, seat=seat, why=why)
        state.step(move)
    return state
