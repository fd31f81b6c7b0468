"""TorchRL, one learner on the vector environment through GymWrapper: PPO with masked actions."""

import os

import gymnasium
import torch
from tensordict.nn import TensorDictModule
from torchrl.collectors import Collector
from torchrl.envs import DTypeCastTransform, GymWrapper, TransformedEnv
from torchrl.modules import MLP, MaskedCategorical, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss

from tests.integrations.evaluation import main

GAME = "ddz_env:ddz_env/DouDizhu-v0"
STEPS = int(os.environ.get("STEPS", 32_000))  # decisions to learn from


def make_games():
    form = {"observation": "dict", "dtype": "float32", "illegal_action": "raise", "autoreset_mode": "Disabled"}
    games = gymnasium.make_vec(GAME, 16, rules="mini", opponents="random", **form)
    wrapped = GymWrapper(games, categorical_action_encoding=True)
    return TransformedEnv(wrapped, DTypeCastTransform(torch.int8, torch.bool, in_keys=["action_mask"]))


def train(seed):
    torch.manual_seed(seed)
    env = make_games()
    env.set_seed(seed)
    network = MLP(in_features=512, out_features=400, num_cells=[128, 128])
    actor = ProbabilisticActor(
        TensorDictModule(network, ["observation"], ["logits"]),
        in_keys={"logits": "logits", "mask": "action_mask"},
        distribution_class=MaskedCategorical,
        return_log_prob=True,
    )
    critic = ValueOperator(MLP(in_features=512, out_features=1, num_cells=[128, 128]))
    loss = ClipPPOLoss(actor, critic, entropy_coeff=0.0, normalize_advantage=True)
    loss.make_value_estimator(gamma=1.0, lmbda=0.95)
    optimizer = torch.optim.Adam(loss.parameters(), 1e-3)
    for batch in Collector(env, actor, frames_per_batch=1600, total_frames=STEPS):
        for _ in range(4):
            with torch.no_grad():
                loss.value_estimator(batch)
            rows = batch.reshape(-1)
            for chosen in torch.randperm(len(rows)).split(400):
                losses = loss(rows[chosen])
                optimizer.zero_grad()
                (losses["loss_objective"] + losses["loss_critic"]).backward()
                optimizer.step()
    return policy_of(network)


def policy_of(network):
    """The most likely actions."""

    @torch.no_grad()
    def act(observations, masks):
        logits = network(torch.as_tensor(observations))
        return logits.masked_fill(~torch.as_tensor(masks).bool(), -torch.inf).argmax(-1).numpy()

    return act


if __name__ == "__main__":
    main(train, dtype="float32")
