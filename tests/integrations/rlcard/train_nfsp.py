"""RLCard's NFSP learns by self-play on the AEC environment."""

import os
import sys

import gymnasium
import numpy as np
import torch
from rlcard.agents import NFSPAgent

from ddz_env import dou_dizhu_v0

GAME = "ddz_env:ddz_env/DouDizhu-v0"
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


def evaluate(act, **options):
    """The share of 4,000 games won against random play: 40 at each of 100 tables, in the roles as they are dealt."""
    games = gymnasium.make_vec(
        GAME, 100, rules="mini", opponents="random", autoreset_mode="SameStep", illegal_action="raise", **options
    )
    observations, infos = games.reset(seed=0)
    played, won = np.zeros(100, int), 0
    while (playing := played < 40).any():
        actions = act(observations, infos["action_mask"])
        observations, rewards, over, _, infos = games.step(actions)
        won += (rewards[playing] > 0).sum()
        played += over
    games.close()
    return won / 4000


def main():
    for seed in map(int, sys.argv[1:] or (1, 2, 3)):
        won = evaluate(train(seed), dtype="float32")
        print(f"seed {seed}: {won:.1%} of 4,000 games won against random play", flush=True)


if __name__ == "__main__":
    main()
