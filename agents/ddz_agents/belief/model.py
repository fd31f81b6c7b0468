"""The worlds of a view, drawn from a belief network."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from ddz_agents.belief.conduct import tallies_of
from ddz_agents.belief.layers import COLUMNS, believe, log_ways, new_head
from ddz_agents.belief.stored import StoredBelief, read_belief
from ddz_agents.neural.compiled_network import new_desk
from ddz_agents.neural.shipped import shipped_belief_path
from ddz_agents.worlds.determinize import WorldPool, uniform
from ddz_agents.worlds.inference import Proposal
from ddz_env import View
from ddz_env.core.cards import NUM_RANKS
from ddz_env.core.engine.compiling import kernel
from ddz_env.core.engine.layout import HANDS, HIDDEN, KNOWN, LANDLORD, MOVES
from ddz_env.core.engine.words import U1, add_hand, remove_hand, spread
from ddz_env.core.observation import OBSERVATION_WORDS, write_observation
from ddz_env.core.owned import OwnsArrays

_PLAYERS = 3


@kernel
def _deal(row: np.ndarray, seat: int, hands: np.ndarray, deals: np.ndarray) -> None:
    """Write whole deals: the next seat's hidden cards as drawn, the previous seat's the rest."""
    following, previous = (seat + 1) % _PLAYERS, (seat + 2) % _PLAYERS
    landlord = np.int64(row[LANDLORD])
    for index in range(hands.shape[0]):
        cards = np.uint64(0)
        for rank in range(NUM_RANKS):
            cards |= spread(U1 << np.uint64(rank), np.uint64(hands[index, rank]))
        deals[index, seat] = row[HANDS + seat]
        deals[index, following] = cards
        deals[index, previous] = remove_hand(row[HIDDEN], cards)
        deals[index, 3] = np.uint64(0)
        if landlord != seat:
            deals[index, landlord] = add_hand(deals[index, landlord], row[KNOWN])


class BeliefModel(OwnsArrays):
    """A belief network that is asked about views.

    Args:
        stored: The network.
    """

    def __init__(self, stored: StoredBelief) -> None:
        self._layers = stored.layers()
        self._desk = new_desk(COLUMNS, stored.architecture.width, 0, 0)
        self._head = new_head(stored.architecture.hidden)

    def worlds(self, view: View, rng: np.random.Generator, count: int) -> WorldPool:
        """Equally likely worlds; an empty pool, for uniform ones, where the network has nothing to say.

        Args:
            view: What the observer knows.
            rng: The generator.
            count: How many.
        """
        drawn = self.proposal(view, rng, count)
        return uniform() if drawn is None else WorldPool(drawn.hands, np.arange(1, count + 1) / count)

    def proposal(self, view: View, rng: np.random.Generator, count: int) -> Proposal | None:
        """Worlds to be weighed by something else; None where the network has nothing to say, or for none.

        Args:
            view: What the observer knows.
            rng: The generator.
            count: How many.
        """
        hands, deals = np.zeros((count, NUM_RANKS), np.int64), np.empty((count, 4), np.uint64)
        logs = None if count == 0 else self._ask(view, rng.random((count, NUM_RANKS)), hands)
        if logs is None:
            return None
        _deal(view.row, view.seat, hands, deals)
        return Proposal(deals, log_ways(self._head.pool, hands) - logs)

    def log_probabilities(self, view: View, hands: npt.NDArray[np.int64]) -> npt.NDArray[np.float64] | None:
        """The logarithms of the probabilities of hidden hands; None where the network has nothing to say.

        Args:
            view: What the observer knows.
            hands: What the next seat holds of the cards that the observer cannot place, by rank, shape ``[n, 15]``,
                int64; as many cards as it must.
        """
        return self._ask(view, np.empty((len(hands), 0)), hands)

    def _ask(
        self, view: View, draws: npt.NDArray[np.float64], hands: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float64] | None:
        if view.landlord is None or view.rules.players != _PLAYERS or len(view.history) != int(view.row[MOVES]):
            return None  # the last is a bare row: there is no conduct to go by
        observation = np.empty(OBSERVATION_WORDS, np.uint64)
        write_observation(view.row, view.ring, view.rule_words, np.uint64(view.seat), observation)
        logs, tallies = np.empty(len(hands)), tallies_of(view.history, view.landlord)
        seen = observation.view(np.int8), tallies, view.seat
        need = believe(*seen, self._layers, self._desk, self._head, draws, hands, logs)
        return None if need < 0 else logs


def load_belief(path: str | Path | None = None) -> BeliefModel:
    """Read a belief network.

    Args:
        path: The file; None for the shipped one.

    Raises:
        TensorFileError: If the file is missing, truncated, corrupt or of another format.
        TensorFileMismatchError: If it was written for other observations or another architecture.
    """
    return BeliefModel(read_belief(shipped_belief_path() if path is None else path))
