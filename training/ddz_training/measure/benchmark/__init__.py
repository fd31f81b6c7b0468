"""A benchmark that can be cited: fixed deals, a field that does not change, and results that anybody can recompute."""
