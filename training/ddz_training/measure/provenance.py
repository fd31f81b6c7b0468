"""The provenance of results: the version that made them, and the files that their agents read.

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


def digest_file(path: Path) -> str:
    """Compute the first sixteen hexadecimal digits of a file's SHA-256.

    Raises:
        OSError: If it cannot be read.
    """
    return hashlib.sha256(path.read_bytes()).hexdigest()[:_DIGITS]


def list_agent_files(agent: str) -> list[Path]:
    """List the files named in an agent's options, defaults included, without making the agent.

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
        paths = texts if declared is None else declared.from_values(**options).files()
    except InvalidAgentOptionError as error:
        raise InvalidAgentOptionError(f"{agent!r}: {error}") from error
    return [*([] if bidder is None else list_agent_files(bidder)), *paths]


def digest_agent_files(agent: str) -> dict[str, str]:
    """Return the digest of each existing file that an agent's options name (:func:`list_agent_files`).

    Files that do not exist are left out: the agent itself will miss them.

    Args:
        agent: As for :func:`ddz_env.playing.registry.make_agent`.

    Returns:
        Name to digest.  The name is without folders, except where two files share it.

    Raises:
        UnknownAgentError: If nothing answers to the name.
        InvalidAgentOptionError: If it has no such option or the value is not allowed.

    Example:
        >>> digest_agent_files("rules")
        {}
    """
    digests: dict[str, str] = {}
    for path in filter(Path.is_file, list_agent_files(agent)):
        digest = digest_file(path)
        digests[path.as_posix() if digests.get(path.name, digest) != digest else path.name] = digest
    return digests


# --- Versions and files -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Provenance:
    """The package versions that made a set of results, and digests of the files that the agents read.

    Attributes:
        code: Every version that added results, the first one first; some older files also have a digest in it.
        files: Specification of each agent that reads files, or an option of a command -> name -> digest; of a file that
            was replaced all digests, with blanks between.
    """

    code: tuple[str, ...] = (__version__,)
    files: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, agents: Iterable[str] = ()) -> Provenance:
        """Make the provenance of new results: the current version, and digests of the agents' files.

        Args:
            agents: Specifications of the agents, as for :func:`ddz_env.playing.registry.make_agent`.

        Raises:
            UnknownAgentError: If an agent does not exist.
            InvalidAgentOptionError: If it has no such option or the value is not allowed.
        """
        described = {agent: digest_agent_files(agent) for agent in dict.fromkeys(agents)}
        return cls(files={agent: files for agent, files in described.items() if files})

    def with_file(self, option: str, path: Path | None) -> Provenance:
        """Return a copy that also has the digest of a command option's file, if this file exists."""
        named = {} if path is None or not path.is_file() else {option: {path.name: digest_file(path)}}
        return Provenance(self.code, {**self.files, **named})

    @classmethod
    def pop_from(cls, settings: dict[str, Any]) -> Provenance:
        """Remove the provenance from settings and return it, with the version ``unknown`` for older files."""
        return cls(tuple(settings.pop("code", ("unknown",))), settings.pop("files", {}))

    def to_settings(self) -> dict[str, Any]:
        """Return the provenance as JSON values, which :meth:`pop_from` reads back."""
        return {"code": list(self.code)} | ({"files": self.files} if self.files else {})

    def describe_changes(self, saved: Provenance) -> Iterator[str]:
        """Yield a description of each difference from the provenance of saved results, ignoring renamed files."""
        if __version__ not in {code.split()[0] for code in saved.code}:
            yield f"it is of version {' and '.join(saved.code)}, this is {__version__}"
        for agent, files in self.files.items():
            before = " ".join(saved.files.get(agent, files).values())
            for name, digest in files.items():
                if digest not in before.split():
                    yield f"{name} of the agent {agent!r} was {before}, now it is {digest}"

    def warn_of_changes(self, saved: Provenance, where: object) -> None:
        """Warn if the version or any agent file has changed since results were saved.

        Args:
            saved: What their file says.
            where: Names the file.
        """
        if changed := "; ".join(self.describe_changes(saved)):
            warnings.warn(f"{where}: {changed}", OtherVersionWarning, stacklevel=2)

    def continue_from(self, saved: Provenance, where: object) -> Provenance:
        """Merge this process's provenance into that of a saved file, and warn of any differences."""
        self.warn_of_changes(saved, where)
        return saved.merge(self)

    def merge(self, later: Provenance) -> Provenance:
        """Return the combined provenance of these results and of later results in the same file."""
        files = {agent: dict(names) for agent, names in self.files.items()}
        for agent, names in later.files.items():
            merged = files.setdefault(agent, {})
            for name, digests in names.items():
                merged[name] = " ".join(dict.fromkeys([*merged.get(name, "").split(), *digests.split()]))
        return Provenance(tuple(dict.fromkeys((*self.code, *later.code))), files)


# --- Rules as settings ------------------------------------------------------------------------------------------------

_STANDARD = Rules()


def rules_to_settings(rules: Rules) -> dict[str, Any]:
    """Convert rules to JSON values: the preset's name, and the differences from the standard rules.

    Example:
        >>> rules_to_settings(Rules.preset("bidding"))
        {'name': 'bidding', 'bidding': 'once', 'scoring': 'stake'}
    """
    different = {name: value for name, value in vars(rules).items() if value != getattr(_STANDARD, name)}
    return {"name": rules.name, **different}


def rules_from_settings(values: Any) -> Rules:
    """Make rules from the values of :func:`rules_to_settings`, which may have been stored as JSON.

    Raises:
        InvalidRulesError: If the values are not rules.
    """
    if not isinstance(values, dict):
        raise InvalidRulesError(f"rules are names with values, not {short_repr(values)}")
    changes = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    return _STANDARD.replace(**changes)
