"""Forced wins: sequences of unbeatable moves with which a seat plays out its hand.

That is proved from the cards that the seat cannot see and the sizes of the hands, whoever holds what; a partner that
could take the trick counts as anybody else.  There are other forced wins, which only a search of all deals would find.
"""

from __future__ import annotations

from ddz_env import Hand, Move, State, View
from ddz_env.core.actions import BOMB_CATEGORY, KICKER_BASE, MAIN_GROUPS, PASS, ROCKET_CATEGORY, MainGroup
from ddz_env.core.engine.layout import HANDS, TARGET

_MAX_HANDS = 300
"""Hands that are looked into before a proof is given up."""


def possible_replies(view: View, move: Move, seats: list[int]) -> list[MainGroup]:
    """Return the main groups that beat a move and, as far as the observer can tell, may be in another hand.

    Args:
        view: What the observer knows.
        move: A move of cards.
        seats: Who may beat it.
    """
    size = max(view.hand_sizes[seat] for seat in seats)
    unseen, played = view.unseen.counts, MAIN_GROUPS[move.main]
    return [
        group
        for group in MAIN_GROUPS[PASS + 1 : KICKER_BASE]
        if group.cards <= size
        and _beats(group, played, view)
        and all(need <= held for need, held in zip(group.need, unseen, strict=True))
    ]


def _beats(group: MainGroup, played: MainGroup, view: View) -> bool:
    rules = view.rules
    if group.category == BOMB_CATEGORY and played.category != BOMB_CATEGORY:
        return rules.bombs and (played.category != ROCKET_CATEGORY or rules.bombs_beat_rocket)
    if group.category == ROCKET_CATEGORY:
        return rules.bombs
    return group.segment == played.segment and group.rank > played.rank


def legal_leads(view: View, hand: Hand) -> list[Move]:
    """Return the moves that a seat may lead from the given cards, those with the most cards first."""
    row = view.row.copy()
    row[HANDS + view.seat], row[TARGET] = hand.word, 0
    return sorted(State(row, view.rules).legal_moves(), key=lambda move: -len(move.cards))


class ForcedWins:
    """A search for sequences of unbeatable moves that win the game for the seat to act.

    Args:
        view: What a seat knows that is to play cards.
    """

    def __init__(self, view: View) -> None:
        self._view, self._others = view, [seat for seat in range(view.rules.players) if seat != view.seat]
        self._unbeatable: dict[int, bool] = {}
        self._winning_lines: dict[Hand, tuple[Move, ...] | None] = {}

    def winning_line_after(self, move: Move) -> tuple[Move, ...] | None:
        """Return the moves that win after a given move whatever the others hold, or None if no win is proved."""
        if move.cards == self._view.hand:
            return ()
        return self._winning_line(self._view.hand - move.cards) if self._is_unbeatable(move) else None

    def _is_unbeatable(self, move: Move) -> bool:
        """Return whether no other hand can beat a move, judging by the unseen cards."""
        if move.main not in self._unbeatable:
            self._unbeatable[move.main] = not move.is_pass and not possible_replies(self._view, move, self._others)
        return self._unbeatable[move.main]

    def _winning_line(self, hand: Hand) -> tuple[Move, ...] | None:
        """Return unbeatable moves that play out a leading hand, or None if no such sequence is proved."""
        if hand not in self._winning_lines and len(self._winning_lines) < _MAX_HANDS:
            self._winning_lines[hand] = self._find_winning_line(hand)
        return self._winning_lines.get(hand)

    def _find_winning_line(self, hand: Hand) -> tuple[Move, ...] | None:
        for move in legal_leads(self._view, hand):
            if move.cards == hand:
                return (move,)
            rest = self._winning_line(hand - move.cards) if self._is_unbeatable(move) else None
            if rest is not None:
                return (move, *rest)
        return None


class FewestMoves:
    """An exact search for the smallest number of moves that play out a hand if nobody else plays.

    Args:
        view: What a seat knows that is to play cards.
    """

    def __init__(self, view: View) -> None:
        self._view = view
        self._fewest_by_hand: dict[Hand, int] = {}

    def count_moves(self, hand: Hand) -> int:
        """Return the smallest number of moves into which a hand can be divided.

        One of them has a lowest card in it, so only those that have are tried; all splits are still found.
        """
        if not len(hand):
            return 0
        if hand not in self._fewest_by_hand:
            lowest = next(rank for rank, count in enumerate(hand.counts) if count)
            first = {move.cards for move in legal_leads(self._view, hand) if move.cards.counts[lowest]}
            self._fewest_by_hand[hand] = 1 + min(self.count_moves(hand - cards) for cards in first)
        return self._fewest_by_hand[hand]
