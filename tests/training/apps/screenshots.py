"""The pictures of ``ddz web`` in the docs: ``make screenshots``, or ``python -m tests.training.apps.screenshots``.

It needs the extras ``browser`` and ``render``, and a Chromium.  The adviser is the one that ``ddz web`` has by default,
with so many iterations that each run makes the same pictures; seeds are fixed, too.
"""

from __future__ import annotations

import io
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from ddz_training.apps.web.serving import chromium, serving
from tests.rooms import ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Page

IMAGES = ROOT / "docs" / "images"
AGENTS, ADVISER = ("hard", "medium", "easy", "master"), "neural-ismcts:iterations=200"
_WAIT = 300_000.0
_COLORS = 160


def deal(page: Page, address: str, seat: str, seed: int) -> None:
    """Deal a game."""
    page.goto(address)
    page.wait_for_selector("#deal")
    page.select_option("#rules", "standard")
    page.select_option("#seat", seat)
    page.fill("#seed", str(seed))
    page.click("#deal")
    page.wait_for_selector(".table")


def play(page: Page, moves: int) -> None:
    """Play as the adviser would."""
    for _ in range(moves):
        hint(page)
        page.click(".moves > li > button")
        if page.query_selector(".hand [aria-pressed=true]"):
            page.click("#play")
        page.wait_for_selector(".page[aria-busy=false] #hint")


def hint(page: Page) -> None:
    """Ask for a hint, and wait for it."""
    page.click("#hint")
    page.wait_for_selector(".page[aria-busy=false] .thoughts .moves button")


def analyse(page: Page, number: int) -> None:
    """Watch a game to its end, draw its curve and look into a decision."""
    while not page.is_disabled("#step"):
        page.click("#step")
        page.wait_for_selector(".page[aria-busy=false] #step")
    page.click("#curve")
    page.wait_for_selector("#curve:text-is('Chance of winning')")
    page.click("#first")
    for _ in range(number):
        page.wait_for_selector(".page[aria-busy=false] #step")
        page.click("#step")
    page.wait_for_selector(f".log li:nth-child({number})")
    page.click("#look")
    page.wait_for_selector(".thoughts")
    page.click(".side details summary >> text=Where")  # folded, so that the curve is in the picture


def save(page: Page, name: str) -> None:
    """Save what is to be seen, in few colours."""
    from PIL import Image

    page.evaluate("document.activeElement.blur()")
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    path = IMAGES / f"{name}.png"
    picture.quantize(_COLORS, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path}: {path.stat().st_size / 1000:.0f} kB")


def main() -> None:
    """Make all pictures."""
    from playwright.sync_api import sync_playwright

    with (
        tempfile.TemporaryDirectory() as folder,
        serving(Path(folder), AGENTS, ADVISER) as address,
        sync_playwright() as driver,
    ):
        browser = chromium(driver)
        page = browser.new_page(viewport={"width": 1200, "height": 800}, locale="en-US")
        page.set_default_timeout(_WAIT)
        deal(page, address, "0", 5)
        play(page, 1)
        hint(page)
        save(page, "web_game")
        deal(page, address, "", 6)
        analyse(page, 6)
        save(page, "web_replay")
        phone = browser.new_page(viewport={"width": 390, "height": 720}, locale="zh-CN")
        phone.set_default_timeout(_WAIT)
        deal(phone, address, "1", 8)
        phone.wait_for_selector(".page[aria-busy=false] #hint")
        save(phone, "web_phone")
        browser.close()


if __name__ == "__main__":
    main()
