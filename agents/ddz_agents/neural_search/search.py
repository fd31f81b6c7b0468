"""Information-set search as a function of its parts: worlds, a prior, a value, and who the other players are.

One iteration after another, many at a time: *select* goes down the trees in sampled worlds, *evaluate* asks the prior
and the value for all leaves at once, *back up* expands them and adds the values along the paths, and between rounds
*halving* drops the worse half of the root's actions.

What is composed in plain Python is called once for many leaves.  The parts that the package has are
:mod:`~ddz_agents.neural_search.priors`, :mod:`~ddz_agents.neural_search.values`,
:mod:`~ddz_agents.neural_search.beliefs` and every agent as a player.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Protocol

import numpy as np

from ddz_agents.neural.model import Floats
from ddz_agents.neural_search.games import Leaves
from ddz_agents.neural_search.selection import select_at_root
from ddz_agents.neural_search.trees import RootParallelTrees
from ddz_agents.neural_search.values import landlord_chances
from ddz_agents.searching import Position, check_decision, move_without_search
from ddz_agents.tree_search.choice import choose
from ddz_agents.worlds.determinize import WorldPool
from ddz_env import View
from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.core.engine.layout import LANDLORD, NO_SEAT, SEAT
from ddz_env.core.engine.random import key
from ddz_env.playing.agent import Agent, Decision
from ddz_env.support.clocks import Clock
from ddz_env.support.errors import InvalidAgentOptionError, shown
from ddz_env.support.options import Options, Range
from ddz_env.support.owned import OwnsArrays

_NO_SEAT = np.uint64(NO_SEAT)


class Worlds(Protocol):
    """How determinizations are drawn."""

    def __call__(self, view: View, rng: np.random.Generator, /) -> WorldPool:
        """Weighted worlds of a view, once per decision; :func:`~ddz_agents.worlds.determinize.uniform` for any."""
        ...


class Prior(Protocol):
    """How likely each action is to be worth a look."""

    def __call__(self, leaves: Leaves, /) -> Floats:
        """Logarithms of weights, shape ``[n, 400]``, float32; minus infinity where an action is not legal."""
        ...


class Value(Protocol):
    """What a leaf is worth."""

    def __call__(self, leaves: Leaves, rng: np.random.Generator, /) -> Floats:
        """Values for the seats to act, -1 to 1, shape ``[n]``, float32; the leaves' games may be changed."""
        ...


@dataclass(frozen=True)
class SearchOptions(Options):
    """How a search of given parts shares out its iterations.

    Attributes:
        trees: Trees, each with its own random numbers; their statistics are added up at the root.
        batch: Descents in flight per tree: leaves of all trees are evaluated in one call.
        candidates: How many of the root's actions are compared: those with the largest prior.
        exploration: PUCT's constant below the root, on rewards from 0 (loss) to 1 (win).
        prior_weight: At the root, added to a move's mean reward: this times the logarithm of its prior, divided by the
            square root of its descents.
    """

    _: KW_ONLY
    trees: Annotated[int, Range(1, 64)] = 4
    batch: Annotated[int, Range(1, 256)] = 16
    candidates: Annotated[int, Range(2)] = 5
    exploration: Annotated[float, Range(0)] = 1.0
    prior_weight: Annotated[float, Range(0)] = 0.3


def search(
    view: View,
    *,
    worlds: Worlds,
    prior: Prior,
    value: Value,
    players: Mapping[int, Agent] | None = None,
    iterations: int = 1000,
    rng: np.random.Generator,
    options: SearchOptions | None = None,
) -> Decision:
    """Search one decision.

    Args:
        view: What the seat to act knows, at the start of a decision.
        worlds: How determinizations are drawn.
        prior: The weights of actions, for many positions at once.
        value: What leaves are worth, many at once.
        players: Who plays a seat that is not to be searched: its agent, which is asked for whole moves; None to search
            every seat.
        iterations: Descents in all.
        rng: The only source of randomness.
        options: How the iterations are shared out; None for the options by default.

    Returns:
        The move, with the visits and the mean values of the root's actions.

    Raises:
        IllegalMoveError: If it is another seat's turn, a move is half built, or the game is over.
        InconsistentViewError: If no deal agrees with the view.
        InvalidAgentOptionError: If a player is given for the searcher's own seat, or a part answers in the wrong form.

    Example:
        >>> from ddz_agents.neural_search.priors import uniform_prior
        >>> from ddz_agents.neural_search.values import random_playouts
        >>> from ddz_env import State
        >>> view, rng = State.new(seed=1).view(), np.random.default_rng(0)
        >>> worlds = lambda view, rng: WorldPool.of(view.sample_worlds(64, rng))
        >>> decision = search(view, worlds=worlds, prior=uniform_prior, value=random_playouts, rng=rng)
        >>> decision.move.main in view.legal_actions()
        True
    """
    position = Position.of(view)
    check_decision(*position, cheats=False)
    move = move_without_search(*position, finish=True)
    if move is not None:
        return Decision(move, line=move.actions)
    return Search(worlds, prior, value, players, options).decide(view, rng, iterations)


class Search(OwnsArrays):
    """A search of given parts; it keeps its memory from one decision to the next.

    The arguments are those of :func:`search`.

    Attributes:
        options: How the iterations are shared out.
        trees: The trees of the last decision.
    """

    def __init__(
        self,
        worlds: Worlds,
        prior: Prior,
        value: Value,
        players: Mapping[int, Agent] | None = None,
        options: SearchOptions | None = None,
    ) -> None:
        self.options = options = options or SearchOptions()
        self._worlds, self._prior, self._value, self._players = worlds, prior, value, dict(players or {})
        self.trees = RootParallelTrees(options.trees, options.batch, options.exploration, self._players)

    def root_prior(self, view: View) -> Floats:
        """Logarithms of the prior of the searcher's own decision, shape ``[400]``, float32."""
        (log_priors,) = _checked("prior", self._prior(Leaves.of(view)), (1, NUM_ACTIONS))
        return np.asarray(log_priors)

    def decide(
        self, view: View, rng: np.random.Generator, iterations: int = 1000, milliseconds: float | None = None
    ) -> Decision:
        """Search a decision of several moves.

        Args:
            view: What the seat to act knows.
            rng: The only source of randomness.
            iterations: Descents in all.
            milliseconds: Thinking time instead of iterations.

        Raises:
            InvalidAgentOptionError: If a player is given for the searcher's own seat, or a part answers in the wrong
                form.
        """
        clock = Clock(milliseconds)
        log_priors = self.begin(view, rng)
        first = self._halve(log_priors, clock, iterations, rng)
        priors = [each.prior for each in self.trees.priors]
        return choose(self.trees.trees, view.row, view.rule_words, first, priors)

    def begin(self, view: View, rng: np.random.Generator) -> Floats:
        """Begin a decision: draw worlds and clear the trees.

        Returns:
            Logarithms of the root's prior, shape ``[400]``, float32.
        """
        if view.seat in self._players:
            raise InvalidAgentOptionError(f"players={shown(sorted(self._players))}: seat {view.seat} is the searcher's")
        log_priors = self.root_prior(view)
        seed = rng.integers(0, 2**64, dtype=np.uint64)
        states = [np.uint64(key(seed, np.uint64(index))) for index in range(len(self.trees.trees))]
        self.trees.begin(view, log_priors, self._worlds(view, rng), states)
        return log_priors

    def iterate(self, firsts: np.ndarray, rng: np.random.Generator) -> None:
        """Select, evaluate and back up: one descent of every tree for each of some actions of the root.

        Args:
            firsts: The root's actions, shape ``[k]``, int16, at most ``batch`` of them.
            rng: The generator of players and values.
        """
        leaves = self.trees.select(firsts, rng)
        if len(leaves):
            log_priors = _checked("prior", self._prior(leaves), (len(leaves), NUM_ACTIONS))
            self.trees.back_up(log_priors, self._landlord_chances(leaves, rng))

    def _landlord_chances(self, leaves: Leaves, rng: np.random.Generator) -> Floats:
        """What leaves are worth to the landlord, 0 to 1, shape ``[n]``, float32.

        Before there is a landlord, no value says which side a seat will be on: those games are played out at random.
        """
        rows = leaves.games.rows.copy()
        values = _checked("value", self._value(leaves, rng), (len(leaves),)).clip(-1, 1)
        chances = np.asarray((1 + np.where(rows[:, SEAT] == rows[:, LANDLORD], values, -values)) / 2, np.float32)
        auctions = np.flatnonzero(rows[:, LANDLORD] == _NO_SEAT)
        if len(auctions):
            chances[auctions] = landlord_chances(rows[auctions], leaves.rules.words(), rng)
        return chances

    def _halve(self, log_priors: Floats, clock: Clock, iterations: int, rng: np.random.Generator) -> int:
        """Find the root's best action by sequential halving.

        Every round gets the same share of the budget, and at least one descent per candidate and tree.

        Args:
            log_priors: Logarithms of the root's prior, shape ``[400]``, minus infinity where illegal.
            clock: Of which every round gets the same share.
            iterations: The budget instead of time.
            rng: The generator of players and values.

        Returns:
            The action.
        """
        order = np.argsort(-log_priors, kind="stable")
        alive = [int(action) for action in order[: self.options.candidates] if log_priors[action] > -np.inf]
        rounds, trees, batch, spent = max(1, (len(alive) - 1).bit_length()), len(self.trees.trees), self.trees.batch, 0
        for number in range(1, rounds + 1):
            share = number / rounds
            while not (clock.over(share) and (clock.seconds is not None or spent >= share * iterations)):
                turns = max(1, batch // len(alive))  # descents of each candidate in every tree's next wave
                if clock.seconds is None:
                    turns = max(1, min(turns, math.ceil((share * iterations - spent) / (len(alive) * trees))))
                firsts = np.tile(np.array(alive, np.int16), turns)
                for part in np.array_split(firsts, -(-len(firsts) // batch)):
                    self.iterate(part, rng)
                spent += len(firsts) * trees
            alive = select_at_root(alive, self.trees.root(), log_priors, self.options.prior_weight)
        return alive[0]


def _checked(part: str, answer: Floats, shape: tuple[int, ...]) -> Floats:
    """What a part has answered, as float32.

    Raises:
        InvalidAgentOptionError: If it has another shape, or holds what is no number.
    """
    array = np.asarray(answer, np.float32)
    if array.shape != shape or np.isnan(array).any():
        raise InvalidAgentOptionError(f"the {part} must return numbers of shape {list(shape)}, not {shown(answer)}")
    return array
