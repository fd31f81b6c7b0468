"""Searches with all hands open (minimax, the textbook's, the exact solver), and agents that run them in determinizations."""
