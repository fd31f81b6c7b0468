"""A belief network on disk, read and checked without PyTorch, and the worlds of a view that are drawn from it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ddz_agents.belief.conduct import TALLIES, tallies_of
from ddz_agents.belief.layers import COLUMNS, COUNTS, BeliefLayers, believe, log_ways, new_head
from ddz_agents.neural.architecture import Blocks, Layers, Shapes, Width
from ddz_agents.neural.compiled_policy import Dense, dense, new_buffers, trunk_of
from ddz_agents.neural.errors import InvalidArchitectureError, TensorFileMismatchError
from ddz_agents.neural.shipped import shipped_belief_path
from ddz_agents.neural.stored_policy import fitting
from ddz_agents.neural.tensor_file import Arrays, read_tensor_file, write_tensor_file
from ddz_agents.worlds.determinize import Reals, WorldPool, uniform
from ddz_agents.worlds.inference import Proposal
from ddz_env import View
from ddz_env.core.cards import NUM_RANKS
from ddz_env.core.engine.compiling import kernel
from ddz_env.core.engine.layout import HANDS, HIDDEN, KNOWN, LANDLORD, MOVES
from ddz_env.core.engine.words import U1, add_hand, remove_hand, spread
from ddz_env.core.observation import OBSERVATION_WORDS, write_observation
from ddz_env.core.options import Options
from ddz_env.core.owned import OwnsArrays

_PLAYERS = 3

KIND = "ddz-belief"
VERSION = 1
NETWORK = "belief."
"""What the names of the weights begin with."""


@dataclass(frozen=True)
class BeliefArchitecture(Options):
    """The sizes of a belief network.

    Attributes:
        width: Units of the layers that read the table.
        blocks: Residual blocks among them.
        hidden: Units of the head, to which each drawn count adds.

    Raises:
        InvalidArchitectureError: If a size is out of range.
    """

    error = InvalidArchitectureError

    width: Width = 192
    blocks: Blocks = 1
    hidden: Width = 128

    @property
    def layers(self) -> Layers:
        """The layers of :class:`ddz_agents.belief.network.BeliefNetwork`, but for those of its head."""
        return Layers(COLUMNS, self.width, self.blocks, {"context": (self.hidden, self.width)})

    @property
    def head(self) -> Shapes:
        """The shapes of the weights of its head."""
        counts = (NUM_RANKS, COUNTS)
        return {"counts": (NUM_RANKS, COUNTS - 1, self.hidden), "logits": (*counts, self.hidden), "logits_bias": counts}


@dataclass(frozen=True)
class StoredBelief:
    """What a file of a belief network holds.

    Attributes:
        architecture: The sizes.
        arrays: The weights, by name.
        rules: The preset that it was trained under.
        notes: Plain values for people.
    """

    architecture: BeliefArchitecture
    arrays: Arrays
    rules: str
    notes: dict[str, Any]

    def layers(self) -> BeliefLayers:
        """The weights as compiled code takes them."""
        trunk, context = trunk_of(self.arrays, self.architecture.layers), dense(self.arrays, "context")
        counts, *logits = (np.ascontiguousarray(self.arrays[name]) for name in self.architecture.head)
        return BeliefLayers(trunk, context, counts, Dense(*logits))


def write_belief(path: str | Path, stored: StoredBelief) -> None:
    """Write a belief network, replacing the file atomically.

    Raises:
        TensorFileError: If the file cannot be written.
    """
    arrays = {NETWORK + name: array for name, array in stored.arrays.items()}
    about = {"architecture": stored.architecture.as_dict(), "rules": stored.rules, "notes": stored.notes}
    # The policy's inputs have their own fingerprint in the heading.
    write_tensor_file(path, KIND, VERSION, arrays, {**about, "conduct": list(TALLIES)})


def read_belief(path: str | Path) -> StoredBelief:
    """Read a belief network.

    Raises:
        TensorFileError: If the file is missing, truncated, corrupt or of another format, or holds numbers that are not
            finite.
        TensorFileMismatchError: If it was written for other observations, conduct or another architecture.
    """
    arrays, about = read_tensor_file(path, KIND, VERSION)
    try:
        sizes = BeliefArchitecture.from_dict(about["architecture"])
        conduct, rules, notes = about["conduct"], str(about["rules"]), dict(about["notes"])
    except (InvalidArchitectureError, KeyError, TypeError, ValueError) as error:
        raise TensorFileMismatchError(f"{path} does not say what its weights are for: {error}") from error
    if conduct != list(TALLIES):
        raise TensorFileMismatchError(f"{path} counts the seats' conduct as {conduct}, this package as {list(TALLIES)}")
    return StoredBelief(sizes, fitting(arrays, NETWORK, sizes.layers.shapes() | sizes.head, str(path)), rules, notes)


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
        self._buffers = new_buffers(COLUMNS, stored.architecture.width)
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

    def log_probabilities(self, view: View, hands: npt.NDArray[np.int64]) -> Reals | None:
        """The logarithms of the probabilities of hidden hands; None where the network has nothing to say.

        Args:
            view: What the observer knows.
            hands: What the next seat holds of the cards that the observer cannot place, by rank, shape ``[n, 15]``,
                int64; as many cards as it must.
        """
        return self._ask(view, np.empty((len(hands), 0)), hands)

    def _ask(self, view: View, draws: Reals, hands: npt.NDArray[np.int64]) -> Reals | None:
        if view.landlord is None or view.rules.players != _PLAYERS or len(view.history) != int(view.row[MOVES]):
            return None  # the last is a bare row: there is no conduct to go by
        observation = np.empty(OBSERVATION_WORDS, np.uint64)
        write_observation(view.row, view.ring, view.rule_words, np.uint64(view.seat), observation)
        logs, tallies = np.empty(len(hands)), tallies_of(view.history, view.landlord)
        seen = observation.view(np.int8), tallies, view.seat
        need = believe(*seen, self._layers, self._buffers, self._head, draws, hands, logs)
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
