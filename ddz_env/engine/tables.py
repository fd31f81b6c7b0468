"""The action table as arrays for kernels.  Numba freezes them into the compiled code; the cache's stamp sees edits."""

from __future__ import annotations

import numpy as np

from ddz_env.actions import (
    BID_BASE,
    BOMB_CATEGORY,
    CATEGORIES,
    DOUBLE_BASE,
    KICKER_BASE,
    MAIN_GROUPS,
    MAIN_IDS,
    NUM_ACTIONS,
    NUM_SEGMENTS,
    ROCKET_CATEGORY,
    SEGMENTS,
)

_BY_NAME = {category.name: index for index, category in enumerate(CATEGORIES)}


def _column(name: str) -> np.ndarray:
    return np.array([getattr(segment, name) for segment in SEGMENTS], np.uint64)


def _first_segment(category: int) -> np.int64:
    """A typed constant: Numba would compile a kernel anew for every literal integer that it is called with."""
    return np.int64(next(index for index, segment in enumerate(SEGMENTS) if segment.category == category))


SEGMENT_CATEGORY = _column("category")
SEGMENT_BASE = _column("base")
SEGMENT_SIZE = _column("size")
SEGMENT_LENGTH = _column("length")
SEGMENT_COPIES = _column("copies")
SEGMENT_KICKER_SIZE = _column("kicker_size")
SEGMENT_KICKER_COUNT = _column("kicker_count")
SEGMENT_CARDS = _column("cards")
SEGMENT_WEIGHT = _column("weight")
MAIN_SEGMENT = np.array([group.segment for group in MAIN_GROUPS], np.uint64)

MASK_WORDS = (NUM_ACTIONS + 63) // 64
N_SEGMENTS = np.int64(NUM_SEGMENTS)

SEG_SOLO = _first_segment(_BY_NAME["solo"])
SEG_PAIR = _first_segment(_BY_NAME["pair"])
SEG_TRIO = _first_segment(_BY_NAME["trio"])
SEG_TRIO_SOLO = _first_segment(_BY_NAME["trio+solo"])
SEG_TRIO_PAIR = _first_segment(_BY_NAME["trio+pair"])
SEG_BOMB = _first_segment(BOMB_CATEGORY)
SEG_ROCKET = _first_segment(ROCKET_CATEGORY)
SEG_QUAD_SOLOS = _first_segment(_BY_NAME["quad+2 solos"])
SEG_QUAD_PAIRS = _first_segment(_BY_NAME["quad+2 pairs"])
SEG_SOLO_CHAIN = _first_segment(_BY_NAME["solo chain"])
SEG_PAIR_CHAIN = _first_segment(_BY_NAME["pair chain"])
SEG_PLANE = _first_segment(_BY_NAME["plane"])
SEG_PLANE_SOLOS = _first_segment(_BY_NAME["plane+solos"])
SEG_PLANE_PAIRS = _first_segment(_BY_NAME["plane+pairs"])
SEG_SHUTTLE = _first_segment(_BY_NAME["shuttle"])
SEG_SHUTTLE_SOLOS = _first_segment(_BY_NAME["shuttle+solos"])
SEG_SHUTTLE_PAIRS = _first_segment(_BY_NAME["shuttle+pairs"])

ROCKET_ID = MAIN_IDS[(ROCKET_CATEGORY, 13, 1)]
BOMB_ID = MAIN_IDS[(BOMB_CATEGORY, 0, 1)]
KICKER_ID = KICKER_BASE
BID_ID = BID_BASE
DOUBLE_ID = DOUBLE_BASE
