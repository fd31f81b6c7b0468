"""Settings of a run as people write them: ``name=value``."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from agents.neural.network import Architecture
from training.ppo.config import SelfPlayConfig
from training.ppo.errors import InvalidTrainingError

_PREFIX = "architecture."


def parse_settings(texts: Iterable[str]) -> dict[str, Any]:
    """Read settings of a :class:`~training.ppo.config.SelfPlayConfig`.

    Args:
        texts: ``name=value`` each; ``architecture.width=512`` for the sizes of the networks.

    Returns:
        Name to value, of the type of the setting's default.

    Raises:
        InvalidTrainingError: If a text is not ``name=value``, there is no such setting, or the value is of another
            type.

    Example:
        >>> parse_settings(["learning_rate=1e-3", "architecture.width=512", "opponents=random,rules"])
        {'learning_rate': 0.001, 'architecture.width': 512, 'opponents': ('random', 'rules')}
    """
    return read_settings(texts, _defaults())


def read_settings(texts: Iterable[str], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Read settings of any kind.

    Args:
        texts: ``name=value`` each.
        defaults: The settings that there are; a value is read as the type of its default.

    Raises:
        InvalidTrainingError: As :func:`parse_settings`.
    """
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not value:
            raise InvalidTrainingError(f"{text!r} is not name=value, as in learning_rate=0.001")
        if name not in defaults:
            near = difflib.get_close_matches(name, list(defaults), n=1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise InvalidTrainingError(f"there is no setting {name!r}{hint}; there are {', '.join(defaults)}")
        found[name] = _read(name, value, defaults[name])
    return found


def _defaults() -> dict[str, Any]:
    defaults = {field.name: getattr(SelfPlayConfig(), field.name) for field in dataclasses.fields(SelfPlayConfig)}
    architecture: Architecture = defaults.pop("architecture")
    return defaults | {_PREFIX + name: size for name, size in architecture.as_dict().items()}


def _read(name: str, value: str, default: Any) -> Any:
    if isinstance(default, tuple):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    if isinstance(default, str):
        return value
    try:
        return type(default)(value)
    except ValueError as error:
        raise InvalidTrainingError(f"{name}={value!r} must be {_KINDS[type(default)]}") from error


_KINDS: dict[type, str] = {int: "an integer", float: "a number"}


def configure(settings: dict[str, Any], architecture: Architecture | None = None) -> SelfPlayConfig:
    """The configuration with some settings changed.

    Args:
        settings: As from :func:`parse_settings`.
        architecture: The sizes of the networks where the settings do not say; the default ones if None.

    Raises:
        InvalidTrainingError: If a setting is out of range.
        InvalidArchitectureError: If a size is.
        InvalidRulesError: If the preset is unknown.
    """
    sizes = {name.removeprefix(_PREFIX): value for name, value in settings.items() if name.startswith(_PREFIX)}
    plain = {name: value for name, value in settings.items() if not name.startswith(_PREFIX)}
    base = architecture or Architecture()
    return SelfPlayConfig(architecture=dataclasses.replace(base, **sizes), **plain)


def as_saved(settings: dict[str, Any], saved: SelfPlayConfig) -> dict[str, Any]:
    """Settings in the form in which a checkpoint holds them, for comparison with those of a saved run."""
    config = saved.as_dict()
    wanted = {name: value for name, value in settings.items() if not name.startswith(_PREFIX)}
    sizes = {name.removeprefix(_PREFIX): value for name, value in settings.items() if name.startswith(_PREFIX)}
    if sizes:
        wanted["architecture"] = config["architecture"] | sizes
    return {name: list(value) if isinstance(value, tuple) else value for name, value in wanted.items()}
