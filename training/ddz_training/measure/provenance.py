"""The code and the files behind a file of results, and when it may be resumed.

A file of an agent that was replaced is refused: one name would mean two agents.  Other code is refused only
when something is to be added, so that old files can always be read, and may be allowed: not every edit changes a move,
but the file must not look as if one version had played it all.  It then names every version that added to it.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ddz_env import Rules
from ddz_env.core.errors import InvalidRulesError, shown
from ddz_env.playing.provenance import agent_files, code_stamp, file_digest
from ddz_training.measure.errors import AgentChangedError, OtherCodeError
from ddz_training.measure.workers import Start, Worker

UNKNOWN = "unknown"
"""The code of results from before files named it."""

_any_code: ContextVar[bool] = ContextVar("any_code", default=False)


@contextmanager
def other_code() -> Iterator[None]:
    """Let results of other code be added to, within a ``with`` block."""
    token = _any_code.set(True)
    try:
        yield
    finally:
        _any_code.reset(token)


@dataclass(frozen=True)
class Provenance:
    """The code that results come from, and the files that their agents read.

    Attributes:
        code: Every version that added results, the first one first (:func:`ddz_env.playing.provenance.code_stamp`).
        files: Specification of each agent that reads files, or an option of a command -> name -> digest.
    """

    code: tuple[str, ...] = ()
    files: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, agents: Iterable[str] = (), *packages: str) -> Provenance:
        """That of results which this process adds.

        Args:
            agents: Specifications of the agents, as for :func:`ddz_env.playing.registry.make_agent`.
            *packages: As for :func:`ddz_env.playing.provenance.code_stamp`.

        Raises:
            UnknownAgentError: If an agent does not exist.
            InvalidAgentOptionError: If it has no such option or the value is not allowed.
        """
        described = {agent: agent_files(agent) for agent in dict.fromkeys(agents)}
        return cls((code_stamp(*packages),), {agent: files for agent, files in described.items() if files})

    def reading(self, option: str, path: Path | None) -> Provenance:
        """The same with a file that an option of a command names, if it does."""
        named = {} if path is None or not path.is_file() else {option: {path.name: file_digest(path)}}
        return Provenance(self.code, {**self.files, **named})

    @classmethod
    def take(cls, settings: dict[str, Any]) -> Provenance:
        """That which settings name, taken out of them; empty if they are from before settings named it."""
        return cls(tuple(settings.pop("code", ())), settings.pop("files", {}))

    def settings(self) -> dict[str, Any]:
        """As plain values: the inverse of :meth:`take`."""
        named = {"files": {agent: dict(files) for agent, files in self.files.items()}} if self.files else {}
        return {"code": list(self.code), **named} if self.code else named

    def check_files(self, saved: Provenance, where: object) -> None:
        """Refuse agents of which a file has been replaced.

        Args:
            saved: What the file of results says.
            where: Names it in the message.

        Raises:
            AgentChangedError: If there is one.
        """
        for agent, files in self.files.items():
            before = saved.files.get(agent, files)
            changed = [
                f"{name} was {before.get(name, 'not read')}, now it is {files.get(name, 'not read')}"
                for name in dict.fromkeys((*before, *files))
                if files.get(name) != before.get(name)
            ]
            if changed:
                raise AgentChangedError(
                    f"a file of the agent {agent!r} is another one than when {where} was written "
                    f"({'; '.join(changed)}): bring the old one back, or name another file for the results"
                )

    def resuming(self, saved: Provenance, where: object) -> Provenance:
        """The provenance of a run that resumes a file: :meth:`check_files`, then :meth:`after`."""
        self.check_files(saved, where)
        return self.after(saved, where)

    def after(self, saved: Provenance, where: object) -> Provenance:
        """The provenance of a file once results of this code are added.

        Args:
            saved: What it says now.
            where: Names it in the message.

        Raises:
            OtherCodeError: If it was written by other code and that is not allowed (:func:`other_code`).
        """
        before = saved.code or (UNKNOWN,)
        if not set(self.code) <= set(before) and not _any_code.get():
            raise OtherCodeError(
                f"{where} was written by the code {' and '.join(before)}, this is {' and '.join(self.code)}: together "
                "their results may be a mixture of two agents; name another file, or add --allow-other-code to go on, "
                "and the file will name both"
            )
        return Provenance(tuple(dict.fromkeys((*before, *self.code))), {**saved.files, **self.files})


@dataclass(frozen=True)
class SameCode:
    """Makes a worker, but only where code and files are those that the results will name.

    A worker may be on another machine, or begin after an edit.

    Attributes:
        make: Makes the worker.
        wanted: What the results will name.
    """

    make: Start
    wanted: Provenance

    def __call__(self) -> Worker[Any, Any]:
        """Make the worker.

        Raises:
            AgentChangedError: If an agent's files differ here.
            OtherCodeError: If the code here differs.
        """
        where = "the results (of the process that shares the work)"
        here = Provenance.of(self.wanted.files)
        here.check_files(self.wanted, where)
        if here.code != self.wanted.code:
            raise OtherCodeError(
                f"a worker on {socket.gethostname()} has the code {' and '.join(here.code)}, the process that shares "
                f"the work has {' and '.join(self.wanted.code)}: install the same on every machine"
            )
        return self.make()


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
