"""The rule agent stage by stage: what it would do in many games, in one compiled call.

So it answers as an opponent in a learner's environment, and labels decisions as a teacher.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ddz_agents.rules.mind import Mind, new_mind
from ddz_agents.rules.rules import next_action
from ddz_agents.rules.weights import WEIGHTS
from ddz_env.core.engine.compiling import pure_kernel
from ddz_env.core.engine.layout import CHOSEN, STAGE, STAGE_KICKER, STAGE_OVER
from ddz_env.core.engine.legal import legal_mask
from ddz_env.core.engine.words import U0
from ddz_env.core.errors import InvalidOptionError
from ddz_env.core.owned import OwnsArrays
from ddz_env.core.rules import Rules
from ddz_env.envs.stepping import marked

NO_LABEL = -1
"""The answer where the teacher has none: a half-built move that it would never have built."""


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
    action = next_action(row, rules, mind, w, plan)
    if row[STAGE] == STAGE_KICKER:
        # A hand is planes of thresholds: a part of the plan has no bit that the plan has not.
        if row[CHOSEN] & ~plan[1] != U0 or row[CHOSEN] == plan[1]:
            return NO_LABEL
        legal_mask(row, rules, mind.mask)
        if not marked(mind.mask, action):
            return NO_LABEL
    return int(action)


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
        over = rows[index, STAGE] == STAGE_OVER
        actions[index] = NO_LABEL if over else taught_action(rows[index], rules, mind, w, plans[index])


class RulesTeacher(OwnsArrays):
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
        """The action that the rule agent takes in some games: see :class:`ddz_env.playing.agent.BatchPlayer`.

        Args:
            games: Which of the games they are, shape ``[k]``.
            rows: These games as they stand, shape ``[k, 32]``, uint64.
            *seen: Observations, masks and generators; not used.
        """
        actions, plans = np.empty(len(games), np.int64), self.plans[games]
        teach(rows, self._rule_words, self._mind, WEIGHTS, plans, actions)
        self.plans[games] = plans
        return actions
