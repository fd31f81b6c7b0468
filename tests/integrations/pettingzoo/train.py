"""Self-play of all seats through PettingZoo's parallel API, after its own checkers have passed."""

from __future__ import annotations

# [shown
import numpy as np
import torch
from pettingzoo.test import api_test, parallel_api_test
from pettingzoo.utils.conversions import turn_based_aec_to_parallel

from ddz_env import dou_dizhu_v0

# shown]
from tests.integrations.cleanrl.train import Agent, greedy, update
from tests.integrations.judge import aec, judge

# [shown
GAMES, STEPS, ITERATIONS = 8, 128, 30


def make():
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


def train(games):
    agent = Agent()
    optimizer = torch.optim.Adam(agent.parameters(), lr=1e-3, eps=1e-5)
    seats = len(games[0].possible_agents)
    seen = [game.reset(seed=number)[0] for number, game in enumerate(games)]
    for _ in range(ITERATIONS):
        rows = []
        for _ in range(STEPS):
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
    return agent


# shown]


def through(game):
    """Random play through the parallel API."""
    rng = np.random.default_rng(0)

    def some(decisions):
        done = 0
        while done < decisions:
            seen, _ = game.reset()
            while game.agents:
                actions = {seat: int((rng.random(400) * view["action_mask"]).argmax()) for seat, view in seen.items()}
                seen, *_ = game.step(actions)
                done += 1
        return done

    return some


if __name__ == "__main__":
    torch.manual_seed(1)
    torch.set_num_threads(1)
    # [shown
    api_test(dou_dizhu_v0.env(rules="mini"), num_cycles=1000)
    parallel_api_test(make(), num_cycles=1000)
    agent = train([make() for _ in range(GAMES)])
    # shown]
    judge("pettingzoo", greedy(agent), steps=GAMES * STEPS * ITERATIONS, through=through(make()), ours=aec)
