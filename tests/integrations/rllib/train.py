"""RLlib, one learner on Gymnasium: PPO with its action-masking module on the new API stack."""

import torch

from tests.integrations.judge import judge, single

ITERATIONS = 5

# [shown
import gymnasium
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule
from ray.tune.registry import register_env


def make_env(config):
    import ddz_env  # noqa: F401  # Ray's workers import the environment themselves

    form = {"observation": "dict", "observation_key": "observations", "dtype": "float32"}
    return gymnasium.make("ddz_env/DouDizhu-v0", rules="mini", illegal_action="raise", **form)


register_env("dou_dizhu", make_env)
module = RLModuleSpec(module_class=ActionMaskingTorchRLModule, model_config={"fcnet_hiddens": [128, 128]})
config = (
    PPOConfig()
    .environment("dou_dizhu")
    .env_runners(num_env_runners=0, num_envs_per_env_runner=16)
    .rl_module(rl_module_spec=module)
    .training(gamma=1.0, lr=1e-3, train_batch_size_per_learner=4000, minibatch_size=500, num_epochs=4)
    .debugging(seed=0)
)
ppo = config.build_algo()
for _ in range(ITERATIONS):
    result = ppo.train()
# shown]

policy = ppo.get_module()


def act(observations, masks):
    with torch.no_grad():
        batch = {"obs": {"observations": torch.as_tensor(observations), "action_mask": torch.as_tensor(masks).float()}}
        return policy.forward_inference(batch)["action_dist_inputs"].argmax(-1)


def through(decisions):
    return sum(len(episode) for episode in ppo.env_runner.sample(num_timesteps=decisions))


steps = int(result["num_env_steps_sampled_lifetime"])
judge("ray", act, steps=steps, through=through, ours=single, dtype="float32")
