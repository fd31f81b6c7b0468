"""Training with Stable-Baselines3: sb3-contrib's MaskablePPO on the compiled environments."""
