"""RLCard's DQN learns on the Gymnasium environment."""

import os

import gymnasium
import numpy as np
import torch
from rlcard.agents import DQNAgent

from tests.integrations.evaluation import main

GAME = "ddz_env:ddz_env/DouDizhu-v0"
STEPS = int(os.environ.get("STEPS", 24_000))  # decisions to learn from


def new_agent():
    return DQNAgent(
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


def make_game():
    form = {"opponents": "random", "observation": "dict", "dtype": "float32", "illegal_action": "raise"}
    return gymnasium.make(GAME, rules="mini", **form)


def rlcards(observation):
    """An observation as RLCard's agents read it."""
    legal = np.flatnonzero(observation["action_mask"]).tolist()
    return {"obs": observation["observation"], "legal_actions": dict.fromkeys(legal), "raw_legal_actions": legal}


def player(agent):
    """What the agent plays, game by game."""

    def act(observations, masks):
        print()  # RLCard leaves its last line of progress open
        pairs = zip(observations, masks, strict=True)
        return np.array([agent.eval_step(rlcards({"observation": o, "action_mask": m}))[0] for o, m in pairs])

    return act


def train(seed):
    np.random.seed(seed)  # noqa: NPY002  # RLCard draws from it
    torch.manual_seed(seed)
    agent, game = new_agent(), make_game()
    state = rlcards(game.reset(seed=seed)[0])
    for _ in range(STEPS):
        action = agent.step(state)
        observation, reward, over, *_ = game.step(action)
        following = rlcards(observation)
        agent.feed((state, action, reward, following, over))
        state = rlcards(game.reset()[0]) if over else following
    return player(agent)


if __name__ == "__main__":
    main(train, dtype="float32")
