"""The policy network of today, and the same with an encoder of the last moves in its first layer."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from ddz_agents.neural.architecture import Architecture
from ddz_agents.neural.columns import HEAD, POLICY_INPUTS
from ddz_agents.neural.features import MOVE_BYTES, PLANES
from ddz_agents.neural.network import PolicyNetwork
from ddz_env.core.cards import NUM_RANKS
from ddz_env.core.observation import HISTORY, OBSERVATION

_SHOWN = MOVE_BYTES * HISTORY
_CARDS = [
    POLICY_INPUTS.at.hand + _SHOWN,
    POLICY_INPUTS.at.unseen + _SHOWN,
    POLICY_INPUTS.at.target + _SHOWN,
]
"""Where the thresholds of hand, unseen cards and the move to beat begin."""
_COPIES, _SEATS = 4, 7


class Form(NamedTuple):
    """The sizes of an encoder.

    Attributes:
        width: Numbers of a token.
        layers: Layers of attention.
        ranks: Whether the ranks are tokens beside the moves.
    """

    width: int
    layers: int
    ranks: bool


FORMS = {"standard": None, "small": Form(32, 1, False), "large": Form(64, 2, True)}


class Attention(nn.Module):
    """A layer of attention: normalize, attend, add; normalize, two linear layers, add.

    Args:
        width: Numbers of a token.
        heads: Heads.
    """

    def __init__(self, width: int, heads: int = 4) -> None:
        super().__init__()
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.ask, self.answer = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.widen, self.narrow = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.heads = heads

    def forward(self, tokens: Tensor) -> Tensor:
        """Shape ``[n, tokens, width]`` to the same."""
        rows, count, width = tokens.shape
        each = width // self.heads
        parts = self.ask(self.before(tokens)).view(rows, count, 3, self.heads, each).permute(2, 0, 3, 1, 4)
        queries, keys, values = parts
        weights = torch.softmax(queries @ keys.transpose(-1, -2) * each**-0.5, -1)
        tokens = tokens + self.answer((weights @ values).transpose(1, 2).reshape(rows, count, width))
        added: Tensor = self.narrow(torch.relu(self.widen(self.between(tokens))))
        return tokens + added


class Encoder(nn.Module):
    """What the last moves add to the first layer: nothing before training, so that a network begins as it was.

    Args:
        outputs: Units of the first layer.
        form: The sizes.
    """

    high: Tensor

    def __init__(self, outputs: int, form: Form) -> None:
        super().__init__()
        high = torch.tensor(OBSERVATION.high[HEAD : HEAD + MOVE_BYTES].tolist(), dtype=torch.float32)
        self.register_buffer("high", high, persistent=False)
        self.move = nn.Linear(NUM_RANKS * _COPIES + _SEATS + 1, form.width)
        self.place = nn.Parameter(torch.randn(HISTORY, form.width) * 0.1)
        self.rank = nn.Linear(len(_CARDS) * _COPIES, form.width) if form.ranks else None
        self.which = nn.Parameter(torch.randn(NUM_RANKS, form.width) * 0.1) if form.ranks else None
        self.layers = nn.Sequential(*(Attention(form.width) for _ in range(form.layers)))
        self.norm = nn.LayerNorm(form.width)
        self.read = nn.Linear((HISTORY + NUM_RANKS * form.ranks) * form.width, outputs)
        nn.init.zeros_(self.read.weight)
        nn.init.zeros_(self.read.bias)

    def forward(self, columns: Tensor) -> Tensor:
        """Columns of observations to what is added, shape ``[n, outputs]``."""
        rows = len(columns)
        moves = torch.round(columns[:, HEAD : HEAD + _SHOWN].reshape(rows, HISTORY, MOVE_BYTES) * self.high)
        counts, seats = moves[..., :NUM_RANKS], moves[..., NUM_RANKS]
        steps, places = (torch.arange(first, last, device=columns.device) for first, last in ((1, 5), (0, _SEATS)))
        thresholds = (counts[..., None] >= steps).flatten(2)
        passed = (counts.sum(-1) == 0) & (seats > 0)
        seen = torch.cat([thresholds, seats[..., None] == places, passed[..., None]], -1)
        tokens = self.move(seen.float()) + self.place
        if self.rank is not None:
            cards = [columns[:, at : at + PLANES].reshape(rows, NUM_RANKS, _COPIES) for at in _CARDS]
            tokens = torch.cat([tokens, self.rank(torch.cat(cards, -1)) + self.which], 1)
        added: Tensor = self.read(self.norm(self.layers(tokens)).flatten(1))
        return added


class FormedPolicy(PolicyNetwork):
    """A policy of a form; everything that it reads is where its weights are.

    Args:
        architecture: The sizes of what is as today.
        form: A name of :data:`FORMS`.
    """

    def __init__(self, architecture: Architecture, form: str) -> None:
        super().__init__(architecture)
        sizes = FORMS[form]
        self.encoder = None if sizes is None else Encoder(architecture.width, sizes)

    def pairs(self, columns: Tensor, rows: Tensor, actions: Tensor, rests: Tensor) -> tuple[Tensor, Tensor]:
        """Logits of the pairs of observation and legal action, and values of the observations."""
        state: Tensor = self.trunk[0](columns)
        if self.encoder is not None:
            state = state + self.encoder(columns)
        for layer in list(self.trunk)[1:]:
            state = layer(state)
        logits = self.logits(state)[rows, actions] + self._weighed(state, rows, rests)
        return logits, self.value(state).squeeze(1)
