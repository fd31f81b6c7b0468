"""Masked PPO: self-play of all seats through PettingZoo's parallel API."""

import os

import numpy as np
import torch
from pettingzoo.test import api_test, parallel_api_test
from pettingzoo.utils.conversions import turn_based_aec_to_parallel

from ddz_env import dou_dizhu_v0
from tests.integrations.cleanrl.train import Agent, update
from tests.integrations.evaluation import main

STEPS = int(os.environ.get("STEPS", 30_720))  # decisions to learn from
NUM_GAMES, NUM_STEPS = 8, 128


def make_game():
    return turn_based_aec_to_parallel(dou_dizhu_v0.env(rules="mini"))


def stack(seen):
    """Every seat of every game is a row.  A seat that is not to act has an empty mask: action 0 fills it."""
    seats = [seat for game in seen for seat in game.values()]
    masks = np.stack([seat["action_mask"] for seat in seats])
    masks[~masks.any(1), 0] = 1
    return torch.as_tensor(np.stack([seat["observation"] for seat in seats])), torch.as_tensor(masks)


def step(game, actions):
    """Play one decision, and deal again when the game is over."""
    seen, rewards, ended, *_ = game.step(dict(zip(game.possible_agents, actions, strict=True)))
    paid = [(rewards[seat], float(ended[seat])) for seat in game.possible_agents]
    return (seen if game.agents else game.reset()[0]), paid


def train(seed):
    torch.manual_seed(seed)
    agent = Agent()
    optimizer = torch.optim.Adam(agent.parameters(), lr=1e-3, eps=1e-5)
    games = [make_game() for _ in range(NUM_GAMES)]
    seats = len(games[0].possible_agents)
    seen = [game.reset(seed=NUM_GAMES * seed + number)[0] for number, game in enumerate(games)]
    for _ in range(-(-STEPS // (NUM_GAMES * NUM_STEPS))):
        rows = []
        for _ in range(NUM_STEPS):
            observations, masks = stack(seen)
            with torch.no_grad():
                policy, values = agent(observations, masks)
            actions = policy.sample()
            seen, paid = zip(*map(step, games, actions.view(-1, seats).tolist()), strict=True)
            rewards, dones = torch.tensor(paid).flatten(0, 1).T
            rows.append((observations, masks, actions, policy.log_prob(actions), rewards, dones, values))
        with torch.no_grad():
            _, last = agent(*stack(seen))
        update(agent, optimizer, *(torch.stack(part) for part in zip(*rows, strict=True)), last)
    return agent.act


if __name__ == "__main__":
    api_test(dou_dizhu_v0.env(rules="mini"), num_cycles=1000)
    parallel_api_test(make_game(), num_cycles=1000)
    main(train)
