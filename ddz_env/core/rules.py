"""Rule variants as data: the frozen dataclass :class:`Rules` and its presets.

The peers differ in details of the kickers.  Each preset states them, and the tests compare its legal moves with
the peer's, position by position.  ``docs/reference/rules.md`` says where each choice comes from.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, get_args

import numpy as np
import numpy.typing as npt

from ddz_env.core.actions import CATEGORIES, SEGMENTS
from ddz_env.core.cards import FULL_DECK, MAX_HAND, NUM_RANKS, counts_to_word
from ddz_env.support.checks import check_choice
from ddz_env.support.errors import DouDizhuError, InvalidRulesError, short_repr, unknown_name_message
from ddz_env.support.options import Option, Options, Range, format_option_value, refuse_unknown, split_options

ALL_CATEGORIES: tuple[str, ...] = tuple(category.name for category in CATEGORIES)
CATEGORIES_WITHOUT_QUADS: tuple[str, ...] = (
    *("pass", "solo", "pair", "trio", "trio+solo", "trio+pair", "bomb", "rocket"),
    *("solo chain", "pair chain", "plane", "plane+solos", "plane+pairs"),
)
STANDARD_CATEGORIES: tuple[str, ...] = tuple(
    name for name in ALL_CATEGORIES if name in CATEGORIES_WITHOUT_QUADS or name in ("quad+2 solos", "quad+2 pairs")
)
BOTZONE_CATEGORIES: tuple[str, ...] = (*STANDARD_CATEGORIES, "shuttle", "shuttle+solos", "shuttle+pairs")

_Bidding = Literal["fixed", "once", "until-passed", "robbing"]
_Decline = Literal["redeal", "first-seat", "end"]
_Trios = Literal["any", "not-adjacent", "merge"]
_BIDDING, _DECLINE, _TRIO = get_args(_Bidding), get_args(_Decline), get_args(_Trios)

_NEEDED_CATEGORIES = ("pass", "solo")
"""Without them there are positions without a legal action: a last card, a move that cannot be beaten."""
_LARGEST_SMALL_HAND = 3
"""The half-deck game deals again if the landlord holds no more cards than this."""

# Words of the rules array that kernels read.
R_PLAYERS, R_SEGMENTS, R_KICKER_REPEAT, R_TWO_JOKERS, R_TRIO_KICKERS, R_CHAIN_FROM_QUAD = range(6)
R_BOMBS, R_BIDDING, R_DECLINE, R_DOUBLING, R_DEAL, R_HAND_SIZE = range(6, 12)
R_BOTTOM_SIZE, R_OPEN_HANDS, R_DECK, R_BOMBS_BEAT_ROCKET, R_SPRING, R_LEFT_OUT_OPEN = range(12, 18)
RULE_WORDS = 18

KICKER_TRIOS_ANY, KICKER_TRIOS_NOT_ADJACENT, KICKER_TRIOS_MERGE = 0, 1, 2
BIDDING_FIXED, BIDDING_ONCE, BIDDING_UNTIL_PASSED, BIDDING_ROBBING = range(4)
DECLINE_REDEAL, DECLINE_FIRST_SEAT, DECLINE_END = 0, 1, 2
DEAL_WHOLE_DECK, DEAL_HALF_DECK, DEAL_UNSHUFFLED = 0, 1, 2
DOUBLING_BIT, SHOWING_BIT = 1, 2
"""Bits of the word ``R_DOUBLING``."""


@dataclass(frozen=True)
class Rules(Options):
    """The rules of a Dou Dizhu variant, with a field for each way in which variants differ.

    Attributes:
        name: The preset's name, with the options that were changed.
        players: 3, or 2 in Mini Dou Dizhu.
        deck: Cards of each rank in the pack, 15 counts.
        hand_size: Cards dealt to each seat before the landlord takes the bottom.
        bottom: Face-up landlord cards.
        half_deck: Each card is left out with probability 0.5; deals in which the landlord holds three cards or
            fewer, or any hand is empty, are dealt again.
        left_out_open: Whether the cards that ``half_deck`` leaves out lie face up on the table.
        unshuffled: The cards of the last game are gathered as they were played, cut, and dealt in packets of 6, 6 and
            5.  At a table these are the cards of the game before; for a first game, those of a random game.
        categories: Names of the categories that may be played.
        kicker_repeat: How often one rank may be used among solo kickers (1: all kickers differ).
        two_jokers: Whether both jokers may be kickers of one move.
        kicker_trios: ``"any"``; ``"not-adjacent"``: a rank next to a chain rank of the body may not be a kicker
            three times (RLCard); ``"merge"``: readings that share their cards are one move, and the follower must
            beat DouZero's reading of those cards.
        chain_from_quad: False where a chain may not start at a rank of which the hand holds four (OpenSpiel).
        bombs: Whether four of a kind beats every other category.
        bombs_beat_rocket: Whether a bomb may even follow the rocket (OpenSpiel).
        bidding: ``"fixed"``: seat 0 is the landlord; ``"once"``: every seat speaks once; ``"until-passed"``:
            until two seats in a row pass after a bid; ``"robbing"``: one seat calls, the others may rob it of the
            landlord's place, each time for twice the stake, and the caller may take it back.
        all_decline: What happens when no seat bids: ``"redeal"``, ``"first-seat"`` becomes landlord at stake 1, or
            ``"end"``: the game ends with zero for all.
        doubling: A round after the landlord is known in which each seat may double.
        showing: Whether the landlord, having taken up the landlord cards, may show its hand for twice the stake.
        open_hands: Everybody sees every hand (the perfect-information game).
        ambiguous_cards: What bare cards with several readings mean in :meth:`Move.parse <ddz_env.Move.parse>`:
            ``"ask"`` raises; ``"longest"`` takes the reading with the fewest kickers, then the lowest body, as the
            peers do.
        scoring: ``"win"``, ``"stake"`` or ``"botzone"``.
        spring: Whether spring and anti-spring double the stake (DouZero has neither).
        peasant_reward: A winning peasant's reward under ``"win"``: 0.5 makes the game zero-sum, 1 is the usual
            learning signal.

    Raises:
        InvalidRulesError: If an option has another type or is out of range, or if options contradict each other.
    """

    error: ClassVar[type[DouDizhuError]] = InvalidRulesError

    name: str = "standard"
    players: Annotated[int, Range(2, 3)] = 3
    deck: tuple[Annotated[int, Range(0, 4)], ...] = FULL_DECK
    hand_size: Annotated[int, Range(1, MAX_HAND)] = 17
    bottom: Annotated[int, Range(0, MAX_HAND)] = 3
    half_deck: bool = False
    left_out_open: bool = False
    unshuffled: bool = False
    categories: tuple[str, ...] = STANDARD_CATEGORIES
    kicker_repeat: Annotated[int, Range(1, 4)] = 1
    two_jokers: bool = False
    kicker_trios: _Trios = "any"
    chain_from_quad: bool = True
    bombs: bool = True
    bombs_beat_rocket: bool = False
    bidding: _Bidding = "fixed"
    all_decline: _Decline = "redeal"
    doubling: bool = False
    showing: bool = False
    open_hands: bool = False
    ambiguous_cards: Literal["ask", "longest"] = "ask"
    scoring: Literal["win", "stake", "botzone"] = "win"
    spring: bool = True
    peasant_reward: float = 0.5

    def check(self) -> None:
        """Reject rules under which no game can be dealt or played."""
        if self.peasant_reward not in (0.5, 1.0):
            raise InvalidRulesError(f"peasant_reward={self.peasant_reward!r} must be 0.5 or 1")
        for name in self.categories:
            check_choice("category", name, ALL_CATEGORIES, InvalidRulesError)
        if missing := [name for name in _NEEDED_CATEGORIES if name not in self.categories]:
            raise InvalidRulesError(f"categories must have {' and '.join(missing)}: no game could go on without them")
        if len(self.deck) != NUM_RANKS or any(count > most for count, most in zip(self.deck, FULL_DECK, strict=True)):
            raise InvalidRulesError(f"deck={short_repr(self.deck)} must be 15 counts of at most {FULL_DECK}")
        dealt = self.players * self.hand_size + self.bottom
        if dealt > sum(self.deck):
            raise InvalidRulesError(
                f"{self.players} hands of {self.hand_size} and {self.bottom} landlord cards need {dealt} cards; "
                f"the deck has {sum(self.deck)}"
            )
        if self.players == 3 and dealt != sum(self.deck):
            raise InvalidRulesError(
                f"hands and landlord cards have {dealt} cards: three players need all {sum(self.deck)} of the deck"
            )
        if self.hand_size + self.bottom > MAX_HAND:
            raise InvalidRulesError(
                f"a landlord would hold {self.hand_size + self.bottom} cards; a hand has at most {MAX_HAND}"
            )
        if self.half_deck and self.hand_size + self.bottom <= _LARGEST_SMALL_HAND:
            raise InvalidRulesError(
                f"half_deck needs hand_size + bottom above {_LARGEST_SMALL_HAND}, not {self.hand_size + self.bottom}"
            )
        if self.left_out_open and not self.half_deck:
            raise InvalidRulesError("left_out_open needs half_deck: without it no card is left out")
        if self.unshuffled and (self.players != 3 or self.half_deck):
            raise InvalidRulesError(
                "unshuffled needs players=3 and half_deck=False: a game gathers the whole deck again"
            )
        if self.bidding != "fixed" and (self.players != 3 or self.half_deck):
            raise InvalidRulesError(f"bidding={self.bidding!r} needs players=3 and half_deck=False")
        if self.showing and self.open_hands:
            raise InvalidRulesError("showing needs hidden hands: with open_hands there is nothing to show")

    def replace(self, **changes: Any) -> Rules:
        """Return a copy of the rules with some fields changed, and the changes of a preset in its name.

        Raises:
            InvalidRulesError: If a field is unknown or its value is out of range.

        Example:
            >>> Rules.preset("standard").replace(spring=False).name
            'standard,spring=false'
        """
        self.check_names(changes)
        changed = dataclasses.replace(self, **changes)
        return changed if "name" in changes else dataclasses.replace(changed, name=_name_with_changes(changed))

    def words(self) -> npt.NDArray[np.uint64]:
        """Return the rules as an array for compiled functions, shape ``[18]``, uint64."""
        return _pack_words(self).copy()

    @classmethod
    def preset(cls, name: str | Rules, **changes: Any) -> Rules:
        """Return the rules of a named preset, with the given fields changed.

        Args:
            name: A key of ``PRESETS``, optionally followed by options (``bidding,doubling=true``), or a :class:`Rules`,
                which is passed through.
            **changes: Fields to replace.

        Raises:
            InvalidRulesError: If the preset or a field is unknown, or a value is not allowed.

        Example:
            >>> Rules.preset("rlcard").kicker_repeat
            3
            >>> Rules.preset("bidding,doubling=true,bidding=until-passed").name
            'bidding,bidding=until-passed,doubling=true'
        """
        if not isinstance(name, Rules):
            has_options = isinstance(name, str) and ("," in name or "=" in name)
            name = (
                _parse_rules(name)
                if has_options
                else PRESETS[check_choice("rules preset", name, PRESETS, InvalidRulesError)]
            )
        return name.replace(**changes) if changes else name


@functools.cache
def _pack_words(rules: Rules) -> npt.NDArray[np.uint64]:
    """Pack rules into an array for compiled functions, cached because every state and search needs it."""
    words = np.zeros(RULE_WORDS, np.uint64)
    allowed = 0
    for index, segment in enumerate(SEGMENTS):
        allowed |= (CATEGORIES[segment.category].name in rules.categories) << index
    values = {
        R_PLAYERS: rules.players,
        R_SEGMENTS: allowed,
        R_KICKER_REPEAT: rules.kicker_repeat,
        R_TWO_JOKERS: rules.two_jokers,
        R_TRIO_KICKERS: _TRIO.index(rules.kicker_trios),
        R_CHAIN_FROM_QUAD: rules.chain_from_quad,
        R_BOMBS: rules.bombs,
        R_BIDDING: _BIDDING.index(rules.bidding),
        R_DECLINE: _DECLINE.index(rules.all_decline),
        R_DOUBLING: rules.doubling * DOUBLING_BIT + rules.showing * SHOWING_BIT,
        R_DEAL: DEAL_HALF_DECK if rules.half_deck else DEAL_UNSHUFFLED if rules.unshuffled else DEAL_WHOLE_DECK,
        R_HAND_SIZE: rules.hand_size,
        R_BOTTOM_SIZE: rules.bottom,
        R_OPEN_HANDS: rules.open_hands,
        R_DECK: counts_to_word(rules.deck),
        R_BOMBS_BEAT_ROCKET: rules.bombs_beat_rocket,
        R_SPRING: rules.spring,
        R_LEFT_OUT_OPEN: rules.left_out_open,
    }
    for index, value in values.items():
        words[index] = int(value)
    return words


PRESETS: dict[str, Rules] = {
    rules.name: rules
    for rules in (
        Rules(),
        Rules("bidding", bidding="once", scoring="stake"),
        Rules("robbing", bidding="robbing", scoring="stake"),
        Rules("botzone", categories=(*STANDARD_CATEGORIES, "shuttle"), two_jokers=True, scoring="botzone"),
        Rules(
            "botzone2",
            categories=BOTZONE_CATEGORIES,
            two_jokers=True,
            bidding="once",
            all_decline="first-seat",
            scoring="stake",
        ),
        Rules("rlcard", kicker_repeat=3, kicker_trios="not-adjacent", ambiguous_cards="longest"),
        Rules(
            "douzero",
            kicker_repeat=4,
            two_jokers=True,
            kicker_trios="merge",
            ambiguous_cards="longest",
            spring=False,
        ),
        Rules(
            "openspiel",
            categories=CATEGORIES_WITHOUT_QUADS,
            kicker_repeat=3,
            ambiguous_cards="longest",
            chain_from_quad=False,
            bombs_beat_rocket=True,
            bidding="until-passed",
            all_decline="end",
            scoring="stake",
        ),
        Rules("perfect", open_hands=True),
        Rules(
            "mini",
            players=2,
            deck=(4, 4, 4, 4) + (0,) * 9 + (1, 1),
            hand_size=7,
            bottom=0,
            categories=("pass", "solo", "pair", "trio", "bomb"),
            bombs=False,
        ),
        Rules(
            "micro",
            players=2,
            deck=(2, 2, 2) + (0,) * 10 + (1, 1),
            hand_size=3,
            bottom=0,
            categories=("pass", "solo", "pair", "rocket"),
        ),
        Rules("half-deck", half_deck=True),
        Rules("half-deck-open", half_deck=True, left_out_open=True),
    )
}
"""Every preset by name; ``standard`` is the default everywhere."""


def _parse_rules(text: str) -> Rules:
    """Parse rules from a string of a preset's name and options, which becomes the name of the rules."""
    preset, *texts = (part.strip() for part in text.split(","))
    if preset not in PRESETS:
        hint = f"; name a preset before the options, as in standard,{preset}" if "=" in preset else ""
        raise InvalidRulesError(unknown_name_message("rules preset", preset, PRESETS) + hint)
    options, plain = textual_options(), PRESETS[preset]
    written = split_options(texts, InvalidRulesError)
    refuse_unknown(written, list(options), InvalidRulesError)
    return plain.replace(**{name: _parse_value(options[name], text) for name, text in written.items()})


def _name_with_changes(rules: Rules) -> str:
    """Return the name of a preset's rules with each option that differs from it; rules of one's own keep their name."""
    preset = rules.name.partition(",")[0]
    if preset not in PRESETS:
        return rules.name
    changes = {option: getattr(rules, option) for option in textual_options()}
    plain = PRESETS[preset]
    texts = [
        f"{option}={_format_value(option, value)}"
        for option, value in changes.items()
        if value != getattr(plain, option)
    ]
    return ",".join([preset, *texts])


def _parse_value(option: Option, text: str) -> Any:
    """Parse an option's value from a string; a deck is 15 digits, and categories are separated by slashes."""
    if option.name == "deck":
        if not re.fullmatch(r"[0-9]{15}", text):
            raise InvalidRulesError(
                f"deck={short_repr(text)} must be fifteen digits, a count per rank, as in {_format_deck()}"
            )
        return tuple(map(int, text))
    if option.name == "categories":
        return tuple(name.strip() for name in text.split("/"))
    return option.read(text, InvalidRulesError)


def _format_value(name: str, value: Any) -> str:
    """Format an option's value as a string; the inverse of :func:`_parse_value`."""
    if name == "deck":
        return _format_deck(value)
    return "/".join(value) if name == "categories" else format_option_value(value)


def _format_deck(deck: Iterable[int] = FULL_DECK) -> str:
    return "".join(map(str, deck))


def textual_options() -> dict[str, Option]:
    """Return the options that may follow a preset's name in a rules string, keyed by option name."""
    return {option.name: option for option in Rules.options() if option.name != "name"}


def differing_options() -> list[str]:
    """List the non-tuple fields of :class:`Rules` whose values differ between presets."""
    names = [field.name for field in dataclasses.fields(Rules) if not isinstance(getattr(Rules(), field.name), tuple)]
    return [name for name in names[1:] if len({getattr(rules, name) for rules in PRESETS.values()}) > 1]
