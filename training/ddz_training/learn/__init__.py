"""Learning algorithms: PPO, deep Monte Carlo, imitation, belief networks and Stable-Baselines3."""
