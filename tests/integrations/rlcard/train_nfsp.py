"""RLCard's NFSP learns by self-play on the AEC environment."""

import os

import numpy as np
import torch
from rlcard.agents import NFSPAgent

from ddz_env import dou_dizhu_v0
from tests.integrations.evaluation import main
from tests.integrations.rlcard.train import player, rlcards

STEPS = int(os.environ.get("STEPS", 27_000))  # decisions to learn from


def new_agent():
    return NFSPAgent(
        num_actions=400,
        state_shape=[512],
        hidden_layers_sizes=[128, 128],
        q_mlp_layers=[128, 128],
        anticipatory_param=0.5,
        rl_learning_rate=5e-4,
        sl_learning_rate=1e-3,
        batch_size=128,
        train_every=8,
        q_batch_size=64,
        q_train_every=8,
        q_epsilon_start=0.5,
        q_epsilon_decay_steps=8_000,
        q_discount_factor=1.0,
        q_replay_memory_init_size=1000,
        q_update_target_estimator_every=250,
        min_buffer_size_to_learn=1000,
    )


def make_game():
    return dou_dizhu_v0.env(rules="mini", dtype="float32")


def play(game, agent):
    """One game; a seat's transition ends at its own next turn.  Returns the decisions."""
    agent.sample_episode_policy()
    before, steps = {}, 0
    for seat in game.agent_iter():
        observation, reward, over, _, _ = game.last()
        state = rlcards(observation)
        if seat in before:
            agent.feed((*before[seat], reward, state, over))
        action = None if over else agent.step(state)
        before[seat], steps = (state, action), steps + (not over)
        game.step(action)
    return steps


def train(seed):
    np.random.seed(seed)  # noqa: NPY002  # RLCard draws from it
    torch.manual_seed(seed)
    agent, game, steps = new_agent(), make_game(), 0
    game.reset(seed=seed)
    while steps < STEPS:
        steps += play(game, agent)
        game.reset()
    return player(agent)


if __name__ == "__main__":
    main(train, dtype="float32")
