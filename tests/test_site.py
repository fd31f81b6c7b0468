"""The site: every page has its place, the build has no warning, and what is built loads nothing from elsewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
DOCS = REPOSITORY / "docs"
_CONTENTS = re.compile(r"```\{toctree\}\n(.*?)```", re.DOTALL)


def test_every_page_has_one_place_in_the_contents() -> None:
    named = [
        (page.parent / f"{entry}.md").resolve()
        for page in DOCS.rglob("*.md")
        for contents in _CONTENTS.findall(page.read_text(encoding="utf-8"))
        for entry in re.findall(r"(?m)^[\w./-]+$", contents)
    ]
    assert sorted(named) == sorted(set(DOCS.rglob("*.md")) - {DOCS / "index.md"})


@pytest.mark.long
def test_the_site_builds_without_a_warning_and_works_offline(tmp_path: Path) -> None:
    pytest.importorskip("furo")
    pytest.importorskip("myst_parser")
    build = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", DOCS, tmp_path]
    result = subprocess.run([*map(str, build)], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / ".nojekyll").exists()
    for page in tmp_path.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r"<(?:script|img|iframe)[^>]*\ssrc=\"([^\"]+)\"", text)
        loaded += re.findall(r"<link[^>]*rel=\"(?:stylesheet|preload|icon)\"[^>]*href=\"([^\"]+)\"", text)
        assert not [address for address in loaded if re.match(r"(https?:)?//", address)], page.name
