"""What a response starts from, and the settings of its training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ddz_agents.neural.agent import PolicyAgent, PolicyOptions
from ddz_agents.neural.architecture import Architecture
from ddz_agents.neural.shipped import shipped_policy_path
from ddz_agents.neural.weights import Weights
from ddz_env.core.rules import Rules
from ddz_env.playing.registry import read_agent
from ddz_training.learn.errors import InvalidTrainingError
from ddz_training.learn.ppo.config import SelfPlayConfig
from ddz_training.measure.match.duplicate import check_agents

STARTS = ("own", "shipped", "scratch")
"""What a response may start from, besides a file of weights."""


def own_weights(agent: str) -> Path | None:
    """The weights that an agent plays by, where it is ``policy`` and they are of this package; None of any other."""
    factory, options = read_agent(agent)
    if factory is not PolicyAgent:
        return None
    (path,) = PolicyOptions.of(**options).files()
    return path if path.suffix == shipped_policy_path().suffix else None


def starting_path(agent: str, start: str | None = None) -> Path | None:
    """The weights that a response starts from.

    Args:
        agent: The agent that it is trained against.
        start: One of :data:`STARTS` or a file; by default ``own`` where the agent has weights, else ``shipped``.

    Returns:
        The file; None for random weights.

    Raises:
        InvalidTrainingError: If the agent has no weights to start from.
        UnknownAgentError: If it does not exist.
    """
    own = own_weights(agent)
    if start == "scratch":
        return None
    if start == "shipped" or (start is None and own is None):
        return shipped_policy_path()
    if start not in (None, "own"):
        return Path(start)
    if own is None:
        raise InvalidTrainingError(f"{agent!r} has no weights to start from: start from shipped, scratch or a file")
    return own


def response_config(agent: str, start: Weights | None, settings: dict[str, Any]) -> SelfPlayConfig:
    """The settings of a response's training.

    Args:
        agent: The agent.
        start: What it starts from.
        settings: What is changed.

    Raises:
        InvalidTrainingError: If a setting is out of range, or the rules have an auction.
        UnknownAgentError: If the agent does not exist.
    """
    check_agents((agent,))
    architecture = Architecture() if start is None else start.policy.architecture
    recipe = SelfPlayConfig(
        architecture=architecture,
        frozen=(agent,),
        frozen_share=1.0,
        opponents=(agent,),
        opponent_share=0.0,
        minibatch=2048,
        average=0.98,
        critic_updates=0 if start is None else 10,
        evaluate_every=50,
        evaluate_deals=500,
    )
    config = recipe.changed(settings)
    if Rules.preset(config.rules).bidding != "fixed":
        raise InvalidTrainingError(
            f"a response plays one side, and under the {config.rules} rules an auction decides it"
        )
    if not config.evaluate_every:
        raise InvalidTrainingError("evaluate_every=0 would choose no response: say after how many updates to measure")
    if config.frozen != (agent,) or config.opponents != (agent,):
        raise InvalidTrainingError("a response meets the agent that it is trained against: leave frozen and opponents")
    return config
