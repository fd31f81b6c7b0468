"""TorchRL, self-play on the AEC environment through PettingZooWrapper: PPO with masked actions, one network."""

import os

import torch
from tensordict.nn import TensorDictModule
from torchrl.collectors import Collector
from torchrl.envs import MarlGroupMapType, PettingZooWrapper
from torchrl.modules import MLP, MaskedCategorical, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss

from ddz_env import dou_dizhu_v0
from tests.integrations.evaluation import main
from tests.integrations.torchrl.train_vector import policy_of

STEPS = int(os.environ.get("STEPS", 12_000))  # decisions to learn from


def make_game():
    game = dou_dizhu_v0.env(rules="mini", dtype="float32")
    return PettingZooWrapper(game, use_mask=True, group_map=MarlGroupMapType.ALL_IN_ONE_GROUP)


def key(name):
    return ("agents", name)


def make_learner():
    """The network, the actor and the loss."""
    observation = ("agents", "observation", "observation")
    network = MLP(in_features=512, out_features=400, num_cells=[128, 128])
    actor = ProbabilisticActor(
        TensorDictModule(network, [observation], [key("logits")]),
        in_keys={"logits": key("logits"), "mask": key("action_mask")},
        out_keys=[key("action")],
        distribution_class=MaskedCategorical,
        return_log_prob=True,
        log_prob_key=key("action_log_prob"),
    )
    critic = ValueOperator(MLP(512, 1, num_cells=[128, 128]), [observation], [key("state_value")])
    loss = ClipPPOLoss(actor, critic, entropy_coeff=0.0, normalize_advantage=False)
    keys = {name: key(name) for name in ("action", "reward", "done", "terminated", "advantage", "value_target")}
    loss.set_keys(value=key("state_value"), sample_log_prob=key("action_log_prob"), **keys)
    loss.make_value_estimator(gamma=1.0, lmbda=0.95)
    return network, actor, loss


def train(seed):
    torch.manual_seed(seed)
    game = make_game()
    game.set_seed(seed)
    network, actor, loss = make_learner()
    optimizer = torch.optim.Adam(loss.parameters(), 1e-3)
    for batch in Collector(game, actor, frames_per_batch=1000, total_frames=STEPS):
        for _ in range(4):
            with torch.no_grad():
                loss.value_estimator(batch)
            acting = batch[key("mask")].unsqueeze(-1)  # one agent acts at a step; the other's action is not played
            batch[key("advantage")] = batch[key("advantage")] * acting
            for rows in torch.randperm(len(batch)).split(500):
                losses = loss(batch[rows])
                optimizer.zero_grad()
                (losses["loss_objective"] + losses["loss_critic"]).backward()
                optimizer.step()
    return policy_of(network)


if __name__ == "__main__":
    main(train, dtype="float32")
