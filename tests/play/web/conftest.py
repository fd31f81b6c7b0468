"""A browser at the page, for the tests that need one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.play.web.browser import ADVISER, Person, chromium, serving


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server in a thread of this process."""
    from tests.play.web.web_page import FAILING

    agents = ["rules", "random", ADVISER, FAILING, "hard"]
    with serving(tmp_path_factory.mktemp("games"), agents, ADVISER) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import Error, sync_playwright

    with sync_playwright() as driver:
        try:
            found = chromium(driver)
        except Error as error:
            pytest.skip(f"no Chromium: {str(error).splitlines()[0]}")
        yield found
        found.close()


@pytest.fixture
def person(browser: Any, site: str) -> Iterator[Person]:
    context = browser.new_context(viewport={"width": 1200, "height": 800}, locale="en-US")
    found = Person(context.new_page(), site)
    yield found
    context.close()
    assert not found.faults
