"""Agents that see every hand: minimax, the textbook's searches, the exact solver; and those that deal such worlds."""
