"""DouZero's checkpoints as an agent, with our own code for their features and networks.

Zha et al., "DouZero: Mastering DouDizhu with Self-Play Deep Reinforcement Learning", ICML 2021.
"""
