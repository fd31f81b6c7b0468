"""Random rollouts of TorchRL's environments."""

from torchrl.envs import ActionMask, TransformedEnv

from tests.integrations.speed import aec, single, vector


def through(games):
    """So many games at once, one learner each."""

    def make(program):
        env = TransformedEnv(program.make_games(), ActionMask())
        return lambda decisions: env.rollout(-(-decisions // games), break_when_any_done=False).numel()

    return make


def through_aec(program):
    """One game, every seat."""
    game = program.make_game()
    return lambda decisions: game.rollout(decisions, break_when_any_done=False).numel()


PLAYS = {
    "torchrl-aec": (through_aec, aec),
    "torchrl-gym": (through(2), single),
    "torchrl-vector": (through(16), vector(16)),
}
WALL = {"torchrl-gym"}
"""Programs whose games run in other processes."""
