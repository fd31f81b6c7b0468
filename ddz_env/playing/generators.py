"""Random generators for agents, which are reproducible and reveal nothing about the deal.

A game's key (seed, number of the deal, seat ...) would rebuild every hand, so no generator that an agent gets holds it:
not in ``rng.bit_generator.seed_seq``, and not in what it spawns.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np


def make_agent_generator(key: Sequence[int]) -> np.random.Generator:
    """Make a generator seeded with the SHA-256 hash of a key, so that an agent cannot recover the key.

    The same key gives the same draws.  A key can be found only by trying keys, and who can guess the seed of a match
    can deal its games anyway: a match that matters has a secret seed.

    Args:
        key: What names the game and the seat, as ``[seed, deal, game, seat]``.

    Example:
        >>> int(make_agent_generator([1, 2]).integers(100)) == int(make_agent_generator([1, 2]).integers(100))
        True
    """
    text = "ddz-env agent generator " + ",".join(str(int(part)) for part in key)
    return np.random.default_rng(int.from_bytes(hashlib.sha256(text.encode()).digest(), "big"))


def make_published_generator(key: Sequence[int]) -> np.random.Generator:
    """Make a generator that draws as ``numpy.random.default_rng(key)`` does, but does not store the key.

    For experiments whose results are published, and for training, so that these stay what they were.  The state of the
    bit generator could be calculated back to the key, which takes intent.

    Args:
        key: What names the game and the seat.
    """
    rng = make_agent_generator(key)
    rng.bit_generator.state = np.random.PCG64([*key]).state
    return rng
