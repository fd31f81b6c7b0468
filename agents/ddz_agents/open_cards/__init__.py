"""Searches with open hands (minimax, the textbook's, the exact solver), and agents that run them on sampled worlds."""
