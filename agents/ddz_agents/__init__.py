"""The agents: everything that chooses a move, whether by rules, by search or with a learned policy."""
