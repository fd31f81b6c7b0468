"""Random rollouts of TorchRL's environments."""

from torchrl.envs import ActionMask, TransformedEnv

from tests.integrations.speed import aec, vector


def through_vector(program):
    """Sixteen games at once, one learner each."""
    env = TransformedEnv(program.make_games(), ActionMask())
    return lambda decisions: env.rollout(-(-decisions // 16), break_when_any_done=False).numel()


def through_aec(program):
    """One game, every seat."""
    game = program.make_game()
    return lambda decisions: game.rollout(decisions, break_when_any_done=False).numel()


PLAYS = {
    "torchrl-aec": (through_aec, aec),
    "torchrl-vector": (through_vector, vector(16)),
}
