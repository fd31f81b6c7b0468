"""An agent of whole moves, stage by stage: what environments and batches of stages are compared with."""

from __future__ import annotations

import numpy as np

from ddz_env import View
from ddz_env.core.engine.layout import STAGE, STAGE_KICKER
from ddz_env.playing.agent import Agent


class StageByStage:
    """Chooses a move at its first stage, and hands out the kickers one by one."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._left: list[int] = []

    def action(self, view: View, rng: np.random.Generator) -> int:
        """The action id of the next stage."""
        if int(view.row[STAGE]) != STAGE_KICKER:
            self._left = list(self._agent.act(view, rng).actions)
        return self._left.pop(0)
