"""What is left of a range of deals, as ranges again."""

from __future__ import annotations

import itertools
from collections.abc import Sequence


def stretches(deals: Sequence[int]) -> list[tuple[int, int]]:
    """Ascending deals as stretches without a gap: the first of each and how many there are.

    Example:
        >>> stretches([3, 4, 5, 9])
        [(3, 3), (9, 1)]
    """
    starts = [index for index in range(len(deals)) if index == 0 or deals[index] != deals[index - 1] + 1]
    return [(deals[start], stop - start) for start, stop in itertools.pairwise([*starts, len(deals)])]
