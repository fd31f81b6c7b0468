"""Three local searches over a box: simulated annealing, local beam search and a genetic algorithm.

They are those of the textbook (Russell and Norvig, chapter 4), for vectors of numbers in ``[-1, 1]`` instead of boards.
All of them start from the origin, the weights of today, change states in the same way, and spend the same number of
evaluations.  They are written out because an evaluation costs thousands of games: libraries' versions assume cheap
ones (SciPy's ``dual_annealing`` spends two evaluations a dimension on a sweep, more than half of a run here).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

Point = npt.NDArray[np.float64]
"""A vector of numbers from -1 to 1."""
Fitness = Callable[[Point], float]
"""What a point is worth, as a difference in win rate to the origin."""
Method = Callable[[Fitness, int, int, np.random.Generator], None]
"""Searches: what points are worth, how many numbers a point has, how many evaluations may be spent, and chance."""

BEAMS = 4
"""States of local beam search."""
CHILDREN = 4
"""Children of each state."""
POPULATION = 12
"""Individuals of the genetic algorithm, and of each later generation."""
STEP = 0.3
"""Standard deviation of a change of one number."""
CHANGED = 0.15
"""Share of a point's numbers that a change touches."""
WARMEST, COLDEST = 0.01, 0.001
"""First and last temperature of annealing, in win rate."""


def changed(point: Point, rng: np.random.Generator) -> Point:
    """A neighbour: about one number in seven moved, at least one."""
    touched = rng.random(point.size) < CHANGED
    touched[rng.integers(point.size)] = True
    return np.clip(point + touched * rng.normal(0.0, STEP, point.size), -1.0, 1.0)


def anneal(fitness: Fitness, size: int, evaluations: int, rng: np.random.Generator) -> None:
    """Simulated annealing: a worse neighbour is accepted with a probability that falls with the temperature."""
    current, worth = np.zeros(size), 0.0
    for warmth in np.geomspace(WARMEST, COLDEST, evaluations):
        neighbour = changed(current, rng)
        gain = fitness(neighbour) - worth
        if gain > 0.0 or rng.random() < math.exp(gain / warmth):
            current, worth = neighbour, worth + gain


def beam(fitness: Fitness, size: int, evaluations: int, rng: np.random.Generator) -> None:
    """Local beam search: of the states and the children of all of them together the best are the next states."""
    states = [(0.0, np.zeros(size))]
    while evaluations > 0:
        each = CHILDREN * BEAMS // len(states)
        children = [changed(state, rng) for _, state in states for _ in range(each)][:evaluations]
        evaluations -= len(children)
        states = _best([*states, *((fitness(child), child) for child in children)], BEAMS)


def evolve(fitness: Fitness, size: int, evaluations: int, rng: np.random.Generator) -> None:
    """A genetic algorithm: parents drawn by rank, crossover at one point, mutation; the best parent lives on."""
    population = [(0.0, np.zeros(size))]
    newcomers = [changed(np.zeros(size), rng) for _ in range(POPULATION - 1)][:evaluations]
    while evaluations > 0:
        evaluations -= len(newcomers)
        population = _best([population[0], *((fitness(child), child) for child in newcomers)], POPULATION)
        newcomers = [_child(population, rng) for _ in range(min(POPULATION - 1, evaluations))]


def _child(population: list[tuple[float, Point]], rng: np.random.Generator) -> Point:
    """Two parents' numbers up to a point and from there on, mutated."""
    chance = np.arange(len(population), 0, -1.0)
    mother, father = (population[place][1] for place in rng.choice(len(population), 2, p=chance / chance.sum()))
    cut = int(rng.integers(mother.size + 1))
    return changed(np.concatenate([mother[:cut], father[cut:]]), rng)


def _best(states: list[tuple[float, Point]], count: int) -> list[tuple[float, Point]]:
    """The best of some states, the best first; of equals the earlier."""
    return sorted(states, key=lambda state: -state[0])[:count]


METHODS: Mapping[str, Method] = {
    "simulated annealing": anneal,
    "local beam search": beam,
    "genetic algorithm": evolve,
}
"""The three by name."""
