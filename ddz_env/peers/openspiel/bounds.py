"""How long a game can last and how much it can pay: what OpenSpiel wants to know in advance."""

from __future__ import annotations

from ddz_env.core.actions import CATEGORIES
from ddz_env.core.rules import Rules

_SPEAKS = {"fixed": 0, "once": 3, "until-passed": 9, "robbing": 4}
"""Bids in the longest auction: two passes, bid 1, a pass, bid 2, a pass, bid 3, two passes; a call and three robs."""
_QUAD = 4
_HIGHEST = {"fixed": 1, "once": 3, "until-passed": 3, "robbing": 8}
"""The base at most."""


def cards_in_play(rules: Rules) -> int:
    """Cards that can be played: every other seat keeps one."""
    return rules.players * rules.hand_size + rules.bottom - (rules.players - 1)


def most_answers(rules: Rules) -> int:
    """Bids and answers to showing and doubling in the longest game."""
    return _SPEAKS[rules.bidding] + rules.showing + (rules.players if rules.doubling else 0)


def most_moves(rules: Rules) -> int:
    """Completed moves in the longest game: one card a time, and everybody passes on each but the last.

    As many actions are enough: a kicker is an action of its own, and also a card.
    """
    cards = cards_in_play(rules)
    return most_answers(rules) + cards + (cards - 1) * (rules.players - 1)


def is_zero_sum(rules: Rules) -> bool:
    """Whether the returns of all seats add up to zero."""
    return rules.scoring == "stake" or (
        rules.scoring == "win" and (rules.players == 2 or rules.peasant_reward * (rules.players - 1) == 1)
    )


def return_bounds(rules: Rules) -> tuple[float, float]:
    """The lowest and the highest return that a seat can get (a bound, not always reached)."""
    if rules.scoring == "win":
        return -1.0, 1.0
    if rules.scoring == "botzone":
        weight = max(category.long_weight or category.weight for category in CATEGORIES)
        return 0.0, 2.0 + cards_in_play(rules) * weight / 100
    bombs = sum(count == _QUAD for count in rules.deck) + (rules.deck[-2:] == (1, 1))
    base = _HIGHEST[rules.bidding] * (2 if rules.showing else 1)
    spring, doubled = 2, 4 if rules.doubling else 1
    most = float(base * 2**bombs * spring * doubled * (rules.players - 1))
    return -most, most
