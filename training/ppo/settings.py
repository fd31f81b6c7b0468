"""What the settings of every kind of training share: their ranges, how people write them, and how files hold them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from ddz_env.errors import DouDizhuError
from ddz_env.options import Options, Range, did_you_mean
from ddz_env.rules import Rules
from training.ppo.errors import InvalidTrainingError

if TYPE_CHECKING:
    from typing_extensions import Self

_MOST = 2**63 - 1

Count = Annotated[int, Range(1, _MOST)]
Natural = Annotated[int, Range(0, _MOST)]
Share = Annotated[float, Range(0, 1)]
PositiveShare = Annotated[float, Range(0, 1, above=True)]
Positive = Annotated[float, Range(0, above=True)]
NotNegative = Annotated[float, Range(0)]
Seed = Annotated[int, Range(0, 2**63 - 1)]
"""NumPy and PyTorch take no larger one."""

Objective = Literal["win", "stake"]
"""What may be learned: to win, or to win much."""


@dataclass(frozen=True)
class Settings(Options):
    """Everything that the result of a training depends on, besides how long it runs.

    Attributes:
        rules: A preset's name.
        seed: Seed of deals, actions and weights.

    Raises:
        InvalidTrainingError: If a setting is out of range.
        InvalidRulesError: If the preset is unknown.
    """

    error: ClassVar[type[DouDizhuError]] = InvalidTrainingError

    rules: str = "standard"
    seed: Seed = 0

    def check(self) -> None:
        """Refuse an unknown preset."""
        Rules.preset(self.rules)

    @classmethod
    def read(cls, texts: Iterable[str]) -> dict[str, Any]:
        """Read settings as people write them, for :meth:`changed`.

        Args:
            texts: ``name=value`` each; ``architecture.width=512`` for a part of a setting.

        Returns:
            Name to value, of the type of the setting's default.

        Raises:
            InvalidTrainingError: If a text is not ``name=value``, there is no such setting, or the value is of another
                type.
        """
        known = dict(cls._defaults())
        found: dict[str, Any] = {}
        for text in texts:
            name, equals, value = (part.strip() for part in text.partition("="))
            if not equals or not value:
                raise InvalidTrainingError(f"{text!r} is not name=value, as in learning_rate=0.001")
            if name not in known:
                there = f"there are {', '.join(known)}"
                raise InvalidTrainingError(f"there is no setting {name!r}{did_you_mean(name, known)}; {there}")
            found[name] = _read(name, value, known[name])
        return found

    @classmethod
    def _defaults(cls) -> Iterable[tuple[str, Any]]:
        """Every setting and its default; those of a setting with parts one by one, behind the others."""
        whole = {option.name: option.default for option in cls.options()}
        parts = {name: default for name, default in whole.items() if dataclasses.is_dataclass(default)}
        yield from ((name, default) for name, default in whole.items() if name not in parts)
        for name, default in parts.items():
            yield from ((f"{name}.{part}", value) for part, value in vars(default).items())

    def changed(self, settings: Mapping[str, Any]) -> Self:
        """These settings with some changed.

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

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for files."""
        plain = dataclasses.asdict(self)
        return {name: list(value) if isinstance(value, tuple) else value for name, value in plain.items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The inverse of :meth:`as_dict`.

        Raises:
            InvalidTrainingError: If fields are missing, unknown or out of range.
        """
        kinds = {option.name: option.kinds for option in cls.options()}
        if set(values) != set(kinds):
            raise InvalidTrainingError(f"settings differ in {', '.join(sorted(set(values) ^ set(kinds)))}")
        return cls(**{name: _restored(kinds[name], value) for name, value in values.items()})


def _restored(kinds: tuple[Any, ...], value: Any) -> Any:
    if kinds == (tuple,):
        return tuple(value)
    return kinds[0].from_dict(value) if kinds and hasattr(kinds[0], "from_dict") else value


def _read(name: str, text: str, default: Any) -> Any:
    if isinstance(default, tuple):
        return tuple(part.strip() for part in text.split(",") if part.strip())
    try:
        return type(default)(text)
    except ValueError as error:
        kind = "a whole number" if isinstance(default, int) else "a number"
        raise InvalidTrainingError(f"{name}={text!r} must be {kind}") from error
