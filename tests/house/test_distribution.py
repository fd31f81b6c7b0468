"""The wheel and the source distribution: built, looked into, installed outside the checkout, and played."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from email.parser import Parser
from pathlib import Path
from typing import Any

import pytest

from ddz_agents.neural.shipped import NEWEST
from tests.packages import ROOT, SOURCES
from tests.release import pyproject
from tests.release_notes import VERSIONED

PROJECT = pyproject()["project"]
SHIPPED = "ddz_agents/neural/shipped"
SHIPPED_POLICY = f"{SHIPPED}/{NEWEST}.safetensors"

# One worker builds once for all of them.


def _run(*command: object, cwd: Path, pythonpath: Path | None = None) -> str:
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "COV_"))}
    if pythonpath is not None:
        environment["PYTHONPATH"] = str(pythonpath)
    how: dict[str, Any] = {"capture_output": True, "text": True, "encoding": "utf-8", "timeout": 120}
    done = subprocess.run([str(part) for part in command], cwd=cwd, env=environment, check=False, **how)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@dataclass(frozen=True)
class Built:
    """Both archives, and the wheel's installation outside the checkout."""

    wheel: Path
    sdist: Path
    site: Path
    elsewhere: Path

    def python(self, source: str) -> str:
        """Run ``source`` with the installed wheel before everything else, far from the checkout."""
        return _run(sys.executable, "-c", source, cwd=self.elsewhere, pythonpath=self.site)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("distribution")
    # The sdist comes from the checkout and the wheel from the sdist, as an installer without a wheel would have it.
    _run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    (wheel,) = folder.glob("*.whl")
    (sdist,) = folder.glob("*.tar.gz")
    site, elsewhere = folder / "site", folder / "elsewhere"
    elsewhere.mkdir()
    pip = (sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--quiet")
    _run(*pip, "--no-deps", "--no-index", "--target", site, wheel, cwd=folder)
    return Built(wheel, sdist, site, elsewhere)


def _sources(installed: bool) -> set[str]:
    return {
        file.relative_to(folder.parent if installed else ROOT).as_posix()
        for folder in SOURCES.values()
        for file in folder.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }


def test_wheel_holds_the_packages_whole_and_nothing_else(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as archive:
        names = set(archive.namelist())
        weights = [info.file_size for info in archive.infolist() if info.filename.endswith(".safetensors")]
    assert sum(weights) <= 10_000_000
    info = f"ddz_env-{PROJECT['version']}.dist-info"
    assert {name.split("/")[0] for name in names} == {*SOURCES, info}
    assert {name for name in names if not name.startswith(info)} == _sources(installed=True)
    assert {f"{package}/py.typed" for package in SOURCES} <= names
    assert {f"{info}/licenses/LICENSE", f"{info}/entry_points.txt"} <= names
    assert f"{SHIPPED}/MODEL_CARD.md" in names


def test_sdist_holds_what_building_and_testing_need(built: Built) -> None:
    with tarfile.open(built.sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert _sources(installed=False) <= names
    assert {"pyproject.toml", "README.md", "LICENSE", "constraints.txt", "tests/house/test_distribution.py"} <= names
    assert not [name for name in names if name.startswith((".venv/", ".git/", "dist/", "build/"))]


def test_the_version_is_the_same_everywhere_and_the_core_needs_no_torch(built: Built) -> None:
    version = PROJECT["version"]
    with zipfile.ZipFile(built.wheel) as archive:
        metadata = Parser().parsestr(archive.read(f"ddz_env-{version}.dist-info/METADATA").decode())
    assert (metadata["Name"], metadata["Version"]) == ("ddz-env", version)
    assert set(PROJECT["optional-dependencies"]) == set(metadata.get_all("Provides-Extra", []))
    core = [line for line in metadata.get_all("Requires-Dist", []) if "extra ==" not in line]
    assert not [line for line in core if line.startswith(("torch", "onnx", "stable", "rlcard", "open", "matplotlib"))]
    for file, line in VERSIONED.items():
        assert line.format(version) in (ROOT / file).read_text(encoding="utf-8")


def test_the_citation_is_of_the_day_of_the_changelog_which_says_what_is_unreleased() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    [date] = re.findall(rf"(?m)^## \[{re.escape(PROJECT['version'])}\] – (\S+)$", changelog)
    assert f"\ndate-released: {date}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert "\n## [Unreleased]\n" in changelog


def test_a_game_is_played_from_the_installed_wheel_by_its_own_policy(built: Built) -> None:
    played = built.python(
        """
import sys
sys.modules["torch"] = None
import numpy, ddz_env
from ddz_agents.neural.shipped import shipped_policy_path
from ddz_env.playing.registry import make_agent
print(ddz_env.__file__)
print(shipped_policy_path())
state, agent, rng = ddz_env.State.new(seed=1), make_agent("policy"), numpy.random.default_rng(0)
while not state.is_over:
    state.step(agent.act(state.view(), rng))
print(sum(state.returns()))
"""
    ).splitlines()
    assert Path(played[0]).is_relative_to(built.site)
    assert Path(played[1]) == built.site / SHIPPED_POLICY
    assert float(played[2]) == 0.0


def test_every_entry_point_of_the_installed_wheel_loads_and_the_command_answers(built: Built) -> None:
    loaded = built.python(
        """
import importlib.metadata, sys
points = importlib.metadata.distribution("ddz-env").entry_points
for point in points:
    assert point.load(), point
    assert point.value.startswith("ddz_"), point
import ddz_training
[command] = [point for point in points if point.group == "console_scripts"]
print(ddz_training.__file__, command.name, sep="\\n")
sys.argv = [command.name, "--help"]
command.load()()
"""
    )
    file, command, *told = loaded.splitlines()
    assert Path(file).is_relative_to(built.site)
    assert command == "ddz"
    assert "arena" in "".join(told)
