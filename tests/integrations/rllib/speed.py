"""Sampling by RLlib's runner of environments, whose untrained module is asked for every decision."""

from tests.integrations.speed import aec, single


def through(program):
    """Episodes of the runner."""
    ppo = program.make_ppo(0)
    return lambda decisions: sum(len(episode) for episode in ppo.env_runner.sample(num_timesteps=decisions))


PLAYS = {"rllib": (through, single), "rllib-aec": (through, aec)}
