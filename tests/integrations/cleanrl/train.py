"""A single file in the style of CleanRL's ``ppo.py`` (CleanRL is copied, not imported), with masked logits."""

from __future__ import annotations

# [shown
import gymnasium
import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

import ddz_env  # noqa: F401  # registers the environment

# shown]
from tests.integrations.judge import judge, vector

# [shown
NUM_ENVS, NUM_STEPS, ITERATIONS = 16, 128, 24
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


def from_infos(observation, infos):
    """What the agent reads: observations and masks."""
    return torch.as_tensor(observation), torch.as_tensor(infos["action_mask"])


def train(envs, read=from_infos):
    agent = Agent()
    optimizer = torch.optim.Adam(agent.parameters(), lr=1e-3, eps=1e-5)
    observation, infos = envs.reset(seed=1)
    for _ in range(ITERATIONS):
        rows = []
        for _ in range(NUM_STEPS):
            seen, legal = read(observation, infos)
            with torch.no_grad():
                policy, value = agent(seen, legal)
            action = policy.sample()
            observation, reward, terminated, truncated, infos = envs.step(action.numpy())
            reward, done = torch.tensor(reward).float(), torch.tensor(terminated | truncated).float()
            rows.append((seen, legal, action, policy.log_prob(action), reward, done, value))
        with torch.no_grad():
            _, last = agent(*read(observation, infos))
        update(agent, optimizer, *(torch.stack(part) for part in zip(*rows, strict=True)), last)
    return agent


# shown]


def through(envs):
    """Random play in the loop's environments."""
    rng = np.random.default_rng(0)

    def some(decisions):
        _, infos = envs.reset()
        for _ in range(decisions // NUM_ENVS):
            masks = infos["action_mask"]
            *_, infos = envs.step((rng.random(masks.shape) * masks).argmax(1))
        return decisions // NUM_ENVS * NUM_ENVS

    return some


def greedy(agent):
    """The agent's most likely action, for the judge."""

    @torch.no_grad()
    def act(observations, masks):
        return agent(torch.as_tensor(observations), torch.as_tensor(masks))[0].probs.argmax(1).numpy()

    return act


if __name__ == "__main__":
    torch.manual_seed(1)
    torch.set_num_threads(1)
    # [shown
    envs = gymnasium.make_vec("ddz_env/DouDizhu-v0", NUM_ENVS, rules="mini", illegal_action="raise")
    agent = train(envs)
    # shown]
    judge("torch", greedy(agent), steps=NUM_ENVS * NUM_STEPS * ITERATIONS, through=through(envs), ours=vector(NUM_ENVS))
