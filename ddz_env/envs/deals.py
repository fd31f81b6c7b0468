"""Custom deals, which users give as ``deals=`` or ``--deal-file``: a function, ``module:function`` or a list.

    >>> from ddz_env.batch import SelfPlayBatch
    >>> def two_jokers(rng, number):
    ...     '''The landlord has both jokers; all other cards are shuffled.'''
    ...     cards = rng.permutation(list("3456789TJQKA2") * 4)
    ...     hands = cards[:15], cards[15:32], cards[32:49], cards[49:]
    ...     return "BR" + " / ".join(map("".join, hands))
    >>> str(SelfPlayBatch(num_games=64, deals=two_jokers).state(0).hand())[-2:]
    'BR'

A deal is a line of text: each seat's cards as dealt, in playing order, and behind them the landlord cards, separated by
``/``.  Under a fixed landlord the first hand is the landlord's.  Or it is a :class:`~ddz_env.State`, as of an endgame.

A function deals from a generator that follows from the seed and the game's number, so the same seed gives the same
deals.  In an auction, the cards are shuffled if everybody declines.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Sequence

import numpy as np

from ddz_env.core.notation import Hand
from ddz_env.core.rules import Rules
from ddz_env.core.state import State, game_key
from ddz_env.envs.games import check_position
from ddz_env.support.errors import InvalidDealError, short_repr

Deal = str | State
DealFunction = Callable[[np.random.Generator, int], Deal]
"""Deals from a generator; the number counts the deals from 0, for a curriculum."""

_STREAM = 0x4445414C


def parse_deal(line: str, rules: Rules, seed: int = 0) -> State:
    """Start a game from a line of text that gives the dealt hands and the landlord cards.

    Args:
        line: The hands as dealt and the landlord cards, separated by ``/``.
        rules: The rules.
        seed: Generator of the opener and of later deals in an auction.

    Raises:
        InvalidDealError: If the line has another number of hands, or they do not fit the rules.
        InvalidHandError: If a hand cannot be read.

    Example:
        >>> parse_deal("4456789TTTJJKKKKR / 333677789TJJQQAA2 / 4455668899QQAA22B / 352", Rules()).hand()
        Hand.parse('344556789TTTJJKKKK2R')
    """
    *hands, bottom = line.split("/")
    if len(hands) != rules.players:
        raise InvalidDealError(
            f"{short_repr(line)} must be {rules.players} hands as dealt and the landlord cards, separated by '/'"
        )
    return State.from_hands(hands, bottom, rules, seed=seed)


def load_deal_function(name: str) -> DealFunction:
    """Import a deal function by its name ``module:function``, with the current folder on the import path.

    Raises:
        InvalidDealError: If there is none.
    """
    module, _, attribute = name.partition(":")
    if "" not in sys.path and os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        function = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise InvalidDealError(f"{short_repr(name)} names no function, as module:function does: {error}") from error
    if not callable(function):
        raise InvalidDealError(f"{short_repr(name)} is not a function: deals come from a function of (rng, number)")
    return function  # type: ignore[no-any-return]


def format_deal(state: State) -> str:
    """Format the initial cards of a game as a line of text; the inverse of :func:`parse_deal`."""
    return " / ".join(map(str, (*dealt_hands(state), state.bottom)))


def dealt_hands(state: State) -> list[Hand]:
    """Return the hands as dealt, without the landlord cards, of a game before its first move."""
    hands = [state.hand(seat) for seat in range(state.rules.players)]
    if state.rules.bidding == "fixed":
        hands[0] -= state.bottom
    return hands


class CustomDeals:
    """Custom deals from a user's function or list, looked up by number.

    Args:
        source: A function, or its ``module:function``; or deals, which are dealt in turn and again from the first.
        rules: The rules.

    Raises:
        InvalidDealError: If it is none of these.
    """

    def __init__(self, source: DealFunction | str | Sequence[Deal], rules: Rules) -> None:
        self._source, self._rules = load_deal_function(source) if isinstance(source, str) else source, rules
        if not callable(self._source) and not (isinstance(self._source, Sequence) and self._source):
            raise InvalidDealError(
                f"deals are a function, its module:function, or a list of at least one deal, not {short_repr(source)}"
            )

    def state(self, seed: int, game: int, number: int) -> State:
        """Start a new game with the custom deal of the given number.

        Args:
            seed: The seed of the games.
            game: Number of the game under that seed.
            number: Number of the deal.

        Raises:
            InvalidDealError: If the deal does not fit the rules.
            InvalidOptionError: If it is a state of other rules.
        """
        source = self._source
        if callable(source):
            deal = source(np.random.default_rng([_STREAM, seed, game]), number)
        else:
            deal = source[number % len(source)]
        if isinstance(deal, str):
            return parse_deal(deal, self._rules, int(game_key(seed, game)))
        return check_position(deal, self._rules).copy()
