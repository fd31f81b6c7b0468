"""Registers the environments with Gymnasium and, from version 1.27, with PettingZoo.

PettingZoo had no registry for third parties before 1.27 (``pettingzoo.utils.all_modules`` is a fixed dict of its own
environments); there, import ``ddz_env.dou_dizhu_v0`` as one imports ``pettingzoo.classic.chess_v6``.
"""

from __future__ import annotations

import gymnasium
import pettingzoo  # type: ignore[import-untyped]

GYM_ID = "ddz_env/DouDizhu-v0"
AEC_ID = "ddz_env/dou_dizhu_v0"


def register_environments() -> None:
    """Register what is not registered yet; ``import ddz_env`` does it."""
    if GYM_ID not in gymnasium.registry:
        gymnasium.register(
            id=GYM_ID,
            entry_point="ddz_env.gym:DouDizhuEnv",
            vector_entry_point="ddz_env.gym:DouDizhuVectorEnv",
        )
    registry = getattr(pettingzoo, "aec_registry", None)
    if registry is not None and AEC_ID.replace("_v", "-v") not in registry:
        pettingzoo.register("aec", AEC_ID, "ddz_env.dou_dizhu_v0:env")
