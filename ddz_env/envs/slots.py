"""The arrays of games: parts of one array of words, which holds everything that games are and show.

Kernels take this one array.  Numba spends a tenth of a microsecond on every array that Python passes, and a step of one
game takes half of one; games are copied, pickled and restored with it, too.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

from ddz_env.core.engine.compiling import inline_kernel
from ddz_env.core.engine.layout import HISTORY_MOVES, HISTORY_WORDS, ROW_WORDS
from ddz_env.core.engine.tables import MASK_WORDS
from ddz_env.core.observation import CONCEALED_WORDS, MASK_BYTE_WORDS, OBSERVATION_WORDS
from ddz_env.core.rules import RULE_WORDS
from ddz_env.envs.outputs import WIDTH

Words = npt.NDArray[np.uint64]

LOG_MOVES = 256
"""Completed moves a log holds.  54 cards are at most 54 plays with two passes after each, and an auction."""

ROLE, SCORING, PEASANT_REWARD, STRIDE, RENEWS, KINDS = range(6)
"""Terms: the learner's role, the number of the scoring, what a peasant wins (the bits of a float64), by how much the
number of a slot's game grows, whether the step that ends a game deals the next one, and how the opponent of each of
three roles is played."""

TERMS = 8

SEED, NUMBER, STREAM, MAIN, KICKERS = range(5)
"""Keys of a game: its seed, its number under that seed, the state of its random generator (the opponents', or that of
sampled actions), and an opponent's answer: main id and kickers, or the action id of a single stage and 0."""

LEARNER, ACTING, ACTING_ROLE, STATUS, DECIDED, ENDED, ILLEGAL, ORDER, ACTION = range(9)
"""Cells of a game: the learner's seat, the seat to act and its role (3 none yet), what the game waits for, whether the
learner has decided anything in it, whether the last step ended a game, whether the learner's last action was illegal,
what to do next, and the learner's action."""

OWN = 3
"""The learner's own return, behind those of the seats."""


class Slots(NamedTuple):
    """The arrays of ``n`` games.

    Attributes:
        rules: The rules array, shape ``[18]``, uint64.
        terms: What else stays the same (``ROLE`` ...), shape ``[8]``, int64.
        rows: The games as the engine holds them, shape ``[n, 32]``, uint64.
        rings: Their recent moves, shape ``[n, 16, 2]``, uint64.
        keys: Shape ``[n, 5]``, uint64 (``SEED`` ...).
        cells: Shape ``[n, 9]``, int64 (``LEARNER`` ...).
        returns: Of the game that the last step ended, by seat, and the learner's own; shape ``[n, 4]``, float64.
        bits: Masks as bits, shape ``[n, 7]``, uint64.
        masks: Masks as bytes, shape ``[n, 50]``, uint64.
        observations: Shape ``[n, OBSERVATION_WORDS]``, uint64.
        concealed: Shape ``[n, CONCEALED_WORDS]``, uint64.
        infos: Of all seats or of the learner, shape ``[n, seats, WIDTH]``, int64 (:mod:`ddz_env.envs.outputs`).
        logs: All moves, shape ``[n, 256, 2]``, uint64.
        last_observations: What the learner saw at the end of the game that ended last, where the step that ends one
            deals the next; shape ``[n, OBSERVATION_WORDS]``, uint64.
        last_infos: Its info then, shape ``[n, WIDTH]``, int64.

    From ``masks`` on, parts that are not wanted have no words: shape ``[n, 0]``.
    """

    rules: Any
    terms: Any
    rows: Any
    rings: Any
    keys: Any
    cells: Any
    returns: Any
    bits: Any
    masks: Any
    observations: Any
    concealed: Any
    infos: Any
    logs: Any
    last_observations: Any
    last_infos: Any


_SHARED = (RULE_WORDS, TERMS)
_GAME = (ROW_WORDS, HISTORY_MOVES * HISTORY_WORDS, 5, 9, 4, MASK_WORDS)
_WANTED = {
    "masks": MASK_BYTE_WORDS,
    "observations": OBSERVATION_WORDS,
    "concealed": CONCEALED_WORDS,
    "infos": WIDTH,
    "logs": LOG_MOVES * HISTORY_WORDS,
    "last_observations": OBSERVATION_WORDS,
    "last_infos": WIDTH,
}
"""Words of the parts in their order: of all games together, of each game, and of each game where they are wanted."""

_HEADER = len(Slots._fields) + 2


def allocate(n: int, **wanted: int) -> Words:
    """Zeroed words for ``n`` games; they begin with their number and where each part begins.

    Args:
        n: How many games.
        **wanted: How many of an optional part a game has: 1, or of infos one a seat.
    """
    each = *_GAME, *(words * wanted.get(name, 0) for name, words in _WANTED.items())
    starts = np.cumsum([_HEADER, *_SHARED, *(n * words for words in each)])
    words = np.zeros(starts[-1], np.uint64)
    words[0], words[1:_HEADER] = n, starts
    return words


@intrinsic  # type: ignore[untyped-decorator]
def _block(context: Any, words: Any, start: Any, shape: Any) -> Any:
    """A part of the words as an array of some shape, made without a call and without counting references."""
    made = types.Array(types.uint64, shape.count, "C")

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        whole = make_array(signature.args[0])(context, builder, given[0])
        block = make_array(made)(context, builder)
        sides, size = cgutils.unpack_tuple(builder, given[2]), context.get_constant(types.intp, 8)
        strides = [size]
        for side in sides[:0:-1]:
            strides.insert(0, builder.mul(strides[0], side))
        populate_array(block, builder.gep(whole.data, [given[1]]), sides, strides, size, None)
        return block._getvalue()

    return made(words, start, shape), generate


def _plain_block(words: Words, start: int, shape: tuple[int, ...]) -> Words:
    """The same without Numba (``NUMBA_DISABLE_JIT``)."""
    return words[start : start + math.prod(shape)].reshape(shape)


if config.DISABLE_JIT:
    _block = _plain_block


@inline_kernel
def slots_of(words: np.ndarray) -> Slots:
    """The arrays of games that are the parts of some words (:func:`allocate`), for kernels."""
    n = np.int64(words[0])

    def start(part: int) -> Any:
        return np.int64(words[part])

    def rows(part: int) -> Any:
        return _block(words, start(part), (n, (start(part + 1) - start(part)) // n))

    infos, logs = (start(13) - start(12)) // (n * WIDTH), (start(14) - start(13)) // (n * HISTORY_WORDS)
    return Slots(
        _block(words, start(1), (RULE_WORDS,)),
        _block(words, start(2), (TERMS,)).view(np.int64),
        rows(3),
        _block(words, start(4), (n, HISTORY_MOVES, HISTORY_WORDS)),
        rows(5),
        rows(6).view(np.int64),
        rows(7).view(np.float64),
        rows(8),
        rows(9),
        rows(10),
        rows(11),
        _block(words, start(12), (n, infos, WIDTH)).view(np.int64),
        _block(words, start(13), (n, logs, HISTORY_WORDS)),
        rows(14),
        rows(15).view(np.int64),
    )


_KINDS = {"terms": np.int64, "cells": np.int64, "returns": np.float64, "infos": np.int64, "last_infos": np.int64}
_SHAPES = {"rings": (HISTORY_MOVES, HISTORY_WORDS), "infos": (-1, WIDTH), "logs": (-1, HISTORY_WORDS)}


def views_of(words: Words) -> Slots:
    """The same for Python."""
    n, starts = int(words[0]), words[1:_HEADER].astype(np.int64)
    parts = []
    for place, name in enumerate(Slots._fields):
        part = words[starts[place] : starts[place + 1]].view(_KINDS.get(name, np.uint64))
        each = (-1,) if place < len(_SHARED) else (n, *_SHAPES.get(name, (len(part) // n,)))
        parts.append(part.reshape(each))
    return Slots(*parts)
