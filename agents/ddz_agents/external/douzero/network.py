"""DouZero's networks: a history of moves by an LSTM, a state and a move, to the value of the move.

Every candidate of a decision shares its history and its state.  These are evaluated once: the first layer is a sum of
what they give to it and of what the move gives.  Values differ from DouZero's own by rounding alone.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from ddz_agents.external.douzero.features import CARDS, POSITIONS, ROUND_COLUMNS, Position

_MEMORY, _WIDTH = 128, 512


class PositionNetwork(nn.Module):
    """The network of a role; its weights have the names of DouZero's checkpoints.

    Args:
        position: The role.
    """

    def __init__(self, position: Position) -> None:
        super().__init__()
        self.lstm = nn.LSTM(ROUND_COLUMNS, _MEMORY, batch_first=True)
        self.dense1 = nn.Linear(_MEMORY + position.columns + CARDS, _WIDTH)
        self.dense2 = nn.Linear(_WIDTH, _WIDTH)
        self.dense3 = nn.Linear(_WIDTH, _WIDTH)
        self.dense4 = nn.Linear(_WIDTH, _WIDTH)
        self.dense5 = nn.Linear(_WIDTH, _WIDTH)
        self.dense6 = nn.Linear(_WIDTH, 1)

    def forward(self, history: Tensor, state: Tensor, moves: Tensor, owners: Tensor) -> Tensor:
        """Value the candidates of decisions.

        Args:
            history: Shape ``[n, 5, 162]``, float32 (:func:`~ddz_agents.external.douzero.features.history_columns`).
            state: Shape ``[n, position.columns]``, float32.
            moves: The candidates of all decisions, shape ``[m, 54]``, float32.
            owners: The decision of each, shape ``[m]``, int64.

        Returns:
            Values, shape ``[m]``, float32.
        """
        _, (memory, _) = self.lstm(history)
        shared = torch.cat([memory[0], state], dim=1)
        of_state, of_move = self.dense1.weight[:, :-CARDS], self.dense1.weight[:, -CARDS:]
        layer = functional.linear(shared, of_state, self.dense1.bias)[owners] + functional.linear(moves, of_move)
        for dense in (self.dense2, self.dense3, self.dense4, self.dense5):
            layer = dense(torch.relu(layer))
        values: Tensor = self.dense6(torch.relu(layer))
        return values.squeeze(1)


def new_networks() -> dict[str, PositionNetwork]:
    """Untrained networks of all roles, by DouZero's names."""
    return {position.name: PositionNetwork(position).eval() for position in POSITIONS}
