"""The base class of all training settings, range-checked setting types, and former names of settings."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from ddz_env.core.rules import Rules
from ddz_env.support.errors import DouDizhuError
from ddz_env.support.options import Options, Range
from ddz_training.learn.errors import CheckpointMismatchError, InvalidTrainingError

if TYPE_CHECKING:
    from typing_extensions import Self

_MOST = 2**63 - 1

Count = Annotated[int, Range(1, _MOST)]
Natural = Annotated[int, Range(0, _MOST)]
Share = Annotated[float, Range(0, 1)]
PositiveShare = Annotated[float, Range(0, 1, above=True)]
Positive = Annotated[float, Range(0, above=True)]
NotNegative = Annotated[float, Range(0)]

Objective = Literal["win", "stake"]
"""The objective: to win games, or to win stakes."""

RENAMED: Mapping[str, str] = {
    "alike": "same_peasants_share",
    "average": "ema_decay",
    "baselines": "eval_opponents",
    "clip": "clip_coef",
    "critic_average": "critic_ema_decay",
    "critic_updates": "critic_warmup_updates",
    "entropy": "ent_coef",
    "epochs": "update_epochs",
    "evaluate_deals": "eval_deals",
    "evaluate_every": "eval_freq",
    "final_entropy": "final_ent_coef",
    "final_learning_rate": "final_lr_factor",
    "lam": "gae_lambda",
    "max_gradient": "max_grad_norm",
    "num_games": "num_envs",
    "opponents": "eval_opponents",
    "shard": "microbatch",
    "steps": "num_steps",
    "target_lam": "target_lambda",
    "value_weight": "vf_coef",
    "warm_up": "warmup_steps",
}
"""Settings by their names of earlier versions, which only files may use, and what they are called today."""

_ADDED: Mapping[str, Any] = {"advantage_floor": 0.0, "advantage_quantile": 0.0}
"""Settings that earlier versions did not have, with the values by which their runs go on unchanged."""

_NOBODY: tuple[str, ...] = ()


def renamed_setting(name: str, today: Collection[str]) -> str | None:
    """Return the current name of a renamed setting, or None for a name that is unchanged or unknown.

    Args:
        name: The name.
        today: The names of today's settings.

    Example:
        >>> renamed_setting("lam", ["gamma", "gae_lambda"]), renamed_setting("gamma", ["gamma", "gae_lambda"])
        ('gae_lambda', None)
    """
    new = RENAMED.get(name)
    return new if name not in today and new in today else None


@dataclass(frozen=True)
class TrainingSettings(Options):
    """The base class of training settings, which determine a run's result together with the run's length.

    Attributes:
        rules: A preset's name.
        seed: Seed of deals, actions and weights.

    Raises:
        InvalidTrainingError: If a setting is out of range.
        InvalidRulesError: If the preset is unknown.
    """

    error: ClassVar[type[DouDizhuError]] = InvalidTrainingError
    bookkeeping: ClassVar[frozenset[str]] = frozenset({"checkpoint_minutes", "eval_freq", "eval_deals"})
    """Settings that do not change what is learned; a resumed run may have others."""

    checkpoint_minutes = 1.0
    eval_freq = eval_deals = 0
    eval_opponents = _NOBODY
    rules: str = "standard"
    seed: Natural = 0

    def check(self) -> None:
        """Refuse an unknown rule preset, and evaluations without a deal."""
        Rules.preset(self.rules)
        if self.eval_freq and not self.eval_deals:
            raise InvalidTrainingError("eval_deals=0: evaluations need a deal; eval_freq=0 leaves them out")

    @classmethod
    def read(cls, texts: Iterable[str]) -> dict[str, Any]:
        """Parse ``name=value`` strings like :meth:`ddz_env.support.options.Options.read`, and refuse former names.

        Args:
            texts: ``name=value`` each; ``name.part=value`` for a setting that is a set of options itself.

        Raises:
            InvalidTrainingError: If there is no such setting, it has another name today, or a value is not allowed.
        """
        texts, today = list(texts), [option.name for option in cls.options()]
        for text in texts:
            name = text.partition("=")[0].strip()
            if new := renamed_setting(name, today):
                raise cls.error(f"the setting {name!r} is called {new!r} now")
        return super().read(texts)

    @classmethod
    def from_dict(cls, values: Any) -> Self:
        """Create settings from the values of a saved file, which an earlier version may have written.

        Raises:
            InvalidTrainingError: If settings are missing, unknown or have values that are not allowed.
        """
        if not isinstance(values, Mapping):
            return super().from_dict(values)
        today = [option.name for option in cls.options()]
        added = {name: value for name, value in _ADDED.items() if name in today}
        return super().from_dict(added | {renamed_setting(name, today) or name: values[name] for name in values})

    @classmethod
    def read_given(cls, named: Mapping[str, Any], texts: Iterable[str]) -> dict[str, Any]:
        """Merge the settings given as command-line options with those given as ``name=value`` strings.

        Args:
            named: Settings that have an option of their own; None where it was not given.
            texts: ``name=value`` each, as for :meth:`read`.

        Raises:
            InvalidTrainingError: If there is no such setting, or a value is not allowed.
        """
        return {name: value for name, value in named.items() if value is not None} | cls.read(texts)

    def with_changes(self, settings: Mapping[str, Any]) -> Self:
        """Return a copy of the settings with some values changed, each given by ``name`` or ``name.part``.

        Args:
            settings: As from :meth:`read`.

        Raises:
            DouDizhuError: If a setting, or a part of one, is out of range.
        """
        values: dict[str, Any] = {}
        for name, value in settings.items():
            whole, dot, part = name.partition(".")
            now = values.get(whole, getattr(self, whole))
            values[whole] = dataclasses.replace(now, **{part: value}) if dot else value
        return dataclasses.replace(self, **values)

    def for_resuming(self, wanted: Mapping[str, Any], where: object) -> Self:
        """Change settings for a resumed run, refusing any change outside the :attr:`bookkeeping` settings.

        Args:
            wanted: The settings that the run must have, as from :meth:`read`.
            where: Names the file of these settings.

        Raises:
            CheckpointMismatchError: If any other setting differs.
        """
        different = []
        for name, value in wanted.items():
            whole, _, part = name.partition(".")
            current = getattr(getattr(self, whole), part) if part else getattr(self, whole)
            if current != value and name not in self.bookkeeping:
                different.append(f"{name}: the checkpoint has {current!r}, this run {value!r}")
        if different:
            raise CheckpointMismatchError(f"{where} was written under other settings ({'; '.join(different)})")
        return self.with_changes({name: value for name, value in wanted.items() if name in self.bookkeeping})
