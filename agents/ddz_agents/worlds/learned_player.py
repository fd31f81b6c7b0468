"""A learned policy as a player model: its probabilities are the likelihoods of observed moves.

A network takes some twenty microseconds per position, the rule agent's table a fifth of that, so weigh few particles
with it.  Where a particle leaves the seat no choice, its move says nothing and is not evaluated.
"""

from __future__ import annotations

import numpy as np

from ddz_agents.neural.model import Bytes, PolicyModel
from ddz_agents.worlds.determinize import Reals, Words
from ddz_env.core.engine.step import apply_action
from ddz_env.core.engine.tables import MASK_WORDS
from ddz_env.core.notation import Move
from ddz_env.core.observation import MASK_BYTE_WORDS, OBSERVATION_WORDS, mask_bytes, write_mask, write_observation
from ddz_env.core.rules import Rules
from ddz_env.support.compiling import kernel

_UNIFORM = 0.02
"""The share of decisions in which a seat plays any legal action: the floor under every likelihood."""
_MOST_AT_ONCE = 4096
"""The most positions per call of the policy, which describes every legal action of each."""


@kernel
def _write_observations(
    rows: np.ndarray, ring: np.ndarray, rules: np.ndarray, seat: np.uint64, observations: np.ndarray, masks: np.ndarray
) -> None:
    """Write a seat's observation and legal actions in each of several games."""
    mask = np.empty(MASK_WORDS, np.uint64)
    for index in range(rows.shape[0]):
        write_observation(rows[index], ring, rules, seat, observations[index])
        write_mask(rows[index], rules, mask, masks[index])


@kernel
def _play_action(rows: np.ndarray, rules: np.ndarray, action: np.uint64) -> None:
    for index in range(rows.shape[0]):
        apply_action(rows[index], action, rules)


class LearnedPlayer:
    """A model of a seat that plays by a learned policy but sometimes takes a random legal action.

    Args:
        policy: The policy.
    """

    def __init__(self, policy: PolicyModel) -> None:
        self.policy = policy

    def log_likelihood(self, rows: Words, rules: Rules, seat: int, move: Move, ring: Words) -> Reals:
        """Return a move's log-probability in each position (see :class:`~ddz_agents.worlds.history.PlayerModel`).

        Args:
            rows: Full rows, shape ``[n, 32]``, uint64.
            rules: The rules.
            seat: The seat to act.
            move: What it played.
            ring: The moves before it, shape ``[16, 2]``, uint64.

        Returns:
            Shape ``[n]``, float64.
        """
        words = rules.words()
        games = rows.copy()
        total = np.zeros(len(rows))
        for action in move.actions:
            observations = np.zeros((len(games), OBSERVATION_WORDS), np.uint64)
            masks = np.zeros((len(games), MASK_BYTE_WORDS), np.uint64)
            _write_observations(games, ring, words, np.uint64(seat), observations, masks)
            total += self._log_probabilities(observations.view(np.int8), mask_bytes(masks), action)
            _play_action(games, words, np.uint64(action))
        return total

    def _log_probabilities(self, observations: Bytes, masks: Bytes, action: int) -> Reals:
        """Return an action's log-probability in each position, with a small uniform part, shape ``[n]``."""
        legal = masks.sum(axis=1, dtype=np.int64)
        logs = np.zeros(len(masks))
        unforced = np.flatnonzero((legal > 1) | (masks[:, action] == 0))
        for first in range(0, len(unforced), _MOST_AT_ONCE):
            rows = unforced[first : first + _MOST_AT_ONCE]
            answers, _ = self.policy.evaluate(observations[rows], masks[rows])
            chances = np.exp(answers[:, action].astype(np.float64))
            logs[rows] = np.log((1 - _UNIFORM) * chances + _UNIFORM / legal[rows])
        return logs
