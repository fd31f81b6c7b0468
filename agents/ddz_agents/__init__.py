"""Agents: everything that chooses a move, by rules, search or a learned policy."""
