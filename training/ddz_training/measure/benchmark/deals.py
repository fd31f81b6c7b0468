"""The deals of the benchmark: one list to choose by, another to report on, each fixed by a committed SHA-256.

A list is a seed; deal ``n`` of it is ``State.new(seed, "standard", n)``.  The hash is of all its deals as text, so that
whoever deals them in another way can compare: a line a deal, the landlord's twenty cards first, then both other hands
in playing order, with blanks between.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from ddz_env import Rules, State
from ddz_env.core.errors import unknown
from ddz_training.measure.benchmark.errors import FrozenChangedError, InvalidBenchmarkRequestError

RULES = Rules()
"""The rules of the benchmark: ``standard``."""


@dataclass(frozen=True)
class DealList:
    """Numbered deals.

    Attributes:
        name: Its name in files of results.
        seed: The seed of the deals, and of the agents that play them.
        count: How many there are.
        sha256: The hash of all of them.
        purpose: What it is for.
    """

    name: str
    seed: int
    count: int
    sha256: str
    purpose: str

    def text(self) -> str:
        """All deals, a line each."""
        return "".join(deal_line(State.new(self.seed, RULES, number)) for number in range(self.count))

    def check(self) -> None:
        """Deal them and compare.

        Raises:
            FrozenChangedError: If they are other deals than those that were committed.
        """
        if (found := _hash(self)) != self.sha256:
            raise FrozenChangedError(
                f"the deals {self.name!r} have the SHA-256 {found}, not {self.sha256}: dealing has changed, and "
                "results on these deals would not compare with others"
            )

    def check_count(self, deals: int) -> None:
        """Refuse to play more deals than there are.

        Raises:
            InvalidBenchmarkRequestError: If there are fewer, or none is asked for.
        """
        if not 1 <= deals <= self.count:
            raise InvalidBenchmarkRequestError(f"deals={deals} must be in 1..{self.count}, the deals {self.name!r}")


def deal_line(state: State) -> str:
    """A deal as a line of text.

    Example:
        >>> print(deal_line(State.new(3, "standard", 5)).strip())
        334456788999TJJQQQAR 445567778TTQKKK22 3356689TJJKAAA22B
    """
    return " ".join(str(state.hand(seat)) for seat in range(state.rules.players)) + "\n"


@functools.cache
def _hash(deals: DealList) -> str:
    return hashlib.sha256(deals.text().encode()).hexdigest()


_LISTS = (
    DealList(
        "choosing",
        71_400_001,
        2000,
        "a521f902919fa39936e261a72152e43bec78ef5f8893c33d25ffaf622ef9b8a8",
        "choosing agents and options; play on it as often as you like",
    ),
    DealList(
        "reporting",
        71_400_002,
        2000,
        "46a08d753d4f32fc5cda116211a3102c14619eb249fc041467988f305cf045a5",
        "results that are reported; nothing is chosen by them",
    ),
)

DEALS: Mapping[str, DealList] = {deals.name: deals for deals in _LISTS}
"""The lists by name."""


def deal_list(name: str) -> DealList:
    """A list by its name.

    Raises:
        InvalidBenchmarkRequestError: If there is none.
    """
    if name not in DEALS:
        raise InvalidBenchmarkRequestError(unknown("deal list", name, DEALS))
    return DEALS[name]
