"""The dialogue with a bot in one game: requests built from a seat's view, and answers parsed into moves.

The engine knows ranks; a bot wants card ids.  Each seat gets ids of its own making that never contradict each other:
its own cards have the first suits of a rank, the landlord cards the next, and the others' cards the rest.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ddz_env import Move, View
from ddz_env.core.actions import BID_BASE
from ddz_env.core.cards import NUM_CARDS, NUM_RANKS, card_rank
from ddz_env.core.engine import layout as at
from ddz_env.peers.botzone.games import SEATS, BotzoneGame, game_for_rules, last_two_moves
from ddz_env.peers.botzone.judges import MAX_BID
from ddz_env.peers.botzone.player import read_move
from ddz_env.support.errors import DouDizhuError, InvalidMoveError, short_repr

_IDS = [[card for card in range(NUM_CARDS) if card_rank(card) == rank] for rank in range(NUM_RANKS)]


class BotAnswerError(DouDizhuError):
    """Raised when a bot's answer is neither a bid nor cards of its hand."""


class BotSession:
    """One seat's dialogue with its bot in one game.

    Args:
        view: What the seat sees at its first decision.

    Attributes:
        moves_sent: How many moves of the game the bot has been told, bids included.

    Raises:
        InvalidRulesError: If the platform has no game with the rules.
    """

    def __init__(self, view: View) -> None:
        self.game: BotzoneGame = game_for_rules(view.rules)
        self.seat = view.seat
        self._first = _opener(view) if self.game.has_auction else 0
        self._dealt = _dealt_cards(view)
        self._own = [card for rank, count in enumerate(self._dealt) for card in _IDS[rank][:count]]
        self._played: list[list[int]] = []
        self.moves_sent = 0
        self._requests: list[dict[str, Any]] = []
        self._responses: list[Any] = []
        self._data: dict[str, Any] = {}

    def is_of_deal(self, view: View) -> bool:
        """Return whether a view is of the deal of this dialogue: if every seat declines, the cards are dealt again."""
        same_opener = not self.game.has_auction or _opener(view) == self._first
        return same_opener and _dealt_cards(view) == self._dealt and len(view.history) >= self.moves_sent

    def make_message(self, view: View, bare: bool, globaldata: Any) -> str:
        """Build the next request to the bot, including the earlier dialogue unless the bot has kept running.

        Args:
            view: What the seat sees.
            bare: Whether the bot has kept running.
            globaldata: What it wants to be given in all games, None for nothing.
        """
        request = self._next_request(view)
        self._requests.append(request)
        if bare:
            return json.dumps(request)
        document = {"requests": self._requests, "responses": self._responses, **self._data}
        return json.dumps(document if globaldata is None else {**document, "globaldata": globaldata})

    def _next_request(self, view: View) -> dict[str, Any]:
        bids = [move.main - BID_BASE for _, move in view.history if move.category == "bid"]
        if view.stage == "bid":
            self.moves_sent = len(view.history)
            return {"own": self._own, "bid": bids}
        landlord = view.landlord or 0
        public = self._public_ids(view)
        for seat, move in view.history[max(self.moves_sent, len(bids)) :]:
            if seat != self.seat:
                self._played.append(self._assign_ids(move, public, seat == landlord))
        self.moves_sent = len(view.history)
        request: dict[str, Any] = {"history": last_two_moves(self._played)}
        if any("history" in earlier for earlier in self._requests):
            return request
        if not self.game.has_auction:
            hand = self._own + (public if landlord == self.seat else [])
            return {"own": hand, **request, "publiccard": public}
        places = {name: (seat - self._first) % SEATS for name, seat in (("landlord", landlord), ("pos", self.seat))}
        return {**request, "own": self._own, "publiccard": public, **places, "finalbid": max(1, view.highest_bid)}

    def _public_ids(self, view: View) -> list[int]:
        counts = enumerate(zip(self._dealt, view.landlord_cards.counts, strict=True))
        return [card for rank, (mine, count) in counts for card in _IDS[rank][mine : mine + count]]

    def _assign_ids(self, move: Move, public: Sequence[int], of_landlord: bool) -> list[int]:
        """Assign card ids to the cards that another seat played, using the landlord's face-up cards first."""
        gone = {card for cards in self._played for card in cards}
        free = [card for card in range(NUM_CARDS) if card not in gone and card not in self._own]
        free = [card for card in free if of_landlord and card in public] + [card for card in free if card not in public]
        chosen = []
        for rank, count in enumerate(move.cards.counts):
            chosen += [card for card in free if card_rank(card) == rank][:count]
        return sorted(chosen)

    def parse_answer(self, text: str, view: View) -> tuple[Move, Any]:
        """Parse the move and the ``globaldata`` that a bot printed.

        Raises:
            BotAnswerError: If it is none.
        """
        try:
            answer = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise BotAnswerError(f"NJ: its output is not JSON: {short_repr(text.strip())}") from error
        answer = answer if isinstance(answer, dict) and "response" in answer else {"response": answer}
        response = answer["response"]
        move = self._parse_bid(response) if view.stage == "bid" else self._parse_cards(response, view)
        self._responses.append(response)
        self._data = {"data": answer["data"]} if answer.get("data") else {}
        return move, answer.get("globaldata")

    @staticmethod
    def _parse_bid(response: Any) -> Move:
        try:
            bid = int(response)
        except (TypeError, ValueError, OverflowError):
            bid = -1
        if not 0 <= bid <= MAX_BID:
            raise BotAnswerError(f"INVALID_BID: a bid is 0..{MAX_BID}, not {short_repr(response)}")
        return Move(BID_BASE + bid)

    def _parse_cards(self, response: Any, view: View) -> Move:
        if not isinstance(response, list) or not all(type(card) is int for card in response):
            raise BotAnswerError(f"BAD_FORMAT: a move is a list of card ids, not {short_repr(response)}")
        held = self._own + (self._public_ids(view) if view.landlord == self.seat else [])
        gone = {card for cards in self._played for card in cards}
        if wrong := [card for card in response if card not in held]:
            raise BotAnswerError(f"MISSING_CARD: it was never dealt {wrong}")
        if len(set(response)) < len(response) or gone & set(response):
            raise BotAnswerError(f"REPEATED_CARD: a card of {response} is named twice, or was played before")
        try:
            move = read_move(response, self.game)
        except InvalidMoveError as error:
            raise BotAnswerError(f"INVALID_CARDTYPE: {error}") from error
        self._played.append(sorted(response))
        return move


def _opener(view: View) -> int:
    """Return the seat that opened the auction."""
    return (int(view.row[at.BIDS]) >> 16) & 15


def _dealt_cards(view: View) -> list[int]:
    """Return how many cards of each rank the observer was dealt, without the landlord cards."""
    public = view.landlord_cards.counts if view.landlord == view.seat else (0,) * NUM_RANKS
    held = zip(view.hand.counts, view.played(view.seat).counts, public, strict=True)
    return [hand + played - shown for hand, played, shown in held]
