"""A Dou Dizhu (斗地主) laboratory for reinforcement learning and search: rules, state and environments.

Importing the package registers its environments with Gymnasium and, from version 1.27, with PettingZoo, which had no
registry for third parties before: import ``ddz_env.dou_dizhu_v0`` there, as with ``pettingzoo.classic.chess_v6``.
"""

import importlib as _importlib
from typing import TYPE_CHECKING, Any

import gymnasium as _gymnasium
import pettingzoo as _pettingzoo  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from ddz_env.core.notation import Hand, Move
    from ddz_env.core.rules import PRESETS, Rules
    from ddz_env.core.state import State
    from ddz_env.core.view import View

__version__ = "0.2.0"

__all__ = ["PRESETS", "Hand", "Move", "Rules", "State", "View", "__version__"]

_MODULES = {
    "Hand": "notation",
    "Move": "notation",
    "PRESETS": "rules",
    "Rules": "rules",
    "State": "state",
    "View": "view",
}


def __getattr__(name: str) -> Any:
    """Import a name in ``__all__`` on first use, so that the help of ``ddz`` does not have to import Numba."""
    if name not in _MODULES:
        raise AttributeError(f"module 'ddz_env' has no attribute {name!r}")
    globals()[name] = getattr(_importlib.import_module(f"ddz_env.core.{_MODULES[name]}"), name)
    return globals()[name]


_importlib.import_module("ddz_env.support.source_stamps")  # what changes from now on is not kept as compiled
if "ddz_env/DouDizhu-v0" not in _gymnasium.registry:
    _gymnasium.register(
        id="ddz_env/DouDizhu-v0",
        entry_point="ddz_env.gym:DouDizhuEnv",
        vector_entry_point="ddz_env.gym:DouDizhuVectorEnv",
    )
if "ddz_env/dou_dizhu-v0" not in getattr(_pettingzoo, "aec_registry", {"ddz_env/dou_dizhu-v0": None}):
    _pettingzoo.register("aec", "ddz_env/dou_dizhu_v0", "ddz_env.dou_dizhu_v0:env")
    _pettingzoo.register("parallel", "ddz_env/dou_dizhu_v0", "ddz_env.dou_dizhu_v0:parallel_env")
