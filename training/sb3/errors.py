"""Named errors of the Stable-Baselines3 path."""

from __future__ import annotations

from ddz_env.errors import DouDizhuError


class VecEnvUsageError(DouDizhuError):
    """The vector environment was asked for something that games in one compiled call cannot do, or out of order."""
