"""The page of ``ddz web``: a server in a thread of this process, and somebody at it in a real browser."""

from __future__ import annotations

import shutil
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Playwright

ADVISER = "isuct:iterations=100"
PHONE = {"width": 390, "height": 844}
PATIENCE = 120_000.0
"""Milliseconds for anything to appear."""


class Person:
    """Somebody at a page."""

    def __init__(self, page: Any, site: str, patience: float = PATIENCE) -> None:
        self.page, self.site = page, site
        self.faults: list[str] = []
        page.set_default_timeout(patience)
        page.on("pageerror", lambda error: self.faults.append(str(error)))

    def visit(self, where: str = "") -> None:
        self.page.goto(self.site + where)
        self.settle()

    def settle(self) -> None:
        self.wait(".page[aria-busy=false] :is(form, .table, .panel)")

    def wait(self, selector: str) -> None:
        self.page.wait_for_selector(selector)

    def has(self, selector: str) -> bool:
        return self.page.query_selector(selector) is not None

    def text(self, selector: str) -> str:
        return str(self.page.inner_text(selector))

    def focus(self) -> str:
        """The id of what keys go to."""
        return str(self.page.evaluate("document.activeElement.id"))

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def deal(self, seat: str = "0", rules: str = "standard", agent: str | None = "rules", seed: int = 5) -> None:
        """Deal a game, against one agent or those that are offered first."""
        self.visit()
        self.wait("#deal")
        self.page.select_option("#rules", rules)
        self.page.select_option("#seat", seat)
        for choice in self.page.query_selector_all(".others select") if agent else ():
            choice.select_option(agent)
        self.page.fill("#seed", str(seed))
        self.page.click("#deal")
        self.wait(".table")
        self.settle()

    def asked(self) -> str:
        """The move that a hint names first."""
        self.page.click("#hint")
        return self.hinted()

    def hinted(self) -> str:
        """The move that is named first as soon as a hint is there."""
        self.wait(".page[aria-busy=false] .thoughts .moves button")
        self.wait(".advice")
        return str(self.page.get_attribute(".moves > li > button", "id")).removeprefix("move-")

    def play(self, move: str) -> None:
        """Click the cards of a move, or its button."""
        self.press("Escape")  # what a hint has raised
        if move[0].islower():
            self.page.click(f"#{move.replace(' ', '-')}")
            return
        for rank in move.replace("+", ""):
            card = self.page.query_selector(f'.hand button[id^="card-{rank}"][aria-pressed=false]')
            card.click(position={"x": 6, "y": 12})
        self.page.click("#play")

    def play_to_the_end(self) -> None:
        """Play by clicks: the hint says what, the cards are clicked one by one."""
        for _ in range(400):
            self.settle()
            if self.has(":is(#review, #next-puzzle)"):
                return
            self.page.mouse.click(30, 400)  # which skips a pause
            if self.has("#hint:not(:disabled)"):
                self.play(self.asked())
        pytest.fail("the game has no end")

    def boxes(self, selector: str) -> list[dict[str, float]]:
        """Where elements are in the window."""
        return [dict(one.bounding_box()) for one in self.page.query_selector_all(selector)]

    def box(self, selector: str) -> dict[str, float]:
        return self.boxes(selector)[0]

    def notice(self) -> str:
        return self.text("#notice")

    def width(self) -> int:
        return int(self.page.evaluate("document.documentElement.scrollWidth"))


@contextmanager
def serving(folder: Path, agents: Sequence[str], adviser: str) -> Iterator[str]:
    """Serve on a free port of this machine.

    Args:
        folder: Where games are kept.
        agents: Agents that may play, the first by default.
        adviser: Who gives hints.

    Yields:
        The address of the page.
    """
    from ddz_play.web.routes import make_app, new_server
    from ddz_play.web.server import Server

    bound = socket.create_server(("127.0.0.1", 0))
    answering = Server(folder, agents, adviser)
    server = new_server(make_app(answering, ["localhost"]))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    yield f"http://localhost:{bound.getsockname()[1]}/"
    server.should_exit = True
    thread.join(10)
    answering.games.close()


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
