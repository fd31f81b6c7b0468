"""A Dou Dizhu laboratory for reinforcement learning and search."""
