"""Agents that choose moves by rules, by search or with learned policies."""
