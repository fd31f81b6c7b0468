"""The neural search agent: information-set PUCT whose prior and leaf values are learned.

A decision passes through twelve files:

1. :mod:`ddz_agents.searching`: whether there is something to search;
2. this file: the options, the root, the move;
3. :mod:`~ddz_agents.neural_search.beliefs`: the worlds (behind it is the room :mod:`ddz_agents.worlds`, with the
   models of players and the belief network);
4. :mod:`~ddz_agents.neural_search.forest`: several trees grow together, and share the budget among the root's moves;
5. :mod:`~ddz_agents.neural_search.descent`: down a tree and back up,
6. in worlds that :mod:`ddz_agents.worlds.determinize` draws,
7. and trees of :mod:`ddz_agents.tree_search.tree`;
8. :mod:`~ddz_agents.neural_search.selection`: which move is tried next, at the root and below it;
9. :mod:`~ddz_agents.neural_search.games`: the games of a search, in which forced moves are played;
10. :mod:`~ddz_agents.neural_search.values`: what the networks say of leaves, priors and values,
11. or a playout of :mod:`ddz_agents.tree_search.search`;
12. :mod:`ddz_agents.tree_search.choice`: from the root's statistics to a move.

The network may be any :class:`~ddz_agents.neural.model.PolicyModel`.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np

from ddz_agents.belief.model import load_belief
from ddz_agents.neural.agent import PolicyFile
from ddz_agents.neural.model import Leaf, PolicyModel
from ddz_agents.neural.shipped import shipped_belief_path
from ddz_agents.neural_search.beliefs import Beliefs
from ddz_agents.neural_search.forest import Forest, halve
from ddz_agents.neural_search.values import CachedModel, Evaluator
from ddz_agents.searching import Position, SearchAgent, kickers_of
from ddz_agents.tree_search.choice import candidates_of, choose
from ddz_agents.worlds.determinize import WorldPool, belief_of, uniform
from ddz_agents.worlds.inference import MOST_PARTICLES
from ddz_env import Move, View
from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.core.engine.random import key
from ddz_env.playing.agent import Decision
from ddz_env.playing.thoughts import Belief, Candidate
from ddz_env.support.clocks import Clock
from ddz_env.support.options import Options, Range, takes

_ROUNDS = 2
"""Of annealing, where particles are dealt plainly.  No option: where the belief network deals, as it does under most
rules, there is none."""


@dataclass(frozen=True)
class ModelSearchOptions(Options):
    """How a search with a learned policy spends its budget, and what it believes.

    Larger sizes than these are refused before any memory is taken: a decision would take minutes, its trees some
    hundred megabytes, and a forward pass (every descent in flight of every tree) half a gigabyte.

    Attributes:
        iterations: Descents per decision, shared by the trees.
        milliseconds: Thinking time per decision, instead of iterations; results then depend on the machine.
        trees: Trees, each with its own random numbers; their statistics are added up at the root.
        batch: Descents in flight per tree.
        candidates: How many of the root's moves are compared: those that the policy likes best.
        settled: A move to which the policy gives at least this probability is played without a search; 1 always
            searches.
        particles: Number of determinizations from which worlds are drawn. They come from the belief network (from
            plain dealing under rules that it does not know: two players, undealt cards), and are weighted by how
            plausible they make the moves of the hidden seats, who may be players like the policy or like the rule
            agent; 0 draws uniform worlds. Weighing takes at most about half of `milliseconds`, with fewer particles
            if necessary.
        prior: Whose prior guides the tree: the policy's, or a uniform one, under which all of the root's moves are
            compared.
        leaf: What values a leaf: the policy's critic, after the policy has played on for some decisions, or a random
            playout with finishing moves. By default what the policy has: the critic, or its own value, or else
            playouts.
        worlds: Which worlds are searched: those of `particles` from the shipped belief network; the same from plain
            dealing, weighed by the policy of this search alone; or uniform ones.
        exploration: PUCT's constant below the root, on rewards from 0 (loss) to 1 (win).
        prior_weight: At the root, added to a move's mean reward: this times the logarithm of its prior, divided by the
            square root of its descents.
        ahead: Decisions that the policy plays from a leaf before a network values it.
    """

    iterations: Annotated[int, Range(1, 1_000_000)] = 1000
    _: KW_ONLY
    milliseconds: Annotated[float, Range(0.1)] | None = None
    trees: Annotated[int, Range(1, 64)] = 4
    batch: Annotated[int, Range(1, 256)] = 16
    candidates: Annotated[int, Range(2)] = 5
    settled: Annotated[float, Range(0.5, 1)] = 0.98
    particles: Annotated[int, Range(0, MOST_PARTICLES)] = 64
    prior: Literal["policy", "uniform"] = "policy"
    leaf: Literal["critic", "playout"] | None = None
    worlds: Literal["belief", "own", "uniform"] = "belief"
    exploration: Annotated[float, Range(0)] = 1.0
    prior_weight: Annotated[float, Range(0)] = 0.3
    ahead: Annotated[int, Range(0)] = 4

    @property
    def asks_belief(self) -> bool:
        """Whether particles come from the belief network."""
        return self.particles > 0 and self.worlds == "belief"

    def beliefs(self, model: PolicyModel) -> Beliefs:
        """What a search with a policy infers from the past."""
        limit = self.milliseconds and self.milliseconds / 2
        match self.worlds:
            case "belief":
                network = load_belief() if self.asks_belief else None
                return Beliefs(model, self.particles, network, _ROUNDS, limit)
            case "own":
                return Beliefs(model, self.particles, None, _ROUNDS, limit)
            case "uniform":
                return Beliefs(model, 0, None)

    def leaf_with(self, model: PolicyModel) -> Leaf:
        """What a leaf is worth in a search with a policy.

        Raises:
            InvalidAgentOptionError: If a critic is wanted that the policy lacks.
        """
        if self.leaf == "critic" and model.leaf != "critic":
            raise self.error(
                "leaf='critic' needs a policy with a critic that was trained to win, as ddz train selfplay makes it: "
                "choose leaf='playout', or leave it out"
            )
        return self.leaf or model.leaf


@dataclass(frozen=True)
class NeuralSearchOptions(ModelSearchOptions, PolicyFile):
    """The options of ``neural-ismcts``: its policy, and how the search spends its budget."""

    def files(self) -> tuple[Path, ...]:
        """The policy's file, and the belief network's where there are particles."""
        return (*super().files(), *([shipped_belief_path()] if self.asks_belief else []))


class ModelSearchAgent(SearchAgent[View]):
    """Searches with any :class:`~ddz_agents.neural.model.PolicyModel`.

    Every tree sends several descents down at a time; the leaves of all trees are evaluated in one batch.

    Args:
        model: The policy, with a critic (:class:`~ddz_agents.neural_search.values.GameCritic`) or without.
        options: How it is searched with; None for the options by default.

    Attributes:
        options: The options.
        model: The policy.

    Raises:
        InvalidAgentOptionError: If a critic is wanted that the policy lacks.
    """

    options: ModelSearchOptions

    def __init__(self, model: PolicyModel, options: ModelSearchOptions | None = None) -> None:
        options = options or ModelSearchOptions()
        super().__init__(options)
        self.model = model
        self._cached = CachedModel(model)
        self._beliefs = options.beliefs(self._cached)
        uniform_prior = options.prior == "uniform"
        evaluator = Evaluator(self._cached, options.leaf_with(model), options.ahead, uniform_prior=uniform_prior)
        self._forest = Forest(options.trees, options.batch, evaluator, options.exploration)

    def _search(self, view: View, position: Position, rng: np.random.Generator) -> Decision:
        options, forest = self.options, self._forest
        clock = Clock(options.milliseconds)
        self._cached.forget()
        seed = np.uint64(rng.integers(0, 2**64, dtype=np.uint64))
        log_priors = forest.plant(view, [np.uint64(key(seed, np.uint64(index))) for index in range(options.trees)])
        likeliest = int(log_priors.argmax())
        sure = options.settled < 1 and log_priors[likeliest] >= math.log(options.settled)
        if sure and not kickers_of(likeliest):  # where kickers ride with it, they are searched for
            return Decision(Move(likeliest), visits={likeliest: 1}, line=(likeliest,))
        forest.believe(self._inferred(view, rng))
        candidates = options.candidates if options.prior == "policy" else NUM_ACTIONS
        first = halve(forest, log_priors, clock, options.iterations, candidates, options.prior_weight)
        return choose(forest.trees, position.row, position.rules, first, [each.prior for each in forest.priors])

    def candidates(self, view: View) -> list[Candidate]:
        """The whole moves that the last search has tried; without lines, for its trees leave out what is forced."""
        return candidates_of(self._forest.trees, view.row, view.rule_words, most_stages=0)

    def believe(self, view: View, rng: np.random.Generator) -> Belief:
        """The belief about the hidden cards from which the agent's worlds are drawn."""
        return belief_of(view, self._inferred(view, rng))

    def _inferred(self, view: View, rng: np.random.Generator) -> WorldPool:
        """The worlds to search."""
        particles = self._beliefs.infer(view, rng)
        return uniform() if particles is None else particles.pool


class NeuralSearchAgent(ModelSearchAgent):
    """Information-set search guided by a trained policy: the shipped one, or ``path=FILE``.

    It takes three times as long with a policy that is seldom sure, as all decisions are then searched, and eight times
    with a ``.zip``, which PyTorch computes.

    Raises:
        InvalidAgentOptionError: If an option's value is not allowed.
        UntrustedFileError: If the file is a ``.zip`` and ``trust_file`` is not set.
        TensorFileError: If the file cannot be read or does not fit this package.
    """

    @takes(NeuralSearchOptions)
    def __init__(self, options: NeuralSearchOptions) -> None:
        super().__init__(options.load(), options)
