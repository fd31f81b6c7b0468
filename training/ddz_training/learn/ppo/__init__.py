"""PPO by self-play: begin with :mod:`.ppo`, the algorithm; :mod:`.selfplay` is the run around it."""
