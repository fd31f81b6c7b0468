"""The settings of a run with Stable-Baselines3, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ddz_env.core.options import Range
from ddz_env.core.rules import Rules
from ddz_training.learn.errors import InvalidTrainingError
from ddz_training.learn.settings import Count, Natural, NotNegative, Objective, Positive, Share, TrainingSettings

SELF = "self"
"""The name of the opponents that are frozen past selves."""


@dataclass(frozen=True)
class Sb3Config(TrainingSettings):
    """Everything that a run depends on, besides how long it runs.

    Attributes:
        role: The learner's: ``landlord``, ``peasant_down``, ``peasant_up``, or ``random``: drawn for every game.
        objective: ``win``: every seat gets ±1; ``stake``: the scoring of that name.
        opponents: ``random``, ``random-staged``, ``rules``, ``self``, or any agent's specification.
        seed: Seed of deals, actions and weights, at most 2**32 - 1 (SB3 seeds NumPy's old generator with it).
        num_envs: Games that are played side by side.
        n_steps: The learner's decisions in each game between two updates.
        batch_size: Decisions per gradient step.
        n_epochs: How often an update goes through the decisions.
        learning_rate: Adam's step size.
        clip_range: ε of the clipped objective.
        gamma: Discount per *decision*: below 1 a move with kickers would be worth less than one without.
        gae_lambda: λ per decision.
        ent_coef: Weight of the entropy bonus.
        vf_coef: Weight of the value loss.
        max_grad_norm: Norm at which the gradient is clipped.
        width: Units of each hidden layer.
        layers: Hidden layers of the policy network, and of the value network.
        device: PyTorch's name of the device.
        pool_size: With ``self``: snapshots that are kept, a uniform sample of all.
        snapshot_every: With ``self``: updates between two snapshots.
        checkpoint_every: Updates between two checkpoints; 0 for only one, at the end.
        evaluate_every: Steps between two evaluations; 0 for none.
        evaluate_deals: Duplicate deals per baseline.
        baselines: Whom the policy is evaluated against.

    Raises:
        InvalidTrainingError: If a setting is out of range.
        InvalidRulesError: If the preset is unknown.
    """

    role: str = "random"
    objective: Objective = "win"
    opponents: str = "random"
    seed: Annotated[int, Range(0, 2**32 - 1)] = 0
    num_envs: Count = 64
    n_steps: Count = 128
    batch_size: Count = 1024
    n_epochs: Count = 4
    learning_rate: Positive = 5e-4
    clip_range: Positive = 0.2
    gamma: Share = 1.0
    gae_lambda: Share = 0.95
    ent_coef: NotNegative = 0.01
    vf_coef: NotNegative = 0.5
    max_grad_norm: Positive = 0.5
    width: Count = 256
    layers: Count = 2
    device: str = "cpu"
    pool_size: Count = 8
    snapshot_every: Count = 5
    checkpoint_every: Natural = 10
    evaluate_every: Natural = 200_000
    evaluate_deals: Natural = 100
    baselines: tuple[str, ...] = ("random", "rules")

    def check(self) -> None:
        """Refuse what measures nothing or cannot be normalized."""
        super().check()
        if self.evaluate_every and not self.evaluate_deals:
            raise InvalidTrainingError("evaluate_deals=0 measures nothing: set evaluate_every=0")
        if self.num_envs * self.n_steps < 2:
            raise InvalidTrainingError("num_envs × n_steps must be at least 2: advantages are normalized")

    @property
    def learning_rules(self) -> Rules:
        """The rules with the usual learning signal: a peasant's win counts as much as the landlord's."""
        return Rules.preset(self.rules, peasant_reward=1.0)
