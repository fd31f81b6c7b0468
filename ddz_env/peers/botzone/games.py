"""Botzone's two Dou Dizhu games: each judge's rules, the combinations that it recognizes, and its deals.

A judge sees card ids, not moves.  The older one wants one kicker per quad of a shuttle.  The action table has two, as
nearly everybody plays, so these combinations are read here and have no move.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ddz_env import State
from ddz_env.core.actions import CATEGORIES
from ddz_env.core.cards import CHAIN_RANKS, NUM_CARDS, cards_to_counts
from ddz_env.core.engine import layout as at
from ddz_env.core.notation import Hand, list_readings
from ddz_env.core.rules import Rules
from ddz_env.support.checks import check_choice
from ddz_env.support.errors import InvalidDealError, InvalidOptionError, InvalidRulesError, short_repr

SEATS = 3


@dataclass(frozen=True)
class BotzoneGame:
    """One of Botzone's two Dou Dizhu games: its name, its rules and how many kickers its judge wants per quad.

    Attributes:
        name: Its name on the platform.
        rules: Our preset; it has no move that the judge refuses.
        quad_kickers: Kickers that the judge wants for each quad of a shuttle.
    """

    name: str
    rules: Rules
    quad_kickers: int

    @property
    def has_auction(self) -> bool:
        """Whether the game has an auction; otherwise seat 0 is the landlord."""
        return self.rules.bidding != "fixed"


OLDER = BotzoneGame("FightTheLandlord", Rules.preset("botzone"), 1)
NEWER = BotzoneGame("FightTheLandlord2", Rules.preset("botzone2"), 2)
GAMES = {game.name: game for game in (OLDER, NEWER)}
"""The games by name: the older one with fixed seats, and the newer one with an auction."""


def find_botzone_game(name: str) -> BotzoneGame:
    """Return the Botzone game with the given platform name, such as ``FightTheLandlord``.

    Raises:
        InvalidOptionError: If the platform has no such Dou Dizhu.
    """
    return GAMES[check_choice("game", name, GAMES, InvalidOptionError)]


def game_for_rules(rules: Rules) -> BotzoneGame:
    """Return the Botzone game in which a bot plays under the given rules.

    Raises:
        InvalidRulesError: If the platform has none (doubling, robbing, two players, half a deck ...).

    Example:
        >>> game_for_rules(Rules.preset("bidding")).name
        'FightTheLandlord2'
    """
    strange = rules.half_deck or rules.doubling or rules.showing or rules.bidding not in ("fixed", "once")
    if rules.players != SEATS or strange:
        raise InvalidRulesError(
            f"Botzone has no game with the {rules.name} rules: name botzone, botzone2, or others for three players and "
            "the whole deck, without doubling, with a fixed landlord or one round of bids"
        )
    return OLDER if rules.bidding == "fixed" else NEWER


PRIORITIES = {"rocket": 3, "bomb": 2}
_LONG = 3
"""The number of quads from which a shuttle weighs more."""


class Combination(NamedTuple):
    """A combination of cards, as a Botzone judge recognizes it: category, lowest rank, length and kickers.

    Attributes:
        category: The name of its category in the action table; ``pass`` for no cards.
        rank: The lowest rank of the body.
        length: Ranks in the body.
        kickers: Cards beside the body.
    """

    category: str
    rank: int
    length: int
    kickers: int

    @property
    def weight(self) -> int:
        """The points that ``FightTheLandlord`` awards for the combination, in hundredths."""
        category = next(category for category in CATEGORIES if category.name == self.category)
        if self.length >= _LONG and category.long_weight is not None:
            return category.long_weight
        return category.weight

    def refusal_code(self, target: Combination) -> str:
        """Return the judge's error code for this combination as a reply to ``target``; empty if it is legal."""
        mine, theirs = (PRIORITIES.get(each.category, 1) for each in (self, target))
        if mine != theirs:
            return "" if mine > theirs else "LESS_COMPARE"
        if self.category != target.category:
            return "MISMATCH_CARDTYPE"
        if (self.length, self.kickers) != (target.length, target.kickers):
            return "MISMATCH_CARDLENGTH"
        return "" if self.rank > target.rank else "LESS_COMPARE"


PASS = Combination("pass", -1, 0, 0)


def recognize_combination(cards: Sequence[int], game: BotzoneGame) -> Combination | None:
    """Return the combination that card ids form in a Botzone game, or None if they form none.

    Raises:
        InvalidHandError: If an id does not exist or appears twice.

    Example:
        >>> recognize_combination([0, 1, 2, 3, 4, 5, 6, 7, 8, 12], GAMES["FightTheLandlord"])
        Combination(category='shuttle+solos', rank=0, length=2, kickers=2)
        >>> recognize_combination([0, 1, 2, 3, 4, 5, 6, 7, 8, 12], GAMES["FightTheLandlord2"]) is None
        True
    """
    return _recognize_category(tuple(cards_to_counts(cards)), game.name) if cards else PASS


@functools.lru_cache(maxsize=1 << 14)
def _recognize_category(counts: tuple[int, ...], name: str) -> Combination | None:
    game, hand = find_botzone_game(name), Hand(counts)
    for move in list_readings(hand, game.rules):
        if (group := move.group) is not None:
            return Combination(move.category, group.rank, group.length, len(hand) - sum(group.need))
    return _recognize_sparse_shuttle(counts) if game.quad_kickers == 1 else None


def _recognize_sparse_shuttle(counts: tuple[int, ...]) -> Combination | None:
    """Recognize a chain of quads with one solo or pair per quad, which only ``FightTheLandlord`` accepts."""
    quads = [rank for rank, count in enumerate(counts) if count == 4]
    if len(quads) < 2 or quads[-1] - quads[0] != len(quads) - 1 or quads[-1] >= CHAIN_RANKS:
        return None
    kickers = [count for count in counts if count not in (0, 4)]
    for size, category in ((1, "shuttle+solos"), (2, "shuttle+pairs")):
        if kickers == [size] * len(quads):
            return Combination(category, quads[0], len(quads), sum(kickers))
    return None


_HAND, _BOTTOM = 17, 3


class BotzoneDeal(NamedTuple):
    """A deal in Botzone's format: each seat's card ids (``allocation``) and the landlord cards (``publiccard``).

    Attributes:
        allocation: Card ids of each seat: 20, 17 and 17 in the older game, 17 each in the newer one.
        publiccard: The three landlord cards; in the older game also in the landlord's own.
    """

    allocation: list[list[int]]
    publiccard: list[int]

    def state(self, game: BotzoneGame) -> State:
        """Return a new game with these cards; seat 0 opens the auction if there is one."""
        hands = [Hand.from_ids([card for card in ids if card not in self.publiccard]) for ids in self.allocation]
        return let_seat_0_open(State.from_hands(hands, Hand.from_ids(self.publiccard), game.rules))


def let_seat_0_open(state: State) -> State:
    """Let seat 0 open a game's auction, as on Botzone, in place of a randomly drawn seat."""
    if state.stage == "bid":
        state.row[at.SEAT] = state.row[at.OWNER] = state.row[at.BIDS] = 0
    return state


def shuffle_and_deal(game: BotzoneGame, rng: np.random.Generator) -> BotzoneDeal:
    """Shuffle the cards, and deal them in Botzone's format."""
    cards = rng.permutation(NUM_CARDS).tolist()
    first = cards[_BOTTOM : _BOTTOM + _HAND] if game.has_auction else cards[: _BOTTOM + _HAND]
    return BotzoneDeal([first, cards[20:37], cards[37:]], cards[:_BOTTOM])


def parse_initdata(initdata: Any, game: BotzoneGame) -> BotzoneDeal | None:
    """Parse the deal in a judge's ``initdata`` (a dict or a JSON string), or return None if there is none.

    Raises:
        InvalidDealError: If it is not a deal of the game.
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
    deal = BotzoneDeal(allocation, [] if publiccard is None else publiccard)
    sizes = [_HAND if game.has_auction else _HAND + _BOTTOM, _HAND, _HAND]
    fault = _find_fault(deal, game, sizes)
    if fault is not None:
        raise InvalidDealError(fault)
    return deal


def _find_fault(deal: BotzoneDeal, game: BotzoneGame, sizes: list[int]) -> str | None:
    """Return what is wrong with a deal's hand sizes, landlord cards or cards, or None if nothing is."""
    try:
        dealt = [card for hand in deal.allocation for card in hand]
        if [len(hand) for hand in deal.allocation] != sizes:
            given = ", ".join(str(len(hand)) for hand in deal.allocation)
            return f"allocation must have hands of {', '.join(map(str, sizes))} cards, not {given}"
        if len(deal.publiccard) != _BOTTOM:
            return f"publiccard must have {_BOTTOM} cards, not {short_repr(deal.publiccard)}"
        if not game.has_auction and not {*deal.publiccard} <= {*deal.allocation[0]}:
            return f"publiccard must be cards of seat 0, not {short_repr(deal.publiccard)}"
        if sorted(dealt + deal.publiccard * game.has_auction) != list(range(NUM_CARDS)):
            return f"the deal must have each card from 0 to {NUM_CARDS - 1} once; got {short_repr(deal.allocation)}"
    except TypeError:
        return f"allocation and publiccard must be lists of card numbers; got {short_repr(deal.allocation)}"
    return None


def last_two_moves(played: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the ``history`` field of a request: the moves of the last two seats, ``[]`` for a pass or no move."""
    return [[], [], *map(list, played)][-2:]
