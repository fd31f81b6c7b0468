"""Weights of the rule agent's evaluation, from games."""
