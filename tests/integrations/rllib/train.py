"""RLlib, one learner on Gymnasium: PPO with its action-masking module on the new API stack."""

import os

import gymnasium
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule
from ray.tune.registry import register_env

from tests.integrations.evaluation import main

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


if __name__ == "__main__":
    main(train, dtype="float32")
