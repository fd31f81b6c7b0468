"""An agent that remembers what it hears of a game."""

from __future__ import annotations

import numpy as np

from ddz_env import Move, Rules, View


class Listener:
    """Answers with a legal move, having heard every move before it."""

    name = "listener"

    def __init__(self) -> None:
        self.heard: list[tuple[int, Move]] = []
        self.resets = 0

    def reset(self, seat: int, rules: Rules) -> None:
        self.heard = []
        self.resets += 1

    def observe(self, seat: int, move: Move) -> None:
        self.heard.append((seat, move))

    def act(self, view: View, rng: np.random.Generator) -> Move:
        assert self.heard == list(view.history)
        return view.legal_moves()[-1]
