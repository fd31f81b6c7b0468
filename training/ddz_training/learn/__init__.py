"""Learning: PPO, deep Monte Carlo, imitation, belief networks, Stable-Baselines3."""
