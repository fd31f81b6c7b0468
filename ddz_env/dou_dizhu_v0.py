"""PettingZoo environment: the AEC (agent–environment cycle) form of Dou Dizhu."""

from ddz_env.envs.aec import env, parallel_env, raw_env

__all__ = ["env", "parallel_env", "raw_env"]
