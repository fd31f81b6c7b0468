"""The AEC environment with RLCard's 27,472 flat actions, in which every move is a single action.

    >>> from ddz_env.peers import flat_action
    >>> env = flat_action.env(rules="rlcard")
    >>> env.reset(seed=1)
    >>> observation, *_ = env.last()
    >>> observation["action_mask"].shape
    (27472,)

The ids are RLCard's, in RLCard's order (:mod:`ddz_env.peers.rlcard_ids`).  Rules whose moves are all among them work
too; the others (an auction, doubling, shuttles, two jokers as kickers ...) are refused by name.
"""

from __future__ import annotations

import functools
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv, ParallelEnv  # type: ignore[import-untyped]
from pettingzoo.utils import wrappers  # type: ignore[import-untyped]
from pettingzoo.utils.conversions import turn_based_aec_to_parallel  # type: ignore[import-untyped]

from ddz_env.core.actions import CATEGORIES, MAIN_GROUPS
from ddz_env.core.cards import counts_to_word
from ddz_env.core.engine.moves import list_all_moves
from ddz_env.core.notation import Move
from ddz_env.core.rules import Rules
from ddz_env.envs import aec
from ddz_env.envs.aec import Observation
from ddz_env.envs.stepping import ILLEGAL_REWARD
from ddz_env.peers.rlcard_ids import rlcard_actions
from ddz_env.support import errors
from ddz_env.support.arrays import WritableAfterUnpickling
from ddz_env.support.checks import as_integer
from ddz_env.support.errors import short_repr

__all__ = ["FlatActionWrapper", "env", "flat_moves", "raw_env"]


@functools.cache
def flat_moves() -> tuple[Move, ...]:
    """Return the moves of all flat action ids, in id order."""
    return tuple(Move(main, kickers) for main, kickers in rlcard_actions())


@functools.cache
def _ids_by_words() -> dict[tuple[int, int], int]:
    """Map each pair of a main-group id and a hand word of kickers to its flat action id."""
    return {(move.main, counts_to_word(move.kicker_counts)): index for index, move in enumerate(flat_moves())}


def check_rules_covered(rules: Rules) -> None:
    """Reject rules with moves that the flat action table lacks.

    Raises:
        InvalidRulesError: If there are any.
    """
    covered = {CATEGORIES[MAIN_GROUPS[move.main].category].name for move in flat_moves()}
    speaks = rules.bidding != "fixed" or rules.doubling or rules.showing
    beside = rules.kicker_repeat == 3 and rules.kicker_trios != "not-adjacent"
    if speaks or beside or rules.two_jokers or rules.kicker_repeat > 3 or not covered.issuperset(rules.categories):
        raise errors.InvalidRulesError(
            f"RLCard's flat actions lack moves of the {rules.name} rules: bids and answers to doubling, shuttles, two "
            "jokers, four of a rank, or trios next to the body as kickers"
        )


def raw_env(*, rules: str | Rules = "rlcard", **options: Any) -> FlatActionWrapper:
    """Make the unwrapped flat environment, with the arguments of :class:`ddz_env.dou_dizhu_v0.raw_env`.

    Raises:
        InvalidRulesError: If the rules are unknown or not covered.
    """
    return FlatActionWrapper(aec.raw_env(rules=rules, **options))


def env(
    *, rules: str | Rules = "rlcard", illegal_reward: float = ILLEGAL_REWARD, **options: Any
) -> AECEnv[str, Observation, int | None]:
    """Make the flat environment in PettingZoo's wrappers, with the arguments of :func:`ddz_env.dou_dizhu_v0.env`.

    Raises:
        InvalidRulesError: If the rules are unknown or not covered.
    """
    return aec.wrap_env(raw_env(rules=rules, **options), illegal_reward)


def parallel_env(**options: Any) -> ParallelEnv[str, Observation, int | None]:
    """Make the flat environment in PettingZoo's parallel form (:func:`ddz_env.dou_dizhu_v0.parallel_env`).

    Args:
        **options: Those of :func:`env`.

    Raises:
        InvalidRulesError: If the rules are unknown or not covered.
    """
    return turn_based_aec_to_parallel(env(**options))


class FlatActionWrapper(WritableAfterUnpickling, wrappers.BaseWrapper):  # type: ignore[misc]  # PettingZoo ships no types
    """A wrapper in which one action is a whole move, identified by its flat action id.

    ``action_mask`` has shape ``[27472]``, int8; everything else is as in the environment inside.

    Args:
        env: The two-stage environment.

    Raises:
        InvalidRulesError: If its rules have moves that the flat table lacks.
        InvalidOptionError: If it is another environment.
    """

    def __init__(self, env: aec.raw_env) -> None:
        if not isinstance(env, aec.raw_env):
            raise errors.InvalidOptionError(f"the wrapper takes a dou_dizhu_v0.raw_env, not {short_repr(env)}")
        check_rules_covered(env.rules)
        super().__init__(env)
        self.inner = env
        moves = len(flat_moves())
        self._rule_words = env.rules.words()
        self._spaces = {agent: env.form.make_space(moves) for agent in env.possible_agents}
        self._action_spaces = {agent: spaces.Discrete(moves) for agent in env.possible_agents}

    def observation_space(self, agent: str) -> gymnasium.Space[Any]:
        """Return the observation space of an agent, the same object at every call."""
        return self._spaces[agent]

    def action_space(self, agent: str) -> gymnasium.Space[Any]:
        """Return the action space of an agent, the same object at every call."""
        return self._action_spaces[agent]

    def observe(self, agent: str) -> Observation:
        """Return an agent's current observation, with a mask over the flat actions."""
        observed, key = self.inner.observe(agent), self.inner.form.mask_key
        mask = np.zeros(len(flat_moves()), np.int8)
        if observed[key].any():
            mask[self._legal_ids()] = 1
        return observed | {key: mask}

    def step(self, action: int | None) -> None:
        """Play the whole move with the given flat action id.

        Raises:
            GameOverError: If no agent is left.
            InvalidMoveError: If the id does not exist.
            IllegalMoveError: If the move is not legal now.  The game is unchanged.
        """
        inner = self.inner
        if not getattr(inner, "agents", None):
            raise errors.GameOverError("no game is running: call reset first")
        if action is None or inner.terminations[inner.agent_selection]:
            inner.step(action)
            return
        moves = flat_moves()
        number = as_integer(action)
        if number is None or not 0 <= number < len(moves):
            ids = f"flat ids run from 0 to {len(moves) - 1}"
            raise errors.InvalidMoveError(f"action {short_repr(action)} does not exist: {ids}")
        legal = self._legal_ids()
        if number not in legal:
            names = ", ".join(f"{index} ({moves[index]})" for index in sorted(legal)[:12])
            names += f" and {len(legal) - 12} more" if len(legal) > 12 else ""
            raise errors.IllegalMoveError(f"action {number} ({moves[number]}) is not legal; legal are {names}")
        for stage in moves[number].actions:
            inner.step(stage)

    def _legal_ids(self) -> list[int]:
        """Return the flat action ids of the legal moves in the current position."""
        mains, kickers = list_all_moves(self.inner.row, self._rule_words)
        ids = _ids_by_words()
        return [ids[pair] for pair in zip(mains.tolist(), kickers.tolist(), strict=True)]
