"""The thousand deals of the full-game experiments.

Whitehouse, Powley and Cowling (2011) play all their experiments on one set of 1,000 deals, chosen to reduce the
variance as their reference [16] describes, and publish neither.  Ours stand in ``deals_2011.csv``: a number and a
seed a line, for :meth:`ddz_env.State.new` under the standard rules.  They are not selected in any way.
"""

from __future__ import annotations

import csv
import functools
from importlib import resources

import numpy as np

from ddz_env import State
from ddz_env.core.engine.random import key
from ddz_training.measure.match.errors import InvalidExperimentError, ResultsFileError

DEAL_COUNT = 1000
LIST_SEED = 2011
"""The seed of the seeds."""

DEAL_LIST = "deals_2011"
"""Name of the list in the settings of results."""

_FILE = f"{DEAL_LIST}.csv"
_SEED_BITS = np.uint64(32)


def draw_seeds(count: int = DEAL_COUNT, seed: int = LIST_SEED) -> list[int]:
    """How the list was made: the upper 32 bits of the keys of SplitMix64's numbered streams."""
    return [int(np.uint64(key(np.uint64(seed), np.uint64(number))) >> _SEED_BITS) for number in range(count)]


@functools.cache
def deal_seeds() -> tuple[int, ...]:
    """The committed seeds, in the order of the deals' numbers.

    Raises:
        ResultsFileError: If the list is not 1,000 different seeds, numbered from 0.
    """
    return read_seeds(resources.files("ddz_training.experiments").joinpath(_FILE).read_text(encoding="utf-8"))


def read_seeds(text: str) -> tuple[int, ...]:
    """Read a list of deals, and check that nothing is missing.

    Raises:
        ResultsFileError: If the list is not 1,000 different seeds, numbered from 0.
    """
    rows = list(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))
    try:
        numbers, seeds = ([int(row[column]) for row in rows] for column in ("deal", "seed"))
    except (KeyError, TypeError, ValueError) as error:
        raise ResultsFileError(f"{_FILE} cannot be read: every line must be a deal and its seed") from error
    if numbers != list(range(DEAL_COUNT)) or len(set(seeds)) != DEAL_COUNT:
        raise ResultsFileError(
            f"{_FILE} must number {DEAL_COUNT} different seeds from 0; it has {len(numbers)} lines and "
            f"{len(set(seeds))} seeds"
        )
    return tuple(seeds)


def new_game(deal: int) -> State:
    """The game of a deal before the first move; seat 0 is the landlord.

    Raises:
        InvalidExperimentError: If there is no such deal.
    """
    if not 0 <= deal < DEAL_COUNT:
        raise InvalidExperimentError(f"deal={deal} must be in 0..{DEAL_COUNT - 1}")
    return State.new(seed=deal_seeds()[deal])
