"""Duplicate deals against a search, counted by its iterations, and the same as text for files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple


class Tally(NamedTuple):
    """Duplicate deals against a search with some number of iterations.

    Attributes:
        ahead: Deals on which the agent did better than the search.
        behind: Deals on which it did worse.
        even: Deals that say nothing.
    """

    ahead: int = 0
    behind: int = 0
    even: int = 0

    @property
    def deals(self) -> int:
        """All of them."""
        return sum(self)


Tallies = Mapping[int, Tally]
"""What has been played, by the iterations of the search."""


def as_text(tallies: Tallies) -> tuple[str, ...]:
    """Tallies for a file, in the order of the iterations.

    Example:
        >>> as_text({500: Tally(3, 1, 16)})
        ('500:3/1/16',)
    """
    return tuple(f"{many}:{'/'.join(map(str, tally))}" for many, tally in sorted(tallies.items()))


def of_text(parts: Iterable[str]) -> dict[int, Tally]:
    """The inverse of :func:`as_text`."""
    split = (part.partition(":") for part in parts)
    return {int(many): Tally(*map(int, counts.split("/"))) for many, _, counts in split}
