"""Learned policies: the network, its weights on disk, and the agent that plays by it."""
