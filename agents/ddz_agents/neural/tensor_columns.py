"""What the networks read, as tensor operations on the bytes of observations: for policies that leave this package.

They are the columns of :mod:`ddz_agents.neural.columns`, equal to the bit; that module's compiled code is several times
faster and is what training and agents use.  Prospects are missing: no tensor operation searches a hand.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from ddz_agents.neural.afterstates import SPENT
from ddz_agents.neural.columns import HEAD, LEFT_FIELDS, MOST_CARDS, OBSERVATION_SCALES, TAIL
from ddz_agents.neural.features import CHAINS, MOST, MOVE_BYTES, PLANES
from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.core.cards import NUM_RANKS
from ddz_env.core.observation import HISTORY, OBSERVATION

_SIZES = {feature.name: feature.size for feature in OBSERVATION.features}


def field(observations: Tensor, name: str) -> Tensor:
    """A field of the observation, shape ``[n, size]``."""
    first = OBSERVATION.offsets[name]
    return observations[:, first : first + _SIZES[name]]


def thresholds(counts: Tensor, most: int = MOST) -> Tensor:
    """Which of ``1 .. most`` each count reaches.

    Args:
        counts: Shape ``[n, columns]``, int8.
        most: The highest threshold.

    Returns:
        Shape ``[n, columns * most]``, float32.

    Example:
        >>> thresholds(torch.tensor([[0, 3]], dtype=torch.int8)).tolist()
        [[0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0]]
    """
    steps = torch.arange(1, most + 1, dtype=torch.int8, device=counts.device)
    return (counts.unsqueeze(2) >= steps).flatten(1).to(torch.float32)


def _chain_weights() -> tuple[Tensor, Tensor]:
    """Weights and biases that turn the thresholds of a hand into chains: 1 where every link is there, else 0.

    Returns:
        Shapes ``[PLANES, len(CHAINS)]`` and ``[len(CHAINS)]``.
    """
    weights = np.zeros((NUM_RANKS, MOST, len(CHAINS)), np.float32)
    for column, chain in enumerate(CHAINS):
        for rank, copies in enumerate(chain.need):
            if copies:
                weights[rank, copies - 1, column] = 1.0
    return torch.from_numpy(weights.reshape(PLANES, len(CHAINS))), torch.tensor([1.0 - c.length for c in CHAINS])


def read_signs(observations: Tensor) -> Tensor:
    """What the others let pass (:mod:`ddz_agents.neural.features`), all moves at once.

    Args:
        observations: Shape ``[n, OBSERVATION_SIZE]``, int8.

    Returns:
        Shape ``[n, SIGNS]``, float32.
    """
    landlord = _landlord_of(observations)
    ranks, moves = (torch.arange(count, device=observations.device) for count in (NUM_RANKS, HISTORY))
    shown = observations[:, HEAD:TAIL].reshape(-1, HISTORY, MOVE_BYTES)
    cards, seat = shown[:, :, :NUM_RANKS].to(torch.int64), shown[:, :, NUM_RANKS].to(torch.int64)
    count, there = cards.sum(2), (seat >= 1) & (seat <= 3)
    # The latest move stands first: what was passed on is the nearest one behind in which cards were played, if any.
    nearest = torch.where(there & (count > 0), moves, HISTORY).unsqueeze(1)
    behind = torch.where(moves.unsqueeze(1) < moves, nearest, HISTORY).amin(2)
    copies = torch.where((cards.amax(2) == count) & (count <= 2), count, 0)
    copies, rank, owner = (
        functional.pad(values, (0, 1)).gather(1, behind) for values in (copies, ((cards > 0) * ranks).amax(2), seat)
    )
    passed = there & (count == 0) & ((owner == landlord) != (seat == landlord))
    found = []
    for other in (2, 3):
        for alike in (1, 2):
            lowest = torch.where(passed & (seat == other) & (copies == alike), rank, NUM_RANKS).amin(1, keepdim=True)
            found.append(ranks >= lowest)
    return torch.cat(found, 1).to(torch.float32)


def _landlord_of(observations: Tensor) -> Tensor:
    """The landlord's seat, counted from the observer: 1 self, 2 next, 3 previous; shape ``[n, 1]``."""
    role = field(observations, "role")
    peasant = role[:, 0] != 1
    down = (role[:, 1] == 1) & (field(observations, "cards_left_previous")[:, 0] > 0)
    return torch.where(peasant, torch.where(down, 3, 2), 1).unsqueeze(1)


class ByteReader(nn.Module):
    """Columns of bytes.

    Args:
        history: Completed moves that are shown.
    """

    scales: Tensor
    chain_weights: Tensor
    chain_biases: Tensor
    spent: Tensor

    def __init__(self, history: int) -> None:
        super().__init__()
        self.history = history
        weights, biases = _chain_weights()
        self.register_buffer("scales", torch.from_numpy(OBSERVATION_SCALES), persistent=False)
        self.register_buffer("chain_weights", weights, persistent=False)
        self.register_buffer("chain_biases", biases, persistent=False)
        self.register_buffer("spent", torch.from_numpy(SPENT.reshape(-1, NUM_RANKS)), persistent=False)

    def describe_hands(self, counts: Tensor) -> Tensor:
        """Thresholds and chains of hands: shape ``[n, 15]``, int8, to ``[n, HAND_COLUMNS]``, float32."""
        planes = thresholds(counts)
        return torch.cat([planes, torch.relu(torch.addmm(self.chain_biases, planes, self.chain_weights))], 1)

    def inputs(self, observations: Tensor) -> dict[str, Tensor]:
        """What a policy reads of observations, by the names of ``POLICY_INPUTS``; all but the prospects, float32."""
        scaled = observations * self.scales
        return {
            "table": scaled[:, :HEAD],
            "history": scaled[:, HEAD : HEAD + MOVE_BYTES * self.history],
            "state": scaled[:, TAIL:],
            "hand": self.describe_hands(field(observations, "hand")),
            "unseen": thresholds(field(observations, "unseen")),
            "target": thresholds(field(observations, "target")),
            "sizes": torch.cat([thresholds(field(observations, name), MOST_CARDS) for name in LEFT_FIELDS], 1),
            "key": thresholds(field(observations, "target_key"), NUM_RANKS),
            "signs": read_signs(observations),
        }

    def leave(self, observations: Tensor, rows: Tensor, actions: Tensor) -> Tensor:
        """The hand that each legal action leaves, shape ``[pairs, 15]``, int8."""
        hands = field(observations, "hand") - field(observations, "pending_body") - field(observations, "kickers")
        pair_kickers = (field(observations, "kicker_size")[:, 0] == 2).to(torch.int64) * NUM_ACTIONS
        return hands[rows] - self.spent[actions + pair_kickers[rows]]
