"""Learning: PPO, deep Monte Carlo, imitation, Stable-Baselines3."""
