"""DouZero's checkpoints as an agent: the features and the networks that they were trained with, in our own code.

Zha et al., "DouZero: Mastering DouDizhu with Self-Play Deep Reinforcement Learning", ICML 2021.
"""
