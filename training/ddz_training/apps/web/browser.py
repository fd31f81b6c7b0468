"""A Chromium without a window, for the page's tests and its screenshots."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Playwright

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_OPTIONS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def chromium(driver: Playwright) -> Browser:
    """Start the Chromium of this machine, or else Playwright's own.

    Raises:
        playwright.sync_api.Error: If there is neither.
    """
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    return driver.chromium.launch(executable_path=found, args=list(_OPTIONS))
