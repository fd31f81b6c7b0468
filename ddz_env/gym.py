"""Gymnasium environments with one learner against opponents that play inside ``step``."""

from ddz_env.envs.gym import DouDizhuEnv, DouDizhuVectorEnv

__all__ = ["DouDizhuEnv", "DouDizhuVectorEnv"]
