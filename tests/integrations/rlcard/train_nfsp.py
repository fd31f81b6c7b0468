"""RLCard's NFSP learns by self-play on the AEC environment."""

from __future__ import annotations

import torch

from tests.integrations.judge import aec, judge
from tests.integrations.rlcard.play import greedy

torch.set_num_threads(1)

# [shown
import numpy as np
from rlcard.agents import NFSPAgent

from ddz_env import dou_dizhu_v0

GAMES = 2_000


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


def rlcards(observation):
    """An observation as RLCard's agents read it."""
    legal = np.flatnonzero(observation["action_mask"]).tolist()
    return {"obs": observation["observation"], "legal_actions": dict.fromkeys(legal), "raw_legal_actions": legal}


def play(game, agent):
    """One game; a seat's transition ends at its own next turn."""
    game.reset()
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


# shown]


def through(game, agent):
    """Play of the untrained agent."""

    def some(decisions):
        done = 0
        while done < decisions:
            game.reset()
            for _ in game.agent_iter():
                observation, _, over, _, _ = game.last()
                game.step(None if over else np.random.choice(rlcards(observation)["raw_legal_actions"]))  # noqa: NPY002
                done += not over
        return done

    return some


if __name__ == "__main__":
    np.random.seed(1)  # noqa: NPY002  # RLCard's generator
    torch.manual_seed(1)
    # [shown
    agent = new_agent()
    game = dou_dizhu_v0.env(rules="mini", dtype="float32")
    steps = sum(play(game, agent) for _ in range(GAMES))
    # shown]
    judge("rlcard", greedy(agent, rlcards), steps=steps, through=through(game, agent), ours=aec, dtype="float32")
