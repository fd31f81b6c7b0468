"""Measurement: matches on duplicate deals, statistics, leagues, the benchmark."""
