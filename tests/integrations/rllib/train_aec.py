"""RLlib, self-play on the AEC environment through its PettingZooEnv: masked PPO, one module for both seats."""

import os

from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.env.wrappers.pettingzoo_env import PettingZooEnv
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule
from ray.tune.registry import register_env

from ddz_env import dou_dizhu_v0
from tests.integrations.evaluation import main
from tests.integrations.rllib.train import policy_of

STEPS = int(os.environ.get("STEPS", 20_000))  # decisions to learn from


def make_env(config):
    return PettingZooEnv(dou_dizhu_v0.env(rules="mini", observation_key="observations", dtype="float32"))


def make_ppo(seed):
    register_env("dou_dizhu", make_env)
    module = RLModuleSpec(module_class=ActionMaskingTorchRLModule, model_config={"fcnet_hiddens": [128, 128]})
    config = (
        PPOConfig()
        .environment("dou_dizhu", disable_env_checking=True)
        .env_runners(num_env_runners=0, batch_mode="complete_episodes")
        .multi_agent(policies={"player"}, policy_mapping_fn=lambda agent, episode: "player")
        .rl_module(rl_module_spec=module)
        .training(gamma=1.0, lr=1e-3, train_batch_size_per_learner=4000, minibatch_size=500, num_epochs=4)
        .debugging(seed=seed)
    )
    return config.build_algo()


def train(seed):
    ppo = make_ppo(seed)
    while ppo.train()["num_env_steps_sampled_lifetime"] < STEPS:
        pass
    act = policy_of(ppo.get_module("player"))
    ppo.stop()
    return act


if __name__ == "__main__":
    main(train, dtype="float32")
