"""The SplitMix64 random generator, with 64 bits of state and the same numbers on every platform.

Reference: G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
"""

from __future__ import annotations

import numpy as np

from ddz_env.core.engine.words import U32
from ddz_env.support.compiling import inline_kernel

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
_U27 = np.uint64(27)
_U30 = np.uint64(30)
_U31 = np.uint64(31)


@inline_kernel
def advance(state: np.uint64) -> np.uint64:
    """Return the SplitMix64 state that follows a given state."""
    return state + _GAMMA


@inline_kernel
def mix(state: np.uint64) -> np.uint64:
    """Scramble a SplitMix64 generator state into 64 random bits."""
    state = (state ^ (state >> _U30)) * _MIX1
    state = (state ^ (state >> _U27)) * _MIX2
    return state ^ (state >> _U31)


@inline_kernel
def scale_below(bits: np.uint64, n: np.uint64) -> np.uint64:
    """Map 64 random bits to an integer in 0..n-1 by multiplication (bias below n / 2**32)."""
    return ((bits >> U32) * n) >> U32


@inline_kernel
def stream_state(seed: np.uint64, stream: np.uint64) -> np.uint64:
    """Return the initial generator state of a numbered stream (game, tree or thread) under a seed."""
    return mix(mix(seed + _GAMMA) ^ (stream * _MIX1 + _GAMMA))
