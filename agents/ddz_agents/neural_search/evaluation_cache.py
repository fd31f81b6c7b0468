"""What a model has said of a position is kept until the next decision: most positions of a search come back.

Determinizations differ in hands that many positions do not see, several trees search the same ones, and what the policy
plays on from neighbouring leaves soon meets.  In a decision of the default search fewer than half of the positions are
different ones.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ddz_agents.neural.model import Bytes, Floats, PolicyModel
from ddz_agents.neural_search.leaves import GameCritic
from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.core.engine.compiling import kernel
from ddz_env.core.engine.random import mix
from ddz_env.core.engine.words import U0
from ddz_env.core.observation import CONCEALED_WORDS, MASK_BYTE_WORDS, OBSERVATION_WORDS
from ddz_env.core.owned import OwnsArrays

ROOM = 1 << 13
"""Positions that are kept; when there are more, all are forgotten."""


@kernel
def _number(wanted: np.ndarray, places: np.ndarray, keys: np.ndarray, used: int, out: np.ndarray) -> int:
    """Number keys, in a hash table with open addressing; one that is new gets the next number.

    Args:
        wanted: Shape ``[n, words]``, uint64.
        places: Number of a key plus one by its hash, 0 where there is none, shape ``[2 * ROOM]``, int32.
        keys: Keys numbered before, shape ``[ROOM, words]``, uint64; there is room for ``n`` more.
        used: How many.
        out: Output, shape ``[2, n]``, int64: the numbers, and the places of those that are new, each once.

    Returns:
        How many keys the table holds now.
    """
    last, before, numbers, new = places.size - 1, used, out[0], out[1]
    for index in range(wanted.shape[0]):
        state = U0
        for word in range(wanted.shape[1]):
            state = mix(state ^ wanted[index, word])
        place = np.int64(state) & last
        while True:
            number = np.int64(places[place]) - 1
            if number < 0:
                places[place] = used + 1
                keys[used] = wanted[index]
                new[used - before] = index
                number = used
                used += 1
                break
            same = True
            for word in range(wanted.shape[1]):
                same &= keys[number, word] == wanted[index, word]
            if same:
                break
            place = (place + 1) & last
        numbers[index] = number
    return used


class _Answers(OwnsArrays):
    """Answers by position.

    Args:
        words: Of a position.
        *shapes: Of each answer.
    """

    def __init__(self, words: int, *shapes: tuple[int, ...]) -> None:
        self._places, self._keys, self._used = np.zeros(2 * ROOM, np.int32), np.empty((ROOM, words), np.uint64), 0
        self._kept = [np.empty((ROOM, *shape), np.float32) for shape in shapes]

    def forget(self) -> None:
        """Begin anew."""
        self._places[:] = 0
        self._used = 0

    def number(self, *parts: npt.NDArray[np.uint64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The numbers of positions, and the places of those that are new, each once."""
        wanted = np.concatenate(parts, axis=1)
        if self._used + len(wanted) > ROOM:
            self.forget()
        found, before = np.empty((2, len(wanted)), np.int64), self._used
        self._used = int(_number(wanted, self._places, self._keys, before, found))
        return found[0], found[1, : self._used - before]

    def keep(self, numbers: npt.NDArray[np.int64], *answers: Floats) -> None:
        """Remember answers, in the order of the shapes."""
        for kept, answer in zip(self._kept, answers, strict=True):
            kept[numbers] = answer

    def of(self, numbers: npt.NDArray[np.int64]) -> list[Floats]:
        """The answers for positions that are all known."""
        return [kept[numbers] for kept in self._kept]


class CachedModel:
    """A model that evaluates each position once, until :meth:`forget`.

    Args:
        model: The model; its answers for a row are taken not to depend on the other rows.
    """

    def __init__(self, model: PolicyModel) -> None:
        self._model = model
        self._policy = _Answers(OBSERVATION_WORDS + MASK_BYTE_WORDS, (NUM_ACTIONS,), ())
        self._critic = _Answers(OBSERVATION_WORDS + CONCEALED_WORDS, ())

    def forget(self) -> None:
        """Forget all answers."""
        self._policy.forget()
        self._critic.forget()

    def evaluate(self, observations: Bytes, masks: Bytes) -> tuple[Floats, Floats]:
        """As :meth:`ddz_agents.neural.model.PolicyModel.evaluate`."""
        if len(observations) > ROOM:
            return self._model.evaluate(observations, masks)
        numbers, new = self._policy.number(_words(observations), _words(masks))
        if len(new):
            self._policy.keep(numbers[new], *self._model.evaluate(observations[new], masks[new]))
        logs, values = self._policy.of(numbers)
        return logs, values

    def value_of_games(self, observations: Bytes, masks: Bytes, concealed: Bytes) -> Floats:
        """As :meth:`ddz_agents.neural_search.leaves.GameCritic.value_of_games`; the legal actions do not count."""
        assert isinstance(self._model, GameCritic)
        if len(observations) > ROOM:
            return self._model.value_of_games(observations, masks, concealed)
        numbers, new = self._critic.number(_words(observations), _words(concealed))
        if len(new):
            self._critic.keep(numbers[new], self._model.value_of_games(observations[new], masks[new], concealed[new]))
        return self._critic.of(numbers)[0]


def _words(vectors: Bytes) -> npt.NDArray[np.uint64]:
    return np.ascontiguousarray(vectors).view(np.uint64)
