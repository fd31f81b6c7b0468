"""Learning: PPO, deep Monte Carlo, imitation, expert iteration, belief networks, Stable-Baselines3."""
