"""The settings of self-play: those of the games and gradient steps, and those of PPO."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from ddz_agents.neural.architecture import Architecture
from ddz_training.learn.errors import InvalidTrainingError
from ddz_training.learn.settings import (
    Count,
    Natural,
    NotNegative,
    Objective,
    Positive,
    PositiveShare,
    Share,
    TrainingSettings,
)

if TYPE_CHECKING:
    from typing_extensions import Self


RECIPES: dict[str, dict[str, Any]] = {
    "cpu": {},
    "cuda": {
        "device": "cuda",
        "num_envs": 32_768,
        "update_epochs": 1,
        "minibatch": 16_384,
        "microbatch": 65_536,
        "learning_rate": 1.2e-3,
        "warmup_steps": 30,
        "ent_coef": 0.02,
        "opponent_share": 0.0,
    },
}
"""The settings of a device that differ from the defaults, which are those of a processor."""


@dataclass(frozen=True)
class GamesConfig(TrainingSettings):
    """Settings shared by all training runs on self-play games: games, networks, updates and opponents.

    Attributes:
        objective: ``win``: the landlord gets ±1 and each peasant the opposite; ``stake``: the stake instead of 1.
        architecture: The sizes of the networks.
        deals: Deals of your own: ``module:function`` (:mod:`ddz_env.envs.deals`); shuffled if None.
        num_envs: Games that are played side by side.
        groups: Groups of these games, each with its own generators.  On a processor one thread plays a group; with a
            GPU the groups take turns with it.
        num_steps: Steps of every game between two updates.
        update_epochs: How often an update goes through the decisions.
        minibatch: Decisions per gradient step.
        microbatch: Decisions per forward pass; microbatches of a minibatch are shared among threads.
        device: Where the networks and the minibatches are; games are played on the processor.
        learning_rate: Adam's step size at the start.
        warmup_steps: Gradient steps at the start of a run over which the step size rises to ``learning_rate``.
        final_lr_factor: The share of ``learning_rate`` to which the step size falls linearly until the end of the
            budget.
        adam_epsilon: Adam's ε.
        max_grad_norm: Norm at which the gradient of either network is clipped.
        opponent_share: Share of the games in which one side is played by a past self.
        rules_share: Share of the games in which one side is played by the rule agent.
        frozen: Agents that do not learn, as for ``ddz arena``; they play one side in ``frozen_share`` of the games,
            all equally often.
        frozen_share: Share of the games in which one of ``frozen`` plays one side.
        learner_side: The side that the policy plays where another agent plays the other side.
        pool_size: Past selves that are kept.
        snapshot_every: Updates between two snapshots of the policy.
        ema_decay: Weight of the past in the running average of the policy's weights, which is saved and evaluated; 0
            saves the weights themselves.
        checkpoint_minutes: Minutes between two checkpoints; the first follows the first update.
        eval_freq: Updates between two evaluations, besides those of the start and the end; 0 for none at all.
        eval_deals: Duplicate deals per opponent.
        eval_opponents: Whom the policy is evaluated against.

    Raises:
        InvalidTrainingError: If a setting is out of range, or two contradict each other.
        InvalidRulesError: If the preset is unknown.
    """

    bookkeeping = TrainingSettings.bookkeeping | {"eval_opponents"}
    recipes: ClassVar[dict[str, dict[str, Any]]] = {}
    critic_ema_decay = vf_coef = 0.0
    critic_warmup_updates = 0

    objective: Objective = "win"
    architecture: Architecture = dataclasses.field(default_factory=Architecture)
    deals: str | None = None
    num_envs: Count = 256
    groups: Count = 2
    num_steps: Count = 64
    update_epochs: Count = 2
    minibatch: Count = 1024
    microbatch: Count = 1024
    device: Literal["cpu", "cuda"] = "cpu"
    learning_rate: Positive = 1e-3
    warmup_steps: Natural = 0
    final_lr_factor: Share = 0.05
    adam_epsilon: Positive = 1e-5
    max_grad_norm: Positive = 1.0
    opponent_share: Share = 0.2
    rules_share: Share = 0.0
    frozen: tuple[str, ...] = ()
    frozen_share: Share = 0.0
    learner_side: Literal["either", "landlord", "peasants"] = "either"
    pool_size: Count = 8
    snapshot_every: Count = 20
    ema_decay: Share = 0.99
    checkpoint_minutes: NotNegative = 1.0
    eval_freq: Natural = 200
    eval_deals: Natural = 100
    eval_opponents: tuple[str, ...] = ("random", "rules")

    def check(self) -> None:
        """Raise an error for settings that contradict each other, such as shares that exceed 1 together."""
        super().check()
        if self.num_envs % self.groups:
            raise InvalidTrainingError(f"groups={self.groups} must divide num_envs={self.num_envs}")
        if self.opponent_share + self.rules_share + self.frozen_share > 1.0 + 1e-9:  # floats: 0.33 + 0.56 + 0.11 > 1
            raise InvalidTrainingError(
                f"opponent_share={self.opponent_share}, rules_share={self.rules_share} and "
                f"frozen_share={self.frozen_share} are shares of the same games: together they must be at most 1"
            )
        if bool(self.frozen) != bool(self.frozen_share):
            raise InvalidTrainingError(
                f"frozen={self.frozen!r} names agents and frozen_share={self.frozen_share} says how often they play: "
                "give both or neither"
            )

    @classmethod
    def for_device(cls, device: str | None) -> Self:
        """Return the default settings for a device, or those for a CPU if the device is None.

        Raises:
            InvalidTrainingError: If the device is unknown.
        """
        device = device or "cpu"
        return cls(**cls.recipes.get(device, {"device": device}))

    @property
    def named_opponents(self) -> tuple[tuple[str, float], ...]:
        """The named agents that play one side of some games, each with its share of the games."""
        rules = (("rules", self.rules_share),) if self.rules_share else ()
        return *rules, *((agent, self.frozen_share / len(self.frozen)) for agent in self.frozen)


@dataclass(frozen=True)
class SelfPlayConfig(GamesConfig):
    """The settings of a PPO self-play run, which together with its length determine its result.

    Attributes:
        clip_coef: ε of the clipped objective.
        settled_share: Share of the settled decisions (those where no second action has a probability of 1 %) from
            which the policy learns, each with weight ``1 / settled_share``; the critic learns from every decision.
        advantage_quantile: The policy learns from decisions whose absolute advantage is at least this quantile of those
            of a rollout (0.75: the upper quarter); the critic learns from every decision.
        advantage_floor: The absolute advantage that a decision must have besides.
        gamma: Discount per move.
        gae_lambda: λ of the advantages, per move.
        target_lambda: λ of the critic's targets, per move; that of the advantages if None.
        ent_coef: Weight of the entropy bonus at the start.
        final_ent_coef: Weight of the entropy bonus at the end of the budget, to which it changes linearly.
        vf_coef: Weight of the policy's own value in its loss.
        critic_warmup_updates: Updates at the start in which only the critic learns (after a warm start).
        critic_ema_decay: As ``ema_decay`` for the critic's weights; the average is saved and used in training; 0 saves
            and uses the critic itself.
    """

    recipes = RECIPES

    clip_coef: Positive = 0.2
    settled_share: PositiveShare = 0.125
    advantage_quantile: Share = 0.0
    advantage_floor: NotNegative = 0.0
    gamma: Share = 1.0
    gae_lambda: Share = 0.5
    target_lambda: Share | None = None
    ent_coef: NotNegative = 0.01
    final_ent_coef: NotNegative = 0.002
    vf_coef: NotNegative = 0.25
    critic_warmup_updates: Natural = 0
    critic_ema_decay: Share = 0.9
