"""The settings of a self-play run, checked."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, NamedTuple

from agents.neural.network import Architecture
from ddz_env.rules import Rules
from training.ppo.checks import check_integers, check_numbers, check_objective
from training.ppo.errors import InvalidTrainingError

_COUNTS = (
    "num_games",
    "groups",
    "candidates",
    "steps",
    "epochs",
    "minibatch",
    "shard",
    "pool_size",
    "snapshot_every",
    "checkpoint_every",
)
_NATURALS = ("anneal_updates", "critic_updates", "evaluate_every", "evaluate_deals")
_SHARES = (
    "lookahead",
    "floor",
    "gamma",
    "lam",
    "opponent_share",
    "rules_share",
    "average",
    "critic_average",
    "final_learning_rate",
)
_POSITIVES = ("learning_rate", "clip", "max_gradient", "adam_epsilon")
_NOT_NEGATIVE = ("entropy", "value_weight", "final_entropy")


class Annealed(NamedTuple):
    """What changes in the course of a run.

    Attributes:
        learning_rate: Adam's step size.
        entropy: Weight of the entropy bonus.
        floor: Least weight of an action that the critic finds better than the mean of those considered.
    """

    learning_rate: float
    entropy: float
    floor: float


@dataclass(frozen=True)
class SelfPlayConfig:
    """Everything that the result of a run depends on, besides how long it runs.

    Attributes:
        rules: A preset's name.
        objective: ``win``: the landlord gets ±1 and each peasant the opposite; ``stake``: the stake instead of 1.
        seed: Seed of deals, actions and weights.
        architecture: The sizes of the networks.
        num_games: Games that are played side by side.
        groups: Parts of them; each is played on by one thread at a time, with a generator of its own.
        steps: Steps of every game between two updates.
        epochs: How often an update goes through the decisions.
        minibatch: Decisions a gradient step.
        shard: Decisions a forward pass; shards of a minibatch are shared among threads.
        learning_rate: Adam's step size at first.
        final_learning_rate: The share of it that is left after ``anneal_updates``.
        anneal_updates: Updates over which step size, entropy bonus and ``floor`` go down in a straight line, the last
            to 0; 0: they stay.
        adam_epsilon: Adam's ε.
        max_gradient: Norm at which the gradient of either network is clipped.
        clip: ε of the clipped objective.
        lookahead: Share of the policy's loss in which every action that it considered counts, with the critic's word on
            what comes next, instead of the chosen action with what the game brought; see :mod:`training.ppo.lookahead`.
        candidates: Most actions that are considered so at a decision.
        least: Least probability of an action that is.
        floor: Least weight, in that share, of an action that the critic finds better than the mean of those considered;
            to find such, one more action at random is considered wherever the policy learns.  0: no weight is lifted,
            no action added.
        settled_share: Share of the settled decisions, those with no second action of the probability ``least``, that
            the policy learns from, each as if it were there ``1 / settled_share`` times; the critic learns from every
            decision.
        gamma: Discount a move.
        lam: λ a move.
        entropy: Weight of the entropy bonus at first.
        final_entropy: Weight of it after ``anneal_updates``.
        value_weight: Weight of the policy's own value in its loss.
        critic_updates: Updates at first in which only the critic learns (after a warm start).
        opponent_share: Share of the games in which one side is played by a past self.
        rules_share: Share of the games in which one side is played by the rule agent.
        pool_size: Past selves that are kept.
        snapshot_every: Updates between two of them.
        average: Weight of the past in the running average of the policy's weights that is saved and evaluated; 0 saves
            the weights themselves.
        critic_average: The same of the critic's, which are saved and whose word counts in training; 0 saves and asks
            the critic itself.
        checkpoint_every: Updates between two checkpoints.
        evaluate_every: Updates between two evaluations; 0 for none.
        evaluate_deals: Duplicate deals an opponent.
        opponents: Whom the policy is evaluated against.

    Raises:
        InvalidTrainingError: If a setting is out of range.
        InvalidRulesError: If the preset is unknown.
    """

    rules: str = "standard"
    objective: str = "win"
    seed: int = 0
    architecture: Architecture = dataclasses.field(default_factory=Architecture)
    num_games: int = 512
    groups: int = 2
    steps: int = 128
    epochs: int = 1
    minibatch: int = 4096
    shard: int = 1024
    learning_rate: float = 3e-4
    final_learning_rate: float = 0.1
    anneal_updates: int = 0
    adam_epsilon: float = 1e-5
    max_gradient: float = 1.0
    clip: float = 0.2
    lookahead: float = 0.8
    candidates: int = 4
    least: float = 0.01
    floor: float = 0.02
    settled_share: float = 0.125
    gamma: float = 1.0
    lam: float = 0.95
    entropy: float = 0.01
    final_entropy: float = 0.003
    value_weight: float = 0.25
    critic_updates: int = 0
    opponent_share: float = 0.2
    rules_share: float = 0.0
    pool_size: int = 8
    snapshot_every: int = 20
    average: float = 0.0
    critic_average: float = 0.9
    checkpoint_every: int = 10
    evaluate_every: int = 50
    evaluate_deals: int = 100
    opponents: tuple[str, ...] = ("random", "rules")

    def __post_init__(self) -> None:
        Rules.preset(self.rules)
        check_objective(self.objective)
        check_integers(self, ("seed", *_NATURALS), 0)
        check_integers(self, _COUNTS, 1)
        check_integers(self, ("candidates",), 2)
        check_numbers(self, _SHARES, high=1.0)
        if self.num_games % self.groups:
            raise InvalidTrainingError(f"groups={self.groups} must divide num_games={self.num_games}")
        if self.opponent_share + self.rules_share > 1.0:
            raise InvalidTrainingError("opponent_share and rules_share are shares of the same games: 1 at most in all")
        check_numbers(self, _POSITIVES, positive=True)
        check_numbers(self, ("least", "settled_share"), high=1.0, positive=True)
        check_numbers(self, _NOT_NEGATIVE)

    def annealed(self, update: int) -> Annealed:
        """What changes in the course of a run, as it is at an update."""
        done = min(1.0, update / self.anneal_updates) if self.anneal_updates else 0.0
        return Annealed(
            self.learning_rate * (1.0 - done * (1.0 - self.final_learning_rate)),
            self.entropy + done * (self.final_entropy - self.entropy),
            self.floor * (1.0 - done),
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for files."""
        return dataclasses.asdict(self) | {"opponents": list(self.opponents)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> SelfPlayConfig:
        """The inverse of :meth:`as_dict`.

        Raises:
            InvalidTrainingError: If fields are missing, unknown or out of range.
        """
        names = {field.name for field in dataclasses.fields(cls)}
        if set(values) != names:
            raise InvalidTrainingError(f"settings differ in {', '.join(sorted(set(values) ^ names))}")
        architecture = Architecture.from_dict(values["architecture"])
        return cls(**{**values, "architecture": architecture, "opponents": tuple(values["opponents"])})
