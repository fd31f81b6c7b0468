"""The textbook agents: depth-limited alpha-beta with an evaluation, and expectiminimax over sampled deals."""
