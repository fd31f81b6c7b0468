"""Opponents that answer in many games at once: the rule agent in one compiled call, a past self in one forward pass."""

from __future__ import annotations

import copy
import time
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from agents.neural.policy import Bytes
from agents.neural.sb3_policy import SB3Policy
from agents.neural.teacher import teach
from agents.neural.tensor_file import Arrays
from agents.rule_agent.mind import new_mind
from agents.rule_agent.weights import WEIGHTS
from ddz_env.rules import Rules
from training.ppo.past_selves import PastSelves
from training.ppo.sampling import draw_actions

if TYPE_CHECKING:
    from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy

Actions = npt.NDArray[np.int64]


class Player(Protocol):
    """Plays all opponents of a batch of games, stage by stage."""

    def actions(
        self, games: npt.NDArray[np.intp], rows: npt.NDArray[np.uint64], observations: Bytes, masks: Bytes
    ) -> Actions:
        """Choose a legal action in each of ``k`` games in which an opponent is to act.

        Args:
            games: Which games of the batch they are, shape ``[k]``, ascending.
            rows: The engine's rows, shape ``[k, 32]``, uint64: hidden cards included.
            observations: What the seats to act see, shape ``[k, OBSERVATION_SIZE]``, int8.
            masks: Shape ``[k, 400]``, int8.

        Returns:
            Action ids, shape ``[k]``, int64.
        """
        ...


class RulesPlayer:
    """The agent ``rules``.  It is handed the rows, but reads of them what its seat may know.

    Args:
        num_games: How many games the batch has.
        rules: Their rules.
    """

    def __init__(self, num_games: int, rules: Rules) -> None:
        self._words = rules.words()
        self._mind = new_mind()
        self._plans = np.zeros((num_games, 2), np.uint64)

    def actions(
        self, games: npt.NDArray[np.intp], rows: npt.NDArray[np.uint64], observations: Bytes, masks: Bytes
    ) -> Actions:
        """See :class:`Player`.  A move is finished before another seat acts, so a game needs one plan."""
        plans, found = self._plans[games], np.empty(len(games), np.int64)
        teach(rows, self._words, self._mind, WEIGHTS, plans, found)
        self._plans[games] = plans
        return found


class PastSelf:
    """A frozen past self: one of the snapshots of the policy that is being trained, drawn anew for every rollout.

    Args:
        size: How many snapshots are kept, a uniform sample of all so far.
        seed: Seed of its actions and of the choice of snapshots.

    Attributes:
        pool: The snapshots.
        seconds: What its forward passes have taken so far.
    """

    def __init__(self, size: int, seed: int) -> None:
        self.pool = PastSelves(size)
        self.seconds = 0.0
        self._rng = np.random.default_rng([seed, 2])
        self._model: SB3Policy | None = None

    def offer(self, policy: MaskableActorCriticPolicy) -> None:
        """Take a snapshot of the policy."""
        self.pool.offer(policy, self._rng)

    def renew(self, policy: MaskableActorCriticPolicy) -> None:
        """Become one of the snapshots.

        Args:
            policy: The policy that learns; it is the first snapshot if there is none yet.
        """
        if self._model is None:
            self._model = SB3Policy(copy.deepcopy(policy).to("cpu"))
        if not self.pool.members:
            self.offer(policy)
        self.pool.draw(self._model.policy, self._rng)

    def restore(self, arrays: Arrays, about: dict[str, Any], policy: MaskableActorCriticPolicy, where: str) -> None:
        """Continue with saved snapshots.

        Args:
            arrays: As from ``pool.arrays()``.
            about: ``{"members": ..., "offered": ...}``.
            policy: The policy that learns.
            where: Names the file in messages.

        Raises:
            TensorFileMismatchError: If a snapshot is missing or does not fit.
        """
        self._model = SB3Policy(copy.deepcopy(policy).to("cpu"))
        self.pool.restore(arrays, about, self._model.policy, where)

    def actions(
        self, games: npt.NDArray[np.intp], rows: npt.NDArray[np.uint64], observations: Bytes, masks: Bytes
    ) -> Actions:
        """See :class:`Player`.  The network is not asked where there is one legal action, nor before :meth:`renew`."""
        began = time.perf_counter()
        draws = self._rng.random(len(games))
        counts = np.count_nonzero(masks, axis=1)
        found: Actions = masks.argmax(axis=1).astype(np.int64)
        choice = np.flatnonzero(counts > 1)
        if len(choice):
            legal = masks[choice]
            if self._model is None:
                with np.errstate(divide="ignore"):
                    table = np.log(legal / counts[choice, None]).astype(np.float32)
            else:
                table = self._model.log_probabilities(observations[choice], legal)
            drawn = np.empty(len(choice), np.int64)
            draw_actions(table, draws[choice], drawn, np.empty(len(choice), np.float32))
            found[choice] = drawn
        self.seconds += time.perf_counter() - began
        return found
