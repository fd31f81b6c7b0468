"""A frozen past self as an opponent: one forward pass answers for all games that wait."""

from __future__ import annotations

import copy
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ddz_agents.neural.agent import ModelAgent
from ddz_agents.neural.model import Bytes, Floats
from ddz_agents.neural.sb3_policy import SB3Policy
from ddz_agents.neural.tensor_file import Arrays
from ddz_env.core.rules import Rules
from ddz_env.playing.agent import BatchPlayer
from ddz_training.learn.ppo.kernels import drawn
from ddz_training.learn.ppo.opponents import PastSelves

if TYPE_CHECKING:
    from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy


class _Uniform:
    """The policy of a past self that is none yet."""

    def evaluate(self, observations: Bytes, masks: Bytes) -> tuple[Floats, Floats]:
        return self.log_probabilities(observations, masks), np.zeros(len(masks), np.float32)

    def log_probabilities(self, observations: Bytes, masks: Bytes) -> Floats:
        with np.errstate(divide="ignore"):
            found: Floats = np.log(masks / np.count_nonzero(masks, axis=1)[:, None]).astype(np.float32)
        return found


class PastSelf(ModelAgent):
    """One of the snapshots of the policy that is being trained, drawn anew for every rollout.

    Args:
        size: How many snapshots are kept, a uniform sample of all so far.
        seed: Seed of its actions and of the choice of snapshots.

    Attributes:
        pool: The snapshots.
        seconds: What its forward passes have taken so far.
    """

    model: SB3Policy | _Uniform

    def __init__(self, size: int, seed: int) -> None:
        super().__init__(_Uniform(), temperature=1.0, name="self")
        self.pool = PastSelves(size)
        self.seconds = 0.0
        self._rng = np.random.default_rng([seed, 2])

    def offer(self, policy: MaskableActorCriticPolicy) -> None:
        """Take a snapshot of the policy."""
        self.pool.offer(policy, self._rng)

    def renew(self, policy: MaskableActorCriticPolicy) -> None:
        """Become one of the snapshots.

        Args:
            policy: The policy that learns; it is the first snapshot if there is none yet.
        """
        if not self.pool.members:
            self.offer(policy)
        self.pool.draw(self._copied(policy).policy, self._rng)

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
        self.pool.restore(arrays, about, self._copied(policy).policy, where)

    def _copied(self, policy: MaskableActorCriticPolicy) -> SB3Policy:
        if not isinstance(self.model, SB3Policy):
            self.model = SB3Policy(copy.deepcopy(policy).to("cpu"))
        return self.model

    def batched(self, num_games: int, rules: Rules) -> BatchPlayer:
        """Itself: all its games draw from one generator."""
        return self

    def actions(
        self, games: npt.NDArray[np.intp], rows: npt.NDArray[np.uint64], observations: Bytes, masks: Bytes, rngs: Any
    ) -> npt.NDArray[np.int64]:
        """See :class:`ddz_env.playing.agent.BatchPlayer`.  The network is not asked where there is one legal action."""
        began = time.perf_counter()
        draws = self._rng.random(len(games))
        found: npt.NDArray[np.int64] = masks.argmax(axis=1)
        choice = np.flatnonzero(np.count_nonzero(masks, axis=1) > 1)
        if len(choice):
            table = self.model.log_probabilities(observations[choice], masks[choice])
            found[choice], _ = drawn(table, draws[choice])
        self.seconds += time.perf_counter() - began
        return found
