"""The belief network, which draws hidden hands rank by rank and computes their probabilities; its file format.

It suffices to draw one of the two other hands, as the other holds the rest.  Ranks are drawn from the highest down: how
many cards of a rank the next seat holds has its probability under plain dealing (hypergeometric, by what is left of the
pool and of the hand), times a factor by the network, which sees the table and the counts drawn before.  Counts that
would leave too many or too few cards have probability zero, so every sample is a deal of the right sizes, and a network
whose factors are all equal draws deals of cards uniformly.

The head is a neural autoregressive distribution estimator (Larochelle and Murray 2011; Uria et al. 2016): each drawn
count adds a vector to one hidden layer, so a whole hand costs about as much as a layer.  Nothing here needs PyTorch,
which trains the same network in :mod:`ddz_training.learn.belief`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ddz_agents.belief.play_style import MOVE_STATISTICS, PLAY_STYLE_COLUMNS, count_move_statistics, play_style_features
from ddz_agents.neural.architecture import (
    Blocks,
    Layers,
    Shapes,
    Width,
    check_inputs,
    describe_inputs,
    pad_missing_inputs,
)
from ddz_agents.neural.decisions import describe_observations
from ddz_agents.neural.errors import InvalidArchitectureError, TensorFileError, TensorFileMismatchError
from ddz_agents.neural.feature_table import observation_columns
from ddz_agents.neural.model import Bytes, Floats
from ddz_agents.neural.shipped import shipped_belief_path
from ddz_agents.neural.tensor_file import Arrays, extract_network_arrays, read_tensor_file, write_tensor_file
from ddz_agents.neural.trunk import affine, dot, load_dense, load_trunk, new_buffers, run_trunk
from ddz_agents.worlds.determinize import Reals, Words
from ddz_agents.worlds.inference import Proposal
from ddz_env import State, View
from ddz_env.core.cards import NUM_RANKS
from ddz_env.core.engine.layout import HANDS, MOVES
from ddz_env.core.observation import HISTORY, OBSERVATION, observe
from ddz_env.support.arrays import WritableAfterUnpickling
from ddz_env.support.compiling import kernel
from ddz_env.support.options import Options

COUNTS = 5
"""Counts of a rank: none to four."""

COLUMNS = observation_columns(HISTORY) + PLAY_STYLE_COLUMNS
"""Columns of the network's input: the observation as the policy reads it, then how the other seats have played."""

Hands = npt.NDArray[np.int64]
"""Cards by rank that the next seat holds and the observer cannot place, shape ``[n, 15]``."""

_KIND, _VERSION, _PREFIX = "ddz-belief", 1, "belief."
_UNSEEN, _HELD, _ROLE, _NEXT, _PREVIOUS = (
    OBSERVATION.offsets[name]
    for name in ("unseen", "landlord_cards_held", "role", "cards_left_next", "cards_left_previous")
)
_LOG_FACTORIALS = np.array([math.lgamma(n + 1) for n in range(109)])


@dataclass(frozen=True)
class BeliefArchitecture(Options):
    """The layer sizes of a belief network.

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
        """The layers of the belief network below its output head."""
        return Layers(COLUMNS, self.width, self.blocks, {"context": (self.hidden, self.width)})

    @property
    def head(self) -> Shapes:
        """The shapes of the head's weights, keyed by name: embeddings of the drawn counts and the logit layer."""
        counts = (NUM_RANKS, COUNTS)
        return {"counts": (NUM_RANKS, COUNTS - 1, self.hidden), "logits": (*counts, self.hidden), "logits_bias": counts}


def hidden_cards(observations: Bytes) -> tuple[Hands, npt.NDArray[np.int64]]:
    """Return each observation's hidden cards as counts by rank, and how many of them the next seat holds.

    Args:
        observations: Shape ``[n, OBSERVATION_SIZE]``, int8.

    Returns:
        Their counts by rank, shape ``[n, 15]``, and how many of them the next seat holds, shape ``[n]``; -1 where the
        two other seats do not share them: before there is a landlord, with open hands, two players or undealt cards.
    """
    counts = observations.astype(np.int64)
    held = counts[:, _HELD : _HELD + NUM_RANKS] * (counts[:, [_ROLE]] != 1)
    pools = counts[:, _UNSEEN : _UNSEEN + NUM_RANKS] - held
    is_landlord = counts[:, [_ROLE + 2, _ROLE + 1]] == 1  # a peasant up sits before the landlord
    lacking = counts[:, [_NEXT, _PREVIOUS]] - held.sum(axis=1)[:, None] * is_landlord
    total = pools.sum(axis=1)
    shared = (counts[:, _ROLE + 3] != 1) & (lacking >= 0).all(axis=1) & (lacking.sum(axis=1) == total) & (total > 0)
    return pools, np.where(shared, lacking[:, 0], -1)


def hidden_hands(observations: Bytes, hands: Bytes) -> Hands:
    """Return the hidden part of each next seat's hand, without a landlord's face-up cards, shape ``[n, 15]``.

    Args:
        observations: Shape ``[n, OBSERVATION_SIZE]``, int8.
        hands: The whole hands of the next seats, shape ``[n, 15]``, int8.
    """
    held = observations[:, _HELD : _HELD + NUM_RANKS] * (observations[:, [_ROLE + 2]] == 1)
    return hands.astype(np.int64) - held


def log_binomials(cards: npt.NDArray[np.int64], taken: npt.NDArray[np.int64]) -> Reals:
    """Compute logarithms of binomial coefficients, with minus infinity where a coefficient is zero."""
    rest, possible = cards - taken, (taken >= 0) & (taken <= cards)
    ways = _LOG_FACTORIALS[cards] - _LOG_FACTORIALS[taken * possible] - _LOG_FACTORIALS[rest * possible]
    return np.where(possible, ways, -np.inf)


def plain_log_probabilities(
    cards: npt.NDArray[np.int64], left: npt.NDArray[np.int64], lacking: npt.NDArray[np.int64]
) -> Floats:
    """Compute the log-probability of holding each count of one rank when cards are dealt uniformly at random.

    Args:
        cards: Cards of the rank in the pool.
        left: Cards in the pool of this rank and those to come.
        lacking: Cards that the hand still lacks, at most as many as are left; the three broadcast to a shape ``[...]``.

    Returns:
        Shape ``[..., 5]``, float32.
    """
    cards, left, lacking = cards[..., None], left[..., None], lacking[..., None]
    counts = np.arange(COUNTS)
    ways = log_binomials(cards, counts) + log_binomials(left - cards, lacking - counts) - log_binomials(left, lacking)
    return ways.astype(np.float32)


def encode_seats(observations: Bytes, statistics: npt.NDArray[np.int32], seats: npt.NDArray[Any]) -> Floats:
    """Build the belief network's inputs for the given observers, shape ``[n, COLUMNS]``, float32.

    Args:
        observations: Shape ``[n, OBSERVATION_SIZE]``, int8.
        statistics: How the seats of each game have played, shape ``[n, 3, len(MOVE_STATISTICS)]``, int32.
        seats: The observers, shape ``[n]``.
    """
    return np.concatenate([describe_observations(observations), play_style_features(statistics, seats)], axis=1)


@kernel
def _add_logits(sums: np.ndarray, weights: np.ndarray, bias: np.ndarray, logs: np.ndarray) -> None:
    """Add the network's logits for each count of one rank to the log-probabilities ``logs``, shape ``[n, 5]``."""
    hidden = np.empty(sums.shape[1], np.float32)
    for row in range(sums.shape[0]):
        for unit in range(hidden.size):
            hidden[unit] = max(sums[row, unit], np.float32(0.0))
        for count in range(bias.size):
            if logs[row, count] > -np.inf:
                logs[row, count] += dot(hidden, weights[count]) + bias[count]


class BeliefModel(WritableAfterUnpickling):
    """A belief network with its weights, which samples deals of the cards hidden from a seat.

    Args:
        architecture: Its sizes.
        arrays: Its weights, by name.
        notes: What its file says of its training.
    """

    def __init__(self, architecture: BeliefArchitecture, arrays: Arrays, notes: Mapping[str, Any]) -> None:
        self.arrays, self.notes = arrays, notes
        self._trunk, self._context = load_trunk(arrays, architecture.layers), load_dense(arrays, "context")
        self._added = np.pad(arrays["counts"], ((0, 0), (1, 0), (0, 0)))  # a count of none adds nothing
        self._buffers = new_buffers(0, COLUMNS, architecture.width, 0, 0)

    def propose(self, view: View, rng: np.random.Generator, count: int) -> Proposal | None:
        """Sample deals for importance weighting; return None where the belief network does not apply.

        Args:
            view: What the observer knows.
            rng: The generator.
            count: How many.
        """
        draws = rng.random((count, NUM_RANKS))
        if view.landlord is None or view.rules.players != 3 or len(view.history) != int(view.row[MOVES]):
            return None  # the last is a bare row: how the seats have played is not known
        observation = observe(view)[None]
        [pool], [need] = hidden_cards(observation)
        if need < 0:
            return None
        columns = encode_seats(
            observation, count_move_statistics(view.history, view.landlord)[None], np.array([view.seat])
        )
        sums = np.repeat(self._run_trunk(columns[0])[None], count, axis=0)
        hands, lacking = np.zeros((count, NUM_RANKS), np.int64), np.full(count, need)
        total, rows = np.zeros(count), np.arange(count)  # the logarithms of the probabilities of the hands
        left = np.cumsum(pool)[:, None]
        plain = plain_log_probabilities(pool[:, None], left, np.minimum(np.arange(need + 1), left))
        for rank in reversed(np.flatnonzero(pool).tolist()):
            logs = plain[rank, lacking]
            _add_logits(sums, self.arrays["logits"][rank], self.arrays["logits_bias"][rank], logs)
            most = logs.max(axis=1)
            chances = np.exp(logs.astype(np.float64) - most[:, None])
            ends = np.cumsum(chances, axis=1)
            whole = ends[:, -1]
            point = draws[:, NUM_RANKS - 1 - rank] * whole
            hands[:, rank] = ((ends <= point[:, None]) & (ends < whole[:, None])).sum(axis=1)
            drawn = logs[rows, hands[:, rank]] - (most + np.log(whole))
            total += drawn.astype(np.float32)
            sums += self._added[rank, hands[:, rank]]
            lacking -= hands[:, rank]
        return Proposal(_assemble_deals(view, pool, hands), log_binomials(pool, hands).sum(axis=1) - total)

    def _run_trunk(self, columns: Floats) -> Floats:
        """Compute the output of the layers below the head, shape ``[hidden]``, for one decision."""
        context, buffers = np.empty_like(self._context.bias), self._buffers
        buffers.columns[:] = columns
        run_trunk(self._trunk, buffers)
        affine(buffers.states[0], self._context, buffers.places, context)
        return context


def sample_belief_worlds(view: View, count: int, rng: np.random.Generator, network: BeliefModel | None = None) -> Words:
    """Sample deals from the belief network, in the format of :meth:`ddz_env.View.sample_worlds`.

    Args:
        view: What a seat knows, with its history.
        count: How many worlds.
        rng: The only source of randomness.
        network: The network; None for the shipped one, which is read at the first call.

    Returns:
        The three hands and the cards that none of them holds, shape ``[count, 4]``, uint64; uniform ones where the
        network does not apply (two players, undealt cards, before there is a landlord).

    Raises:
        TensorFileError: If the shipped network cannot be read.
    """
    proposal = (network or _shipped_belief()).propose(view, rng, count)
    return view.sample_worlds(count, rng) if proposal is None else proposal.hands


@cache
def _shipped_belief() -> BeliefModel:
    return load_belief()


def _assemble_deals(view: View, pool: Hands, hands: Hands) -> Words:
    """Build complete deals, shape ``[n, 4]``, from the cards drawn for the next seat."""
    deals = np.zeros((len(hands), 4), np.uint64)
    deals[:, view.seat] = view.row[HANDS + view.seat]
    bits = np.uint64(1) << (16 * np.arange(COUNTS - 1)[:, None] + np.arange(NUM_RANKS)).astype(np.uint64)
    for turns, held in ((1, hands), (2, pool - hands)):
        seat = (view.seat + turns) % 3
        face_up = np.array(view.known_cards.counts) if seat == view.landlord else 0
        held = held + face_up
        deals[:, seat] = ((held[:, None] > np.arange(COUNTS - 1)[:, None]) * bits).sum(axis=(1, 2), dtype=np.uint64)
    return deals


def save_belief(
    path: str | Path, architecture: BeliefArchitecture, arrays: Arrays, rules: str, notes: Mapping[str, Any]
) -> None:
    """Write a belief network to a file, replacing the file atomically.

    Args:
        path: The file.
        architecture: The sizes.
        arrays: The weights, by name.
        rules: The preset that it was trained under.
        notes: Plain values for people.

    Raises:
        TensorFileError: If the file cannot be written.
    """
    about = {"architecture": architecture.as_dict(), "rules": rules, "notes": dict(notes)}
    about |= {"inputs": describe_inputs("policy"), "conduct": list(MOVE_STATISTICS)}
    write_tensor_file(path, _KIND, _VERSION, {_PREFIX + name: array for name, array in arrays.items()}, about)


def load_belief(path: str | Path | None = None) -> BeliefModel:
    """Read a belief network from a file.

    Args:
        path: The file; None for the shipped one.

    Raises:
        TensorFileError: If the file is missing, truncated, corrupt or of another format, or holds numbers that are not
            finite, or answers with such numbers.
        TensorFileMismatchError: If it was written for other observations, statistics of play or another architecture.
    """
    path = shipped_belief_path() if path is None else path
    arrays, about = read_tensor_file(path, _KIND, _VERSION)
    try:
        sizes = BeliefArchitecture.from_dict(about["architecture"])
        conduct, notes = about["conduct"], dict(about["notes"])
    except KeyError as error:
        raise TensorFileMismatchError(
            f"{path} has metadata that do not describe its weights: they lack {error}"
        ) from error
    except (InvalidArchitectureError, TypeError, ValueError) as error:
        raise TensorFileMismatchError(f"{path} has metadata that do not describe its weights: {error}") from error
    if conduct != list(MOVE_STATISTICS):
        raise TensorFileMismatchError(
            f"{path} reads the move statistics {conduct}; this package computes {list(MOVE_STATISTICS)}"
        )
    read, first = check_inputs(path, about.get("inputs"), "policy"), f"{_PREFIX}trunk.0.weight"
    if first in arrays:
        arrays[first] = pad_missing_inputs(arrays[first], read["policy"], "policy", HISTORY)
    model = BeliefModel(
        sizes, extract_network_arrays(arrays, _PREFIX, sizes.layers.shapes() | sizes.head, str(path)), notes
    )
    with np.errstate(all="ignore"):
        proposal = model.propose(State.new(0).view(), np.random.default_rng(0), 1)
    if proposal is None or not np.isfinite(proposal.logs).all():  # large weights may be finite, and their sums not
        raise TensorFileError(f"{path} computes numbers that are not finite: its weights are damaged")
    return model
