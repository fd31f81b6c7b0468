"""Rules as files of results name them: the name, and what differs from the default."""

from __future__ import annotations

import dataclasses
from typing import Any

from ddz_env import Rules
from ddz_env.core.errors import InvalidRulesError, shown

_STANDARD = Rules()


def rules_settings(rules: Rules) -> dict[str, Any]:
    """Rules as plain values.

    Example:
        >>> rules_settings(Rules.preset("bidding"))
        {'name': 'bidding', 'bidding': 'once', 'scoring': 'stake'}
    """
    fields = [field.name for field in dataclasses.fields(Rules)]
    different = {name: getattr(rules, name) for name in fields if getattr(rules, name) != getattr(_STANDARD, name)}
    return {"name": rules.name, **different}


def read_rules_settings(values: Any) -> Rules:
    """The inverse of :func:`rules_settings`, also after a way through JSON.

    Raises:
        InvalidRulesError: If the values are no rules.
    """
    if not isinstance(values, dict):
        raise InvalidRulesError(f"rules are names with values, not {shown(values)}")
    changes = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    return _STANDARD.replace(**changes)
