"""Checks of user-supplied hands against the deck, the rules, and a seat's knowledge of a game."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ddz_env.core.cards import RANK_NAMES
from ddz_env.core.engine import layout as at
from ddz_env.core.notation import Hand, word_to_counts
from ddz_env.core.rules import Rules
from ddz_env.core.view import View
from ddz_env.support.errors import InconsistentViewError, InvalidDealError, Message, pluralize


def read_hand(hand: str | Hand | int) -> Hand:
    """Convert a string, a :class:`Hand` or a 64-bit hand word to a :class:`Hand`.

    Raises:
        InvalidHandError: If it cannot be read.
    """
    if isinstance(hand, str):
        return Hand.parse(hand)
    return hand if isinstance(hand, Hand) else Hand.from_word(hand)


def remaining_unseen_cards(view: View, hands: Sequence[Hand]) -> Hand:
    """Check hands of all seats against a view, and return the unseen cards that none of the hands contains.

    Raises:
        InconsistentViewError: If the hands contradict the view.
    """
    if hands[view.seat] != view.hand:
        raise InconsistentViewError(f"seat {view.seat} holds {view.hand}, not {hands[view.seat]}")
    for seat, (hand, size) in enumerate(zip(hands, view.hand_sizes, strict=True)):
        if len(hand) != size:
            raise InconsistentViewError(f"seat {seat} has {pluralize(size, 'card')}, not {len(hand)}")
    counts = np.array([hand.counts for hand in hands])
    landlord, known = view.landlord, np.array(view.known_cards.counts)
    if view.rules.open_hands:
        if counts.tolist() != [list(word_to_counts(int(word))) for word in view.row[at.HANDS : at.HANDS + len(hands)]]:
            raise InconsistentViewError(f"the hands are open, and they are not {', '.join(map(str, hands))}")
        return Hand.from_word(int(view.row[at.HIDDEN]))
    if landlord not in (None, view.seat):
        counts[landlord] -= known
        if (counts[landlord] < 0).any():
            raise InconsistentViewError(f"the landlord still holds {view.known_cards}, which its hand must contain")
    counts[view.seat] = 0
    rest = np.array(word_to_counts(int(view.row[at.HIDDEN]))) - counts.sum(axis=0)
    if (rest < 0).any():
        raise InconsistentViewError(
            f"the hands have more cards of rank {RANK_NAMES[int(rest.argmin())]} than seat {view.seat} has not seen yet"
        )
    return Hand(tuple(rest.tolist()))


def check_dealt_hands(hands: Sequence[Hand], bottom: Hand, rules: Rules, *, sizes: bool) -> None:
    """Reject a wrong number of hands, empty hands and, if ``sizes`` is set, hands of a wrong size.

    Raises:
        InvalidDealError: If there are such.
    """
    if len(hands) != rules.players:
        number = pluralize(len(hands), "hand")
        raise InvalidDealError(f"the {rules.name} rules have {rules.players} seats, got {number}")
    for seat, hand in enumerate(hands):
        if sizes and len(hand) != rules.hand_size:
            held = pluralize(len(hand), "card")
            raise InvalidDealError(f"seat {seat} has {held}; {rules.name} deals {rules.hand_size}")
        if len(hand) == 0:
            raise InvalidDealError(f"seat {seat} has no cards: a hand needs at least one")
    if sizes:
        check_landlord_cards(bottom, rules)


def check_landlord_cards(bottom: Hand, rules: Rules) -> None:
    """Check that there are as many landlord cards as the rules deal.

    Raises:
        InvalidDealError: If there are more or fewer.
    """
    if len(bottom) != rules.bottom:
        raise InvalidDealError(
            "{cards}; {rules} has {most}",
            cards=pluralize(len(bottom), "landlord card"),
            rules=Message(rules.name),
            most=rules.bottom,
        )


def undealt_cards(rules: Rules, dealt: Sequence[Hand]) -> Hand:
    """Return the cards that are left over from the deck after the given hands are dealt.

    Raises:
        InvalidDealError: If the deck has not so many cards of a rank.
    """
    total = [sum(column) for column in zip(*(hand.counts for hand in dealt), strict=True)]
    for rank, (count, most) in enumerate(zip(total, rules.deck, strict=True)):
        if count > most:
            raise InvalidDealError(f"{count} cards of rank {RANK_NAMES[rank]} are dealt, but the deck has {most}")
    return Hand(tuple(most - count for count, most in zip(total, rules.deck, strict=True)))
