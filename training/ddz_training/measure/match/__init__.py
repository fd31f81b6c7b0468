"""The evaluation laboratory: duplicate deals, statistics with intervals, the arena and the benchmarks."""
