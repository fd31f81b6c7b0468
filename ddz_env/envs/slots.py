"""The arrays of games: parts of one array of words, which holds everything that games are and show.

Kernels take this one array.  Numba spends a tenth of a microsecond on every array that Python passes, and a step of one
game takes half of one; games are copied, pickled and restored with it, too.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import config, types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array
from numba.np.numpy_support import from_dtype

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


class _Part(NamedTuple):
    """One part of the words.

    Attributes:
        name: The field of :class:`Slots`.
        shape: Of one game; of all games together where ``shared``.
        dtype: Of the numbers.
        kind: ``SHARED``, of each ``GAME``, or ``WANTED``: a game has as many of these as the maker wants.
        several: Whether a game may have more than one, which then come one by one along an axis of their own.
    """

    name: str
    shape: tuple[int, ...]
    dtype: Any = np.uint64
    kind: int = 2
    several: bool = False

    @property
    def size(self) -> int:
        """Words of one game."""
        return int(np.prod(self.shape))


_SHARED, _GAME, _WANTED = range(3)
_PARTS = (
    _Part("rules", (RULE_WORDS,), kind=_SHARED),
    _Part("terms", (TERMS,), np.int64, _SHARED),
    _Part("rows", (ROW_WORDS,), kind=_GAME),
    _Part("rings", (HISTORY_MOVES, HISTORY_WORDS), kind=_GAME),
    _Part("keys", (5,), kind=_GAME),
    _Part("cells", (9,), np.int64, _GAME),
    _Part("returns", (4,), np.float64, _GAME),
    _Part("bits", (MASK_WORDS,), kind=_GAME),
    _Part("masks", (MASK_BYTE_WORDS,)),
    _Part("observations", (OBSERVATION_WORDS,)),
    _Part("concealed", (CONCEALED_WORDS,)),
    _Part("infos", (WIDTH,), np.int64, several=True),
    _Part("logs", (LOG_MOVES, HISTORY_WORDS)),
    _Part("last_observations", (OBSERVATION_WORDS,)),
    _Part("last_infos", (WIDTH,), np.int64),
)
_COUNTS = 2 + len(_PARTS)
_HEADER = _COUNTS + len(_PARTS)
"""The words begin with the number of games, where each part begins and the last one ends, and how many a game has of
each."""


def allocate(n: int, **wanted: int) -> Words:
    """Zeroed words for ``n`` games.

    Args:
        n: How many games.
        **wanted: How many of an optional part a game has: 1, or of infos one a seat.
    """
    counts = [wanted.get(part.name, 0) if part.kind == _WANTED else 1 for part in _PARTS]
    sizes = [part.size * count * (1 if part.kind == _SHARED else n) for part, count in zip(_PARTS, counts, strict=True)]
    starts = np.cumsum([_HEADER, *sizes])
    words = np.zeros(starts[-1], np.uint64)
    words[0], words[1:_COUNTS], words[_COUNTS:_HEADER] = n, starts, counts
    return words


def _shape(part: _Part, n: Any, count: Any) -> tuple[Any, ...]:
    """The shape of a part as an array; where a game has none of it, its first axis after the games is empty."""
    if part.kind != _WANTED:
        return part.shape if part.kind == _SHARED else (n, *part.shape)
    return (n, count, *part.shape) if part.several else (n, count * part.shape[0], *part.shape[1:])


def views_of(words: Words) -> Slots:
    """The arrays of games that are the parts of some words (:func:`allocate`)."""
    n, *header = words[:_HEADER].tolist()
    starts, counts = header[: len(_PARTS) + 1], header[len(_PARTS) + 1 :]
    return Slots._make(
        words[start:stop].view(part.dtype).reshape(_shape(part, n, count))
        for part, start, stop, count in zip(_PARTS, starts, starts[1:], counts, strict=False)
    )


@intrinsic  # type: ignore[untyped-decorator]
def slots_of(context: Any, words: Any) -> Any:
    """The same for kernels: arrays made without a call and without counting references."""
    kinds = [types.Array(from_dtype(np.dtype(part.dtype)), len(_shape(part, 0, 0)), "C") for part in _PARTS]
    made = types.NamedTuple(kinds, Slots)

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        whole = make_array(signature.args[0])(context, builder, given[0])

        def constant(number: int) -> Any:
            return context.get_constant(types.intp, number)

        def word(place: int) -> Any:
            return builder.load(builder.gep(whole.data, [constant(place)]))

        def array(place: int, part: _Part, kind: Any) -> Any:
            block = make_array(kind)(context, builder)
            data = builder.bitcast(builder.gep(whole.data, [word(1 + place)]), block.data.type)
            count = word(_COUNTS + place) if part.kind == _WANTED else None
            sides = [constant(side) for side in part.shape]
            strides = [constant(8 * int(np.prod(part.shape[axis:]))) for axis in range(1, len(part.shape) + 1)]
            if part.kind != _SHARED:
                strides = [constant(8 * part.size), *strides]
            if part.several:
                strides = [builder.mul(count, strides[0]), *strides]
                sides = [count, *sides]
            elif count is not None:
                sides[0] = builder.mul(count, sides[0])
            if part.kind != _SHARED:
                sides = [word(0), *sides]
            populate_array(block, data, sides, strides, constant(8), None)
            return block._getvalue()

        parts = [array(place, part, kind) for place, (part, kind) in enumerate(zip(_PARTS, kinds, strict=True))]
        return context.make_tuple(builder, made, parts)

    return made(words), generate


if config.DISABLE_JIT:  # kernels run as plain Python
    slots_of = views_of
