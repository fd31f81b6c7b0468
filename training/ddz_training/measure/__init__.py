"""Measurement of agents: matches on duplicate deals, statistics, leagues and the benchmark."""
