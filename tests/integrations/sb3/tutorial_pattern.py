"""What PettingZoo's tutorial "SB3: Action Masked PPO" learns here, as the page of measurements reports it.

``.integrations/sb3/bin/python -m tests.integrations.sb3.tutorial_pattern``

One stream runs through all seats: ``step`` plays for whoever is to act, pays that agent's reward, and shows what the
next one sees.  A move is followed by what another seat sees and earns, so a blunder that lets the next player win is
followed by +1, and nobody tells a seat that it has lost.  The program of the page, :mod:`.train`, has one learner a
game.  Both train for as many steps, and play the same games.
"""

from __future__ import annotations

import gymnasium
import numpy as np
import torch
from sb3_contrib import MaskablePPO

from ddz_env import dou_dizhu_v0
from ddz_training.measure.statistics import wilson_interval
from tests.integrations.sb3.train import evaluate

STEPS, SEEDS = 20_480, 3


class EverySeat(gymnasium.Env):
    """The AEC environment as if it had one player."""

    def __init__(self, aec):
        self.aec = aec
        self.observation_space = aec.observation_space("player_0")["observation"]
        self.action_space = aec.action_space("player_0")

    def reset(self, *, seed=None, options=None):
        self.aec.reset(seed=seed)
        return self._seen()["observation"], {}

    def step(self, action):
        agent = self.aec.agent_selection
        self.aec.step(int(action))
        over = self.aec.terminations[agent], self.aec.truncations[agent]
        return self._seen()["observation"], self.aec.rewards[agent], *over, {}

    def action_masks(self):
        return self._seen()["action_mask"].astype(bool)

    def _seen(self):
        return self.aec.observe(self.aec.agent_selection)


def rate(act):
    """The share of the games of the pages' programs that are won, with its interval."""
    return wilson_interval(round(4000 * evaluate(act)), 4000).both()


def main():
    """Train with SB3's defaults, as the tutorial does, and play."""
    torch.set_num_threads(1)
    rng = np.random.default_rng(1)
    print(f"random: {rate(lambda _, masks: (rng.random(masks.shape, np.float32) * masks).argmax(1))} %", flush=True)
    for seed in range(SEEDS):
        model = MaskablePPO("MlpPolicy", EverySeat(dou_dizhu_v0.env(rules="mini")), seed=seed).learn(STEPS)

        def act(observations, masks, model=model):
            return model.predict(observations, action_masks=masks, deterministic=True)[0]

        print(f"seed {seed}: {rate(act)} %", flush=True)


if __name__ == "__main__":
    main()
