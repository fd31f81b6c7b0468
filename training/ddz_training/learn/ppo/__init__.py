"""PPO by self-play.  Begin with :mod:`.ppo`, the algorithm; :mod:`.selfplay` is the run around it, and the rest serves them."""
