"""The action table as constant arrays, which Numba compiles into the functions that use them."""

from __future__ import annotations

import numpy as np

from ddz_env.core import actions
from ddz_env.core.cards import BLACK_JOKER, MAX_HAND, counts_to_word
from ddz_env.core.engine.layout import BOMBS_ONLY

if actions.NUM_SEGMENTS > 64 or actions.NUM_MAIN > BOMBS_ONLY:  # pragma: no cover
    raise ImportError(
        "the action table is too large for the rules array: it has at most 64 segments, and main ids below BOMBS_ONLY"
    )


def _segment_column(name: str) -> np.ndarray:
    return np.array([getattr(segment, name) for segment in actions.SEGMENTS], np.uint64)


SEGMENT_BASE = _segment_column("base")
SEGMENT_SIZE = _segment_column("size")
SEGMENT_LENGTH = _segment_column("length")
SEGMENT_COPIES = _segment_column("copies")
SEGMENT_KICKER_SIZE = _segment_column("kicker_size")
SEGMENT_KICKER_COUNT = _segment_column("kicker_count")
SEGMENT_CARDS = _segment_column("cards")
SEGMENT_WEIGHT = _segment_column("weight")
MAIN_SEGMENT = np.array([group.segment for group in actions.MAIN_GROUPS], np.uint64)
MAIN_CARDS = np.array([counts_to_word(group.need) for group in actions.MAIN_GROUPS], np.uint64)
"""The bodies as hands."""
BODY_COPIES = np.array([max(segment.copies, 1) for segment in actions.SEGMENTS], np.uint64)
"""Cards of each rank in a segment's body: one in the rocket's, whose ``SEGMENT_COPIES`` is 0."""


def _body_shape(category: actions.Category) -> tuple[int, int]:
    return category.copies, category.lengths[0]


_RANKED = sorted((category for category in actions.CATEGORIES if category.copies), key=_body_shape)
_SHAPES = sorted({_body_shape(category) for category in _RANKED})
CATEGORY_FIRST = np.array([actions.segments_of(category.name).start for category in _RANKED], np.int64)
"""First segment of each category that has ranks, by cards of a rank in the body."""
CATEGORY_STOP = np.array([actions.segments_of(category.name).stop for category in _RANKED], np.int64)
"""The end of its segments."""
COPIES_STOP = np.array([sum(category.copies <= copies for category in _RANKED) for copies in range(5)], np.int64)
"""How many of these categories have bodies of at most 0..4 cards per rank."""
SHAPE_STOP = np.array([0, *(sum(_body_shape(other) <= shape for other in _RANKED) for shape in _SHAPES)], np.int64)
"""How many of them have bodies up to a *shape*: cards per rank and shortest chain.  Those of one shape start alike."""
SHAPE_COPIES = np.array([copies for copies, _ in _SHAPES], np.uint64)
SHAPE_LENGTH = np.array([length for _, length in _SHAPES], np.uint64)
SHAPE_LENGTHS = np.array(
    [max(len(category.lengths) for category in _RANKED if _body_shape(category) == shape) for shape in _SHAPES],
    np.int64,
)
"""How many chain lengths a shape has."""

MASK_WORDS = (actions.NUM_ACTIONS + 63) // 64
"""Words of a mask."""
MAIN_WORDS = (actions.NUM_MAIN + 63) // 64
"""Those that hold main groups."""

# Typed constants: Numba would compile a kernel once more for every literal integer that it is called with.
SEG_BOMB = np.int64(actions.segments_of("bomb").start)
SEG_ROCKET = np.int64(actions.segments_of("rocket").start)
PLANES_WITH_SOLOS, PLANES_WITH_SOLOS_END = (
    np.uint64(bound) for bound in (actions.segments_of("plane+solos").start, actions.segments_of("plane+solos").stop)
)
PLANES_OF_FOUR = np.uint64(actions.MAIN_IDS[(actions.PLANE_CATEGORY, 0, 4)])
"""The first id of the planes of four."""

ROCKET_ID = np.uint64(actions.MAIN_IDS[(actions.ROCKET_CATEGORY, BLACK_JOKER, 1)])
BOMB_ID = np.uint64(actions.MAIN_IDS[(actions.BOMB_CATEGORY, 0, 1)])
KICKER_ID = np.uint64(actions.KICKER_BASE)
BID_ID = np.uint64(actions.BID_BASE)
DOUBLE_ID = np.uint64(actions.DOUBLE_BASE)


def _make_mask(ids: list[int]) -> np.ndarray:
    """Return a mask of 64-bit words in which the bits of the given action ids are set."""
    mask = np.zeros(MASK_WORDS, np.uint64)
    for action in ids:
        mask[action // 64] |= np.uint64(1 << action % 64)
    return mask


FINISHING = np.array(
    [
        _make_mask([group.id for group in actions.MAIN_GROUPS[1:] if group.cards == cards])
        for cards in range(MAX_HAND + 1)
    ]
)
"""The masks of the main groups that use up a hand, by its number of cards."""
WITH_KICKERS = _make_mask([group.id for group in actions.MAIN_GROUPS if group.kicker_count])
"""The mask of the main groups that take kickers."""
