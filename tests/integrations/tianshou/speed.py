"""Collecting by Tianshou, whose untrained policies are asked for every decision and explore always."""

from tianshou.algorithm.multiagent.marl import MultiAgentOffPolicyAlgorithm
from tianshou.data import Collector
from tianshou.env import DummyVectorEnv

from tests.integrations.speed import aec, single


def _collecting(program, player, policies):
    for policy in policies:
        policy.set_eps_inference(1.0)
    collector = Collector(player, DummyVectorEnv([program.make_env] * 16), exploration_noise=True)
    collector.reset()
    return lambda decisions: collector.collect(n_step=decisions).n_collected_steps


def through(program):
    """One learner."""
    learner = program.make_learner()
    return _collecting(program, learner, [learner.policy])


def through_aec(program):
    """A learner for each seat."""
    learners = [program.make_learner(), program.make_learner()]
    both = MultiAgentOffPolicyAlgorithm(algorithms=learners, env=program.make_env())
    return _collecting(program, both, [learner.policy for learner in learners])


PLAYS = {"tianshou": (through, single), "tianshou-aec": (through_aec, aec)}
