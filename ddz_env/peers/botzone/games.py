"""The two games of the platform and the rules that each judge plays by."""

from __future__ import annotations

from dataclasses import dataclass

from ddz_env.core.checks import check_choice
from ddz_env.core.errors import InvalidOptionError, InvalidRulesError
from ddz_env.core.rules import Rules

SEATS = 3


@dataclass(frozen=True)
class BotzoneGame:
    """One of the platform's games.

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
        """Whether seats bid; otherwise seat 0 is the landlord."""
        return self.rules.bidding != "fixed"


GAMES: dict[str, BotzoneGame] = {
    game.name: game
    for game in (
        BotzoneGame("FightTheLandlord", Rules.preset("botzone"), 1),
        BotzoneGame("FightTheLandlord2", Rules.preset("botzone2"), 2),
    )
}
"""By name: the older game with fixed seats, and the newer one with an auction."""


def botzone_game(name: str) -> BotzoneGame:
    """A game by its name.

    Raises:
        InvalidOptionError: If the platform has no such Dou Dizhu.
    """
    return GAMES[check_choice("game", name, GAMES, InvalidOptionError)]


def game_of(rules: Rules) -> BotzoneGame:
    """The platform's game that a bot has to be asked in under some rules.

    Raises:
        InvalidRulesError: If the platform has none (doubling, robbing, two players, half a deck ...).

    Example:
        >>> game_of(Rules.preset("bidding")).name
        'FightTheLandlord2'
    """
    strange = rules.half_deck or rules.doubling or rules.showing or rules.bidding not in ("fixed", "once")
    if rules.players != SEATS or strange:
        raise InvalidRulesError(
            f"Botzone has no game with the {rules.name} rules: name botzone, botzone2, or others for three players and "
            "the whole deck, without doubling, with a fixed landlord or one round of bids"
        )
    return next(game for game in GAMES.values() if game.has_auction == (rules.bidding != "fixed"))
