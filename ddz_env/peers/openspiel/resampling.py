"""Other deals that a player cannot tell from the true one, drawn uniformly over deals of cards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from ddz_env.core.cards import NUM_RANKS
from ddz_env.core.engine.layout import HIDDEN
from ddz_env.core.notation import Hand
from ddz_env.core.state import State
from ddz_env.peers.openspiel.observers import whole_hand


def resampled_hands(state: State, player: int, draw: Callable[[], float]) -> list[Hand]:
    """What each receiver of the deal could have been dealt, as far as a player knows.

    Args:
        state: A game.
        player: The player whose knowledge is kept.
        draw: Draws from 0 (included) to 1.

    Returns:
        The seats' hands without the landlord cards, the landlord cards, the undealt cards; the last two are left out
        if the rules deal none.
    """
    rules, view = state.rules, state.view(player)
    cards = _shuffled(Hand.from_word(int(view.row[HIDDEN])), draw)
    hands = []
    for seat in range(rules.players):
        held = whole_hand(state, seat)
        if seat != player and not rules.open_hands:
            known = view.known_cards if seat == view.landlord else Hand.parse("")
            drawn = _take(cards, view.hand_sizes[seat] - len(known))
            held = _sum(drawn, known, view.played(seat))
        hands.append(_difference(held, state.bottom) if seat == view.landlord else held)
    if rules.bottom:
        hands.append(state.bottom if view.landlord is not None else _take(cards, rules.bottom))
    undealt = _take(cards, sum(rules.deck) - sum(map(len, hands)))
    return [*hands, undealt] if undealt else hands


def _shuffled(pool: Hand, draw: Callable[[], float]) -> Iterator[int]:
    """The ranks of a pool's cards in random order (Fisher and Yates)."""
    ranks = [rank for rank, count in enumerate(pool.counts) for _ in range(count)]
    while ranks:
        place = int(draw() * len(ranks))
        ranks[place], ranks[-1] = ranks[-1], ranks[place]
        yield ranks.pop()


def _take(cards: Iterator[int], number: int) -> Hand:
    counts = Counter(next(cards) for _ in range(number))
    return Hand(tuple(counts[rank] for rank in range(NUM_RANKS)))


def _sum(*hands: Hand) -> Hand:
    return Hand(tuple(map(sum, zip(*(hand.counts for hand in hands), strict=True))))


def _difference(hand: Hand, cards: Hand) -> Hand:
    return Hand(tuple(a - b for a, b in zip(hand.counts, cards.counts, strict=True)))
