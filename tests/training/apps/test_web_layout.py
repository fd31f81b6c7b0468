"""The page of ``ddz web`` on large and small screens, in a real browser.  Long; left out where there is none."""

from __future__ import annotations

from typing import Any

import pytest

from tests.training.apps.browser import PHONE, Person

pytest.importorskip("uvicorn")
pytest.importorskip("playwright.sync_api")

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("web_browser")]


@pytest.mark.parametrize("size", [(1920, 1080), (1280, 800), (844, 390)])
def test_the_table_is_as_large_as_the_window(person: Person, size: tuple[int, int]) -> None:
    page = person.page
    page.set_viewport_size({"width": size[0], "height": size[1]})
    person.deal("0")
    person.asked()
    controls, table = person.box(".table .controls"), person.box(".table")
    assert 0.9 * size[1] <= controls["y"] + controls["height"] <= size[1]
    assert person.box("header")["y"] == 0  # without scrolling
    assert table["width"] >= 0.7 * size[0]
    assert person.box(".moves > li > button")["y"] < size[1]
    for row in page.query_selector_all(".hand button"):
        box = row.bounding_box()
        assert 0 <= box["x"] <= box["x"] + box["width"] <= table["x"] + table["width"] + 1


def test_a_phone_needs_no_scrolling_sideways(person: Person) -> None:
    page = person.page
    page.set_viewport_size(PHONE)
    for language in ("en", "zh"):
        for where in ("", "#/puzzle", "#/open", "#/ask"):
            person.visit(where)
            page.wait_for_selector(".panel")
            assert person.width() <= PHONE["width"], (language, where)
        person.deal("0")  # 20 cards in hand, 17 backs beside each other
        assert len(page.query_selector_all(".hand button")) == 20
        person.asked()
        assert person.width() <= PHONE["width"], (language, "game")
        for card in page.query_selector_all(".hand button, .table .card"):
            box = card.bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= PHONE["width"] + 1
        person.deal("1", agent="random")
        first, second, *_ = (card.bounding_box() for card in page.query_selector_all(".seat.left .card:not(.back)"))
        assert second["x"] - first["x"] > 0.5 * first["width"]  # cards that are known are no slivers
        person.deal("")
        page.click("#look")
        page.wait_for_selector(".thoughts")
        assert person.width() <= PHONE["width"], (language, "replay")
        page.click("#language")


def test_a_desktop_shows_every_card(person: Person) -> None:
    person.deal("0")
    boxes = [card.bounding_box() for card in person.page.query_selector_all(".table .card")]
    side = person.page.query_selector(".side").bounding_box()
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= side["x"] for box in boxes)
    assert side["x"] + side["width"] <= 1200
    middle = person.page.query_selector(".middle").bounding_box()
    for place, seat in enumerate((".seat.left", ".seat.right")):
        for card in person.page.query_selector_all(f"{seat} .card"):
            box = card.bounding_box()
            assert box["x"] >= middle["x"] + middle["width"] if place else box["x"] + box["width"] <= middle["x"]


def test_everything_that_can_be_pressed_has_a_name(person: Person) -> None:
    person.deal("0")
    person.asked()
    nameless = """[...document.querySelectorAll('button, a, select, input, summary')].filter((one) =>
        !one.textContent.trim() && !one.getAttribute('aria-label') && !one.labels?.length).length"""
    assert person.page.evaluate(nameless) == 0
    person.visit("#/ask")
    person.page.wait_for_selector("#own")
    assert person.page.evaluate(nameless) == 0


def test_reduced_motion_and_no_keyboard(browser: Any, site: str) -> None:
    context = browser.new_context(reduced_motion="reduce", locale="en-US", has_touch=True, is_mobile=True)
    person = Person(context.new_page(), site)
    person.deal("0")
    assert person.page.is_hidden(".keys")  # there is no keyboard
    duration = person.page.evaluate("getComputedStyle(document.querySelector('.hand .card')).transitionDuration")
    assert duration == "0s"
    context.close()
