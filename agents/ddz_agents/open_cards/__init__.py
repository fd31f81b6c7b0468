"""Exact search with open hands, and agents that run it on determinizations."""
