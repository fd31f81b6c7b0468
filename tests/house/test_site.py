"""The site: every page has its place, the build has no warning, and what is built loads nothing from elsewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.packages import ROOT

DOCS = ROOT / "docs"


def test_every_page_has_one_place_in_the_contents() -> None:
    named = re.findall(r"(?m)^ *- file: (\S+)$", (DOCS / "_toc.yml").read_text(encoding="utf-8"))
    pages = (page.relative_to(DOCS).with_suffix("").as_posix() for page in DOCS.rglob("*.md"))
    assert sorted(named) == sorted(set(pages) - {"index"})
    assert not [page for page in DOCS.rglob("*.md") if "{toctree}" in page.read_text(encoding="utf-8")]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("furo")
    pytest.importorskip("myst_parser")
    pytest.importorskip("sphinx_external_toc")
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", DOCS, folder]
    result = subprocess.run([*map(str, build)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return folder


@pytest.mark.long
def test_the_site_works_offline(built: Path) -> None:
    assert (built / ".nojekyll").exists()
    for page in built.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r"<(?:script|img|iframe)[^>]*\ssrc=\"([^\"]+)\"", text)
        loaded += re.findall(r"<link[^>]*rel=\"(?:stylesheet|preload|icon)\"[^>]*href=\"([^\"]+)\"", text)
        assert not [address for address in loaded if re.match(r"(https?:)?//", address)], page.name


@pytest.fixture
def page(built: Path) -> Iterator[Any]:
    """A page in a browser of 1280 pixels."""
    playwright = pytest.importorskip("playwright.sync_api")
    from tests.play.web.browser import chromium

    with playwright.sync_playwright() as driver:
        try:
            browser = chromium(driver)
        except playwright.Error as error:
            pytest.skip(f"no Chromium: {str(error).splitlines()[0]}")
        yield browser.new_page(viewport={"width": 1280, "height": 900})
        browser.close()


WIDER = "[...document.querySelectorAll('.table-wrapper')].some(one => one.scrollWidth > one.clientWidth + 1)"


@pytest.mark.long
def test_no_table_is_cut(built: Path, page: Any) -> None:
    cut = []
    for file in sorted(file for file in built.rglob("*.html") if "<table" in file.read_text(encoding="utf-8")):
        page.goto(file.as_uri())
        if page.evaluate(WIDER) or page.evaluate("document.documentElement.scrollWidth") > 1280:
            cut.append(file.relative_to(built).as_posix())
    assert cut == []


@pytest.mark.long
def test_what_is_searched_for_is_found_in_both_languages(built: Path, page: Any) -> None:
    for query, title in (("斗地主规则", "规则"), ("ddz规则", "规则"), ("belief network", "Where the hidden cards are")):
        page.goto(f"{(built / 'search.html').as_uri()}?q={query}")
        page.wait_for_selector("#search-results ul.search li")
        page.wait_for_function("!document.querySelector('#search-results h2')?.innerText.startsWith('Searching')")
        assert title in page.locator("#search-results ul.search li > a").all_inner_texts(), query
