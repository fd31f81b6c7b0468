"""Learning by self-play: returns, losses, rollouts, the training loop, and the warm start by imitation."""
