"""Somebody at the page of ``ddz web``, in a real browser."""

from __future__ import annotations

from typing import Any

import pytest

ADVISER = "isuct:iterations=100"
PHONE = {"width": 390, "height": 844}


class Person:
    """Somebody at a page."""

    def __init__(self, page: Any, site: str) -> None:
        self.page, self.site = page, site
        self.faults: list[str] = []
        page.set_default_timeout(120_000)
        page.on("pageerror", lambda error: self.faults.append(str(error)))

    def visit(self, where: str = "") -> None:
        self.page.goto(self.site + where)
        self.settle()

    def settle(self) -> None:
        self.page.wait_for_selector(".page[aria-busy=false] :is(form, .table, .panel)")

    def has(self, selector: str) -> bool:
        return self.page.query_selector(selector) is not None

    def deal(self, seat: str = "0", rules: str = "standard", agent: str = "rules", seed: int = 5) -> None:
        self.visit()
        self.page.wait_for_selector("#deal")
        self.page.select_option("#rules", rules)
        self.page.select_option("#seat", seat)
        for choice in self.page.query_selector_all(".others select"):
            choice.select_option(agent)
        self.page.fill("#seed", str(seed))
        self.page.click("#deal")
        self.page.wait_for_selector(".table")
        self.settle()

    def asked(self) -> str:
        """The move that a hint names first."""
        self.page.click("#hint")
        self.page.wait_for_selector(".page[aria-busy=false] .thoughts .moves button")
        return str(self.page.get_attribute(".moves > li > button", "id")).removeprefix("move-")

    def choose(self, move: str) -> None:
        """Click the cards of a move."""
        for rank in move.replace("+", ""):
            card = self.page.query_selector(f'.hand button[id^="card-{rank}"][aria-pressed=false]')
            card.click(position={"x": 6, "y": 12})

    def play_to_the_end(self) -> None:
        """Play by clicks: the hint says what, the cards are clicked one by one."""
        for _ in range(60):
            self.settle()
            if self.has("#step-through"):
                return
            move = self.asked()
            if move[0].islower():
                self.page.click("#pass" if move == "pass" else f"#{move.replace(' ', '-')}")
            else:
                self.choose(move)
                self.page.click("#play")
        pytest.fail("the game has no end")

    def box(self, selector: str) -> dict[str, float]:
        """Where something stands in the window."""
        return dict(self.page.query_selector(selector).bounding_box())

    def notice(self) -> str:
        return str(self.page.inner_text("#notice"))

    def width(self) -> int:
        return int(self.page.evaluate("document.documentElement.scrollWidth"))
