"""The pictures of ``ddz web`` in the docs: ``make screenshots``, or ``python -m tests.play.web.screenshots``.

It needs the extras ``browser`` and ``render``, and a Chromium.  The adviser is the one that ``ddz web`` has by default,
with enough iterations for each run to make the same pictures; seeds are fixed, too.
"""

from __future__ import annotations

import io
import tempfile
from pathlib import Path

from tests.packages import ROOT
from tests.play.web.browser import Person, chromium, serving

IMAGES = ROOT / "docs" / "images"
AGENTS, ADVISER = ("hard", "medium", "easy", "master"), "neural-ismcts:iterations=200"
_WAIT = 300_000.0
_COLORS = 160


def analyse(person: Person, number: int) -> None:
    """Watch a game to its end, draw its curve and look into a decision."""
    page = person.page
    while not page.is_disabled("#step"):
        page.click("#step")
        person.wait(".page[aria-busy=false] #step")
    page.click("#curve")
    person.wait("#curve:text-is('Chance of winning')")
    page.click("#first")
    for _ in range(number):
        person.wait(".page[aria-busy=false] #step")
        page.click("#step")
    person.wait(f".log li:nth-child({number})")
    page.click("#look")
    person.wait(".thoughts")
    page.evaluate("document.querySelector('.side').scrollTop = 0")


def save(person: Person, name: str) -> None:
    """Save what is to be seen, in few colours."""
    from PIL import Image

    person.page.evaluate("document.activeElement.blur()")
    picture = Image.open(io.BytesIO(person.page.screenshot())).convert("RGB")
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
        person = Person(page, address, _WAIT)
        person.deal(agent=None)
        person.play(person.asked())
        person.wait(".page[aria-busy=false] #hint")
        person.asked()
        save(person, "web_game")
        person.deal("", agent=None, seed=6)
        analyse(person, 6)
        save(person, "web_replay")
        page = browser.new_page(viewport={"width": 390, "height": 720}, locale="zh-CN")
        person = Person(page, address, _WAIT)
        person.deal("1", agent=None, seed=8)
        person.wait(".page[aria-busy=false] #hint")
        save(person, "web_phone")
        browser.close()


if __name__ == "__main__":
    main()
