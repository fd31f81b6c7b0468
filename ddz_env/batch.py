"""Thousands of games at once, all seats: the self-play batch."""

from ddz_env.envs.batch import SelfPlayBatch

__all__ = ["SelfPlayBatch"]
