"""The settings of a run with Stable-Baselines3, checked."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ddz_env.rules import Rules
from training.ppo.checks import check_integers, check_numbers, check_objective
from training.ppo.errors import InvalidTrainingError
from training.ppo.settings import read_settings

SELF = "self"
"""The name of the opponents that are frozen past selves."""

_COUNTS = ("num_envs", "n_steps", "batch_size", "n_epochs", "width", "layers", "pool_size", "snapshot_every")
_NATURALS = ("evaluate_every", "evaluate_deals", "checkpoint_every")
_SHARES = ("gamma", "gae_lambda")
_POSITIVES = ("learning_rate", "clip_range", "max_grad_norm")
_NOT_NEGATIVE = ("ent_coef", "vf_coef")
_MOST_SEED = 2**32 - 1


@dataclass(frozen=True)
class Sb3Config:
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

    rules: str = "standard"
    role: str = "random"
    objective: str = "win"
    opponents: str = "random"
    seed: int = 0
    num_envs: int = 64
    n_steps: int = 128
    batch_size: int = 1024
    n_epochs: int = 4
    learning_rate: float = 5e-4
    clip_range: float = 0.2
    gamma: float = 1.0
    gae_lambda: float = 0.95
    ent_coef: float = 0.01
    vf_coef: float = 0.5
    max_grad_norm: float = 0.5
    width: int = 256
    layers: int = 2
    device: str = "cpu"
    pool_size: int = 8
    snapshot_every: int = 5
    checkpoint_every: int = 10
    evaluate_every: int = 200_000
    evaluate_deals: int = 100
    baselines: tuple[str, ...] = ("random", "rules")

    def __post_init__(self) -> None:
        Rules.preset(self.rules)
        check_objective(self.objective)
        check_integers(self, _COUNTS, 1)
        check_integers(self, _NATURALS, 0)
        check_integers(self, ("seed",), 0, _MOST_SEED)
        check_numbers(self, _SHARES, high=1.0)
        check_numbers(self, _POSITIVES, positive=True)
        check_numbers(self, _NOT_NEGATIVE)
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
        names = {field.name for field in dataclasses.fields(cls)}
        if set(values) != names:
            raise InvalidTrainingError(f"settings differ in {', '.join(sorted(set(values) ^ names))}")
        return cls(**{**values, "baselines": tuple(values["baselines"])})


def parse_sb3_settings(texts: Iterable[str]) -> dict[str, Any]:
    """Read settings of a :class:`Sb3Config`, ``name=value`` each.

    Raises:
        InvalidTrainingError: If a text is not ``name=value``, there is no such setting, or the value is of another
            type.

    Example:
        >>> parse_sb3_settings(["learning_rate=1e-3", "width=512", "baselines=random"])
        {'learning_rate': 0.001, 'width': 512, 'baselines': ('random',)}
    """
    return read_settings(texts, {field.name: field.default for field in dataclasses.fields(Sb3Config)})
