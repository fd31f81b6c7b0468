"""The appearance of a table as plain data (:class:`Snapshot`), from which every renderer draws.

The table is read from a row and the history alone.  For a perspective it is read from that seat's
:class:`~ddz_env.core.view.View`, so that nothing hidden can reach a picture.

Suits never matter in Dou Dizhu.  Cards get one here for the eye only.  The copies of a rank are numbered in the order
in which the observer gets to see them: the hand that it was dealt, the landlord cards, the other hands that it sees,
and what comes out of hidden hands, move by move.  So no card is drawn twice, and none changes its suit during a game;
nor afterwards, where the moves that are still to come are named.  A shuffle says which suit each copy has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_env.core.actions import BID_BASE, CATEGORIES, DOUBLE_BASE, KICKER_BASE, MAIN_GROUPS
from ddz_env.core.cards import BLACK_JOKER, NUM_RANKS, RANK_NAMES
from ddz_env.core.engine import layout as at
from ddz_env.core.engine.score import is_spring
from ddz_env.core.move_names import past_move_name
from ddz_env.core.notation import Hand, Move
from ddz_env.core.state import State
from ddz_env.core.view import View
from ddz_env.rendering.texts import Texts
from ddz_env.support.checks import check_integer
from ddz_env.support.errors import InvalidPictureError, pluralize

SUITS = "♠♥♣♦"
"""Suit of a card by its copy."""


class Card(NamedTuple):
    """A card as it is drawn, including its suit.

    Attributes:
        rank: 0..14.
        copy: 0..3, which of the rank's copies; decides the suit.
    """

    rank: int
    copy: int

    @property
    def is_joker(self) -> bool:
        """Whether the card is the black or the red joker."""
        return self.rank >= BLACK_JOKER

    @property
    def suit(self) -> str:
        """The card's suit, one of ``♠♥♣♦``, or an empty string for jokers."""
        return "" if self.is_joker else SUITS[self.copy % 4]

    @property
    def is_red(self) -> bool:
        """Whether the card is printed in red: hearts, diamonds and the red joker."""
        return self.rank > BLACK_JOKER if self.is_joker else self.copy % 2 == 1

    def __str__(self) -> str:
        return RANK_NAMES[self.rank] + self.suit


Cards = tuple[Card, ...]
Counts = Sequence[int] | npt.NDArray[np.int64]
"""How many cards of each rank."""
Suits = npt.NDArray[np.int64]
"""The suit of each copy of a rank, 0 to 3, shape ``[13, 4]``."""
History = Sequence[tuple[int, Move]]
SUITS_IN_ORDER: Suits = np.tile(np.arange(len(SUITS)), (BLACK_JOKER, 1))


@dataclass(frozen=True)
class LastMove:
    """A seat's last move as it is drawn, and whether the move must still be beaten.

    Attributes:
        text: The move's notation, for example ``333+4``, ``pass`` or ``bid 2`` (or in the rules' words, as ``rob``).
        category: The move's category, for example ``trio+solo``.
        cards: Its cards, the body before the kickers; empty for passes, bids and answers to doubling.
        to_beat: Whether it is the move that must be beaten (or ended the game).
        current: Whether it belongs to the trick (or auction) under way, and its seat does not act again in it.
    """

    text: str
    category: str
    cards: Cards
    to_beat: bool
    current: bool


@dataclass(frozen=True)
class HalfBuiltMove:
    """A move whose kickers are being chosen, as it is drawn.

    Attributes:
        category: The category of the main group.
        cards: The body and the kickers chosen so far.
        kickers_left: Kickers still to choose.
        cards_left: Cards still to choose (two a kicker where the kickers are pairs).
    """

    category: str
    cards: Cards
    kickers_left: int
    cards_left: int


@dataclass(frozen=True)
class Seat:
    """A seat at the table, with its role, cards and last move.

    Attributes:
        number: The seat.
        role: ``landlord``, ``peasant down``, ``peasant up``, ``peasant`` (two players) or empty in the auction.
        hand: The cards that are visible; all of them, none, or an opponent's face-up landlord cards.
        size: Cards in hand.
        play: The last move, None if there was none.
        acting: Whether it is this seat's turn.
        doubled: Whether the seat has doubled.
        result: The seat's return, None while the game runs.
    """

    number: int
    role: str
    hand: Cards
    size: int
    play: LastMove | None
    acting: bool
    doubled: bool
    result: float | None

    @property
    def unseen(self) -> int:
        """The number of face-down cards in the hand."""
        return self.size - len(self.hand)


@dataclass(frozen=True)
class Snapshot:
    """One moment of a game, as one observer sees it.

    Attributes:
        rules: Name of the rules.
        stage: ``play``, ``kicker``, ``bid``, ``double``, ``show`` or ``over``.
        robbing: Whether the landlord is called and robbed for.
        seats: The seats, seat 0 first.
        viewer: The observer's seat; None sees every hand.
        landlord: The landlord's seat, None before there is one.
        landlord_cards: The landlord cards that are visible.
        landlord_backs: Landlord cards that are face down.
        undealt: Cards that are neither held nor seen.
        left_out: The cards that lie face up on the table from the beginning, a letter each.
        stake: Base times two per rob, shown hand, bomb and rocket.
        highest_bid: The highest bid so far, 0 if none.
        bombs: Bombs and rockets played.
        moves: Completed moves.
        on_lead: Whether the seat to act has a free choice.
        building: A half-built move of the seat to act, where it is visible.
        winner: The seat that went out, None while the game runs or if everybody declined.
        spring: Whether the game ended by spring or anti-spring.
    """

    rules: str
    stage: str
    robbing: bool
    seats: tuple[Seat, ...]
    viewer: int | None
    landlord: int | None
    landlord_cards: Cards
    landlord_backs: int
    undealt: int
    left_out: str
    stake: int
    highest_bid: int
    bombs: int
    moves: int
    on_lead: bool
    building: HalfBuiltMove | None
    winner: int | None
    spring: bool

    @property
    def acting(self) -> Seat | None:
        """The seat to act, or None when the game is over."""
        return next((seat for seat in self.seats if seat.acting), None)

    @property
    def to_beat(self) -> LastMove | None:
        """The move that must be beaten, or None on lead."""
        return next((seat.play for seat in self.seats if seat.play is not None and seat.play.to_beat), None)

    @property
    def status(self) -> str:
        """A sentence that says whose turn it is and what the seat must do, or how the game ended."""
        return self.status_in(Texts())

    def status_in(self, say: Texts) -> str:
        """Return :attr:`status` in the language of the given texts."""
        if self.acting is None:
            if self.winner is None:
                return say("no game")
            peasants = "peasants win" if len(self.seats) > 2 else "peasant wins"
            side = "landlord wins" if self.winner == self.landlord else peasants
            return say(side, seat=self.winner, spring=say("spring") if self.spring else "")
        seat = self.acting.number
        if self.stage == "bid" and self.robbing:
            return say("may rob", seat=seat, stake=self.stake) if self.highest_bid else say("may call", seat=seat)
        if self.stage == "bid":
            return say("bids", seat=seat, bid=self.highest_bid) if self.highest_bid else say("bids first", seat=seat)
        if self.stage in ("double", "show"):
            return say("may double" if self.stage == "double" else "may show", seat=seat)
        if self.building is not None:
            left, category = self.building.kickers_left, say(self.building.category)
            kickers = pluralize(left, "more kicker")
            return say("choosing", seat=seat, kickers=kickers, number=left, category=category)
        if self.on_lead:
            return say("leads", seat=seat)
        if self.to_beat is None:  # a game taken over from a bare row has no history, hence no move to show
            return say("must beat last", seat=seat)
        return say("must beat", seat=seat, move=self.to_beat.text)


def format_role(role: str, players: int) -> str:
    """Format a role for display, for example ``peasant down``, or ``peasant`` in a two-player game."""
    return role.partition("_")[0] if players == 2 else role.replace("_", " ")


def shuffle_suits(seed: int) -> Suits:
    """Draw a random order of the four suits for each of the 13 ranks, shape ``[13, 4]``."""
    return np.random.default_rng(seed).permuted(SUITS_IN_ORDER, axis=1)


def take_snapshot(
    game: State | View,
    perspective: int | None = None,
    *,
    reveal: bool = False,
    suits: Suits = SUITS_IN_ORDER,
    later: History = (),
) -> Snapshot:
    """Describe a game's table, as one observer sees it, in a :class:`Snapshot` for renderers.

    Args:
        game: A game, or what a seat knows of it.
        perspective: The seat that looks; None shows every hand of a ``State``.  A ``View`` has its own.
        reveal: Show every hand of a ``State``, with the suits that the perspective has seen so far.
        suits: Which suit each copy of a rank has (:func:`shuffle_suits`).
        later: Of a game that is over, the ``(seat, move)`` that follow: what they play keeps its suits.

    Raises:
        InvalidPictureError: If there is no such seat, or the perspective is not that of the view.

    Example:
        >>> table = take_snapshot(State.new(seed=1), perspective=1)
        >>> [(seat.role, seat.size, seat.unseen) for seat in table.seats]
        [('landlord', 20, 17), ('peasant down', 17, 0), ('peasant up', 17, 17)]
    """
    if perspective is not None:
        perspective = check_integer("perspective", perspective, 0, game.rules.players - 1, InvalidPictureError)
    if isinstance(game, View):
        if perspective not in (None, game.seat):
            raise InvalidPictureError(
                f"this is the view of seat {game.seat}: it cannot show the perspective of seat {perspective}"
            )
        return _SnapshotReader(game, game.seat, suits).read_table()
    if perspective is None or reveal:
        return _SnapshotReader(game, None, suits, perspective, later).read_table()
    return _SnapshotReader(game.view(perspective), perspective, suits).read_table()


class _SnapshotReader:
    """A reader that builds a snapshot from the game-state array and the history of a state or a view.

    Args:
        game: What to read.
        viewer: The observer, whose view it is; None means that the row is complete.
        suits: Which suit each copy of a rank has.
        seen_by: Whose suits a complete row is drawn with, as this seat saw the cards come; None if all were open.
        later: The moves to come.
    """

    def __init__(
        self, game: State | View, viewer: int | None, suits: Suits, seen_by: int | None = None, later: History = ()
    ) -> None:
        self.suits, self.later = suits, later
        self.row, self.rules, self.history, self.stage = game.row, game.rules, game.history, game.stage
        self.viewer = viewer
        self.view = game if isinstance(game, View) else game.view()  # what everybody knows is in every view
        self.landlord, self.seats = self.view.landlord, range(self.rules.players)
        self.state = State(self.row, self.rules)  # what a view hides, it does not know either
        self.bottom = Hand.from_word(int(self.row[at.BOTTOM])).counts
        self.bottom_cards, self.hands, self.moves = self._number_cards(viewer if seen_by is None else seen_by)
        self.trick_start = _find_trick_start(self.history, self.rules.players)

    def read_table(self) -> Snapshot:
        """Build the snapshot, with every card given a suit."""
        seats = tuple(map(self._read_seat, self.seats))
        face_down = self.rules.bottom if self.landlord is None and self.viewer is not None else 0
        unseen = sum(seat.unseen for seat in seats) + face_down
        return Snapshot(
            rules=self.rules.name,
            stage=self.stage,
            robbing=self.rules.bidding == "robbing",
            seats=seats,
            viewer=self.viewer,
            landlord=self.landlord,
            landlord_cards=self.bottom_cards,
            landlord_backs=face_down,
            undealt=int(self.row[at.HIDDEN]).bit_count() - unseen,
            left_out=str(self.view.left_out),
            stake=self.view.stake,
            highest_bid=self.view.highest_bid,
            bombs=int(self.row[at.BOMBS]),
            moves=int(self.row[at.MOVES]),
            on_lead=int(self.row[at.TARGET]) == 0,
            building=self._read_half_built_move(),
            winner=self.state.winner,
            spring=self.state.winner is not None and bool(is_spring(self.row, self.rules.words())),
        )

    def _number_cards(self, observer: int | None) -> tuple[Cards, list[Cards], list[Cards]]:
        """Assign suits to all cards that the observer can see, in the order in which the observer sees them.

        Args:
            observer: The seat that sees only its own hand, unless hands are open; None sees all from the beginning.

        Returns:
            The landlord cards; what each seat holds and shows; the cards of each move.
        """
        deck = VisibleDeck(len(self.seats), self.suits)
        played = [np.array(self.view.played(seat).counts) for seat in self.seats]
        held = self._known_hands()
        bottom = self._reveal_deal(deck, observer, [own + more for own, more in zip(played, held, strict=True)])
        for seat, counts in enumerate(played):  # before the history begins
            deck.play(seat, counts - sum(np.array(move.cards.counts) for mover, move in self.history if mover == seat))
        moves = [self._reveal_move(deck, seat, move) for seat, move in self.history]
        self._reveal_later_moves(deck)
        for seat, counts in enumerate(held):  # hands that are shown in the end only
            deck.reveal(seat, counts)
        return bottom, [tuple(sorted(hand)) for hand in deck.hands], moves

    def _known_hands(self) -> list[npt.NDArray[np.int64]]:
        """Return the known cards in each seat's hand, as counts by rank."""
        words = [int(self.row[at.HANDS + seat]) for seat in self.seats]
        if self.landlord is not None:
            words[self.landlord] = words[self.landlord] or int(self.row[at.KNOWN])
        return [np.array(Hand.from_word(word).counts) for word in words]

    def _reveal_deal(self, deck: VisibleDeck, observer: int | None, dealt: list[npt.NDArray[np.int64]]) -> Cards:
        """Reveal the observer's hand, the landlord cards and then other open hands; return the landlord cards."""
        first = observer or 0
        others = set(self.seats) if observer is None or self.rules.open_hands else set[int]()
        if self.landlord is not None:
            dealt[self.landlord] = dealt[self.landlord] - self.bottom
            others |= {self.landlord} if self.view.is_shown else set()
        deck.reveal(first, dealt[first])
        bottom = deck.draw(self.bottom)
        for seat in sorted(others - {first}):
            deck.reveal(seat, dealt[seat])
        if self.landlord is not None:
            deck.take(self.landlord, bottom)
        return bottom

    def _reveal_move(self, deck: VisibleDeck, seat: int, move: Move) -> Cards:
        """Reveal the cards of a move, body before kickers, and remove them from the seat's hand."""
        body = deck.play(seat, move.group.need) if move.group is not None else ()
        return body + deck.play(seat, move.kicker_counts) if move.kickers else body

    def _reveal_later_moves(self, deck: VisibleDeck) -> None:
        """Reveal the cards of the moves that follow this position, in playing order."""
        to_come = np.zeros((len(self.seats), NUM_RANKS), np.int64)
        leads = [seat for seat, move in self.later if len(move.cards)]
        if self.landlord is None and leads:  # the landlord, who plays the landlord cards, too, does not hold them yet
            to_come[leads[0]] -= self.bottom
        for seat, move in self.later:
            to_come[seat] += move.cards.counts
            deck.reveal(seat, to_come[seat])

    def _read_seat(self, seat: int) -> Seat:
        return Seat(
            number=seat,
            role=format_role(self.state.role(seat) or "", self.rules.players),
            hand=self.hands[seat],
            size=self.view.hand_sizes[seat],
            play=self._read_last_move(seat),
            acting=self._is_acting(seat),
            doubled=(int(self.row[at.DOUBLES]) >> (2 * seat)) & 3 == 2,
            result=self.state.returns()[seat] if self.stage == "over" else None,
        )

    def _is_acting(self, seat: int) -> bool:
        return self.stage != "over" and self.view.acting_seat == seat

    def _action_ids_of_stage(self) -> range:
        """Return the range of action ids of the moves that are shown in the current stage."""
        if self.stage == "double":
            return range(DOUBLE_BASE, DOUBLE_BASE + 2)
        if self.stage in ("bid", "show") or self.landlord is None:
            return range(BID_BASE, DOUBLE_BASE)
        return range(KICKER_BASE)

    def _read_last_move(self, seat: int) -> LastMove | None:
        shown = self._action_ids_of_stage()
        for number, (mover, move) in reversed([*enumerate(self.history)]):
            if mover == seat and move.main in shown:
                return LastMove(
                    text=past_move_name(self.history, number, self.rules),
                    category=move.category,
                    cards=self.moves[number],
                    to_beat=int(self.row[at.TARGET]) != 0 and int(self.row[at.OWNER]) == seat and not move.is_pass,
                    current=number >= self.trick_start and not self._is_acting(seat),
                )
        return None

    def _read_half_built_move(self) -> HalfBuiltMove | None:
        if self.stage != "kicker":
            return None
        group, left = MAIN_GROUPS[int(self.row[at.PENDING])], int(self.row[at.LEFT])
        held, chosen = self.hands[self.view.acting_seat], Hand.from_word(int(self.row[at.CHOSEN])).counts
        return HalfBuiltMove(
            category=CATEGORIES[group.category].name,
            cards=_pick_cards(held, group.need) + _pick_cards(held, chosen),
            kickers_left=left,
            cards_left=left * group.kicker_size,
        )


class VisibleDeck:
    """The cards that an observer sees, whose suits are assigned in the order in which the cards appear.

    Args:
        players: How many hands there are.
        suits: Which suit each copy of a rank has.

    Attributes:
        hands: What each seat holds of them.
    """

    def __init__(self, players: int, suits: Suits) -> None:
        self._suits = suits
        self.hands: list[Cards] = [()] * players
        self._next = [0] * NUM_RANKS

    def reveal(self, seat: int, counts: Counts) -> Cards:
        """Return the given cards of a hand, assigning suits to those that were hidden until now."""
        missing = list(counts)
        for card in self.hands[seat]:
            missing[card.rank] -= 1
        self.hands[seat] += self.draw(missing)
        return _pick_cards(self.hands[seat], counts)

    def play(self, seat: int, counts: Counts) -> Cards:
        """Return the given cards of a hand, as :meth:`reveal` does, and remove them from the hand."""
        cards = self.reveal(seat, counts)
        self.hands[seat] = tuple(card for card in self.hands[seat] if card not in cards)
        return cards

    def take(self, seat: int, cards: Cards) -> None:
        """Add face-up cards to a hand."""
        self.hands[seat] = tuple(sorted(self.hands[seat] + cards))

    def draw(self, counts: Counts) -> Cards:
        """Draw cards that have not appeared yet, by rank counts; counts that are not positive are skipped."""
        cards: list[Card] = []
        for rank, count in enumerate(counts):
            if count > 0:
                first = self._next[rank]
                self._next[rank] = first + int(count)
                suits = self._suits[rank] if rank < BLACK_JOKER else range(1)
                cards += [Card(rank, int(suit)) for suit in suits[first : self._next[rank]]]
        return tuple(cards)


def _pick_cards(cards: Cards, counts: Counts) -> Cards:
    """Return, in sorted order, the first cards in a list that make up the given counts by rank."""
    left, picked = list(counts), []
    for card in cards:
        if left[card.rank] > 0:
            left[card.rank] -= 1
            picked.append(card)
    return tuple(sorted(picked))


def _find_trick_start(history: Sequence[tuple[int, Move]], players: int) -> int:
    """Find the index in the history of the current trick's lead, or ``len(history)`` if the next move leads."""
    start, passes = 0, 0
    for number, (_, move) in enumerate(history):
        if passes == players - 1:
            start, passes = number, 0
        passes = passes + 1 if move.is_pass else 0
    return len(history) if passes == players - 1 else start
