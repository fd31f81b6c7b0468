"""The citable benchmark, with fixed deals, a fixed field of opponents, and results that anybody can recompute."""
