"""The textbook family: depth-limited alpha-beta with an evaluation, and expectiminimax over sampled deals."""
