"""Drawing actions: one compiled pass over the probabilities of a batch."""

from __future__ import annotations

import numpy as np

from ddz_env.engine.compiling import pure_kernel


@pure_kernel
def draw_actions(log_probabilities: np.ndarray, draws: np.ndarray, actions: np.ndarray, chosen: np.ndarray) -> None:
    """Draw an action for each row.

    An illegal action is never drawn, whatever the rounding.

    Args:
        log_probabilities: Shape ``[n, actions]``, float32, minus infinity where illegal.
        draws: Uniform in 0..1, shape ``[n]``, float64.
        actions: Output, action ids, shape ``[n]``, int64; -1 in a row without legal actions.
        chosen: Output, logarithms of the probabilities drawn, shape ``[n]``, float32.
    """
    for row in range(log_probabilities.shape[0]):
        total = 0.0
        actions[row] = -1
        for action in range(log_probabilities.shape[1]):
            value = log_probabilities[row, action]
            if value > -np.inf:
                actions[row] = action
                chosen[row] = value
                total += np.exp(np.float64(value))
                if total > draws[row]:
                    break
