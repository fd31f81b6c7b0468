"""PPO by self-play: :mod:`.ppo` holds the algorithm, and :mod:`.selfplay` runs it on groups of games."""
