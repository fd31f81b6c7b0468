"""``python -m tests.release``: both archives in clean environments, under every Python at hand, with every extra.

An environment is made for each pair, with pip and nothing else; it gets the built archive from outside the checkout and
must do what it is for.  Versions are held by ``constraints.txt``, except in one environment with the lowest versions
that ``pyproject.toml`` allows.  This takes some minutes, and gigabytes for ``all``.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
LOWEST = "lowest versions"
SECONDS = 1200
"""After which a step is ended."""

CORE = """
import importlib.metadata, pathlib, sys, ddz_env
assert pathlib.Path(ddz_env.__file__).is_relative_to(sys.prefix), ddz_env.__file__
assert importlib.metadata.version("ddz-env") == ddz_env.__version__
"""
COMMANDS = (
    "--help",
    "arena random random-staged --deals 2 --processes 1",
    "watch random --seed 1",
)


class FailedError(Exception):
    """An environment does not do what it should."""


def pyproject(root: Path = ROOT) -> dict[str, Any]:
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))


def extras() -> tuple[str, ...]:
    return tuple(pyproject()["project"]["optional-dependencies"])


def floors() -> list[str]:
    """The lowest versions of the core's dependencies, as pip's constraints."""
    return [re.sub(r">=([\d.]+).*", r"==\1", need) for need in pyproject()["project"]["dependencies"]]


def pythons() -> dict[str, str]:
    """The interpreters at hand by their versions: on the path, or in pyenv's folder."""
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = {}
    for version in PYTHONS:
        kept = sorted(versions.glob(f"{version}.*/bin/python"))
        python = str(kept[-1]) if kept else shutil.which(f"python{version}")
        if python:
            found[version] = python
    return found


def _run(*command: object, cwd: Path, cache: Path | None = None) -> str:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    environment |= {
        "DDZ_CACHE_DIR": str(cache or cwd / "cache"),
        "SDL_VIDEODRIVER": "dummy",
    }
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    if done.returncode:
        last = (done.stdout + done.stderr).strip().splitlines()[-6:]
        raise FailedError("\n".join([f"{' '.join(map(str, command))[:200]}: exit status {done.returncode}", *last]))
    return done.stdout


def check(python: str, archive: Path, extra: str = "", cache: Path | None = None, *, lowest: bool = False) -> str:
    """Install an archive in a fresh environment, with an extra or none, and use it.

    Without an extra the commands of the core are run; without a cache all kernels are compiled.

    Returns:
        The Python's version and what was installed.

    Raises:
        FailedError: If a step fails.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _run(python, "-m", "venv", folder / "venv", cwd=folder)
        binaries = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
        wanted = f"ddz-env[{extra}] @ {archive.as_uri()}" if extra else archive
        pip = (binaries / "python", "-m", "pip")
        held = ROOT / "constraints.txt"
        if lowest:
            held = folder / "floors.txt"
            held.write_text("\n".join(floors()))
        quiet = ("--quiet", "--disable-pip-version-check", "--constraint", held)
        _run(*pip, "install", *quiet, wanted, cwd=folder)
        _run(*pip, "check", cwd=folder)
        _run(binaries / "python", "-c", CORE, cwd=folder)
        for command in () if extra else COMMANDS:
            _run(binaries / "ddz", *command.split(), cwd=folder, cache=cache)
        version = _run(binaries / "python", "--version", cwd=folder).split()[1]
        listed = _run(*pip, "list", "--disable-pip-version-check", cwd=folder)
    return f"Python {version}, {len(listed.splitlines()) - 2} packages"


def main() -> None:
    """Build both archives and check them; the exit code is 1 if one fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.release", description=__doc__)
    parser.add_argument("--python", action="append", help="an interpreter; all that are found by default")
    parser.add_argument("--extra", action="append", choices=["none", *extras()], help="an extra; all by default")
    chosen = parser.parse_args()
    interpreters = chosen.python or list(pythons().values())
    names = [extra for extra in chosen.extra or extras() if extra != "none"]
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
        (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
        plan = [(python, archive, "") for python in interpreters for archive in (wheel, sdist)]
        plan += [(interpreters[-1], wheel, extra) for extra in names] + [(interpreters[0], wheel, LOWEST)]
        for python, archive, what in plan:
            lowest, start = what == LOWEST, time.monotonic()
            try:
                cache = folder / f"cache-{interpreters.index(python)}"
                said = check(python, archive, "" if lowest else what, cache, lowest=lowest)
            except (FailedError, subprocess.TimeoutExpired) as error:
                said, failed = f"FAILED\n{error}", failed + 1
            print(f"{archive.name} {what:14} {said} ({time.monotonic() - start:.0f} s)", flush=True)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
