"""Measuring: matches on duplicate deals, statistics, leagues, benchmark, equivalents."""
