"""The rule agent without one of its rules, to measure what that rule is worth.

The rules are those that the thesis of 2020 (Peking University, section 5.4.1) takes from a bot one at a time:

- ``pass``, 不要轻易过牌, do not pass lightly: a move that holds the trick counts, a move may make the hand a little
  dearer, and more so where an enemy has few cards.  Without it only a move that makes the hand cheaper is played.
- ``bombs``, 尽量留炸弹, keep bombs: a bomb or rocket in the hand makes it cheaper, and more is asked of a bomb than of
  another move.  Without it a bomb is worth keeping no more than any move that nothing beats, and answers as others do.
- ``control``, 关键时刻控场, control at key moments: against an enemy with one card no solo, with two no pair, and such
  a card is stopped.  Without it the agent does not see that an enemy has fewer than three cards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ddz_agents.rules.mind import new_mind
from ddz_agents.rules.rules import rules_move
from ddz_agents.rules.weights import (
    W_BOMB,
    W_BOMB_NEED,
    W_BOMB_URGENT,
    W_FOLLOW_HOLD,
    W_FOLLOW_NEED,
    W_FOLLOW_URGENT,
    W_ROCKET,
    WEIGHTS,
)
from ddz_env import Move, View
from ddz_env.core.engine.layout import LANDLORD, SIZES
from ddz_env.core.errors import IllegalMoveError
from ddz_env.core.options import Options, takes
from ddz_env.core.owned import OwnsArrays

Rule = Literal["pass", "bombs", "control"]

_FEW = 3
"""Fewer cards than these in an enemy's hand are a key moment."""
_SEAT_BITS = 8


@dataclass(frozen=True)
class WithoutOptions(Options):
    """Which rule is left out.

    Attributes:
        rule: ``pass`` (do not pass lightly), ``bombs`` (keep bombs) or ``control`` (control at key moments).
    """

    rule: Rule = "control"


def weights_without(rule: Rule) -> npt.NDArray[np.int64]:
    """The rule agent's weights without a rule, shape and meaning as ``WEIGHTS``."""
    weights = WEIGHTS.copy()
    if rule == "pass":
        weights[[W_FOLLOW_HOLD, W_FOLLOW_NEED, W_FOLLOW_URGENT]] = 0
    elif rule == "bombs":
        weights[[W_BOMB, W_ROCKET]] = 0
        weights[[W_BOMB_NEED, W_BOMB_URGENT]] = weights[[W_FOLLOW_NEED, W_FOLLOW_URGENT]]
    return weights


def hide_few_cards(row: npt.NDArray[np.uint64], seat: int) -> npt.NDArray[np.uint64]:
    """A view's row in which no enemy seems to have fewer than three cards.

    Args:
        row: The row of a view, shape ``[ROW_WORDS]``; it stays as it is.
        seat: Whose view it is.
    """
    shown, landlord, sizes = row.copy(), int(row[LANDLORD]), int(row[SIZES])
    for other in range(3):
        size = sizes >> _SEAT_BITS * other & 0xFF
        if other != seat and landlord in (seat, other) and 0 < size < _FEW:
            sizes += _FEW - size << _SEAT_BITS * other
    shown[SIZES] = sizes
    return shown


@takes(WithoutOptions)
class RulesWithoutAgent(OwnsArrays):
    """The rule agent without one of its rules: ``rules-without:rule=bombs``.

    Raises:
        InvalidAgentOptionError: If there is no such rule.
    """

    name = "rules-without"
    cheats = False

    def __init__(self, *values: Any, **named: Any) -> None:
        self.options = WithoutOptions.of(*values, **named)
        self._mind, self._weights = new_mind(), weights_without(self.options.rule)

    def act(self, view: View, rng: np.random.Generator) -> Move:
        """Choose a move by the rules that are left; the generator is not used.

        Raises:
            IllegalMoveError: If it is not the seat's turn.
        """
        if view.acting_seat != view.seat or view.stage == "over":
            raise IllegalMoveError(f"seat {view.seat} has nothing to decide: the stage is {view.stage}")
        row = hide_few_cards(view.row, view.seat) if self.options.rule == "control" else view.row
        main, kickers = rules_move(row, view.rule_words, self._mind, self._weights)
        return Move.from_words(int(main), int(kickers))
