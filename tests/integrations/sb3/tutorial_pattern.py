"""What PettingZoo's tutorial "SB3: Action Masked PPO" learns here, as the page on SB3 reports it.

``.integrations/sb3/bin/python -m tests.integrations.sb3.tutorial_pattern``

One stream runs through all seats: ``step`` plays for whoever is to act, pays that agent's reward, and shows what the
next one sees.  ``training.sb3.aec_tutorial`` says why this does not teach; this program says how much it costs.
"""

from __future__ import annotations

import gymnasium
import numpy as np
import torch
from sb3_contrib import MaskablePPO

from ddz_env import dou_dizhu_v0
from tests.integrations.judge import legal_choice, play

STEPS = 20_480


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


def main():
    """Train with the tutorial's settings, SB3's defaults, and play the judge's games."""
    torch.set_num_threads(1)
    for seed in range(3):
        model = MaskablePPO("MlpPolicy", EverySeat(dou_dizhu_v0.env(rules="mini")), seed=seed).learn(STEPS)

        def act(observations, masks, model=model):
            return model.predict(observations, action_masks=masks, deterministic=True)[0]

        print(f"seed {seed}: {play(act, rules='mini').rate.both()} %", flush=True)
    print(f"random: {play(legal_choice(np.random.default_rng(1)), rules='mini').rate.both()} %")


if __name__ == "__main__":
    main()
