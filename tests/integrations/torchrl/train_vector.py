"""TorchRL, one learner on the vector environment through GymWrapper: PPO with masked actions."""

import torch
from torchrl.envs import ActionMask

from tests.integrations.judge import judge, vector

torch.manual_seed(0)
FRAMES = 32_000

# [shown
import gymnasium
from tensordict.nn import TensorDictModule
from torchrl.collectors import Collector
from torchrl.envs import DTypeCastTransform, GymWrapper, TransformedEnv
from torchrl.modules import MLP, MaskedCategorical, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss

import ddz_env  # noqa: F401

form = {"observation": "dict", "dtype": "float32", "illegal_action": "raise", "autoreset_mode": "Disabled"}
games = GymWrapper(
    gymnasium.make_vec("ddz_env/DouDizhu-v0", 16, rules="mini", **form), categorical_action_encoding=True
)
env = TransformedEnv(games, DTypeCastTransform(torch.int8, torch.bool, in_keys=["action_mask"]))
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

for batch in Collector(env, actor, frames_per_batch=1600, total_frames=FRAMES):
    for _ in range(4):
        with torch.no_grad():
            loss.value_estimator(batch)
        rows = batch.reshape(-1)
        for chosen in torch.randperm(len(rows)).split(400):
            losses = loss(rows[chosen])
            optimizer.zero_grad()
            (losses["loss_objective"] + losses["loss_critic"]).backward()
            optimizer.step()
# shown]

random_play = TransformedEnv(games, ActionMask())


def act(observations, masks):
    with torch.no_grad():
        logits = network(torch.as_tensor(observations))
    return logits.masked_fill(~torch.as_tensor(masks), -torch.inf).argmax(-1)


def through(decisions):
    return random_play.rollout(-(-decisions // 16), break_when_any_done=False).numel()


judge("torchrl", act, steps=FRAMES, through=through, ours=vector(16), dtype="float32")
