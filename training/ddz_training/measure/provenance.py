"""What results come from: the version that made them, and the files that their agents read.

Both are in the settings of every file of results, checkpoint and file of weights.  Where either has changed since, a
warning names the difference, and the file then names both.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ddz_env import Rules, __version__
from ddz_env.playing.registry import parse_agent, split_bidder
from ddz_env.support.errors import InvalidAgentOptionError, InvalidRulesError, short_repr
from ddz_env.support.options import find_options_type
from ddz_training.measure.errors import OtherVersionWarning

# --- Files that decide what an agent does besides our source ----------------------------------------------------------

_DIGITS = 16


def file_digest(path: Path) -> str:
    """The first sixteen hexadecimal digits of the SHA-256 of a file.

    Raises:
        OSError: If it cannot be read.
    """
    return hashlib.sha256(path.read_bytes()).hexdigest()[:_DIGITS]


def agent_paths(agent: str) -> list[Path]:
    """The files that an agent's options name, defaults included (the shipped policy); the agent is not made.

    For an agent that declares no options, every text among them counts.

    Args:
        agent: As for :func:`ddz_env.playing.registry.make_agent`.

    Raises:
        UnknownAgentError: If nothing answers to the name.
        InvalidAgentOptionError: If it has no such option or the value is not allowed.
    """
    player, bidder = split_bidder(agent)
    factory, options = parse_agent(player)
    declared = find_options_type(factory)
    try:
        texts = (Path(value) for value in options.values() if isinstance(value, str))
        paths = texts if declared is None else declared.make(**options).files()
    except InvalidAgentOptionError as error:
        raise InvalidAgentOptionError(f"{agent!r}: {error}") from error
    return [*([] if bidder is None else agent_paths(bidder)), *paths]


def agent_files(agent: str) -> dict[str, str]:
    """The files that an agent's options name (:func:`agent_paths`), by what is in them.

    Files that do not exist are left out: the agent itself will miss them.

    Args:
        agent: As for :func:`ddz_env.playing.registry.make_agent`.

    Returns:
        Name to digest.  The name is without folders, except where two files share it.

    Raises:
        UnknownAgentError: If nothing answers to the name.
        InvalidAgentOptionError: If it has no such option or the value is not allowed.

    Example:
        >>> agent_files("rules")
        {}
    """
    digests: dict[str, str] = {}
    for path in filter(Path.is_file, agent_paths(agent)):
        digest = file_digest(path)
        digests[path.as_posix() if digests.get(path.name, digest) != digest else path.name] = digest
    return digests


# --- Versions and files -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Provenance:
    """The versions that results come from, and the files that their agents read.

    Attributes:
        code: Every version that added results, the first one first; some older files also have a digest in it.
        files: Specification of each agent that reads files, or an option of a command -> name -> digest; of a file that
            was replaced all digests, with blanks between.
    """

    code: tuple[str, ...] = (__version__,)
    files: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, agents: Iterable[str] = ()) -> Provenance:
        """The provenance of results that this process adds.

        Args:
            agents: Specifications of the agents, as for :func:`ddz_env.playing.registry.make_agent`.

        Raises:
            UnknownAgentError: If an agent does not exist.
            InvalidAgentOptionError: If it has no such option or the value is not allowed.
        """
        described = {agent: agent_files(agent) for agent in dict.fromkeys(agents)}
        return cls(files={agent: files for agent, files in described.items() if files})

    def reading(self, option: str, path: Path | None) -> Provenance:
        """This provenance with the file that an option of a command names, if there is one."""
        named = {} if path is None or not path.is_file() else {option: {path.name: file_digest(path)}}
        return Provenance(self.code, {**self.files, **named})

    @classmethod
    def take(cls, settings: dict[str, Any]) -> Provenance:
        """Take the provenance out of settings; older settings name no version."""
        return cls(tuple(settings.pop("code", ("unknown",))), settings.pop("files", {}))

    def settings(self) -> dict[str, Any]:
        """The provenance as plain values: the inverse of :meth:`take`."""
        return {"code": list(self.code)} | ({"files": self.files} if self.files else {})

    def changes(self, saved: Provenance) -> Iterator[str]:
        """Describe each difference from the provenance of saved results; renaming a file makes none."""
        if __version__ not in {code.split()[0] for code in saved.code}:
            yield f"it is of version {' and '.join(saved.code)}, this is {__version__}"
        for agent, files in self.files.items():
            before = " ".join(saved.files.get(agent, files).values())
            for name, digest in files.items():
                if digest not in before.split():
                    yield f"{name} of the agent {agent!r} was {before}, now it is {digest}"

    def warn(self, saved: Provenance, where: object) -> None:
        """Warn if anything has changed since results were saved.

        Args:
            saved: What their file says.
            where: Names the file.
        """
        if changed := "; ".join(self.changes(saved)):
            warnings.warn(f"{where}: {changed}", OtherVersionWarning, stacklevel=2)

    def resuming(self, saved: Provenance, where: object) -> Provenance:
        """The provenance of a file to which this process adds results; differences between the two are a warning."""
        self.warn(saved, where)
        return saved.joined(self)

    def joined(self, later: Provenance) -> Provenance:
        """The provenance of a file that holds results of both."""
        files = {agent: dict(names) for agent, names in self.files.items()}
        for agent, names in later.files.items():
            merged = files.setdefault(agent, {})
            for name, digests in names.items():
                merged[name] = " ".join(dict.fromkeys([*merged.get(name, "").split(), *digests.split()]))
        return Provenance(tuple(dict.fromkeys((*self.code, *later.code))), files)


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
        raise InvalidRulesError(f"rules are names with values, not {short_repr(values)}")
    changes = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    return _STANDARD.replace(**changes)
