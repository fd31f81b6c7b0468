"""Tuning of agents' weights by games: the weights, the games that measure them, and the search methods.

A set of weights is a vector in the middle of a box: the origin of the searches is what is played today, and
a step of one is about half of a weight, or a fifth of a trick.  Every candidate plays the same numbered deals against
the same opponent, so that the luck of the cards is the same for all of them, and two candidates differ only where they
play differently.

The searches are those of the textbook (Russell and Norvig, chapter 4; the lecture's pseudocode), simulated annealing,
local beam search and a genetic algorithm, for vectors of numbers in ``[-1, 1]`` instead of boards.  The last two
start from random states, which a few evaluations hardly make as good as the origin; so there is a variant of each
that starts there.  All change states in the same way, and spend the same number of evaluations.  They are written out
because an evaluation costs thousands of games: libraries' versions assume cheap ones (SciPy's ``dual_annealing`` spends
two evaluations per dimension on a sweep, more than half of a run here).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import numpy.typing as npt

from ddz_agents.rules import weights as at
from ddz_agents.rules.candidates import list_candidates
from ddz_agents.rules.position import POSITION_WEIGHTS
from ddz_agents.rules.rules import rules_move
from ddz_agents.rules.weights import WEIGHTS
from ddz_agents.rules.workspace import RuleWorkspace, new_rule_workspace
from ddz_env import Rules
from ddz_env.core.engine.deal import new_game
from ddz_env.core.engine.layout import LANDLORD, ROW_WORDS, SEAT, STAGE, STAGE_PLAY
from ddz_env.core.engine.score import landlord_won
from ddz_env.core.engine.step import play_move
from ddz_env.core.state import game_key
from ddz_env.support.compiling import kernel
from ddz_papers.textbook_search.agent import AlphaBetaOptions
from ddz_papers.textbook_search.candidates import SearchMemory
from ddz_papers.textbook_search.search import new_search_memory, value_moves

Floats = npt.NDArray[np.float64]
Point = npt.NDArray[np.float64]
"""A vector of numbers from -1 to 1."""
Fitness = Callable[[Point], float]
"""The share of the deals that a point wins, an estimate from 0 to 1."""
Method = Callable[[Fitness, int, int, np.random.Generator], None]
"""A search, given the value of points, the numbers in a point, the evaluations that may be spent, and a generator."""

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
MUTATED = 0.1
"""The share of the genetic algorithm's children that are mutated."""
WARMEST, COLDEST = 0.01, 0.001
"""First and last temperature of annealing, in win rate."""
_LEAST_FITNESS = 1e-9  # lets all be parents where all of a population lose every deal
_COMPARED = 12  # moves that a search of one ply compares


def perturb(point: Point, rng: np.random.Generator) -> Point:
    """Return a neighbour of a point in which about one number in seven, and at least one, is changed."""
    touched = rng.random(point.size) < CHANGED
    touched[rng.integers(point.size)] = True
    return np.clip(point + touched * rng.normal(0.0, STEP, point.size), -1.0, 1.0)


def anneal(fitness: Fitness, size: int, evaluations: int, rng: np.random.Generator) -> None:
    """Run simulated annealing, accepting a worse neighbour with a probability that falls with the temperature."""
    current = np.zeros(size)
    worth = fitness(current)
    for warmth in np.geomspace(WARMEST, COLDEST, evaluations - 1):
        neighbour = perturb(current, rng)
        gain = fitness(neighbour) - worth
        if gain > 0.0 or rng.random() < math.exp(gain / warmth):
            current, worth = neighbour, worth + gain


def beam_search(fitness: Fitness, size: int, evaluations: int, rng: np.random.Generator) -> None:
    """Run a local beam search from random points, in which the best of all children become the next states."""
    states = [_random_point(size, rng) for _ in range(BEAMS)]
    while evaluations > 0:
        children = [perturb(state, rng) for state in states for _ in range(CHILDREN)][:evaluations]
        evaluations -= len(children)
        worst_first = np.argsort([fitness(child) for child in children], kind="stable")
        states = [children[index] for index in worst_first[-BEAMS:]]


def evolve(fitness: Fitness, size: int, evaluations: int, rng: np.random.Generator) -> None:
    """Run a genetic algorithm with fitness-proportional parents, one-point crossover and some mutations."""
    population = [_random_point(size, rng) for _ in range(min(POPULATION, evaluations))]
    while population:
        evaluations -= len(population)
        worth = np.array([fitness(individual) for individual in population]) + _LEAST_FITNESS
        chances = worth / worth.sum()
        children = (_cross_over(population, chances, rng) for _ in range(min(POPULATION, evaluations)))
        population = [perturb(child, rng) if rng.random() < MUTATED else child for child in children]


def beam_search_from_origin(fitness: Fitness, size: int, evaluations: int, rng: np.random.Generator) -> None:
    """Run a local beam search from the origin, which keeps the best among the states and their children."""
    states, remaining = [(fitness(np.zeros(size)), np.zeros(size))], evaluations - 1
    while remaining > 0:
        count = CHILDREN * BEAMS // len(states)
        children = [perturb(state, rng) for _, state in states for _ in range(count)][:remaining]
        remaining -= len(children)
        states = _keep_best([*states, *((fitness(child), child) for child in children)], BEAMS)


def evolve_from_origin(fitness: Fitness, size: int, evaluations: int, rng: np.random.Generator) -> None:
    """Run a genetic algorithm from the origin, with parents drawn by rank, mutated children, and elitism."""
    best, remaining = (fitness(np.zeros(size)), np.zeros(size)), evaluations - 1
    children = [perturb(np.zeros(size), rng) for _ in range(POPULATION - 1)][:remaining]
    while children:
        remaining -= len(children)
        ranked = _keep_best([best, *((fitness(child), child) for child in children)], POPULATION)
        best, points = ranked[0], [point for _, point in ranked]
        chances = np.arange(len(points), 0, -1.0) / (len(points) * (len(points) + 1) / 2)
        children = [perturb(_cross_over(points, chances, rng), rng) for _ in range(min(POPULATION - 1, remaining))]


def _cross_over(population: list[Point], chances: Floats, rng: np.random.Generator) -> Point:
    """Draw two parents with the given chances, and return their one-point crossover."""
    mother, father = (population[index] for index in rng.choice(len(population), 2, p=chances))
    cut = int(rng.integers(1, mother.size + 1))
    return np.concatenate([mother[:cut], father[cut:]])


def _keep_best(states: list[tuple[float, Point]], count: int) -> list[tuple[float, Point]]:
    """Return the ``count`` best states, the best first and, among equals, the earlier first."""
    return sorted(states, key=lambda state: -state[0])[:count]


def _random_point(size: int, rng: np.random.Generator) -> Point:
    """Draw a uniformly random point of the search box, with every number in -1..1."""
    return rng.uniform(-1.0, 1.0, size)


METHODS: Mapping[str, Method] = {
    "simulated annealing": anneal,
    "local beam search": beam_search,
    "beam from today's": beam_search_from_origin,
    "genetic algorithm": evolve,
    "genetic from today's": evolve_from_origin,
}
"""The textbook's three by name, and two that start from the weights of today."""


def tune(fitness: Fitness, method: str, size: int, evaluations: int, rng: np.random.Generator) -> tuple[Point, float]:
    """Maximize a function of numbers from -1 to 1 by one of the search methods.

    Args:
        fitness: The function, given a point of shape ``[size]``; it may be noisy.
        method: A name of ``METHODS``.
        size: How many numbers a point has.
        evaluations: How often the function may be called.
        rng: The only source of randomness of the search.

    Returns:
        The best point that was tried, of equals the first, and its value.

    Raises:
        KeyError: If there is no such method.

    Example:
        >>> def closeness(point):
        ...     return 1 - float(np.square(point - 0.5).mean())
        >>> point, value = tune(closeness, "beam from today's", 3, 400, np.random.default_rng(0))
        >>> bool(value > 0.99 and np.abs(point - 0.5).max() < 0.2)
        True
    """
    tried: list[tuple[float, Point]] = []

    def record(point: Point) -> float:
        tried.append((fitness(point), point))
        return tried[-1][0]

    METHODS[method](record, size, evaluations, rng)
    value, point = max(tried, key=lambda one: one[0])
    return point, value


# --- What is tuned ----------------------------------------------------------------------------------------------------


def deal_keys(seed: int, first: int, count: int) -> npt.NDArray[np.uint64]:
    """Return the random generator states that deal a seed's numbered deals, shape ``[count]``."""
    return np.array([game_key(seed, number) for number in range(first, first + count)], np.uint64)


@kernel
def play_games_of_rule_agents(
    games: npt.NDArray[np.uint64],
    rules: npt.NDArray[np.uint64],
    workspace: RuleWorkspace,
    landlord: npt.NDArray[np.int64],
    peasants: npt.NDArray[np.int64],
    won: npt.NDArray[np.float64],
) -> None:
    """Play one game per deal between rule agents with given weights, and write whether the landlord won.

    Args:
        games: The generator states of the deals (:func:`deal_keys`), shape ``[n]``.
        rules: The rules array, of a preset with a fixed landlord.
        workspace: The rule agent's memory.
        landlord: The landlord's weights, shape ``[33]``.
        peasants: The peasants' weights.
        won: Output, shape ``[n]``: 1 where the landlord won.
    """
    row = np.zeros(ROW_WORDS, np.uint64)
    for index in range(games.size):
        new_game(row, games[index], rules)
        while row[STAGE] == STAGE_PLAY:
            main, kickers = rules_move(row, rules, workspace, landlord if row[SEAT] == row[LANDLORD] else peasants)
            play_move(row, main, kickers, rules)
        won[index] = 1.0 if landlord_won(row) else 0.0


PEASANTS_ALONE = (at.PARTNER_NEED, at.PARTNER_WEAK, at.PARTNER_UP, at.HELPER, at.TEAM)
"""Weights that do not apply to a landlord, who has no partner."""
STEPS = (at.STEP_PAIR, at.STEP_TRIO, at.STEP_CHAIN, at.STEP_PAIR_CHAIN, at.STEP_PLANE)
"""Weights in per cent, which stay above zero."""


class Subject(ABC):
    """The base class of weights to tune, with their bounds and the games that measure them.

    Attributes:
        start: What is played today, shape ``[weights]``, float64.
        span: How far a step of one moves each weight, shape ``[weights]``, float64.
        places: Indices of the weights that are tuned, shape ``[size]``.
        cost: A deal costs as much as this many deals of a rule agent.
    """

    cost = 1
    start: Floats
    span: Floats
    places: npt.NDArray[np.intp]

    @property
    def size(self) -> int:
        """The number of weights that are tuned."""
        return len(self.places)

    def equivalent_deals(self, deals: int) -> int:
        """Return how many deals with these weights take as long as ``deals`` deals between rule agents."""
        return max(2, deals // self.cost)

    def weights(self, point: Point) -> Floats:
        """Return the full vector of weights for a point of the search box."""
        tuned = self.start.copy()
        tuned[self.places] += point * self.span[self.places]
        return tuned

    @abstractmethod
    def play_games(self, weights: Floats, games: npt.NDArray[np.uint64]) -> Floats:
        """Play numbered deals against the rule agent, and return the share of each deal won, shape ``[n]``."""


class RuleWeights(Subject):
    """The rule agent's cost weights for one side (landlord or peasants), as a subject of tuning."""

    def __init__(self, landlord: bool) -> None:
        self.start = WEIGHTS.astype(np.float64)
        self.span = 20.0 + np.abs(self.start) / 2.0
        self.span[list(STEPS)] = np.maximum(3.0, self.start[list(STEPS)] / 2.0)
        self.places = np.setdiff1d(np.arange(len(WEIGHTS)), PEASANTS_ALONE if landlord else ())
        self._landlord = landlord
        self._workspace, self._rules = new_rule_workspace(), Rules().words()

    def weights(self, point: Point) -> Floats:
        """Return the weights in whole hundredths of a trick, with the percentages among them at least 1."""
        tuned = np.rint(super().weights(point))
        tuned[list(STEPS)] = np.maximum(1.0, tuned[list(STEPS)])
        return tuned

    def play_games(self, weights: Floats, games: npt.NDArray[np.uint64]) -> Floats:
        """Play one game per deal with the tuned weights on one side, and return whether that side won."""
        won, tuned = np.zeros(len(games)), weights.astype(np.int64)
        landlord, peasants = (tuned, WEIGHTS) if self._landlord else (WEIGHTS, tuned)
        play_games_of_rule_agents(games, self._rules, self._workspace, landlord, peasants, won)
        return won if self._landlord else 1.0 - won


class PositionWeights(Subject):
    """The weights of the position evaluation, tuned for a player that sees all hands and looks one ply ahead."""

    cost = 20

    def __init__(self) -> None:
        self.start, self.span = POSITION_WEIGHTS.copy(), 0.2 + np.abs(POSITION_WEIGHTS) / 2.0
        self.places = np.arange(1, len(POSITION_WEIGHTS))  # what is added to every position decides nothing
        self._rules, self._workspace, self._row = Rules().words(), new_rule_workspace(), np.zeros(ROW_WORDS, np.uint64)
        self._seen = self._row.view()
        self._seen.flags.writeable = False  # as a view's row, for which the rule agent is compiled
        self._settings = AlphaBetaOptions(table=False).settings()
        self._mains, self._kickers = np.zeros((2, _COMPARED), np.uint64)
        self._scores, self._values = np.zeros(_COMPARED, np.int64), np.zeros(_COMPARED)

    def play_games(self, weights: Floats, games: npt.NDArray[np.uint64]) -> Floats:
        """Play two games per deal, one from each side, and return the share that the tuned weights won."""
        wins = np.zeros(len(games))
        for landlord in (True, False):
            space = new_search_memory(self._rules, weights, table_bits=1)
            wins += [self._wins_game(space, game, landlord) for game in games]
        return wins / 2.0

    def _wins_game(self, space: SearchMemory, game: np.uint64, landlord: bool) -> bool:
        """Return whether a one-ply search beats the rule agent in a game, as the landlord or as both peasants."""
        row = self._row
        new_game(row, game, self._rules)
        while row[STAGE] == STAGE_PLAY:
            if (row[SEAT] == row[LANDLORD]) == landlord:
                main, kickers = self._search_move(space)
            else:
                main, kickers = rules_move(self._seen, self._rules, self._workspace, WEIGHTS)
            play_move(row, np.uint64(main), np.uint64(kickers), self._rules)
        return bool(landlord_won(row)) == landlord

    def _search_move(self, space: SearchMemory) -> tuple[np.uint64, np.uint64]:
        mains, kickers = self._mains, self._kickers
        count = list_candidates(self._seen, self._rules, self._workspace, mains, kickers, self._scores)
        if count == 1:
            return mains[0], kickers[0]
        values = self._values[:count]
        value_moves(space, self._row, WEIGHTS, mains[:count], kickers[:count], 1, self._settings, values)
        best = int(np.argmax(values))
        return mains[best], kickers[best]


SUBJECTS: Mapping[str, Callable[[], Subject]] = {
    "landlord": partial(RuleWeights, True),
    "peasants": partial(RuleWeights, False),
    "position": PositionWeights,
}
"""The subjects by name."""
