"""Learned policies: the networks, their weight files, and the agents that play with them."""
