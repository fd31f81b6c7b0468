"""Where moves come from: a digest of the source that decides them, and of the files that an agent reads.

Settings that name agents and seeds say what was played only as long as the files behind these names stay what they
were.  These digests are stored beside results.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ddz_env import __version__
from ddz_env.core.errors import InvalidAgentOptionError
from ddz_env.core.folders import import_base, package_folder
from ddz_env.playing.registry import read_agent, split_bidder

_DIGITS = 16
_OURS = ("ddz_env", "ddz_agents")


def file_digest(path: Path) -> str:
    """The first sixteen hexadecimal digits of the SHA-256 of a file.

    Raises:
        OSError: If it cannot be read.
    """
    with path.open("rb") as file:
        digest = hashlib.sha256()
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()[:_DIGITS]


@functools.cache
def _tree_hash(root: Path) -> str:
    """A hash of the Python source below a folder, names included."""
    digest = hashlib.sha256()
    for source in sorted(root.rglob("*.py")):
        digest.update(str(source.relative_to(root)).encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()


def code_stamp(*packages: str) -> str:
    """The version, and a digest of the source that decides moves: that of ``ddz_env`` and ``ddz_agents``.

    Args:
        *packages: Further packages whose source counts, as ``ddz_training.learn``.

    Example:
        >>> version, digest = code_stamp().split()
        >>> len(digest)
        16
    """
    hashes = "\n".join(_tree_hash(package_folder(name)) for name in (*_OURS, *packages))
    return f"{__version__} {hashlib.sha256(hashes.encode()).hexdigest()[:_DIGITS]}"


def agent_files(agent: str) -> dict[str, str]:
    """The files that decide what an agent does besides our source, with their digests; the agent is not made.

    They are the files that its options name, by default too (the shipped policy), and for an agent from elsewhere the
    source of the package or module that it lies in.  For an agent that declares no options, every text among its
    options that is a file's name counts.  Files that do not exist are left out: the agent itself will miss them.

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
    player, bidder = split_bidder(agent)
    factory, options = read_agent(player)
    found: dict[str, str] = {} if bidder is None else agent_files(bidder)
    for path in (*_option_files(agent, factory, options), *_source_files(agent, factory)):
        if not path.exists():
            continue
        digest = _tree_hash(path)[:_DIGITS] if path.is_dir() else file_digest(path)
        found[path.as_posix() if found.get(path.name, digest) != digest else path.name] = digest
    return found


def _option_files(agent: str, factory: Callable[..., Any], options: dict[str, Any]) -> tuple[Path, ...]:
    declared = getattr(factory, "options_type", None)
    if declared is None:
        return tuple(Path(value) for value in options.values() if isinstance(value, str) and os.path.isfile(value))
    try:
        return tuple(declared.of(**options).files())
    except InvalidAgentOptionError as error:
        raise InvalidAgentOptionError(f"{agent!r}: {error}") from error


def _source_files(agent: str, factory: Callable[..., Any]) -> Iterator[Path]:
    """The package or, outside any, the module of the agent's class and of its specification."""
    if isinstance(factory, functools.partial):
        factory = factory.func
    module = str(getattr(factory, "__module__", ""))
    if module.partition(".")[0] in _OURS:
        return
    for name in dict.fromkeys((module, agent.strip().partition(":")[0])):
        file = getattr(sys.modules.get(name), "__file__", None)
        if file is not None:
            path = Path(file).resolve()
            base = import_base(path)
            yield path if base == path.parent else base / path.relative_to(base).parts[0]
