"""The rule agent stage by stage: what it would do in many games, in one compiled call.

So it answers as an opponent in a learner's environment, and labels decisions as a teacher.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from agents.rule_agent.kickers import choose_kickers
from agents.rule_agent.mind import Mind, look_around, new_mind
from agents.rule_agent.prices import set_prices
from agents.rule_agent.rules import rules_move
from agents.rule_agent.weights import WEIGHTS
from ddz_env.engine.compiling import pure_kernel
from ddz_env.engine.layout import CHOSEN, HANDS, PENDING, SEAT, STAGE, STAGE_KICKER, STAGE_OVER
from ddz_env.engine.legal import legal_mask
from ddz_env.engine.tables import KICKER_ID
from ddz_env.engine.words import PLANE, U0, lowest, remove_hand
from ddz_env.errors import InvalidOptionError
from ddz_env.rules import Rules
from ddz_env.stepping import marked

NO_LABEL = -1
"""The answer where the teacher has none: a half-built move that it would never have built."""

_KICKER = np.uint64(STAGE_KICKER)
_OVER = np.uint64(STAGE_OVER)
_KICKER_BASE = np.uint64(KICKER_ID)


@pure_kernel
def planned_kickers(row: np.ndarray, rules: np.ndarray, mind: Mind, w: np.ndarray) -> np.uint64:
    """The kickers that the rule agent would give the main group of a half-built move, as a hand.

    Args:
        row: The game, at a kicker stage, shape ``[32]``, uint64; unchanged.
        rules: The rules array.
        mind: The agent's memory; its prices are changed.
        w: Its weights.
    """
    look_around(row, rules, mind)
    set_prices(mind, w)
    return choose_kickers(row, row[HANDS + np.int64(row[SEAT])], row[PENDING], rules, mind)


@pure_kernel
def teach_kicker(row: np.ndarray, rules: np.ndarray, mind: Mind, w: np.ndarray, plan: np.ndarray) -> int:
    """The next kicker of a half-built move: of the teacher's plan, or of what it would give another group.

    Args:
        row: The game, at a kicker stage, shape ``[32]``, uint64; unchanged.
        rules: The rules array.
        mind: The teacher's memory.
        w: Its weights.
        plan: Main group and kickers last planned in this game, shape ``[2]``, uint64; changed in place.

    Returns:
        An action id, or ``NO_LABEL``.
    """
    main = row[PENDING]
    if plan[0] != main:
        plan[0], plan[1] = main, planned_kickers(row, rules, mind, w)
    # A hand is planes of thresholds: a part of the plan has no bit that the plan lacks.
    if row[CHOSEN] & ~plan[1] != U0 or row[CHOSEN] == plan[1]:
        return NO_LABEL
    legal_mask(row, rules, mind.mask)
    action = _KICKER_BASE + lowest(remove_hand(plan[1], row[CHOSEN]) & PLANE)
    return int(action) if marked(mind.mask, action) else NO_LABEL


@pure_kernel
def taught_action(row: np.ndarray, rules: np.ndarray, mind: Mind, w: np.ndarray, plan: np.ndarray) -> int:
    """The teacher's action at any stage of one game: an action id, or ``NO_LABEL``.

    Args:
        row: The game, not over, shape ``[32]``, uint64; unchanged.
        rules: The rules array.
        mind: The teacher's memory.
        w: Its weights.
        plan: Main group and kickers last planned in this game, shape ``[2]``, uint64; changed in place.
    """
    if row[STAGE] == _KICKER:
        return teach_kicker(row, rules, mind, w, plan)
    main, kickers = rules_move(row, rules, mind, w)
    plan[0], plan[1] = main, kickers
    return int(main)


@pure_kernel
def teach(
    rows: np.ndarray, rules: np.ndarray, mind: Mind, w: np.ndarray, plans: np.ndarray, actions: np.ndarray
) -> None:
    """Write the teacher's action for every game.

    Args:
        rows: The games, shape ``[n, 32]``, uint64; unchanged.
        rules: The rules array.
        mind: The teacher's memory.
        w: Its weights.
        plans: Main group and kickers last planned in each game, shape ``[n, 2]``, uint64; changed in place.
        actions: Output, shape ``[n]``, int64; ``NO_LABEL`` where the game is over or the teacher has no answer.
    """
    for index in range(rows.shape[0]):
        over = rows[index, STAGE] == _OVER
        actions[index] = NO_LABEL if over else taught_action(rows[index], rules, mind, w, plans[index])


class RulesTeacher:
    """The rule agent in ``n`` games that advance side by side, stage by stage.

    The kickers of a move that it chose itself are those of its plan; if the game took another main group, they are
    those that it would give that group.  A move is finished before another seat acts, so a game needs one plan.  Of the
    rows it reads what the seat to act may know.

    Args:
        num_games: How many games.
        rules: A preset's name or a :class:`~ddz_env.Rules`.

    Attributes:
        plans: Main group and kickers last planned in each game, shape ``[n, 2]``, uint64.

    Raises:
        InvalidRulesError: If the preset is unknown.
    """

    def __init__(self, num_games: int, rules: str | Rules = "standard") -> None:
        self._rule_words = Rules.preset(rules).words()
        self._mind = new_mind()
        self.plans = np.zeros((num_games, 2), np.uint64)

    def labels(self, rows: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
        """The action that the rule agent would take in every game.

        Args:
            rows: The games as they stand, shape ``[n, 32]``, uint64; the same games, in the same order, as before.

        Returns:
            Shape ``[n]``, int64, a new array: action ids, ``NO_LABEL`` where the agent has no answer.

        Raises:
            InvalidOptionError: If the number of games is not the one the teacher was made for.
        """
        if rows.shape[0] != self.plans.shape[0]:
            raise InvalidOptionError(f"the teacher follows {self.plans.shape[0]} games, not {rows.shape[0]}")
        return self.actions(np.arange(len(rows)), rows)

    def actions(self, games: npt.NDArray[np.intp], rows: npt.NDArray[np.uint64], *seen: Any) -> npt.NDArray[np.int64]:
        """The action that the rule agent takes in some games: see :class:`ddz_env.agent.BatchPlayer`.

        Args:
            games: Which of the games they are, shape ``[k]``.
            rows: These games as they stand, shape ``[k, 32]``, uint64.
            *seen: Observations, masks and generators; not used.
        """
        actions, plans = np.empty(len(games), np.int64), self.plans[games]
        teach(rows, self._rule_words, self._mind, WEIGHTS, plans, actions)
        self.plans[games] = plans
        return actions
