"""The agent ``neural-ismcts``: an information-set PUCT search with learned priors and leaf values.

A decision passes through these files:

1. :mod:`ddz_agents.search_agent`: whether there is something to search;
2. this file: the options, and of which parts they make the search;
3. :mod:`~ddz_agents.neural_search.search`: the search of these parts: select, evaluate, back up, halve at the root;
4. :mod:`~ddz_agents.neural_search.trees`: several trees side by side,
5. each of them :mod:`~ddz_agents.neural_search.descent`: down and back up,
6. by :mod:`~ddz_agents.neural_search.selection`: which action is tried next;
7. :mod:`ddz_agents.tree_search.choice`: from the root's statistics to a move.

The parts know nothing of each other: :mod:`~ddz_agents.neural_search.beliefs` draws worlds,
:mod:`~ddz_agents.neural_search.priors` weighs actions, :mod:`~ddz_agents.neural_search.values` says what a leaf is
worth.  The network may be any :class:`~ddz_agents.neural.model.PolicyModel`.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

import numpy as np

from ddz_agents.belief.model import load_belief
from ddz_agents.neural.agent import PolicyFile
from ddz_agents.neural.model import LeafValue, PolicyModel
from ddz_agents.neural.shipped import shipped_belief_path
from ddz_agents.neural_search.beliefs import Beliefs
from ddz_agents.neural_search.model_cache import CachedModel
from ddz_agents.neural_search.priors import PolicyPrior, uniform_prior
from ddz_agents.neural_search.search import MOST_ITERATIONS, Search, SearchOptions
from ddz_agents.neural_search.values import PolicyValue, random_playouts
from ddz_agents.renamed_options import RenamedOptions
from ddz_agents.search_agent import Milliseconds, Position, SearchAgent, count_kickers
from ddz_agents.tree_search.choice import candidates_of
from ddz_agents.worlds.determinize import belief_of
from ddz_agents.worlds.inference import MOST_PARTICLES
from ddz_env import Move, View
from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.playing.agent import Decision
from ddz_env.playing.search_statistics import Belief, Candidate
from ddz_env.support.options import Range, takes_options

_ROUNDS = 2
"""Of annealing, where particles are dealt plainly.  No option: where the belief network deals, as it does under most
rules, there is none."""


@dataclass(frozen=True)
class ModelSearchOptions(RenamedOptions, SearchOptions):
    """How a search with a learned policy spends its budget, and which worlds it searches.

    Larger sizes than these are refused before any memory is taken: a decision would take minutes, its trees some
    hundred megabytes, and a forward pass (every descent in flight of every tree) half a gigabyte.

    Attributes:
        iterations: Descents per decision, shared by the trees.
        milliseconds: Thinking time per decision, instead of iterations; results then depend on the machine.
        skip_search_above: A move to which the policy gives at least this probability is played without a search,
            unless kickers are to be chosen for it; 1 always searches.
        particles: Number of determinizations from which worlds are drawn. They come from the belief network (or are
            uniform under rules that it does not know: two players, undealt cards), and are weighted by how
            plausible they make the moves of the hidden seats, who may be players like the policy or like the rule
            agent; 0 draws uniform worlds. Weighing takes at most about half of `milliseconds`, with fewer particles
            if necessary.
        prior: Whose prior guides the tree: the policy's, or a uniform one, under which all of the root's moves are
            compared, even where the policy is sure of one.
        leaf: What values a leaf: the policy's critic, after the policy has played on for some decisions, or a random
            playout with finishing moves. By default what the policy has: the critic, or its own value, or else
            playouts.
        worlds: Which worlds are searched: with `belief`, those of `particles` from the shipped belief network; with
            `particles`, as many uniform ones, weighted by the policy of this search alone; or `uniform` ones.
        leaf_policy_steps: Decisions that the policy plays from a leaf before a network values it.
    """

    iterations: Annotated[int, Range(1, MOST_ITERATIONS)] = 1000
    _: KW_ONLY
    milliseconds: Milliseconds = None
    skip_search_above: Annotated[float, Range(0.5, 1)] = 0.98
    particles: Annotated[int, Range(0, MOST_PARTICLES)] = 64
    prior: Literal["policy", "uniform"] = "policy"
    leaf: Literal["critic", "playout"] | None = None
    worlds: Literal["belief", "particles", "uniform"] = "belief"
    leaf_policy_steps: Annotated[int, Range(0)] = 4

    @property
    def uses_belief_network(self) -> bool:
        """Whether the search draws its weighted determinizations (particles) from the belief network."""
        return self.particles > 0 and self.worlds == "belief"

    def make_beliefs(self, model: PolicyModel) -> Beliefs:
        """Create the sampler of hidden hands that the ``worlds`` option selects, for a given policy."""
        limit = self.milliseconds and self.milliseconds / 2
        match self.worlds:
            case "belief":
                network = load_belief() if self.uses_belief_network else None
                return Beliefs(model, self.particles, network, _ROUNDS, limit)
            case "particles":
                return Beliefs(model, self.particles, None, _ROUNDS, limit)
            case "uniform":
                return Beliefs(model, 0, None)

    def choose_leaf(self, model: PolicyModel) -> LeafValue:
        """Return how leaves are valued: as the ``leaf`` option says, or by the policy's default.

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
        """Return the policy's file, and the belief network's file if the search uses particles from it."""
        return (*super().files(), *([shipped_belief_path()] if self.uses_belief_network else []))


class ModelSearchAgent(SearchAgent[View]):
    """An agent that searches with any :class:`~ddz_agents.neural.model.PolicyModel`.

    Every tree sends several descents down at a time; the leaves of all trees are evaluated in one batch.

    Args:
        model: The policy, with a critic (:class:`~ddz_agents.neural.model.GameCritic`) or without.
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
        self._cached = cached = CachedModel(model)
        self._beliefs = options.make_beliefs(cached)
        leaf, likeliest_first = options.choose_leaf(model), options.prior == "policy"
        self._searcher = Search(
            worlds=self._beliefs,
            prior=PolicyPrior(cached) if likeliest_first else uniform_prior,
            value=random_playouts if leaf == "playout" else PolicyValue(cached, leaf, options.leaf_policy_steps),
            options=options if likeliest_first else replace(options, candidates=NUM_ACTIONS),
        )

    def _search(self, view: View, position: Position, rng: np.random.Generator) -> Decision:
        options = self.options
        self._cached.forget()
        self._searcher.parallel.clear()
        log_priors = self._searcher.root_prior(view)
        likeliest = int(log_priors.argmax())
        threshold = options.skip_search_above
        sure = options.prior == "policy" and threshold < 1 and log_priors[likeliest] >= math.log(threshold)
        if sure and not count_kickers(likeliest):  # where kickers ride with it, they are searched for
            return Decision(Move(likeliest), visits={likeliest: 1}, line=(likeliest,))
        return self._searcher.decide(view, rng, options.iterations, options.milliseconds)

    def candidates(self, view: View) -> list[Candidate]:
        """List the complete moves that the last search tried, with their statistics but no continuations."""
        return candidates_of(self._searcher.parallel.trees, view.row, view.rule_words, most_stages=0)

    def believe(self, view: View, rng: np.random.Generator) -> Belief:
        """Return the belief about the hidden cards from which the agent's determinizations are drawn."""
        return belief_of(view, self._beliefs(view, rng))


class NeuralSearchAgent(ModelSearchAgent):
    """Searches information sets guided by a trained policy: a shipped one, or ``path=FILE``.

    It takes three times as long with a policy that is seldom sure, as all decisions are then searched, and eight times
    with a ``.zip``, which PyTorch computes.

    Raises:
        InvalidAgentOptionError: If an option's value is not allowed.
        UntrustedFileError: If the file is a ``.zip`` and ``trust_file`` is not set.
        TensorFileError: If the file cannot be read or does not fit this package.
    """

    @takes_options(NeuralSearchOptions)
    def __init__(self, options: NeuralSearchOptions) -> None:
        super().__init__(options.load(), options)
