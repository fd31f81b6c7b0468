"""Learned policies: the network, its weight files, and the agent that plays with it."""
