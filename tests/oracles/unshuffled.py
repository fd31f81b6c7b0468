"""Unshuffled deals card by card: the oracle of the kernels, which never build the pile that they deal."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ddz_env import Hand, Move, Rules, State
from ddz_env.core.engine import layout as at
from ddz_env.core.engine.moves import list_all_moves
from ddz_env.core.engine.random import advance, mix, scale_below
from ddz_env.core.engine.step import play_move

Pile = list[int]
"""Ranks in the order in which the cards lie."""


class Chance:
    """The engine's generator."""

    def __init__(self, state: int) -> None:
        self._state = np.uint64(state)

    def below(self, n: int) -> int:
        self._state = np.uint64(advance(self._state))
        return int(scale_below(np.uint64(mix(self._state)), np.uint64(n)))


def cards_of(hand: Hand) -> Pile:
    return [rank for rank, count in enumerate(hand.counts) for _ in range(count)]


def played(moves: Iterable[Move]) -> Pile:
    """The cards of moves, each body before its kickers; bids have none."""
    pile = Pile()
    for move in moves:
        if move.group is not None:
            pile += [rank for rank, count in enumerate(move.group.need) for _ in range(count)]
            pile += [rank for rank in move.kickers for _ in range(move.group.kicker_size)]
    return pile


def dealt(pile: Pile, cut: int) -> list[Hand]:
    """The three hands and the landlord cards, once the cards from ``cut`` on have come to the front of the pile."""
    pile = pile[cut:] + pile[:cut]
    piles: list[Pile] = [[], [], [], []]
    for size in (6, 6, 5):
        for seat in range(3):
            piles[seat] += pile[:size]
            pile = pile[size:]
    piles[3] = pile
    return [Hand(tuple(one.count(rank) for rank in range(15))) for one in piles]


def first_deal(rules: Rules, seed: int, game: int = 0) -> list[Hand]:
    """What a first game is dealt: from a shuffled deal everybody plays uniformly to the end, seat 0 as the landlord."""
    start = State.new(seed, rules.replace(unshuffled=False), game)
    row, words = start.row.copy(), rules.replace(bidding="fixed", doubling=False, showing=False).words()
    if start.role() is None:
        row[at.HANDS] = (start.hand(0) + start.bottom).word
    row[at.SEAT], row[at.STAGE], row[at.LANDLORD] = 0, at.STAGE_PLAY, 0
    chance, pile, moves = Chance(row[at.RNG]), Pile(), []
    place = chance.below(54)
    while row[at.STAGE] != at.STAGE_OVER:
        mains, kickers = list_all_moves(row, words)
        nth = chance.below(len(mains))
        moves.append(Move.from_words(int(mains[nth]), int(kickers[nth])))
        play_move(row, mains[nth], kickers[nth], words)
    pile = played(moves) + [rank for seat in range(3) for rank in cards_of(Hand.from_word(int(row[at.HANDS + seat])))]
    return dealt(pile, -place % 54)


def dealt_in(state: State) -> list[Hand]:
    """The three hands at the beginning of a game, without the landlord cards, and then the landlord cards."""
    hands = [state.hand(seat) for seat in range(3)]
    if state.role() is not None:
        hands[0] = hands[0] - state.bottom
    return [*hands, state.bottom]
