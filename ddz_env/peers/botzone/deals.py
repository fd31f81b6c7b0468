"""Deals as the platform writes them: the ids of each seat's cards and the three landlord cards."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ddz_env import State
from ddz_env.core.cards import NUM_CARDS
from ddz_env.core.engine import layout as at
from ddz_env.core.errors import InvalidDealError, shown
from ddz_env.core.notation import Hand
from ddz_env.peers.botzone.games import BotzoneGame

_HAND, _BOTTOM = 17, 3


class Deal(NamedTuple):
    """A deal.

    Attributes:
        allocation: Card ids of each seat: 20, 17 and 17 in the older game, 17 each in the newer one.
        publiccard: The three landlord cards; in the older game also in the landlord's own.
    """

    allocation: list[list[int]]
    publiccard: list[int]

    def state(self, game: BotzoneGame) -> State:
        """The deal as a game of ours that begins; with an auction seat 0 opens it."""
        hands = [Hand.from_ids([card for card in own if card not in self.publiccard]) for own in self.allocation]
        return opened(State.from_hands(hands, Hand.from_ids(self.publiccard), game.rules))


def opened(state: State) -> State:
    """A game whose auction seat 0 opens, as on the platform (elsewhere the opener is drawn); with none, as it is."""
    if state.stage == "bid":
        state.row[at.SEAT] = state.row[at.OWNER] = state.row[at.BIDS] = 0
    return state


def deal_cards(game: BotzoneGame, rng: np.random.Generator) -> Deal:
    """Shuffle and deal."""
    cards = rng.permutation(NUM_CARDS).tolist()
    first = cards[_BOTTOM : _BOTTOM + _HAND] if game.has_auction else cards[: _BOTTOM + _HAND]
    return Deal([first, cards[20:37], cards[37:]], cards[:_BOTTOM])


def read_deal(initdata: Any, game: BotzoneGame) -> Deal | None:
    """The deal in a judge's ``initdata`` (an object, or its text); None if there is none.

    Raises:
        InvalidDealError: If it is no deal of the game.
    """
    if isinstance(initdata, str):
        try:
            initdata = json.loads(initdata)
        except ValueError:
            return None
    if not isinstance(initdata, dict) or "allocation" not in initdata:
        return None
    allocation = initdata["allocation"]
    publiccard = initdata.get("publiccard")
    if publiccard is None and not game.has_auction:
        publiccard = allocation[0][:_BOTTOM]
    deal = Deal(allocation, [] if publiccard is None else publiccard)
    _check(deal, game)
    return deal


def _check(deal: Deal, game: BotzoneGame) -> None:
    sizes = [_HAND if game.has_auction else _HAND + _BOTTOM, _HAND, _HAND]
    try:
        cards = [card for own in deal.allocation for card in own]
        cards += deal.publiccard if game.has_auction else []
        right = sorted(cards) == list(range(NUM_CARDS)) and [len(own) for own in deal.allocation] == sizes
        right = right and len(deal.publiccard) == _BOTTOM
        right = right and (game.has_auction or set(deal.publiccard) <= set(deal.allocation[0]))
    except TypeError:
        right = False
    if not right:
        raise InvalidDealError(
            f"allocation must give {', '.join(map(str, sizes))} of the 54 card ids, and publiccard {_BOTTOM}"
            f"{'' if game.has_auction else ' of seat 0'}; got {shown(deal.allocation)}"
        )


def last_two(played: Sequence[Sequence[int]]) -> list[list[int]]:
    """The ``history`` of a request: what the last two seats played, ``[]`` for a pass or nothing yet."""
    return [[], [], *map(list, played)][-2:]
