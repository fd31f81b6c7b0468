"""Three local searches over a box: simulated annealing, local beam search and a genetic algorithm.

They are those of the textbook (Russell and Norvig, chapter 4), for vectors of numbers in ``[-1, 1]`` instead of boards.
Annealing is SciPy's, the genetic algorithm DEAP's; local beam search is a loop and stands here.  All of them start from
the origin, the weights that are tuned, and spend the same number of evaluations.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

Point = npt.NDArray[np.float64]
"""A vector of numbers from -1 to 1."""
Fitness = Callable[[Point], float]
"""What a point is worth; the more the better."""
Method = Callable[[Fitness, int, int, int], None]
"""Searches: what points are worth, how many numbers a point has, how many evaluations may be spent, and a seed."""

BEAMS = 8
"""States of local beam search."""
CHILDREN = 4
"""Children of each state."""
POPULATION = 32
"""Individuals of the genetic algorithm."""
STEP = 0.3
"""Standard deviation of a change of one number."""
CHANGED = 0.15
"""Share of a point's numbers that a change touches."""


def changed(point: Point, rng: np.random.Generator) -> Point:
    """A neighbour: about one number in seven moved, at least one."""
    touched = rng.random(point.size) < CHANGED
    touched[rng.integers(point.size)] = True
    return np.clip(point + touched * rng.normal(0.0, STEP, point.size), -1.0, 1.0)


def anneal(fitness: Fitness, size: int, evaluations: int, seed: int) -> None:
    """Simulated annealing: a worse state is accepted with a probability that falls with the temperature.

    SciPy's generalized annealing, without its local search, which wants a smooth function.  The temperature is small,
    because fitness is a win rate: a state that is a point worse is already a bad one.
    """
    from scipy.optimize import dual_annealing

    dual_annealing(
        lambda point: -fitness(point),
        [(-1.0, 1.0)] * size,
        x0=np.zeros(size),
        maxfun=evaluations,
        maxiter=evaluations,
        no_local_search=True,
        initial_temp=0.05,
        restart_temp_ratio=1e-9,
        visit=1.5,
        accept=-50.0,
        rng=np.random.default_rng(seed),
    )


def beam(fitness: Fitness, size: int, evaluations: int, seed: int) -> None:
    """Local beam search: the children of all states together, of which the best are the next states."""
    rng = np.random.default_rng(seed)
    states = [np.zeros(size)]
    while evaluations > 0:
        each = CHILDREN * BEAMS // len(states)
        children = [changed(state, rng) for state in states for _ in range(each)][:evaluations]
        evaluations -= len(children)
        worth = [fitness(child) for child in children]
        states = [children[place] for place in np.argsort(worth)[::-1][:BEAMS]]


def evolve(fitness: Fitness, size: int, evaluations: int, seed: int) -> None:
    """A genetic algorithm: roulette selection, crossover at one point, mutation."""
    from deap import algorithms, base, creator, tools

    rng = np.random.default_rng(seed)
    if not hasattr(creator, "Tuned"):
        creator.create("TunedFitness", base.Fitness, weights=(1.0,))
        creator.create("Tuned", list, fitness=creator.TunedFitness)

    def mutate(individual: Any) -> tuple[Any]:
        individual[:] = changed(np.array(individual), rng).tolist()
        return (individual,)

    tools_box = base.Toolbox()
    tools_box.register("evaluate", lambda individual: (fitness(np.array(individual)),))
    tools_box.register("mate", tools.cxOnePoint)
    tools_box.register("mutate", mutate)
    tools_box.register("select", tools.selTournament, tournsize=3)
    with _seeded(seed):
        population = [creator.Tuned(changed(np.zeros(size), rng).tolist()) for _ in range(POPULATION)]
        while evaluations > 0:
            spent = [individual for individual in population if not individual.fitness.valid][:evaluations]
            for individual in spent:
                individual.fitness.values = tools_box.evaluate(individual)
            evaluations -= len(spent)
            known = [individual for individual in population if individual.fitness.valid]
            parents = tools_box.select(known, POPULATION)
            population = algorithms.varAnd(parents, tools_box, cxpb=0.6, mutpb=0.6)


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """DEAP draws from Python's own generator: seed it, and leave it as it was."""
    before = random.getstate()
    random.seed(seed)
    try:
        yield
    finally:
        random.setstate(before)


METHODS: Mapping[str, Method] = {
    "simulated annealing": anneal,
    "local beam search": beam,
    "genetic algorithm": evolve,
}
"""The three by name."""
