"""The docs say what is true today: generated tables are current, examples run, links lead somewhere."""

from __future__ import annotations

import doctest
import re
import runpy
from pathlib import Path

import pytest

from ddz_env.errors import DouDizhuError
from training.documentation import EXPERIMENT_TABLES, TABLES, StaleDocsError, refresh, refreshed

REPOSITORY = Path(__file__).resolve().parent.parent
PAGES = sorted([REPOSITORY / "README.md", *(REPOSITORY / "docs").glob("*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_generated_tables_are_current(page: Path) -> None:
    assert refresh([page], check=True) == []


def test_every_table_stands_in_some_page() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    for name in (*TABLES, *EXPERIMENT_TABLES):
        assert f"<!-- table: {name} -->" in text


def test_a_stale_page_is_refused_and_mended(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- table: actions -->\nold\n<!-- end -->\nafter\n", encoding="utf-8")
    with pytest.raises(StaleDocsError, match=r"page\.md"):
        refresh([page], check=True)
    assert refresh([page]) == [page]
    assert "| 0 | pass |" in page.read_text(encoding="utf-8")
    assert refresh([page], check=True) == []
    with pytest.raises(DouDizhuError, match="no table is called 'unknown'"):
        refreshed("<!-- table: unknown -->\n<!-- end -->")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_run(page: Path, tmp_path: Path) -> None:
    """Python blocks run from top to bottom in one process; prompts are doctests."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    for number, block in enumerate(blocks):
        if ">>>" not in block:
            script = tmp_path / f"block{number}.py"
            script.write_text(block, encoding="utf-8")
            runpy.run_path(str(script))
    assert doctest.testfile(str(page), module_relative=False).failed == 0
