"""PPO by self-play; start reading at :mod:`.ppo`, the algorithm, which :mod:`.selfplay` turns into a run."""
