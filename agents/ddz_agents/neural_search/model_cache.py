"""A cache of a model's outputs within one decision, in which most positions recur.

Determinizations differ in hands that many positions do not see, several trees search the same ones, and what the policy
plays on from neighbouring leaves soon meets.  In a decision of the default search fewer than half of the positions are
different ones.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ddz_agents.neural.model import Bytes, Floats, GameCritic, PolicyModel
from ddz_env.support.arrays import WritableAfterUnpickling

ROOM = 1 << 13
"""Positions that are kept; when there are more, all are forgotten."""


class _AnswerCache(WritableAfterUnpickling):
    """A cache from encoded positions to a model's outputs, emptied when it is full."""

    def __init__(self) -> None:
        self._rows: dict[bytes, int] = {}
        self._columns: list[Floats] = []

    def forget(self) -> None:
        """Empty the cache, so that every position is evaluated anew."""
        self._rows = {}

    def look_up(self, positions: Bytes, evaluate: Callable[[npt.NDArray[np.intp]], tuple[Floats, ...]]) -> list[Floats]:
        """Return a model's outputs for a batch of encoded positions, evaluating each new position once.

        Args:
            positions: Everything that an answer depends on, shape ``[n, bytes]``, int8.
            evaluate: Answers for some of the rows.
        """
        keys = positions.view(f"V{positions.shape[1]}").ravel().tolist()
        if len(self._rows) + len(keys) > ROOM:
            self.forget()
        new = {key: place for place, key in enumerate(keys) if key not in self._rows}
        if new:
            answers, first = evaluate(np.fromiter(new.values(), np.intp)), len(self._rows)
            if not self._columns or len(self._columns[0]) < len(keys):
                size = max(ROOM, len(keys))
                self._columns = [np.empty((size, *answer.shape[1:]), answer.dtype) for answer in answers]
            for column, answer in zip(self._columns, answers, strict=True):
                column[first : first + len(new)] = answer
            self._rows.update(zip(new, range(first, first + len(new)), strict=True))
        rows = np.fromiter(map(self._rows.__getitem__, keys), np.intp, len(keys))
        return [column[rows] for column in self._columns]


class CachedModel:
    """A model that evaluates each position only once, until :meth:`forget` is called.

    Args:
        model: The model; its answers for a row are taken not to depend on the other rows.
    """

    def __init__(self, model: PolicyModel) -> None:
        self._model, self._policy, self._critic = model, _AnswerCache(), _AnswerCache()
        self.leaf = model.leaf

    def forget(self) -> None:
        """Empty the caches of the policy and the critic, so that every position is evaluated anew."""
        self._policy.forget()
        self._critic.forget()

    def evaluate(self, observations: Bytes, masks: Bytes) -> tuple[Floats, Floats]:
        """Return log-probabilities and values as the model does, evaluating each position only once."""
        positions = np.concatenate([observations, masks], axis=1)
        logs, values = self._policy.look_up(positions, lambda new: self._model.evaluate(observations[new], masks[new]))
        return logs, values

    def value_of_games(self, observations: Bytes, masks: Bytes, concealed: Bytes) -> Floats:
        """Return the critic's values of games as the model does, evaluating each game only once."""
        model = self._model
        assert isinstance(model, GameCritic)
        positions = np.concatenate([observations, concealed], axis=1)
        values, *_ = self._critic.look_up(
            positions, lambda new: (model.value_of_games(observations[new], masks[new], concealed[new]),)
        )
        return values
