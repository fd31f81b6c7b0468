"""RLlib, one learner on Gymnasium: PPO with its action-masking module on the new API stack."""

import os
import sys

import gymnasium
import numpy as np
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule
from ray.tune.registry import register_env

GAME = "ddz_env:ddz_env/DouDizhu-v0"
STEPS = int(os.environ.get("STEPS", 20_000))  # decisions to learn from


def make_env(config):
    form = {"observation": "dict", "observation_key": "observations", "dtype": "float32", "illegal_action": "raise"}
    return gymnasium.make(GAME, rules="mini", opponents="random", **form)


def make_ppo(seed):
    register_env("dou_dizhu", make_env)
    module = RLModuleSpec(module_class=ActionMaskingTorchRLModule, model_config={"fcnet_hiddens": [128, 128]})
    config = (
        PPOConfig()
        .environment("dou_dizhu")
        .env_runners(num_env_runners=0, num_envs_per_env_runner=16)
        .rl_module(rl_module_spec=module)
        .training(gamma=1.0, lr=1e-3, train_batch_size_per_learner=4000, minibatch_size=500, num_epochs=4)
        .debugging(seed=seed)
    )
    return config.build_algo()


def train(seed):
    ppo = make_ppo(seed)
    while ppo.train()["num_env_steps_sampled_lifetime"] < STEPS:
        pass
    act = policy_of(ppo.get_module())
    ppo.stop()
    return act


def policy_of(module):
    """The most likely actions."""

    @torch.no_grad()
    def act(observations, masks):
        seen = {"observations": torch.as_tensor(observations), "action_mask": torch.as_tensor(masks).float()}
        return module.forward_inference({"obs": seen})["action_dist_inputs"].argmax(-1).numpy()

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
