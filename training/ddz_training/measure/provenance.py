"""What results come from: the version that made them, and the files that their agents read.

Both are in the settings of every file of results, checkpoint and file of weights.  The files are settings like any
other: results of two files of weights with one name do not go into one file.  Another version is a warning, and the
file then names both.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ddz_env import Rules, __version__
from ddz_env.core.errors import InvalidRulesError, shown
from ddz_env.playing.provenance import agent_files, file_digest
from ddz_training.measure.errors import OtherVersionWarning, SettingsMismatchError

_UNKNOWN = "unknown"
"""The version of results from before files named it."""


@dataclass(frozen=True)
class Provenance:
    """The versions that results come from, and the files that their agents read.

    Attributes:
        code: Every version that added results, the first one first; some older files also have a digest in it.
        files: Specification of each agent that reads files, or an option of a command -> name -> digest.
    """

    code: tuple[str, ...] = (__version__,)
    files: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, agents: Iterable[str] = ()) -> Provenance:
        """That of results which this process adds.

        Args:
            agents: Specifications of the agents, as for :func:`ddz_env.playing.registry.make_agent`.

        Raises:
            UnknownAgentError: If an agent does not exist.
            InvalidAgentOptionError: If it has no such option or the value is not allowed.
        """
        described = {agent: agent_files(agent) for agent in dict.fromkeys(agents)}
        return cls(files={agent: files for agent, files in described.items() if files})

    def reading(self, option: str, path: Path | None) -> Provenance:
        """The same with a file that an option of a command names, if it does."""
        named = {} if path is None or not path.is_file() else {option: {path.name: file_digest(path)}}
        return Provenance(self.code, {**self.files, **named})

    @classmethod
    def take(cls, settings: dict[str, Any]) -> Provenance:
        """That which settings name, taken out of them."""
        return cls(tuple(settings.pop("code", (_UNKNOWN,))), settings.pop("files", {}))

    def settings(self) -> dict[str, Any]:
        """As plain values: the inverse of :meth:`take`."""
        return {"code": list(self.code)} | ({"files": self.files} if self.files else {})

    def check_files(self, saved: Provenance, where: object) -> None:
        """Refuse agents of which a file has been replaced; one that has only been renamed is the same.

        Args:
            saved: What the file of results says.
            where: Names it in the message.

        Raises:
            SettingsMismatchError: If there is one.
        """
        for agent, files in self.files.items():
            before = saved.files.get(agent, files)
            changed = [
                f"{name} was {before.get(name, ' and '.join(before.values()))}, now it is {digest}"
                for name, digest in files.items()
                if digest not in before.values()
            ]
            if changed:
                raise SettingsMismatchError(
                    f"a file of the agent {agent!r} is another one than when {where} was written "
                    f"({'; '.join(changed)}): bring the old one back, or name another file for the results"
                )

    def resuming(self, saved: Provenance, where: object) -> Provenance:
        """The provenance of a file once results of this process are added; a warning if it is of another version.

        Args:
            saved: What it says now.
            where: Names it in the warning.

        Raises:
            SettingsMismatchError: If a file of an agent has been replaced.
        """
        self.check_files(saved, where)
        if __version__ not in {code.split()[0] for code in saved.code}:
            warnings.warn(
                f"{where} is of version {' and '.join(saved.code)}, this is {__version__}: the file will name both",
                OtherVersionWarning,
                stacklevel=2,
            )
        return saved.joined(self)

    def joined(self, later: Provenance) -> Provenance:
        """That of results of which some are from here and some from elsewhere."""
        return Provenance(tuple(dict.fromkeys((*self.code, *later.code))), {**self.files, **later.files})


# --- Rules as settings ------------------------------------------------------------------------------------------------

_STANDARD = Rules()


def rules_settings(rules: Rules) -> dict[str, Any]:
    """Rules as plain values.

    Example:
        >>> rules_settings(Rules.preset("bidding"))
        {'name': 'bidding', 'bidding': 'once', 'scoring': 'stake'}
    """
    different = {name: value for name, value in vars(rules).items() if value != getattr(_STANDARD, name)}
    return {"name": rules.name, **different}


def read_rules_settings(values: Any) -> Rules:
    """The inverse of :func:`rules_settings`, also after a way through JSON.

    Raises:
        InvalidRulesError: If the values are not rules.
    """
    if not isinstance(values, dict):
        raise InvalidRulesError(f"rules are names with values, not {shown(values)}")
    changes = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    return _STANDARD.replace(**changes)
