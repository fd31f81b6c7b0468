"""The self-play batch, which steps thousands of games at once and lets the caller play every seat."""

from ddz_env.envs.batch import SelfPlayBatch

__all__ = ["SelfPlayBatch"]
