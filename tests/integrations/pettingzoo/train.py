"""Masked PPO: self-play of all seats through PettingZoo's parallel API."""

import os
import sys

import gymnasium
import numpy as np
import torch
from pettingzoo.test import api_test, parallel_api_test
from pettingzoo.utils.conversions import turn_based_aec_to_parallel
from torch import nn
from torch.distributions import Categorical

from ddz_env import dou_dizhu_v0

GAME = "ddz_env:ddz_env/DouDizhu-v0"
STEPS = int(os.environ.get("STEPS", 30_720))  # decisions to learn from
NUM_GAMES, NUM_STEPS = 8, 128
LAMBDA, CLIP, ENTROPY, EPOCHS, MINIBATCHES = 0.95, 0.2, 0.01, 4, 4


class Agent(nn.Module):
    def __init__(self, inputs=512, actions=400, width=128):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.actor, self.critic = nn.Linear(width, actions), nn.Linear(width, 1)

    def forward(self, observations, masks):
        hidden = self.trunk(observations.float())
        logits = self.actor(hidden).masked_fill(~masks.bool(), -torch.inf)
        return Categorical(logits=logits), self.critic(hidden).squeeze(-1)

    @torch.no_grad()
    def act(self, observations, masks):
        """The most likely actions."""
        return self(torch.as_tensor(observations), torch.as_tensor(masks))[0].probs.argmax(1).numpy()


def advantages_of(rewards, dones, values, last_value):
    """Generalized advantage estimation with gamma 1; everything is [steps, games]."""
    advantages, ahead = torch.zeros_like(rewards), 0.0
    for t in reversed(range(len(rewards))):
        following = values[t + 1] if t + 1 < len(rewards) else last_value
        ahead = rewards[t] + (1 - dones[t]) * (following + LAMBDA * ahead) - values[t]
        advantages[t] = ahead
    return advantages


def update(agent, optimizer, observations, masks, actions, logprobs, rewards, dones, values, last_value):
    """PPO's clipped objective on a batch of [steps, games]."""
    advantages = advantages_of(rewards, dones, values, last_value)
    batch = (observations, masks, actions, logprobs, advantages, advantages + values)
    batch = [part.flatten(0, 1) for part in batch]
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(batch[0])).chunk(MINIBATCHES):
            seen, legal, played, before, advantage, returns = (part[rows] for part in batch)
            policy, value = agent(seen, legal)
            ratio = (policy.log_prob(played) - before).exp()
            advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
            gain = torch.min(advantage * ratio, advantage * ratio.clamp(1 - CLIP, 1 + CLIP)).mean()
            loss = (value - returns).square().mean() / 2 - gain - ENTROPY * policy.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()


def make_game():
    return turn_based_aec_to_parallel(dou_dizhu_v0.env(rules="mini"))


def stack(seen):
    """Every seat of every game is a row.  Who is not to act has an empty mask, and is let pass."""
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
    api_test(dou_dizhu_v0.env(rules="mini"), num_cycles=1000)
    parallel_api_test(make_game(), num_cycles=1000)
    for seed in map(int, sys.argv[1:] or (1, 2, 3)):
        won = evaluate(train(seed))
        print(f"seed {seed}: {won:.1%} of 4,000 games won against random play", flush=True)


if __name__ == "__main__":
    main()
