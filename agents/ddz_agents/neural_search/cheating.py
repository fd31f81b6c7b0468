"""The gauge of what inference can bring at most: the same search, which knows the true hands."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ddz_agents.neural_search.agent import ModelSearchAgent, NeuralSearchOptions
from ddz_agents.worlds.determinize import WorldPool
from ddz_env import Move, State, View
from ddz_env.core.engine.layout import BOTTOM, HANDS, HIDDEN, LANDLORD, NO_SEAT
from ddz_env.core.options import takes
from ddz_env.playing.agent import Decision


class _Knowing(ModelSearchAgent):
    """A search whose only world is the game that is really played."""

    deal = np.zeros(4, np.uint64)

    def _worlds(self, view: View, rng: np.random.Generator) -> tuple[WorldPool, npt.NDArray[np.uint8]]:
        return WorldPool(self.deal[None], np.ones(1)), np.zeros(3, np.uint8)


@takes(NeuralSearchOptions)
class CheatingNeuralSearchAgent:
    """``neural-ismcts`` with the true hands; it declares that it cheats.

    Its moves are still chosen for the policy's play, in which every seat acts by what it sees.

    Raises:
        InvalidAgentOptionError: As :class:`ddz_agents.neural_search.agent.NeuralSearchAgent`.
    """

    cheats = True

    def __init__(self, *values: Any, **named: Any) -> None:
        options = NeuralSearchOptions.of(*values, **named)
        self._search = _Knowing(options.load(), options)
        self.name = f"Cheating{self._search.name.removeprefix('_')}"

    def act(self, state: State, rng: np.random.Generator) -> Move:
        """Search and return the chosen move."""
        return self.decide(state, rng).move

    def decide(self, state: State, rng: np.random.Generator) -> Decision:
        """Search and return the move with the statistics of the search.

        Raises:
            IllegalMoveError: If a move is half built or the game is over.
        """
        rest = BOTTOM if int(state.row[LANDLORD]) == NO_SEAT else HIDDEN
        self._search.deal = state.row[[HANDS, HANDS + 1, HANDS + 2, rest]]
        return self._search.decide(state.view(), rng)
