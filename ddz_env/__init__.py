"""A Dou Dizhu (斗地主) laboratory for reinforcement learning and search: rules, state and environments."""

from ddz_env.notation import Hand, Move
from ddz_env.registration import register_environments
from ddz_env.rules import PRESETS, Rules
from ddz_env.state import State
from ddz_env.view import View

__version__ = "0.1.0"

register_environments()

__all__ = ["PRESETS", "Hand", "Move", "Rules", "State", "View", "__version__"]
