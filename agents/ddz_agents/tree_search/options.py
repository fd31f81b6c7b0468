"""What a tree search may do differently: its options, and the same as scalars for the kernels."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple, cast, get_args

import numpy as np
from numba.extending import is_jitted

from ddz_agents.worlds.inference import MOST_PARTICLES
from ddz_env.core.errors import InvalidAgentOptionError
from ddz_env.core.options import Options, Range
from ddz_env.envs.threads import MOST_THREADS

MOST_ITERATIONS = 100_000_000
"""More are an error: compiled code counts records, up to four an iteration, in 32 bits and does not check them."""

Simulation = Literal["random", "planned", "rules"]
SIMULATIONS: tuple[str, ...] = get_args(Simulation)
"""Simulation policies by name; a search gets the index."""
RANDOM, PLANNED, RULES = (np.int64(SIMULATIONS.index(name)) for name in ("random", "planned", "rules"))
UCB, AVAILABILITY, PUCT = np.int64(0), np.int64(1), np.int64(2)
"""Forms of selection (:mod:`ddz_agents.tree_search.search`)."""
Policy = Callable[[Any, Any, Any, Any], Any]
"""A simulation of the user's own, compiled by Numba: ``(row, rules, mask, state)`` to the generator's new state."""
Milliseconds = Annotated[float, Range(0.1)] | None


class TreeSettings(NamedTuple):
    """Settings of one search.

    Attributes:
        exploration: The constant ``k`` of figure 2, or PUCT's; rewards are 0 (loss) to 1 (win).
        fixed: Search the root row itself, a whole game, instead of determinizations of a view.
        finish: Simulations take a finishing move at once.
        simulation: Index into ``SIMULATIONS``.
        selection: Figure 2's ``UCB``, the same with ``AVAILABILITY`` in place of the parent's visits, or ``PUCT``.
        guided: Expand the rule agent's move first, with the prior of ``GUIDED_WEIGHT`` other moves (PUCT only).
    """

    exploration: np.float64
    fixed: np.bool_
    finish: np.bool_
    simulation: np.int64
    selection: np.int64
    guided: np.bool_


@dataclass(frozen=True)
class TreeOptions(Options):
    """How trees grow and how a move is chosen from them.

    Attributes:
        iterations: Iterations per tree.
        trees: Trees, each with its own random numbers; their statistics are added up at the root.
        milliseconds: Thinking time per decision, instead of iterations; results then depend on the machine.
        exploration: The constant ``k`` of figure 2 (or PUCT's), on rewards from 0 (loss) to 1 (win); one half if
            everybody declined to be landlord.
        simulation: Who plays a game to its end: ``random`` moves, the ``planned`` split of each hand into moves, or the
            rule agent (``rules``).  Or a policy of your own, as text ``package.module.function``: a function compiled
            by Numba that takes (row, rules, mask, state), plays the row to its end and returns the generator's new
            state.
        selection: ``ucb`` (figure 2), or ``puct``: ``R/V + k P sqrt(V(parent)) / (1 + V)``.
        counts: What the logarithm of UCB counts: visits of the ``parent`` (figure 2), or only those in which the child
            was legal (``availability``).
        prior: PUCT's prior: ``uniform``, or ``rules``: the rule agent's move first, with the weight of ten others.
        final: Choose the move with the most ``visits``, or with the best ``value`` among those with at least a tenth as
            many visits.
        finish: Take a finishing move at once, in simulations too; if false, the search is figure 2 to the letter.
        threads: Threads that grow the trees; none for all cores. Results do not depend on it.
    """

    iterations: Annotated[int, Range(1, MOST_ITERATIONS)] = 250
    trees: Annotated[int, Range(1)] = 40
    milliseconds: Milliseconds = None
    exploration: Annotated[float, Range(0)] = 1.0
    simulation: Simulation | str | Policy = "random"
    selection: Literal["ucb", "puct"] = "ucb"
    counts: Literal["parent", "availability"] = "parent"
    prior: Literal["uniform", "rules"] = "uniform"
    final: Literal["visits", "value"] = "visits"
    finish: bool = True
    threads: Annotated[int, Range(1, MOST_THREADS)] | None = 1

    def check(self) -> None:
        """Refuse what contradicts itself, and simulations that do not exist."""
        if self.selection == "puct" and self.counts == "availability":
            raise self.error("counts='availability' is a form of UCB: not with selection='puct'")
        if self.selection == "ucb" and self.prior == "rules":
            raise self.error("prior='rules' needs selection='puct'")
        self.policy()

    def settings(self, fixed: bool = False) -> TreeSettings:
        """The same for the kernels.

        Args:
            fixed: Whether a given game is searched, not determinizations.
        """
        simulation = SIMULATIONS.index(self.simulation) if self.simulation in SIMULATIONS else 0
        selection = PUCT if self.selection == "puct" else AVAILABILITY if self.counts == "availability" else UCB
        flags = np.bool_(fixed), np.bool_(self.finish)
        guided = np.bool_(self.prior == "rules")
        return TreeSettings(np.float64(self.exploration), *flags, np.int64(simulation), selection, guided)

    def policy(self) -> Policy | None:
        """The user's own simulation, itself or by its dotted name; None for one of ours.

        Raises:
            InvalidAgentOptionError: If there is no such simulation.
        """
        found: object = self.simulation
        if found in SIMULATIONS:
            return None
        if isinstance(found, str):
            module, dot, name = found.rpartition(".")
            if not dot:
                raise self.error(f"simulation={found!r} must be one of {', '.join(SIMULATIONS)}, or module.function")
            try:
                found = getattr(importlib.import_module(module), name)
            except (ImportError, AttributeError, ValueError, TypeError) as error:
                raise InvalidAgentOptionError(f"simulation={self.simulation!r} names no function: {error}") from error
        if not is_jitted(found):
            raise self.error(f"simulation={self.simulation!r} is no function compiled by Numba")
        return cast("Policy", found)


@dataclass(frozen=True)
class IsUctOptions(TreeOptions):
    """The options of every tree search, and those that need a single tree of information sets.

    Attributes:
        reuse: Keep the part of the tree below the moves that were played.
        particles: Number of determinizations from which worlds are drawn, weighted by how plausible they make the
            hidden seats' past moves; 0 draws uniform worlds.
        endgame: ``solver``: with at most 20 cards in all hands, 30 worlds are solved to the end instead of searched,
            and all that fit if they are fewer; ``sure``: the same only where one move wins them all.
    """

    iterations: Annotated[int, Range(1, MOST_ITERATIONS)] = 10_000
    trees: Annotated[int, Range(1)] = 1
    reuse: bool = False
    particles: Annotated[int, Range(0, MOST_PARTICLES)] = 0
    endgame: Literal["search", "solver", "sure"] = "search"


def plain(exploration: float = 1.0, *, fixed: bool = False) -> TreeSettings:
    """Figure 2, apart from finishing moves.

    Example:
        >>> float(plain(0.44).exploration)
        0.44
    """
    return TreeOptions(exploration=exploration).settings(fixed)
