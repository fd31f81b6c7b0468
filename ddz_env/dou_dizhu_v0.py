"""The PettingZoo environment: the AEC (agent–environment cycle) form of Dou Dizhu, and agents that play it."""

from ddz_env.envs.aec import env, parallel_env, raw_env
from ddz_env.envs.aec_player import AECPlayer

__all__ = ["AECPlayer", "env", "parallel_env", "raw_env"]
