"""The page's other parts in a real browser: replays, questions, puzzles and saved games; see ``test_web_browser``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.training.apps.browser import ADVISER, Person

pytest.importorskip("uvicorn")
pytest.importorskip("playwright.sync_api")

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("web_browser")]


def test_a_replay_with_its_analysis(person: Person) -> None:
    person.deal("")
    page = person.page
    for _ in range(80):
        if page.is_disabled("#step"):
            break
        person.press("ArrowRight")
        person.settle()
    assert "first" in person.text(".status")  # somebody went out
    person.press("Home")
    person.wait("#first:disabled")
    person.press("ArrowRight")
    person.wait(".log li:nth-child(1)")
    person.press("l")
    person.wait(".thoughts .bar")
    assert "tries" in person.text(".thoughts")
    assert float(person.text("table.beliefs td .number >> nth=0")) > 0
    page.select_option("#adviser", ADVISER)
    page.click("#curve")
    person.wait("#curve:text-is('Chance of winning')")
    total = int(person.text(".status").split()[2])
    assert "landlord" in person.text("#chance-now")
    assert len(page.query_selector_all(".log li")) == total
    worst = page.query_selector_all(".worst button")
    lost = [int(re.findall(r"−(\d+) %", one.inner_text())[0]) for one in worst]
    assert 0 < len(lost) <= 3
    assert lost == sorted(lost, reverse=True)
    number = str(worst[0].get_attribute("id")).removeprefix("worst-")
    worst[0].click()
    person.settle()
    assert page.url.endswith(f"/{number}")
    page.reload()
    person.settle()
    assert person.text(".status").split()[0] == number
    person.press("l")
    person.wait(".thoughts .entry.mark")
    assert "was played" in person.text(".thoughts .entry.mark >> nth=0")
    page.click(f".log li:nth-child({total}) button")
    person.settle()
    assert person.text(".status").split()[0] == str(total - 1)
    person.press("b")
    person.wait("#undo")
    assert "#/game/" in page.url


def test_a_question(person: Person) -> None:
    person.visit("#/ask")
    page = person.page
    cards = "3344567 10 jqqka22 小王大王"
    page.fill("#own", cards)
    page.fill("#bottom", "359")
    assert "17 cards" in person.text(".drawn")
    page.fill("#moves", "34567\n8910JQ\npass")
    page.click("#question")
    person.wait(".thoughts .entry")  # the server takes what the picture shows
    page.reload()
    person.wait("#own")
    assert page.input_value("#own") == cards
    page.fill("#moves", "34567\nAA")
    assert not person.has(".thoughts")  # it was said of another table
    page.click("#question")
    person.wait("#notice:not(:empty)")
    assert re.search("Line 2: .AA. cannot be played there", person.notice())
    page.fill("#moves", "34567")
    assert not person.notice()


def test_a_question_by_buttons_under_other_rules(person: Person) -> None:
    person.visit("#/ask")
    page = person.page

    def tap(*buttons: str) -> None:
        for button in buttons:
            page.click(f".ranks button:text-is('{button}')")

    page.select_option("#rules", "mini")
    assert page.is_hidden("#bottom")
    page.select_option("#role", "peasant")
    page.click("#own")
    tap(*"3334566", "Delete", "10")
    assert page.input_value("#own").endswith("10")
    tap("Delete", "black joker")
    assert page.input_value("#own") == "333456B"
    assert len(page.query_selector_all(".panel .cards .card")) == 7
    page.click("#moves")
    tap("4")
    page.select_option("#agent", "rules")
    page.click("#question")
    person.wait(".thoughts .entry")


def _puzzle(person: Person) -> None:
    person.visit("#/puzzle")
    person.page.click(".controls button >> nth=0")
    person.wait(".hand button")
    person.settle()


def test_a_puzzle(person: Person) -> None:
    page = person.page
    _puzzle(person)
    page.click(".hand button >> nth=-1", position={"x": 6, "y": 14})
    page.click("#play")
    person.wait(".status:has-text('That move loses')")
    assert not person.has("#hint")  # there is nothing to show any more
    page.click("#undo")
    person.settle()
    first = person.asked()
    line = person.text(".thoughts .moves small").removeprefix("then ").split(" · ")
    assert "Pass" in line[::2]
    person.play_to_the_end()
    assert "by the solution" in person.text(".result")
    before = page.url
    page.click("#next-puzzle")
    page.wait_for_url(lambda url: url != before)
    person.wait(".hand button")
    assert page.url.split("/")[-1] == "2"
    _puzzle(person)
    assert not person.has("button.solved")
    for move in (first, *line[1::2]):  # who has seen it and comes back knows it
        person.play(move)
        person.wait(":is(#hint, #step-through):not(:disabled)")
    assert "Solved!" in person.text(".result")
    person.visit("#/puzzle")
    person.wait("button.solved[aria-label*=solved]")


def test_a_saved_game_is_opened(person: Person, tmp_path: Path) -> None:
    file, page = tmp_path / "game.txt", person.page
    person.deal("0")
    address = page.url
    for whole in (False, True):
        if whole:
            person.play_to_the_end()
        with page.expect_download() as seen:
            page.click("#save")
        seen.value.save_as(file)
        assert whole or ("your hand" in file.read_text() and "server keeps" in person.notice())
        person.visit("#/open")
        page.set_input_files("#file", file)
        page.click("#load")
        person.wait("#step" if whole else ".hand button")
        assert whole or page.url == address
