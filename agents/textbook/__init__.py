"""The textbook family: depth-limited minimax and alpha-beta with an evaluation, and expectiminimax over sampled deals."""
