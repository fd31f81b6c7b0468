"""What more machines would do, simulated (arena) or calculated (training): ``python docs/programs/stragglers.py``.

No cluster was at hand: all of these numbers are assumptions, and stand here to be changed.
"""

import heapq

import numpy as np

CORES = 16
DEALS, SECONDS = 1_000_000, 10.0  # of an arena between searches
SPREAD = 0.5  # of the logarithm of a deal's time
SLOW, SLOWER = 0.05, 3.0  # this share of the machines is so many times slower
DYING = 0.01  # this share of the machines dies on the way
RESULTS_PER_SECOND = 500  # that one command accepts from Ray
AT_ONCE = 200  # deals that are simulated as one task, so that a simulation takes seconds


def arena(machines, rng):
    """Hours that an arena takes, tasks going to whoever is free; the tasks of a machine that dies are done again."""
    workers = machines * CORES
    speeds = np.repeat(np.where(rng.random(machines) < SLOW, SLOWER, 1.0), CORES)
    ideal = DEALS * SECONDS / workers
    dies = np.repeat(np.where(rng.random(machines) < DYING, rng.random(machines) * ideal, np.inf), CORES)
    size = max(1, min(AT_ONCE, DEALS // (50 * workers)))
    waiting, free, last = DEALS // size, [(0.0, worker) for worker in range(workers)], 0.0
    while waiting:
        now, worker = heapq.heappop(free)
        took = speeds[worker] * SECONDS * rng.lognormal(-(SPREAD**2) / (2 * size), SPREAD / np.sqrt(size)) * size
        if now + took > dies[worker]:
            continue  # the task stays, the worker does not come back
        waiting -= 1
        last = max(last, now + took)
        heapq.heappush(free, (now + took, worker))
    return ideal / 3600, max(last, DEALS / RESULTS_PER_SECOND) / 3600


UPDATE, MINIBATCHES = 2.0, 85  # seconds and gradient steps of an update, as on one H200
GRADIENT = 774_000 * 4 * 8  # bits
NETWORK, LATENCY = 10e9, 20e-6  # bits per second, seconds per message
WAVERS = 0.05  # of a machine's own time from update to update


def training(machines, rng):
    """The share of perfect speed at which machines learn together: all wait for the slowest, and for the network."""
    slowest = np.mean([rng.normal(1.0, WAVERS, machines).max() for _ in range(200)])
    ring = 2 * (machines - 1) / machines * GRADIENT / NETWORK + 2 * (machines - 1) * LATENCY
    return UPDATE / (UPDATE * slowest + MINIBATCHES * ring)


if __name__ == "__main__":
    print("| machines | cores | arena: ideal hours | with stragglers and deaths | training: of perfect speed |")
    print("| --- | --- | --- | --- | --- |")
    for machines in (1, 10, 100, 1000):
        ideal, hours = arena(machines, np.random.default_rng(1))
        share = training(machines, np.random.default_rng(1))
        print(f"| {machines:,} | {machines * CORES:,} | {ideal:,.2f} | {hours:,.2f} | {share:.0%} |")
