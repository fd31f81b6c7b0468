"""What a tree search may do differently: its options, and the same as scalars for the kernels."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, cast

import numpy as np
from numba.extending import is_jitted

from ddz_agents.worlds.inference import MOST_PARTICLES
from ddz_env.core.errors import InvalidAgentOptionError
from ddz_env.core.options import Options, Range
from ddz_env.envs.threads import MOST_THREADS

MOST_ITERATIONS = 100_000_000
"""More are an error: compiled code counts records, up to four an iteration, in 32 bits and does not check them."""

RANDOM = "random"
RESULTS = "docs/measurements/search-options.md"
"""Where the results of what went stand."""
ENDGAME = "search", "no match showed a gain from solving the last cards; the agent `determinized-solver` solves them"
"""The option of 0.2.0 by which a search handed its last cards to the solver."""
Policy = Callable[[Any, Any, Any, Any], Any]
"""A simulation of the user's own, compiled by Numba: ``(row, rules, mask, state)`` to the generator's new state."""
Milliseconds = Annotated[float, Range(0.1)] | None


class TreeSettings(NamedTuple):
    """Settings of one search.

    Attributes:
        exploration: The constant ``k`` of figure 2; rewards are 0 (loss) to 1 (win).
        fixed: Search the root row itself, a whole game, instead of determinizations of a view.
        finish: Simulations take a finishing move at once.
    """

    exploration: np.float64
    fixed: np.bool_
    finish: np.bool_


@dataclass(frozen=True)
class TreeOptions(Options):
    """How trees grow.

    Attributes:
        iterations: Iterations per tree.
        trees: Trees, each with its own random numbers; their statistics are added up at the root.
        milliseconds: Thinking time per decision, instead of iterations; results then depend on the machine.
        exploration: The constant ``k`` of figure 2, on rewards from 0 (loss) to 1 (win); one half if everybody declined
            to be landlord.
        simulation: Who plays a game to its end: ``random`` moves, or a policy of your own, as text
            ``package.module.function``: a function compiled by Numba that takes (row, rules, mask, state), plays the
            row to its end and returns the generator's new state.
        finish: Take a finishing move at once, in simulations too; if false, the search is figure 2 to the letter.
        threads: Threads that grow the trees; none for all cores. Results do not depend on it.
    """

    gone = {  # noqa: RUF012 - a class attribute without an annotation is no field
        "selection": ("ucb", f"PUCT lost to it at equal time, see {RESULTS}"),
        "counts": ("parent", f"availability counts gained nothing, see {RESULTS}"),
        "prior": ("uniform", f"PUCT with the rule agent's prior is weaker than `rollout`, see {RESULTS}"),
        "final": ("visits", f"the choice by value gained nothing, see {RESULTS}"),
    }
    iterations: Annotated[int, Range(1, MOST_ITERATIONS)] = 250
    trees: Annotated[int, Range(1)] = 40
    milliseconds: Milliseconds = None
    exploration: Annotated[float, Range(0)] = 1.0
    simulation: str | Policy = RANDOM
    finish: bool = True
    threads: Annotated[int, Range(1, MOST_THREADS)] | None = 1

    def check(self) -> None:
        """Refuse simulations that do not exist."""
        self.policy()

    def settings(self, fixed: bool = False) -> TreeSettings:
        """The same for the kernels.

        Args:
            fixed: Whether a given game is searched, not determinizations.

        Example:
            >>> float(TreeOptions(exploration=0.44).settings().exploration)
            0.44
        """
        return TreeSettings(np.float64(self.exploration), np.bool_(fixed), np.bool_(self.finish))

    def policy(self) -> Policy | None:
        """The user's own simulation, itself or by its dotted name; None for random moves.

        Raises:
            InvalidAgentOptionError: If there is no such simulation.
        """
        found: object = self.simulation
        if found == RANDOM:
            return None
        if found in ("planned", "rules"):
            raise self.error(
                f"simulation={found} went, and {RANDOM} stayed: it gained nothing in a tree, see {RESULTS}"
            )
        if isinstance(found, str):
            module, dot, name = found.rpartition(".")
            if not dot:
                raise self.error(f"simulation={found!r} must be {RANDOM}, or module.function")
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
        particles: Number of determinizations from which worlds are drawn, weighted by how plausible they make the
            hidden seats' past moves; 0 draws uniform worlds.
    """

    gone = TreeOptions.gone | {
        "reuse": (False, f"trees kept from one move to the next gained nothing, see {RESULTS}"),
        "endgame": ENDGAME,
    }
    iterations: Annotated[int, Range(1, MOST_ITERATIONS)] = 10_000
    trees: Annotated[int, Range(1)] = 1
    particles: Annotated[int, Range(0, MOST_PARTICLES)] = 0
