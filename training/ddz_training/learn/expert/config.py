"""The settings of expert iteration."""

from __future__ import annotations

from dataclasses import dataclass

from ddz_env.playing.registry import read_agent
from ddz_training.learn.errors import InvalidTrainingError
from ddz_training.learn.settings import Count, Positive, TrainingSettings


@dataclass(frozen=True)
class ExpertConfig(TrainingSettings):
    """The settings of expert iteration.

    Attributes:
        search: The search, as for ``ddz arena``, without ``path``: it plays with the policy that is to learn.
        deals: Deals of a round, each played once; every tenth is held out, to see when to stop learning.
        tau: How much the policy's preference counts in what it is taught: its probability times exp(chance / tau).
        passes: How often the decisions of a round are gone through at most; learning ends before that where what is
            held out is no longer learned.
        minibatch: Decisions per gradient step.
        learning_rate: Adam's step size at first; it goes down in a straight line over all passes.
        max_gradient: Norm at which the gradient is clipped.

    Raises:
        InvalidTrainingError: If a setting is out of range, or the search names a policy.
        InvalidRulesError: If the preset is unknown.
        UnknownAgentError: If there is no such search.
        InvalidAgentOptionError: If it has no such option.
    """

    search: str = "neural-ismcts:root=rollouts,inference=belief,particles=256,iterations=300"
    deals: Count = 1000
    tau: Positive = 0.03
    passes: Count = 10
    minibatch: Count = 512
    learning_rate: Positive = 1e-4
    max_gradient: Positive = 1.0

    def check(self) -> None:
        """Refuse a search that names a policy."""
        super().check()
        if "path" in read_agent(self.search)[1]:
            raise InvalidTrainingError(f"search={self.search!r} names a policy: leave out path, --init names the first")

    def searching_with(self, policy: object) -> str:
        """The search with a policy's file; with the shipped one for None.

        Example:
            >>> ExpertConfig(search="neural-ismcts").searching_with("old.safetensors")
            'neural-ismcts:path=old.safetensors'
        """
        if policy is None:
            return self.search
        return f"{self.search}{',' if ':' in self.search else ':'}path={policy}"
