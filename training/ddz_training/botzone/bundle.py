"""The archive that is uploaded to Botzone: an agent packed as a bot in one zip file that Python can run."""

from __future__ import annotations

import hashlib
import io
import zipfile
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import ddz_agents
import ddz_env
from ddz_env.playing.agent import is_cheating
from ddz_env.playing.registry import GROUP, expand_alias, parse_agent
from ddz_env.support.atomic_files import replace_file
from ddz_env.support.errors import DouDizhuError
from ddz_env.support.options import format_option_value
from ddz_training.measure.agent_pool import query_agent
from ddz_training.measure.provenance import digest_agent_files

_DATE = (1980, 1, 1, 0, 0, 0)
"""Of every file, so that equal bundles are equal files."""
_LEFT_OUT = ("play/ddz_play/render/", "ddz_env/peers/openspiel/")
_MAIN = '''"""A bot for Botzone's Dou Dizhu: {spec}."""

import os
import sys
import tempfile
import types
import zipfile

ARCHIVE = os.path.dirname(os.path.abspath(__file__))
HOME = ARCHIVE
if zipfile.is_zipfile(ARCHIVE):  # weights and compiled code need files
    HOME = os.path.join(tempfile.gettempdir(), "ddz-bot-{digest}-%d" % os.getuid())
    if not os.path.isdir(HOME):
        fresh = tempfile.mkdtemp()
        zipfile.ZipFile(ARCHIVE).extractall(fresh)
        try:
            os.rename(fresh, HOME)
        except OSError:  # another process was faster
            HOME = HOME if os.path.isdir(HOME) else fresh
sys.path.insert(0, HOME)
os.chdir(HOME)
for name in ("gymnasium", "pettingzoo"):  # imported by the package, not used by a bot
    try:
        __import__(name)
    except ImportError:
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].registry = {{"ddz_env/DouDizhu-v0": None}}

from ddz_env.peers.botzone.player import serve
from ddz_env.playing.registry import make_agent

serve(make_agent({factory!r}), sys.stdin, lambda line: print(line, flush=True), {seed}, {stay})
'''


class BundleError(DouDizhuError):
    """Raised when an agent cannot be packed into a Botzone archive."""


class BundleArchive(NamedTuple):
    """A summary of a written Botzone archive: its file count, its size and the agent's own files.

    Attributes:
        files: How many files are in the archive.
        size: Its bytes.
        data: The names of the agent's own files in it.
    """

    files: int
    size: int
    data: list[str]


def write_bundle(path: Path, spec: str, seed: int = 0, stay: bool = True) -> BundleArchive:
    """Write an archive that runs an agent as a bot on Botzone, and return a summary of its contents.

    It holds ``__main__.py``, the packages ``ddz_env`` and ``ddz_agents`` and the files that the agent's options name.

    Args:
        path: The archive.
        spec: The agent by name.
        seed: Of its draws.
        stay: Whether the bot asks to be kept running.

    Raises:
        BundleError: If the agent is not one of this package, or looks at hidden cards.
        UnknownAgentError: If the agent does not exist.
    """
    if query_agent(spec, is_cheating):
        raise BundleError(f"{spec} looks at hidden cards, which Botzone does not show")
    data = dict(_list_option_files(spec))
    contents = {name: file.read_bytes() for name, file in _list_source_files(set(digest_agent_files(spec))).items()}
    contents |= {name: file.read_bytes() for name, file in data.items()}
    factory = _write_factory(spec, {str(file): name for name, file in data.items()})
    digest = hashlib.sha256(
        repr(sorted((name, hashlib.sha256(body).digest()) for name, body in contents.items())).encode()
    )
    main = _MAIN.format(spec=spec, factory=factory, seed=seed, stay=stay, digest=digest.hexdigest()[:16])
    contents["__main__.py"] = main.encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(contents):
            entry = zipfile.ZipInfo(name, _DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, contents[name])
    replace_file(path, packed.getvalue())
    shipped = [name for name in contents if not name.endswith(".py")]
    return BundleArchive(len(contents), len(packed.getvalue()), sorted(shipped))


def _list_option_files(spec: str) -> list[tuple[str, Path]]:
    """List the files named in an agent's options, each with its name in the archive."""
    _, options = parse_agent(spec)
    named = [Path(value) for value in options.values() if isinstance(value, str) and Path(value).is_file()]
    return [(f"files/{number}-{file.name}", file) for number, file in enumerate(named)]


def _list_source_files(read: set[str]) -> dict[str, Path]:
    """Return the source files of the two packages that a bot needs and the data files that it reads, by name."""
    sources = {}
    for package in (ddz_env, ddz_agents):
        folder = Path(str(package.__file__)).parent
        for file in sorted(folder.rglob("*")):
            name = f"{folder.name}/{file.relative_to(folder).as_posix()}"
            if (file.suffix == ".py" or file.name in read) and not name.startswith(_LEFT_OUT):
                sources[name] = file
    return sources


def _write_factory(spec: str, paths: dict[str, str]) -> str:
    """Format an agent as ``module:factory:options``, because an archive has no entry points."""
    name, _, _ = expand_alias(spec).strip().partition(":")
    points = metadata.entry_points(group=GROUP)
    value = next((point.value for point in points if point.name == name), "")
    if not value.startswith("ddz_agents."):
        raise BundleError(f"{spec} is not an agent of this package: an archive holds nothing else")
    options: dict[str, Any] = parse_agent(spec)[1]
    written = [f"{option}={paths.get(str(given), format_option_value(given))}" for option, given in options.items()]
    return ":".join([value, ",".join(written)]) if written else value
