"""The neural search agent: information-set PUCT whose prior and leaf values are learned."""

from __future__ import annotations

import math
import time
from pathlib import Path

import numpy as np

from agents.mcts.choice import choose, finishing_move, only_move
from agents.mcts.errors import InvalidBudgetError, check_budget, check_choice, check_count
from agents.mcts.options import SIMULATIONS
from agents.neural.loading import load_policy
from agents.neural.model import Floats, PolicyModel
from agents.neural_search.beliefs import believed_players
from agents.neural_search.forest import Forest
from agents.neural_search.halving import Clock, halve
from agents.neural_search.leaves import Evaluator, leaf_kind
from agents.worlds.consistency import check_view
from agents.worlds.determinize import WorldPool, uniform
from agents.worlds.inference import MOST_PARTICLES, inferred_pool
from ddz_env import Move, View
from ddz_env.actions import KICKER_BASE, MAIN_GROUPS
from ddz_env.agent import Decision
from ddz_env.engine.layout import SEAT
from ddz_env.engine.random import key
from ddz_env.errors import IllegalMoveError

ROOTS = ("halving", "puct")
MOST_ITERATIONS, MOST_TREES, MOST_BATCH, MOST_AHEAD = 1_000_000, 64, 256, 1000
"""More are an error before any memory is taken: with so many a decision takes minutes, its trees some hundred
megabytes, and a forward pass (every descent in flight of every tree) half a gigabyte."""

_ROUNDS = 2
"""Of annealing: each asks the policy about every particle's decisions."""
_FIRST_PRICE = 0.05
"""Milliseconds that a move of the past costs a particle, before any has been timed."""


class ModelSearchAgent:
    """Searches with any :class:`~agents.neural.policy.PolicyModel`.

    Every tree sends several descents down at a time; the leaves of all trees are evaluated in one batch.

    Args:
        model: The policy, with a critic (:class:`~agents.neural_search.leaves.GameCritic`) or without.
        iterations: Descents a decision, shared by the trees; at most 1,000,000.
        milliseconds: Thinking time a decision instead of iterations; results then depend on the machine.
        trees: Trees, each with its own random numbers; their statistics are added up at the root; at most 64.
        batch: Descents in flight a tree; at most 256.
        root: How the root's moves share the descents: ``halving`` (:mod:`agents.neural_search.halving`) or ``puct``.
        candidates: Of the root's moves, so many that the policy likes best are compared by halving.
        caution: How much the policy's liking counts against the values found (halving only).
        exploration: PUCT's constant, on rewards 0 (loss) to 1 (win).
        temperature: Of the prior: above 1 it is flatter than the policy.
        settled: A move that the policy gives at least this probability is played without a search; 1 searches always.
        leaf: ``critic``, ``value``, ``simulation`` or ``auto`` (:func:`~agents.neural_search.leaves.leaf_kind`).
        ahead: Decisions that the policy plays on from a leaf before the critic or its own value is asked
            (:mod:`agents.neural_search.playing_on`); at most 1,000.
        trust: Share of the learned value in a leaf's; the rest is a simulation's.
        simulation: ``random``, ``planned`` or ``rules``.
        inference: Whom the hidden seats are believed to be: ``policy`` (players like the one that searches), ``rules``
            or ``mixed`` (:mod:`agents.neural_search.beliefs`).
        particles: Draw determinizations from so many, weighted by how plausible the hidden seats' past moves are
            (:mod:`agents.worlds`); 0 for uniform ones; at most 100,000.  Of ``milliseconds`` inference takes at most
            about half, with fewer particles if need be.
        final: Choose the move with most ``visits``, or with the best ``value`` among those with enough; after halving
            it decides between kickers only.

    Raises:
        InvalidBudgetError: If a number is out of range.
        InvalidSearchOptionError: If an option's value does not exist, or the model has no critic.
    """

    cheats = False

    def __init__(
        self,
        model: PolicyModel,
        iterations: int = 1000,
        *,
        milliseconds: float | None = None,
        trees: int = 4,
        batch: int = 16,
        root: str = "halving",
        candidates: int = 5,
        caution: float = 0.3,
        exploration: float = 1.0,
        temperature: float = 1.0,
        settled: float = 0.98,
        leaf: str = "auto",
        trust: float = 1.0,
        simulation: str = "random",
        ahead: int = 4,
        inference: str = "mixed",
        particles: int = 256,
        final: str = "visits",
    ) -> None:
        for name, value, least in (
            ("milliseconds", 1 if milliseconds is None else milliseconds, 0.1),
            ("caution", caution, 0),
            ("exploration", exploration, 0),
            ("temperature", temperature, 0.01),
            ("settled", settled, 0.5),
            ("trust", trust, 0),
        ):
            check_budget(name, value, least)
        for name, value in (("settled", settled), ("trust", trust)):
            if value > 1:
                raise InvalidBudgetError(f"{name}={value!r} must be at most 1")
        self.iterations, self.milliseconds = check_count("iterations", iterations, 1, MOST_ITERATIONS), milliseconds
        self.trees = check_count("trees", trees, 1, MOST_TREES)
        self.batch = check_count("batch", batch, 1, MOST_BATCH)
        ahead = check_count("ahead", ahead, 0, MOST_AHEAD)
        self.particles = check_count("particles", particles, 0, MOST_PARTICLES)
        self.root = ROOTS[check_choice("root", root, ROOTS)]
        self.candidates, self.caution = check_count("candidates", candidates, 2), float(caution)
        self.model = model
        self._price = _FIRST_PRICE
        self._believed = believed_players(model, inference)
        self.settled = float(settled)
        self.leaf = leaf_kind(model, leaf)
        self._by_value = check_choice("final", final, ("visits", "value")) == 1
        simulated = check_choice("simulation", simulation, SIMULATIONS)
        self._forest = Forest(
            self.trees,
            self.batch,
            Evaluator(model, self.leaf if trust else "simulation", float(temperature), ahead),
            exploration=float(exploration),
            trust=float(trust) if self.leaf != "simulation" else 0.0,
            simulation=simulated,
        )

    @property
    def name(self) -> str:
        """The agent's class and budget."""
        budget = f"{self.milliseconds:g}ms" if self.milliseconds else f"{self.iterations}"
        return f"{type(self).__name__}({budget})"

    def act(self, view: View, rng: np.random.Generator) -> Move:
        """Search and return the chosen move."""
        return self.decide(view, rng).move

    def decide(self, view: View, rng: np.random.Generator) -> Decision:
        """Search and return the move with the statistics of the search.

        Raises:
            IllegalMoveError: If it is not the seat's turn, or the game is over.
            InconsistentViewError: If the view contradicts itself.
        """
        root, seat, rules = view.row, int(view.seat), view.rule_words
        check_view(root, seat, rules)
        if int(root[SEAT]) != seat:
            raise IllegalMoveError(f"seat {seat} is asked to act, but it is seat {int(root[SEAT])}'s turn")
        move = only_move(root, rules) or finishing_move(root, seat, rules)
        if move is not None:
            return Decision(move, line=move.actions)
        began = time.perf_counter()
        seed = np.uint64(rng.integers(0, 2**64, dtype=np.uint64))
        priors, own = self._forest.plant(view, [np.uint64(key(seed, np.uint64(index))) for index in range(self.trees)])
        move = self._settled_move(own)
        if move is not None:
            return Decision(move, visits={move.main: 1}, line=move.actions)
        first = self._search(view, self._worlds(view, rng), priors, began)
        return choose(self._forest.trees, root, rules, self._by_value, first)

    def _settled_move(self, log_probabilities: Floats) -> Move | None:
        """The move that the policy is all but sure of; where kickers ride with it, they are searched for."""
        action = int(log_probabilities.argmax())
        if self.settled == 1 or log_probabilities[action] < math.log(self.settled):
            return None
        has_kickers = action < KICKER_BASE and MAIN_GROUPS[action].kicker_count > 0
        return None if has_kickers else Move(action)

    def _worlds(self, view: View, rng: np.random.Generator) -> WorldPool:
        """Inferred worlds: under a clock, only as many as half of the time pays for at the price of the last ones.

        The price falls by half at most, lest one decision with nothing to infer lets the next one take all the time;
        and where it pays for nothing it falls as well, lest one slow moment ends inference for good.
        """
        moves, particles = max(1, len(view.history)), self.particles
        if self.milliseconds is not None:
            particles = min(particles, int(self.milliseconds / 2 / (self._price * moves)))
        if not particles:
            self._price /= 2
            return uniform()
        began = time.perf_counter()
        pool = inferred_pool(view, rng, particles, self._believed, _ROUNDS)
        spent = (time.perf_counter() - began) * 1000
        self._price = max(spent / (particles * moves), self._price / 2)
        return pool

    def _search(self, view: View, pool: WorldPool, priors: Floats, began: float) -> int | None:
        """Waves of descents, each evaluated in one batch, until the budget is spent; the root's action if decided."""
        forest, clock = self._forest, Clock(self.iterations, self.milliseconds, began)
        if self.root == "puct":
            while not clock.over(1.0):
                share = clock.share(self.batch, self.trees)
                forest.wave(view, pool, np.full(share, -1, np.int16))
                clock.spend(share * self.trees)
            return None
        return halve(forest, view, pool, priors, clock, self.candidates, self.caution, self.batch)


class NeuralSearchAgent(ModelSearchAgent):
    """Searches with a policy from a file: ``neural-ismcts`` plays by the shipped one.

    Args:
        path: The file, of any format that :func:`~agents.neural.loading.load_policy` reads; None for the shipped one.
        iterations: See :class:`ModelSearchAgent`, as the others.
        milliseconds: Likewise.
        trees: Likewise.
        batch: Likewise.
        root: Likewise.
        candidates: Likewise.
        caution: Likewise.
        exploration: Likewise.
        temperature: Likewise.
        settled: Likewise.
        leaf: Likewise.
        trust: Likewise.
        simulation: Likewise.
        ahead: Likewise.
        inference: Likewise.
        particles: Likewise.
        final: Likewise.
        threads: PyTorch's threads, for the whole process.
        trust_file: Whether a ``.zip`` of Stable-Baselines3 may be read, which runs whatever code is in it.

    Raises:
        UntrustedFileError: If the file is a ``.zip`` and ``trust_file`` is not set.
        MissingTorchError: If PyTorch or safetensors is needed and not installed.
        TensorFileError: If the file cannot be read or does not fit this package.
        InvalidBudgetError: If a number is out of range.
        InvalidSearchOptionError: If an option's value does not exist, or the model has no critic.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        iterations: int = 1000,
        *,
        milliseconds: float | None = None,
        trees: int = 4,
        batch: int = 16,
        root: str = "halving",
        candidates: int = 5,
        caution: float = 0.3,
        exploration: float = 1.0,
        temperature: float = 1.0,
        settled: float = 0.98,
        leaf: str = "auto",
        trust: float = 1.0,
        simulation: str = "random",
        ahead: int = 4,
        inference: str = "mixed",
        particles: int = 256,
        final: str = "visits",
        threads: int = 1,
        trust_file: bool = False,
    ) -> None:
        super().__init__(
            load_policy(path, threads=threads, trust=trust_file),
            iterations,
            milliseconds=milliseconds,
            trees=trees,
            batch=batch,
            root=root,
            candidates=candidates,
            caution=caution,
            exploration=exploration,
            temperature=temperature,
            settled=settled,
            leaf=leaf,
            trust=trust,
            simulation=simulation,
            ahead=ahead,
            inference=inference,
            particles=particles,
            final=final,
        )
