"""What a tree search may do differently, as scalars for the kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

SIMULATIONS = ("random", "planned", "rules")
"""Simulation policies by name; a search gets the index."""
SELECTIONS = ("ucb", "puct")
COUNTS = ("parent", "availability")
"""What the logarithm of UCB counts: visits of the parent (figure 2), or those in which the child was legal."""
PRIORS = ("uniform", "rules")
FINAL = ("visits", "value")


class Settings(NamedTuple):
    """Settings of one search.

    Attributes:
        exploration: The constant ``k`` of figure 2, or PUCT's; rewards are 0 (loss) to 1 (win).
        fixed: Search the root row itself, a whole game, instead of determinizations of a view.
        finish: Simulations take a finishing move at once.
        simulation: Index into ``SIMULATIONS``.
        puct: Select by PUCT instead of UCB.
        availability: Count availability instead of the parent's visits (UCB only).
        guided: Expand the rule agent's move first, with the prior of ``GUIDED_WEIGHT`` other moves (PUCT only).
    """

    exploration: np.float64
    fixed: np.bool_
    finish: np.bool_
    simulation: np.int64
    puct: np.bool_
    availability: np.bool_
    guided: np.bool_


def plain(exploration: float = 1.0, *, fixed: bool = False) -> Settings:
    """Figure 2, apart from finishing moves.

    Example:
        >>> float(plain(0.44).exploration)
        0.44
    """
    return Settings(
        np.float64(exploration), np.bool_(fixed), np.bool_(True), np.int64(0), *(np.bool_(False) for _ in range(3))
    )
