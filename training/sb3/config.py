"""The settings of a run with Stable-Baselines3, checked."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from ddz_env.errors import DouDizhuError
from ddz_env.options import Options, Range
from ddz_env.rules import Rules
from training.ppo.errors import InvalidTrainingError

SELF = "self"
"""The name of the opponents that are frozen past selves."""

_Count = Annotated[int, Range(1)]
_Natural = Annotated[int, Range(0)]
_Share = Annotated[float, Range(0, 1)]
_Positive = Annotated[float, Range(0, above=True)]
_NotNegative = Annotated[float, Range(0)]


@dataclass(frozen=True)
class Sb3Config(Options):
    """Everything that a run depends on, besides how long it runs.

    Attributes:
        rules: A preset's name.
        role: The learner's: ``landlord``, ``peasant_down``, ``peasant_up``, or ``random``, anew in every game.
        objective: ``win``: every seat gets ±1; ``stake``: the scoring of that name.
        opponents: ``random``, ``random-staged``, ``rules``, ``self``, or any agent's specification.
        seed: Seed of deals, actions and weights, at most 2**32 - 1 (SB3 seeds NumPy's old generator with it).
        num_envs: Games that are played side by side.
        n_steps: The learner's decisions in each game between two updates.
        batch_size: Decisions a gradient step.
        n_epochs: How often an update goes through the decisions.
        learning_rate: Adam's step size.
        clip_range: ε of the clipped objective.
        gamma: Discount a *decision*: below 1 a move with kickers would be worth less than one without.
        gae_lambda: λ a decision.
        ent_coef: Weight of the entropy bonus.
        vf_coef: Weight of the value loss.
        max_grad_norm: Norm at which the gradient is clipped.
        width: Units of each hidden layer.
        layers: Hidden layers of the policy, and as many of the value.
        device: PyTorch's name of the device.
        pool_size: With ``self``: snapshots that are kept, a uniform sample of all.
        snapshot_every: With ``self``: updates between two of them.
        checkpoint_every: Updates between two checkpoints; 0 for one at the end.
        evaluate_every: Steps between two evaluations; 0 for none.
        evaluate_deals: Duplicate deals a baseline.
        baselines: Whom the policy is evaluated against.

    Raises:
        InvalidTrainingError: If a setting is out of range.
        InvalidRulesError: If the preset is unknown.
    """

    error: ClassVar[type[DouDizhuError]] = InvalidTrainingError

    rules: str = "standard"
    role: str = "random"
    objective: Literal["win", "stake"] = "win"
    opponents: str = "random"
    seed: Annotated[int, Range(0, 2**32 - 1)] = 0
    num_envs: _Count = 64
    n_steps: _Count = 128
    batch_size: _Count = 1024
    n_epochs: _Count = 4
    learning_rate: _Positive = 5e-4
    clip_range: _Positive = 0.2
    gamma: _Share = 1.0
    gae_lambda: _Share = 0.95
    ent_coef: _NotNegative = 0.01
    vf_coef: _NotNegative = 0.5
    max_grad_norm: _Positive = 0.5
    width: _Count = 256
    layers: _Count = 2
    device: str = "cpu"
    pool_size: _Count = 8
    snapshot_every: _Count = 5
    checkpoint_every: _Natural = 10
    evaluate_every: _Natural = 200_000
    evaluate_deals: _Natural = 100
    baselines: tuple[str, ...] = ("random", "rules")

    def check(self) -> None:
        """Refuse settings that contradict each other."""
        Rules.preset(self.rules)
        if self.evaluate_every and not self.evaluate_deals:
            raise InvalidTrainingError("evaluate_deals=0 measures nothing: set evaluate_every=0")
        if self.num_envs * self.n_steps < 2:
            raise InvalidTrainingError("num_envs × n_steps must be at least 2: advantages are normalized")

    @property
    def learning_rules(self) -> Rules:
        """The rules with the usual learning signal: a peasant's win counts as much as the landlord's."""
        return Rules.preset(self.rules, peasant_reward=1.0)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for files."""
        return dataclasses.asdict(self) | {"baselines": list(self.baselines)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Sb3Config:
        """The inverse of :meth:`as_dict`.

        Raises:
            InvalidTrainingError: If fields are missing, unknown or out of range.
        """
        names = {option.name for option in cls.options()}
        if set(values) != names:
            raise InvalidTrainingError(f"settings differ in {', '.join(sorted(set(values) ^ names))}")
        return cls(**values)
