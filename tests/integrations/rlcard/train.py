"""RLCard's DQN learns on the Gymnasium environment."""

from __future__ import annotations

import torch

from tests.integrations.judge import judge
from tests.integrations.rlcard.play import greedy, through

torch.set_num_threads(1)

# [shown
import gymnasium
import numpy as np
from rlcard.agents import DQNAgent

import ddz_env  # noqa: F401  # registers the environment

STEPS = 24_000

agent = DQNAgent(
    num_actions=400,
    state_shape=[512],
    mlp_layers=[128, 128],
    learning_rate=5e-4,
    discount_factor=1.0,
    batch_size=64,
    epsilon_decay_steps=12_000,
    replay_memory_init_size=1000,
    train_every=4,
    update_target_estimator_every=250,
)


def rlcards(observation):
    """An observation as RLCard's agents read it."""
    legal = np.flatnonzero(observation["action_mask"]).tolist()
    return {"obs": observation["observation"], "legal_actions": dict.fromkeys(legal), "raw_legal_actions": legal}


def train(game, new_game=lambda: None):
    state = rlcards(game.reset(seed=1)[0])
    for _ in range(STEPS):
        action = agent.step(state)
        observation, reward, over, *_ = game.step(action)
        following = rlcards(observation)
        agent.feed((state, action, reward, following, over))
        if over:
            new_game()
        state = rlcards(game.reset()[0]) if over else following


# shown]
if __name__ == "__main__":
    np.random.seed(1)  # noqa: NPY002  # RLCard's generator
    torch.manual_seed(1)
    # [shown
    form = {"observation": "dict", "dtype": "float32"}
    game = gymnasium.make("ddz_env/DouDizhu-v0", rules="mini", illegal_action="raise", **form)
    train(game)
    # shown]
    judge("rlcard", greedy(agent, rlcards), steps=STEPS, through=through(game, rlcards), dtype="float32")
