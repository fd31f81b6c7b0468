"""The workflows, without their host: what they run exists here, each job has the rights it needs, and no tag lies."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.release_notes import UNFILLED, VERSIONED, NotReadyError, notes
from tests.rooms import ROOT

FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
pytestmark = pytest.mark.skipif(not FILES, reason="a source distribution has no workflows")


def jobs() -> dict[str, tuple[dict[str, str], dict[str, Any]]]:
    """The jobs by file and name, each with its permissions."""
    yaml = pytest.importorskip("yaml")
    loaded = {file.stem: yaml.safe_load(file.read_text(encoding="utf-8")) for file in FILES}
    return {
        f"{file} {name}": (job.get("permissions", document.get("permissions")), job)
        for file, document in loaded.items()
        for name, job in document["jobs"].items()
    }


def test_what_the_steps_run_is_there() -> None:
    targets = set(re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8")))
    for name, (_, job) in jobs().items():
        steps = job["steps"]
        for line in "\n".join(step.get("run", "") for step in steps).splitlines():
            assert set(re.findall(r"\bmake ([a-z-]+)", line)) <= targets, name
            for module in re.findall(r"-m (tests\.\w+)", line):
                assert (ROOT / f"{module.replace('.', '/')}.py").is_file(), name
        for action in (step["uses"] for step in steps if "uses" in step):
            assert re.fullmatch(r"(actions/[\w-]+@v\d+|pypa/[\w-]+@release/v\d+)", action), name


def test_a_job_may_write_only_what_it_publishes() -> None:
    allowed = {
        "release pypi": {"id-token"},
        "release container": {"packages"},
        "release github": {"contents"},
        "pages deploy": {"pages", "id-token"},
    }
    for name, (permissions, job) in jobs().items():
        assert {one for one, right in permissions.items() if right == "write"} == allowed.get(name, set()), name
        assert job["timeout-minutes"] <= 120


def test_a_release_has_its_section_and_nothing_is_released_by_mistake(tmp_path: Path) -> None:
    for name in VERSIONED:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    project = tmp_path / "pyproject.toml"
    version = re.findall(r'(?m)^version = "(.*)"$', project.read_text(encoding="utf-8"))[0]
    if UNFILLED in project.read_text(encoding="utf-8"):
        with pytest.raises(NotReadyError, match="repository's address"):
            notes(f"v{version}", tmp_path)
        project.write_text(project.read_text(encoding="utf-8").replace(UNFILLED, "somebody"), encoding="utf-8")
    section = notes(f"v{version}", tmp_path)
    assert "### Added" in section
    assert "\n## " not in section
    for tag, said in (("v99.0.0", r"version of pyproject\.toml, ddz_env/"), (version, "begins with v")):
        with pytest.raises(NotReadyError, match=said):
            notes(tag, tmp_path)
    cff = tmp_path / "CITATION.cff"
    cff.write_text(cff.read_text(encoding="utf-8").replace(f"version: {version}", "version: 0.0.1"), encoding="utf-8")
    with pytest.raises(NotReadyError, match=r"of CITATION\.cff$"):
        notes(f"v{version}", tmp_path)
