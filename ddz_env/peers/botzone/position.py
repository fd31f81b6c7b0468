"""From what the platform tells a seat to a game of ours: any deal that fits, for a view does not show the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ddz_env import Move, State
from ddz_env.core.actions import BID_BASE
from ddz_env.core.cards import FULL_DECK, NUM_RANKS, cards_to_counts
from ddz_env.core.errors import DouDizhuError, InvalidMoveError
from ddz_env.core.notation import Hand, readings_of
from ddz_env.peers.botzone.bidding_judge import MOST_BID
from ddz_env.peers.botzone.deals import opened
from ddz_env.peers.botzone.games import SEATS, BotzoneGame

_HAND = 17

Requests = Sequence[Mapping[str, Any]]


class InvalidRequestError(DouDizhuError):
    """A request or an answer is not what the platform's judges write."""


class Told(NamedTuple):
    """What a seat has been told.

    Attributes:
        state: A game in which this seat sees what it has been told; its other hands are made up.
        seat: The seat.
        held: The ids of its cards.
    """

    state: State
    seat: int
    held: list[int]


class _Story(NamedTuple):
    """Requests and answers, put together.

    Attributes:
        seat: Who was asked.
        own: The ids dealt to it, without the landlord cards.
        public: The ids of the landlord cards; empty before they are shown.
        landlord: The landlord's seat.
        bids: The bids, as far as known; a bid that the platform does not tell is 0.
        played: The ids of every move from the landlord on.
    """

    seat: int
    own: list[int]
    public: list[int]
    landlord: int
    bids: list[int]
    played: list[list[int]]


def read_requests(game: BotzoneGame, requests: Requests, responses: Sequence[Any]) -> Told:
    """The position in which a seat is asked.

    Args:
        game: The game.
        requests: All requests to the seat, the last one still without an answer.
        responses: Its answers.

    Raises:
        InvalidRequestError: If they are none of this game.
        InvalidMoveError: If a move in them is none under our rules: a shuttle with one kicker a quad.
    """
    try:
        story = _story(game, requests, responses)
        state = _possible(game, story)
        for bid in story.bids:
            state.step(Move(BID_BASE + bid))
        for cards in story.played:
            state.step(read_move(cards, game))
    except InvalidMoveError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        reason = error if isinstance(error, DouDizhuError) else f"{type(error).__name__}: {error}"
        raise InvalidRequestError(f"these are no requests of {game.name}: {reason}") from error
    held = story.own + (story.public if story.seat == story.landlord else [])
    gone = {card for cards in story.played for card in cards}
    return Told(state, story.seat, sorted(card for card in held if card not in gone))


def read_move(cards: Sequence[int], game: BotzoneGame) -> Move:
    """The move that card ids are.

    Raises:
        InvalidHandError: If an id does not exist or stands twice.
        InvalidMoveError: If our rules have no such move.
    """
    if not cards:
        return Move(0)
    hand = Hand.from_ids(cards)
    readings = readings_of(hand, game.rules)
    if not readings:
        raise InvalidMoveError(f"{str(hand)!r} is no move under the {game.rules.name} rules")
    return readings[0]


def pick(move: Move, held: Sequence[int]) -> list[int]:
    """The ids with which a seat plays a move: the lowest that it holds of each rank.

    Raises:
        InvalidMoveError: If it does not hold them.
    """
    chosen: list[int] = []
    for rank, count in enumerate(move.cards.counts):
        mine = [card for card in sorted(held) if cards_to_counts([card])[rank]]
        if len(mine) < count:
            raise InvalidMoveError(f"{move} needs cards that are not in the hand")
        chosen += mine[:count]
    return chosen


def _story(game: BotzoneGame, requests: Requests, responses: Sequence[Any]) -> _Story:
    first = requests[0]
    if "bid" in first and len(requests) == 1:
        return _Story(len(first["bid"]), list(first["own"]), [], -1, list(map(int, first["bid"])), [])
    asked = list(requests)
    answers = list(responses)
    spoken = [asked.pop(0), answers.pop(0)] if "bid" in first else None
    first = asked[0]
    before = [cards for cards in first["history"] if cards]
    if game.has_auction:
        seat, landlord, own = first["pos"], first["landlord"], list(first["own"])
        turns = (seat - landlord) % SEATS
        bids = _bids(spoken, seat, landlord, first["finalbid"])
    else:
        landlord, bids = 0, []
        seat = turns = 2 if first["history"][0] else len(before)
        own = [card for card in first["own"] if card not in first["publiccard"]]
    played = [list(cards) for cards in first["history"][SEATS - 1 - turns :]]
    for answer, request in zip(answers, asked[1:], strict=True):
        played += [list(answer), *map(list, request["history"])]
    return _Story(seat, own, list(first["publiccard"]), landlord, bids, played)


def _bids(spoken: Sequence[Any] | None, seat: int, landlord: int, final: int) -> list[int]:
    """The auction as far as the seat knows it."""
    bids = [*map(int, spoken[0]["bid"]), int(spoken[1])] if spoken else []
    if MOST_BID in bids:
        return bids
    bids += [0] * (SEATS - len(bids))
    known = seat + 1 if spoken else 0
    if landlord >= known:
        bids[landlord] = final
    return bids[: landlord + 1] if bids[landlord] == MOST_BID else bids


def _possible(game: BotzoneGame, story: _Story) -> State:
    """A deal that fits: every other seat gets what it has played, and what is left over."""
    own, public = Hand.from_ids(story.own), Hand.from_ids(story.public)
    pool = [most - mine - shown for most, mine, shown in zip(FULL_DECK, own.counts, public.counts, strict=True)]
    hands = [[0] * NUM_RANKS for _ in range(SEATS)]
    bottom = list(public.counts)
    for place, cards in enumerate(story.played):
        seat = (story.landlord + place) % SEATS
        if seat != story.seat:
            hands[seat] = [a + b for a, b in zip(hands[seat], cards_to_counts(cards), strict=True)]
    if 0 <= story.landlord != story.seat:
        hands[story.landlord] = [max(0, a - b) for a, b in zip(hands[story.landlord], bottom, strict=True)]
    hands[story.seat] = list(own.counts)
    for seat in range(SEATS):
        if seat != story.seat:
            pool = [a - b for a, b in zip(pool, hands[seat], strict=True)]
    for hand, size in [*((hand, _HAND) for hand in hands), (bottom, 3)]:
        for rank in range(NUM_RANKS):
            taken = min(pool[rank], size - sum(hand))
            pool[rank] -= taken
            hand[rank] += taken
    return opened(State.from_hands([Hand(tuple(hand)) for hand in hands], Hand(tuple(bottom)), game.rules))
