"""TorchRL, one learner on Gymnasium through GymEnv, each game in a process: PPO with masked actions."""

import time

import torch
from torchrl.envs import ActionMask

from tests.integrations.judge import judge, single

FRAMES = 12_000


def main():
    torch.manual_seed(0)
    # [shown
    from tensordict.nn import TensorDictModule
    from torchrl.collectors import Collector
    from torchrl.envs import DTypeCastTransform, GymEnv, TransformedEnv
    from torchrl.modules import MLP, MaskedCategorical, ProbabilisticActor, ValueOperator
    from torchrl.objectives import ClipPPOLoss

    import ddz_env  # noqa: F401

    def make_games():
        form = {"observation": "dict", "dtype": "float32"}
        return GymEnv("ddz_env/DouDizhu-v0", num_envs=2, categorical_action_encoding=True, rules="mini", **form)

    env = TransformedEnv(make_games(), DTypeCastTransform(torch.int8, torch.bool, in_keys=["action_mask"]))
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

    for batch in Collector(env, actor, frames_per_batch=1000, total_frames=FRAMES):
        for _ in range(4):
            with torch.no_grad():
                loss.value_estimator(batch)
            rows = batch.reshape(-1)
            for chosen in torch.randperm(len(rows)).split(250):
                losses = loss(rows[chosen])
                optimizer.zero_grad()
                (losses["loss_objective"] + losses["loss_critic"]).backward()
                optimizer.step()
    # shown]

    random_play = TransformedEnv(make_games(), ActionMask())  # the collector has closed the others

    def act(observations, masks):
        with torch.no_grad():
            logits = network(torch.as_tensor(observations))
        return logits.masked_fill(~torch.as_tensor(masks), -torch.inf).argmax(-1)

    def through(decisions):
        return random_play.rollout(decisions // 2, break_when_any_done=False).numel()

    judge("torchrl", act, steps=FRAMES, through=through, ours=single, clock=time.perf_counter, dtype="float32")


if __name__ == "__main__":
    main()
