"""The files that decide what an agent does besides our source, with digests of what is in them."""

from __future__ import annotations

import hashlib
from pathlib import Path

from ddz_env.playing.registry import read_agent, split_bidder
from ddz_env.support.errors import InvalidAgentOptionError
from ddz_env.support.options import options_type

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
    factory, options = read_agent(player)
    declared = options_type(factory)
    try:
        texts = (Path(value) for value in options.values() if isinstance(value, str))
        paths = texts if declared is None else declared.of(**options).files()
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
