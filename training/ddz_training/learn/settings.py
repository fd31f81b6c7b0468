"""What the settings of every kind of training share: types with ranges, and how settings are changed."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
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


@dataclass(frozen=True)
class TrainingSettings(Options):
    """Everything that the result of a training depends on, besides how long it runs.

    Attributes:
        rules: A preset's name.
        seed: Seed of deals, actions and weights.

    Raises:
        InvalidTrainingError: If a setting is out of range.
        InvalidRulesError: If the preset is unknown.
    """

    error: ClassVar[type[DouDizhuError]] = InvalidTrainingError
    bookkeeping: ClassVar[frozenset[str]] = frozenset({"checkpoint_minutes", "evaluate_every", "evaluate_deals"})
    """Settings that do not change what is learned; a resumed run may have others."""

    checkpoint_minutes = 1.0
    evaluate_every = evaluate_deals = 0
    rules: str = "standard"
    seed: Natural = 0

    @property
    def rivals(self) -> tuple[str, ...]:
        """Agents that evaluations are played against."""
        return ()

    def check(self) -> None:
        """Refuse an unknown preset of rules."""
        Rules.preset(self.rules)

    @classmethod
    def read_given(cls, named: Mapping[str, Any], texts: Iterable[str]) -> dict[str, Any]:
        """Read the settings that a command line changes.

        Args:
            named: Settings that have an option of their own; None where it was not given.
            texts: ``name=value`` each, as for :meth:`read`.

        Raises:
            InvalidTrainingError: If there is no such setting, or a value is not allowed.
        """
        return {name: value for name, value in named.items() if value is not None} | cls.read(texts)

    def with_changes(self, settings: Mapping[str, Any]) -> Self:
        """Return a copy of the settings with some of them changed.

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
        """Return these settings for a resumed run, which may change only :attr:`bookkeeping`.

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
