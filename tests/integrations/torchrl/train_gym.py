"""TorchRL, one learner on Gymnasium through GymEnv, each game in a process: PPO with masked actions."""

import os
import sys

import gymnasium
import numpy as np
import torch
from tensordict.nn import TensorDictModule
from torchrl.collectors import Collector
from torchrl.envs import DTypeCastTransform, GymEnv, TransformedEnv
from torchrl.modules import MLP, MaskedCategorical, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss

GAME = "ddz_env:ddz_env/DouDizhu-v0"
STEPS = int(os.environ.get("STEPS", 12_000))  # decisions to learn from


def make_games():
    form = {"observation": "dict", "dtype": "float32"}
    games = GymEnv(GAME, num_envs=2, categorical_action_encoding=True, rules="mini", opponents="random", **form)
    return TransformedEnv(games, DTypeCastTransform(torch.int8, torch.bool, in_keys=["action_mask"]))


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
    for batch in Collector(env, actor, frames_per_batch=1000, total_frames=STEPS):
        for _ in range(4):
            with torch.no_grad():
                loss.value_estimator(batch)
            rows = batch.reshape(-1)
            for chosen in torch.randperm(len(rows)).split(250):
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
