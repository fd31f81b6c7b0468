"""What the networks read of cards, as a reader of the tables would write it: an oracle for the compiled kernels."""

from __future__ import annotations

import numpy as np

from ddz_agents.neural.feature_table import HEAD, MOST_CARDS, TAIL
from ddz_agents.neural.features import CHAINS, MOVE_BYTES
from ddz_env.core.actions import KICKER_BASE, MAIN_GROUPS
from ddz_env.core.observation import OBSERVATION

_SIZES = {feature.name: feature.size for feature in OBSERVATION.features}


def field(observations: np.ndarray, name: str) -> np.ndarray:
    """A field of the observations, shape ``[n, size]``."""
    return observations[:, OBSERVATION.offsets[name] :][:, : _SIZES[name]]


def thresholds(counts: np.ndarray, most: int = 4) -> np.ndarray:
    """Which of ``1 .. most`` each count reaches, shape ``[n, columns * most]``."""
    return (counts[:, :, None] >= np.arange(1, most + 1)).reshape(len(counts), -1)


def policy_columns(observations: np.ndarray, history: int) -> dict[str, np.ndarray]:
    """The inputs of a policy by name, all but those that need a search or the course of the game."""
    scaled, hand = observations / OBSERVATION.high, field(observations, "hand")
    chains = [(hand >= np.array(chain.need)).all(1) for chain in CHAINS]
    seats = ("cards_left_self", "cards_left_next", "cards_left_previous")
    return {
        "table": scaled[:, :HEAD],
        "history": scaled[:, HEAD : HEAD + MOVE_BYTES * history],
        "state": scaled[:, TAIL:],
        "hand": np.concatenate([thresholds(hand), np.stack(chains, 1)], 1),
        "unseen": thresholds(field(observations, "unseen")),
        "target": thresholds(field(observations, "target")),
        "sizes": np.concatenate([thresholds(field(observations, seat), MOST_CARDS) for seat in seats], 1),
        "key": thresholds(field(observations, "target_key"), 15),
    }


def prospects(hand_values: np.ndarray) -> np.ndarray:
    """The columns of hands by the two numbers that they depend on, shape ``[..., 33]``, float32."""
    sure, price = hand_values[..., :1].astype(int), hand_values[..., 1:].astype(int)
    losers, worth = sure // 100, ((price + 250) / 1000).clip(0, 1)
    parts = losers >= np.arange(1, 9), losers + sure % 100 >= np.arange(1, 13), worth, price > np.arange(0, 600, 50)
    return np.concatenate(parts, -1).astype(np.float32)


def hand_left(observation: np.ndarray, action: int) -> np.ndarray:
    """The hand that an action leaves, shape ``[15]``."""
    hand, body, kickers = (field(observation[None], name)[0] for name in ("hand", "pending_body", "kickers"))
    spent = np.zeros(15, int)
    if action < len(MAIN_GROUPS):
        spent += MAIN_GROUPS[action].need
    elif action < KICKER_BASE + 15:
        spent[action - KICKER_BASE] = 2 if field(observation[None], "kicker_size")[0, 0] == 2 else 1
    return hand - body - kickers - spent
