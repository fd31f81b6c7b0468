"""Deep Monte Carlo, DouZero's method, on this engine: a baseline for the other trainings."""
