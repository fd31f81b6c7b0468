"""Information-set search built from exchangeable parts: determinizations, prior, value and other players.

One iteration after another, many at a time: *select* goes down the trees in sampled worlds, *evaluate* asks the prior
and the value for all leaves at once, *back up* expands them and adds the values along the paths, and between rounds
*halving* drops the worse half of the root's actions.

Parts are plain functions, each called once for many leaves.  Those that the package has are
:mod:`~ddz_agents.neural_search.priors`, :mod:`~ddz_agents.neural_search.values`,
:mod:`~ddz_agents.neural_search.beliefs` and every agent as a player.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Protocol

import numpy as np
import numpy.typing as npt

from ddz_agents.neural.model import Floats
from ddz_agents.neural_search.leaf_games import LeafBatch
from ddz_agents.neural_search.selection import keep_better_half
from ddz_agents.neural_search.trees import RootParallelTrees
from ddz_agents.neural_search.values import play_out_randomly
from ddz_agents.search_agent import Position, check_decision, move_without_search
from ddz_agents.tree_search.choice import choose_from_visits
from ddz_agents.worlds.determinize import Words, Worlds, check_pool
from ddz_env import View
from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.core.engine.layout import LANDLORD, NO_SEAT, SEAT
from ddz_env.core.engine.random import stream_state
from ddz_env.playing.agent import Agent, Decision
from ddz_env.support.arrays import WritableAfterUnpickling
from ddz_env.support.checks import check_integer
from ddz_env.support.clocks import Clock
from ddz_env.support.errors import InvalidAgentOptionError, short_repr
from ddz_env.support.options import Options, Range

_NO_SEAT = np.uint64(NO_SEAT)
MOST_ITERATIONS = 1_000_000


class Prior(Protocol):
    """The interface of a prior: a function that scores the actions of each leaf position."""

    def __call__(self, leaves: LeafBatch, /) -> Floats:
        """Return unnormalized log-probabilities, shape ``[n, 400]``, float32, minus infinity where illegal."""
        ...


class Value(Protocol):
    """The interface of a value function: a function that estimates each leaf's worth to the seat to act."""

    def __call__(self, leaves: LeafBatch, rng: np.random.Generator, /) -> Floats:
        """Return values from -1 to 1 for the seats to act, shape ``[n]``, float32; may change the leaves' games."""
        ...


@dataclass(frozen=True)
class SearchOptions(Options):
    """How a search distributes its iterations over trees, batches and the root's actions.

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
    candidates: Annotated[int, Range(2, NUM_ACTIONS)] = 5
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
    """Search one decision with a given prior, value function and sampler of determinizations.

    Args:
        view: What the seat to act knows, at the start of a decision.
        worlds: How determinizations are drawn, once per decision.
        prior: The logarithms of the probabilities of actions, for many positions at once.
        value: What leaves are worth, many at once.
        players: Who plays a seat that is not to be searched: its agent, which is asked for whole moves and knows the
            moves before; ``reset`` and ``observe`` are not called.  None to search every seat.
        iterations: Descents in all; a few more where the candidates and trees do not divide them.
        rng: The only source of randomness.
        options: How the iterations are shared out; None for the options by default.

    Returns:
        The move, with the visits and the mean values of the root's actions.

    Raises:
        IllegalMoveError: If it is another seat's turn, a move is half built, or the game is over.
        InconsistentViewError: If no deal agrees with the view, or a world does not.
        InvalidAgentOptionError: If a player is given for no other seat, a part answers in the wrong form, or there are
            no iterations.
        AgentFaultError: If a player raises.
        IllegalAgentMoveError: If a player's answer is not a legal move.

    Example:
        >>> from ddz_agents.neural_search.priors import uniform_prior
        >>> from ddz_agents.neural_search.values import random_playouts
        >>> from ddz_agents.worlds.determinize import WorldPool
        >>> from ddz_env import State
        >>> view, rng = State.new(seed=1).view(), np.random.default_rng(0)
        >>> worlds = lambda view, rng: WorldPool.of(view.sample_worlds(64, rng))
        >>> decision = search(view, worlds=worlds, prior=uniform_prior, value=random_playouts, rng=rng)
        >>> decision.move.main in view.legal_actions()
        True
    """
    return Search(worlds, prior, value, players, options).decide(view, rng, iterations)


class Search(WritableAfterUnpickling):
    """A search with given determinizations, prior, value and players; it reuses its memory between decisions.

    The arguments are those of :func:`search`.

    Attributes:
        options: How the iterations are shared out.
        parallel: The trees of the last decision.
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
        self.parallel = RootParallelTrees(options.trees, options.batch, options.exploration, self._players)

    def root_prior(self, view: View) -> Floats:
        """Return the prior's log-probabilities at the searcher's own decision, shape ``[400]``, float32."""
        log_priors = self._log_priors(LeafBatch.of(view))[0]
        highest = log_priors.max()
        return np.asarray(log_priors - highest - np.log(np.exp(log_priors - highest).sum()), np.float32)

    def decide(
        self, view: View, rng: np.random.Generator, iterations: int = 1000, milliseconds: float | None = None
    ) -> Decision:
        """Search one decision for a given number of iterations or time, and return the move with statistics.

        Args:
            view: What the seat to act knows, at the start of a decision.
            rng: The only source of randomness.
            iterations: Descents in all.
            milliseconds: Thinking time instead of iterations.
        """
        check_integer("iterations", iterations, 1, MOST_ITERATIONS, InvalidAgentOptionError)
        position, clock = Position.of(view), Clock(milliseconds)
        check_decision(*position, cheats=False)
        move = move_without_search(*position, finish=True)
        if move is not None:
            return Decision(move, line=move.actions)
        log_priors = self.begin(view, rng)
        first = self._sequential_halving(log_priors, clock, iterations, rng)
        priors = [each.prior for each in self.parallel.priors]
        return choose_from_visits(self.parallel.trees, view.row, view.rule_words, first, priors)

    def begin(self, view: View, rng: np.random.Generator) -> Floats:
        """Begin a decision: draw determinizations, clear the trees, and return the root's log-probabilities.

        Returns:
            Logarithms of the root's prior, shape ``[400]``, float32.
        """
        others = [seat for seat in range(view.rules.players) if seat != view.seat]
        if not set(self._players) <= set(others):
            raise InvalidAgentOptionError(
                f"players must be given for seats among {others}, not for {sorted(self._players)}"
            )
        log_priors = self.root_prior(view)
        seed = rng.integers(0, 2**64, dtype=np.uint64)
        states = [np.uint64(stream_state(seed, np.uint64(index))) for index in range(len(self.parallel.trees))]
        self.parallel.begin(view, log_priors, check_pool(self._worlds(view, rng), view), states)
        return log_priors

    def iterate(self, firsts: np.ndarray, rng: np.random.Generator) -> None:
        """Run one descent of every tree for each given root action: select, evaluate and backpropagate.

        Args:
            firsts: The root's actions, shape ``[k]``, int16, at most ``batch`` of them.
            rng: The generator of players and values.
        """
        leaves = self.parallel.select(firsts, rng)
        if len(leaves):
            self.parallel.backpropagate(self._log_priors(leaves), *self._landlord_values(leaves, rng))

    def _log_priors(self, leaves: LeafBatch) -> Floats:
        """Return the prior's log-probabilities for leaves, shape ``[n, 400]``, float32, after checking them."""
        log_priors = _check_answer("prior", self._prior(leaves), (len(leaves), NUM_ACTIONS))
        legal = leaves.action_masks != 0
        if (np.isfinite(log_priors) != legal).any() or (log_priors[~legal] > 0).any():
            raise InvalidAgentOptionError("the prior must be finite for legal actions, minus infinity for all others")
        return log_priors

    def _landlord_values(self, leaves: LeafBatch, rng: np.random.Generator) -> tuple[Words, Floats]:
        """Return each leaf's landlord and that landlord's chance of winning, 0 to 1, both of shape ``[n]``.

        Before there is a landlord, nobody's side is known, and no value is asked: those games are played out at random,
        and count for the landlord that they come to.
        """
        seats, landlords = leaves.games.rows[:, SEAT].copy(), leaves.games.rows[:, LANDLORD].copy()
        auctions = np.flatnonzero(landlords == _NO_SEAT)
        if not len(auctions):
            return landlords, self._landlord_chances(leaves, seats == landlords, rng)
        chances, decided = np.empty(len(leaves), np.float32), np.flatnonzero(landlords != _NO_SEAT)
        outcomes = play_out_randomly(leaves.games.rows[auctions], leaves.rules.words(), rng)
        landlords[auctions], chances[auctions] = outcomes
        if len(decided):
            chances[decided] = self._landlord_chances(leaves.part(decided), (seats == landlords)[decided], rng)
        return landlords, chances

    def _landlord_chances(
        self, leaves: LeafBatch, is_landlord: npt.NDArray[np.bool_], rng: np.random.Generator
    ) -> Floats:
        """Return the landlord's chances of winning, 0 to 1, converted from the values for the seats to act."""
        values = _check_answer("value", self._value(leaves, rng), (len(leaves),)).clip(-1, 1)
        return np.asarray((1 + np.where(is_landlord, values, -values)) / 2, np.float32)

    def _sequential_halving(self, log_priors: Floats, clock: Clock, iterations: int, rng: np.random.Generator) -> int:
        """Return the root action that survives sequential halving within a budget of iterations or time.

        Every round gets the same share of the budget.  The first round has at least one descent per candidate and tree;
        a later one has none where its share is already spent.

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
        rounds, spent = max(1, (len(alive) - 1).bit_length()), 0
        trees, batch = len(self.parallel.trees), self.parallel.batch
        for number in range(1, rounds + 1):
            share = number / rounds
            while not spent or not (
                clock.is_over(share) and (clock.seconds is not None or spent >= share * iterations)
            ):
                turns = max(1, batch // len(alive))  # descents of each candidate in every tree's next wave
                if clock.seconds is None:
                    turns = max(1, min(turns, math.ceil((share * iterations - spent) / (len(alive) * trees))))
                firsts = np.tile(np.array(alive, np.int16), turns)
                for part in np.array_split(firsts, -(-len(firsts) // batch)):
                    self.iterate(part, rng)
                spent += len(firsts) * trees
            alive = keep_better_half(alive, self.parallel.root_statistics(), log_priors, self.options.prior_weight)
        return alive[0]


def _check_answer(part: str, answer: Floats, shape: tuple[int, ...]) -> Floats:
    """Return a prior's or a value's result as float32, after checking its shape and that it holds no NaN.

    Raises:
        InvalidAgentOptionError: If it has another shape, or holds what is no number.
    """
    array = np.asarray(answer, np.float32)
    if array.shape != shape:
        raise InvalidAgentOptionError(
            f"the {part} must return numbers of shape {list(shape)}, not of shape {list(array.shape)}"
        )
    if np.isnan(array).any():
        raise InvalidAgentOptionError(f"the {part} must return numbers, not NaN: {short_repr(answer)}")
    return array
