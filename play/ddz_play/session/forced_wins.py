"""Wins that are certain: a seat plays one move after the other, and nobody can beat any of them but the last.

That is proved from the cards that the seat cannot see and the sizes of the hands, whoever holds what; a partner that
could take the trick counts as anybody else.  There are other certain wins, which only a search of all deals would find.
"""

from __future__ import annotations

from ddz_env import Hand, Move, State, View
from ddz_env.core.actions import BOMB_CATEGORY, KICKER_BASE, MAIN_GROUPS, PASS, ROCKET_CATEGORY, MainGroup
from ddz_env.core.engine.layout import HANDS, TARGET

_MOST = 300
"""Hands that are looked into before a proof is given up."""


def replies(view: View, move: Move, seats: list[int]) -> list[MainGroup]:
    """The main groups that beat a move and may be in another seat's hand, as far as the observer can tell.

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


def leads(view: View, hand: Hand) -> list[Move]:
    """The moves that a seat may lead with some of its cards, those of the most cards first."""
    row = view.row.copy()
    row[HANDS + view.seat], row[TARGET] = hand.word, 0
    return sorted(State(row, view.rules).legal_moves(), key=lambda move: -len(move.cards))


class CertainWins:
    """The proofs of a position.

    Args:
        view: What a seat knows that is to play cards.
    """

    def __init__(self, view: View) -> None:
        self._view, self._others = view, [seat for seat in range(view.rules.players) if seat != view.seat]
        self._safe: dict[int, bool] = {}
        self._plans: dict[Hand, tuple[Move, ...] | None] = {}

    def after(self, move: Move) -> tuple[Move, ...] | None:
        """The moves that win after a move, whatever the others hold; None where that is not proved."""
        if move.cards == self._view.hand:
            return ()
        return self._lead(self._view.hand - move.cards) if self._is_safe(move) else None

    def _is_safe(self, move: Move) -> bool:
        """Whether nobody can beat a move."""
        if move.main not in self._safe:
            self._safe[move.main] = not move.is_pass and not replies(self._view, move, self._others)
        return self._safe[move.main]

    def _lead(self, hand: Hand) -> tuple[Move, ...] | None:
        """How a hand that leads goes out."""
        if hand not in self._plans and len(self._plans) < _MOST:
            self._plans[hand] = self._plan(hand)
        return self._plans.get(hand)

    def _plan(self, hand: Hand) -> tuple[Move, ...] | None:
        for move in leads(self._view, hand):
            if move.cards == hand:
                return (move,)
            rest = self._lead(hand - move.cards) if self._is_safe(move) else None
            if rest is not None:
                return (move, *rest)
        return None


class FewestMoves:
    """In how few moves a seat could play its cards if nobody else played: exact, for the hands of a position.

    Args:
        view: What a seat knows that is to play cards.
    """

    def __init__(self, view: View) -> None:
        self._view = view
        self._known: dict[Hand, int] = {}

    def of(self, hand: Hand) -> int:
        """The fewest moves that make up a hand.

        One of them has a lowest card in it, so only those that have are tried; all splits are still found.
        """
        if not len(hand):
            return 0
        if hand not in self._known:
            lowest = next(rank for rank, count in enumerate(hand.counts) if count)
            first = {move.cards for move in leads(self._view, hand) if move.cards.counts[lowest]}
            self._known[hand] = 1 + min(self.of(hand - cards) for cards in first)
        return self._known[hand]
