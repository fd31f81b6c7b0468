"""The public benchmark, with fixed deals, fixed opponents, and results that anybody can recompute."""
