"""Tianshou, offline: conservative Q-learning from episodes that ``ddz record --format minari`` wrote."""

import sys

import minari
import numpy as np
import torch
from tianshou.algorithm import DiscreteCQL
from tianshou.algorithm.modelfree.qrdqn import QRDQNPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Batch, ReplayBuffer
from tianshou.trainer import OfflineTrainerParams
from torch import nn

from ddz_agents.neural.agent import ModelAgent
from ddz_agents.neural.torch_model import TorchModel

QUANTILES = 2
STEPS = 1_500  # of the optimizer


class Network(nn.Module):
    """The mean return of every action: the logits of a player."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 400 * QUANTILES))

    def quantiles(self, observations):
        return self.layers(observations).unflatten(1, (400, QUANTILES))

    def forward(self, observations, masks):
        return self.quantiles(observations).mean(2)


class Masked(nn.Module):
    """The same for Tianshou: illegal actions are far below, in the loss and in the targets, too."""

    def __init__(self, network, high):
        super().__init__()
        self.network, self.high = network, torch.as_tensor(high)

    def forward(self, obs, state=None, info=None):
        observations, masks = torch.as_tensor(obs.observation), torch.as_tensor(obs.action_mask)
        return self.network.quantiles(observations / self.high).masked_fill(masks[:, :, None] == 0, -100.0), state


def steps_of(episode):
    """An episode as Tianshou keeps it; the last mask is empty, but nothing follows from it."""
    seen, done = episode.observations, episode.terminations | episode.truncations
    obs, obs_next = (Batch({key: values[part] for key, values in seen.items()}) for part in (np.s_[:-1], np.s_[1:]))
    ends = {"terminated": episode.terminations, "truncated": episode.truncations, "done": done}
    return Batch(obs=obs, act=episode.actions, rew=episode.rewards, obs_next=obs_next, **ends)


def train(folder, seed=1):
    """The network that learns from the episodes in ``folder/data`` that were won."""
    torch.manual_seed(seed)
    np.random.seed(seed)  # noqa: NPY002  # Tianshou draws its batches with it
    dataset = minari.MinariDataset(f"{folder}/data").filter_episodes(lambda episode: episode.rewards[-1] > 0)
    network = Network()
    model = Masked(network, dataset.observation_space["observation"].high)
    learner = DiscreteCQL(
        policy=QRDQNPolicy(model=model, action_space=dataset.action_space),
        optim=AdamOptimizerFactory(lr=1e-3),
        gamma=1.0,
        num_quantiles=QUANTILES,
        n_step_return_horizon=100,  # longer than a game: the targets are returns
    )
    steps = ReplayBuffer.from_data(**Batch.cat([steps_of(episode) for episode in dataset]))
    learner.run_training(
        OfflineTrainerParams(buffer=steps, max_epochs=1, epoch_num_steps=STEPS, batch_size=128, show_progress=False)
    )
    return network


class Learned(ModelAgent):
    """Plays by it: ``ddz arena tests.integrations.tianshou.learn_offline:Learned random``."""

    def __init__(self, path="offline.pt"):
        network = Network()
        network.load_state_dict(torch.load(path))
        super().__init__(TorchModel(network))


if __name__ == "__main__":
    torch.save(train(sys.argv[1]).state_dict(), "offline.pt")
