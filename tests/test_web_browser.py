"""``ddz web`` in a real browser, without a window.  Long; left out where there is no Chromium or Playwright."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
uvicorn = pytest.importorskip("uvicorn")
playwright = pytest.importorskip("playwright.sync_api")

from tests.web_page import FAILING  # noqa: E402
from training.web.browser import chromium  # noqa: E402
from training.web.serving import serving  # noqa: E402

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("web_browser")]

ADVISER = "isuct:iterations=100"
PHONE = {"width": 390, "height": 800}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server in a thread of this process."""
    with serving(tmp_path_factory.mktemp("games"), ["rules", "random", ADVISER, FAILING], ADVISER) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        try:
            found = chromium(driver)
        except playwright.Error as error:
            pytest.skip(f"no Chromium: {str(error).splitlines()[0]}")
        yield found
        found.close()


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

    def width(self) -> int:
        return int(self.page.evaluate("document.documentElement.scrollWidth"))


@pytest.fixture
def person(browser: Any, site: str) -> Iterator[Person]:
    context = browser.new_context(viewport={"width": 1200, "height": 800}, locale="en-US")
    found = Person(context.new_page(), site)
    yield found
    context.close()
    assert not found.faults


@pytest.mark.parametrize("seat", ["0", "1", "2"])
def test_a_whole_game_by_clicks(person: Person, seat: str) -> None:
    person.deal(seat)
    person.play_to_the_end()
    assert re.search("You (win|lose)", person.page.inner_text(".status"))


def test_a_game_with_an_auction_and_doubling(person: Person) -> None:
    for seed in range(20):
        person.deal("1", "bidding,doubling=true", seed=seed)
        if person.has("#no-bid"):
            break
    assert not person.has(".middle [role=img]")  # the landlord cards are face down
    person.play_to_the_end()
    moves = person.page.inner_text(".log")
    assert "Bid" in moves or "No bid" in moves


def test_a_replay_with_its_analysis(person: Person) -> None:
    person.deal("")
    page = person.page
    for _ in range(80):
        if page.is_disabled("#step"):
            break
        page.keyboard.press("ArrowRight")
        person.settle()
    assert "first" in page.inner_text(".status")  # somebody went out
    page.keyboard.press("Home")
    page.wait_for_selector("#first:disabled")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector(".log li:nth-child(1)")
    page.keyboard.press("l")
    page.wait_for_selector(".thoughts .bar")
    assert "visits" in page.inner_text(".thoughts")
    folded = page.query_selector(".thoughts details")
    if folded is not None:
        folded.query_selector("summary").click()
        assert folded.query_selector(".entry").is_visible()
    assert float(page.inner_text("table.beliefs td .number >> nth=0")) > 0
    page.select_option("#asked", ADVISER)
    page.click("#curve")
    page.wait_for_selector("#curve:text-is('Chance of winning')")
    points = page.get_attribute("svg.curve polyline", "points").split()
    assert len(points) > 5
    assert "landlord" in page.inner_text("#chance-now")
    page.keyboard.press("b")
    page.wait_for_selector("#undo")
    assert "#/game/" in page.url


def test_a_question(person: Person) -> None:
    person.visit("#/ask")
    page = person.page
    page.fill("#own", "3344567TJQQKA22BR")
    page.fill("#bottom", "359")
    page.fill("#moves", "34567\n89TJQ\npass")
    page.click("#question")
    page.wait_for_selector(".thoughts .entry")
    page.reload()
    page.wait_for_selector("#own")
    assert page.input_value("#own") == "3344567TJQQKA22BR"
    page.fill("#moves", "AAAA")
    page.click("#question")
    page.wait_for_selector("#notice:not(:empty)")
    assert "line 1" in page.inner_text("#notice")


def test_a_question_by_buttons_under_other_rules(person: Person) -> None:
    person.visit("#/ask")
    page = person.page
    page.select_option("#rules", "mini")
    assert page.is_hidden("#bottom")
    page.select_option("#role", "peasant")
    page.click("#own")
    for rank in "3334566":
        page.click(f".ranks button:text-is('{rank}')")
    page.click(".ranks button:text-is('Delete')")
    page.click(".ranks button:text-is('B')")
    assert page.input_value("#own") == "333456B"
    assert len(page.query_selector_all(".panel .cards .card")) == 7
    page.click("#moves")
    page.click(".ranks button:text-is('4')")
    page.select_option("#agent", "rules")
    page.click("#question")
    page.wait_for_selector(".thoughts .entry")


def test_a_puzzle(person: Person) -> None:
    person.visit("#/puzzle")
    person.page.click(".controls button >> nth=0")
    person.page.wait_for_selector(".hand button")
    person.play_to_the_end()  # by the solver's hints
    assert "Solved" in person.page.inner_text(".status")


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


def test_keys_alone_play_a_game(person: Person) -> None:
    person.visit()
    page, keys = person.page, person.page.keyboard
    page.wait_for_selector("#deal")
    for _ in range(20):
        keys.press("Tab")
        if page.evaluate("document.activeElement.id") == "rules":
            break
    keys.press("Tab")
    assert page.evaluate("document.activeElement.id") == "seat"
    for place in (1, 2):
        keys.press("Tab")
        assert page.evaluate("document.activeElement.id") == f"agent-{place}"
        keys.type("rules")
    keys.press("Tab")
    keys.type("5")
    keys.press("Enter")
    page.wait_for_selector(".hand button")
    for _ in range(60):
        person.settle()
        if person.has("#step-through"):
            break
        keys.press("h")
        page.wait_for_selector(".page[aria-busy=false] .thoughts .moves button")
        move = str(page.get_attribute(".moves > li > button", "id")).removeprefix("move-")
        keys.press("Escape")
        if move == "pass":
            keys.press("p")
        else:
            for rank in move.replace("+", ""):
                keys.press(rank.lower())
            keys.press("Enter")
        page.wait_for_selector(".page:not(:has(.thoughts))")
    assert person.has("#step-through")
    keys.press("u")
    page.wait_for_selector("#play")


def test_a_page_that_waits_says_that_the_server_compiles(person: Person) -> None:
    page = person.page
    page.route("**/api/compiling", lambda route: route.fulfill(json={"compiling": True}))
    page.route("**/hint", lambda route: page.wait_for_selector("#compiling:not(:empty)") and route.continue_())
    person.deal("0")
    page.click("#hint")
    page.wait_for_selector("#compiling:has-text('the first time only')")
    page.wait_for_selector(".page[aria-busy=false] .thoughts")
    assert not page.inner_text("#compiling")


def test_the_focus_stays_with_the_hand(person: Person) -> None:
    person.deal("0")
    page = person.page
    page.focus(".hand button")
    page.keyboard.press("ArrowRight")
    second = page.evaluate("document.activeElement.id")
    assert second == page.get_attribute(".hand button >> nth=1", "id")
    page.keyboard.press("h")
    page.wait_for_selector(".page[aria-busy=false] .thoughts")
    assert page.evaluate("document.activeElement.id") == second
    page.click(".moves > li > button")
    page.keyboard.press("Escape")
    assert not person.has(".hand [aria-pressed=true]")


def test_everything_that_can_be_pressed_has_a_name(person: Person) -> None:
    person.deal("0")
    person.asked()
    nameless = """[...document.querySelectorAll('button, a, select, input, summary')].filter((one) =>
        !one.textContent.trim() && !one.getAttribute('aria-label') && !one.labels?.length).length"""
    assert person.page.evaluate(nameless) == 0
    person.visit("#/ask")
    person.page.wait_for_selector("#own")
    assert person.page.evaluate(nameless) == 0


def test_reduced_motion(browser: Any, site: str) -> None:
    context = browser.new_context(reduced_motion="reduce")
    person = Person(context.new_page(), site)
    person.deal("0")
    duration = person.page.evaluate("getComputedStyle(document.querySelector('.hand .card')).transitionDuration")
    assert duration == "0s"
    context.close()


def test_a_reload_and_a_second_tab(person: Person) -> None:
    person.deal("0")
    page = person.page
    other = page.context.new_page()
    other.goto(page.url)
    other.wait_for_selector(".hand button")
    person.choose(person.asked())
    page.click("#play")
    page.wait_for_selector("#hint:not(:disabled)")
    log = page.inner_text(".log")
    other.click("#hint")  # this tab does not know of the moves yet
    other.wait_for_selector(".page[aria-busy=false] .thoughts .moves button")
    other.keyboard.press("Escape")
    other.click(".hand button >> nth=0", position={"x": 6, "y": 12})
    other.click("#play")
    other.wait_for_selector("#notice:not(:empty)")
    other.wait_for_selector(".log li:nth-child(3)")
    assert other.inner_text(".log") == log
    page.reload()
    page.wait_for_selector(".log li:nth-child(3)")
    assert page.inner_text(".log") == log
    person.visit()
    page.click(".recent a")
    page.wait_for_selector(".log li:nth-child(3)")


def test_a_failing_agent_is_replaced(person: Person) -> None:
    person.deal("1", agent=FAILING)
    page = person.page
    page.wait_for_selector("#replace")
    assert "failed" in page.inner_text(".status")
    page.click("#replace")
    page.wait_for_selector("#hint:not(:disabled)")
    assert page.inner_text(".log").strip()


def test_a_saved_game_is_opened(person: Person, tmp_path: Path) -> None:
    person.deal("0")
    page = person.page
    with page.expect_download() as seen:
        page.click("#save")
    assert "your hand" in Path(seen.value.path()).read_text()
    assert "server keeps" in page.inner_text("#notice")
    running, address = tmp_path / "running.txt", page.url
    seen.value.save_as(running)
    person.visit("#/open")
    page.set_input_files("#file", running)
    page.click("#load")
    page.wait_for_selector(".hand button")
    assert page.url == address
    person.play_to_the_end()
    with page.expect_download() as whole:
        page.click("#save")
    file = tmp_path / "game.txt"
    whole.value.save_as(file)
    person.visit("#/open")
    page.set_input_files("#file", file)
    page.wait_for_selector("#load")
    page.click("#load")
    page.wait_for_selector("#step")


def test_a_first_game_loads_little_and_only_from_here(person: Person) -> None:
    addresses: list[str] = []
    sizes: list[int] = []
    session = person.page.context.new_cdp_session(person.page)
    session.send("Network.enable")
    session.on("Network.loadingFinished", lambda event: sizes.append(int(event["encodedDataLength"])))
    person.page.on("request", lambda request: addresses.append(request.url))
    person.deal("0")
    assert all(address.startswith(person.site) or address.startswith("data:") for address in addresses)
    assert 10_000 < sum(sizes) <= 300_000


# --- the command ---


def _serve(port: int, folder: Path) -> subprocess.Popen[str]:
    options = ["--port", str(port), "--folder", str(folder), "--agent", "rules", "--adviser", "rules"]
    command = [sys.executable, "-c", "from training.cli import main; main()", "web", *options]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert server.stdout is not None
    assert f":{port}/" in server.stdout.readline()
    return server


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as bound:
        return int(bound.getsockname()[1])


@pytest.mark.skipif(os.name != "posix", reason="kills the server")
def test_a_killed_server_goes_on_where_it_was(browser: Any, tmp_path: Path) -> None:
    port = _free_port()
    server = _serve(port, tmp_path)
    context = browser.new_context(locale="en-US")
    person = Person(context.new_page(), f"http://localhost:{port}/")
    person.deal("0")
    person.choose(person.asked())
    person.page.click("#play")
    person.page.wait_for_selector("#hint:not(:disabled)")
    log = person.page.inner_text(".log")
    server.kill()
    server.wait()
    person.page.click("#hint")
    person.page.wait_for_selector("#notice:not(:empty)")
    assert "does not answer" in person.page.inner_text("#notice")
    server = _serve(port, tmp_path)
    try:
        person.page.reload()
        person.page.wait_for_selector(".log li:nth-child(3)")
        assert person.page.inner_text(".log") == log
        assert person.asked()
        context.close()
    finally:
        server.send_signal(signal.SIGINT)
        told = server.communicate(timeout=60)
    assert server.returncode == 0
    assert "Traceback" not in told[1]


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as bound:
        command = [sys.executable, "-c", "from training.cli import main; main()", "web", "--folder", str(tmp_path)]
        done = subprocess.run(
            [*command, "--port", str(bound.getsockname()[1]), "--agent", "rules", "--adviser", "rules"],
            capture_output=True,
            text=True,
        )
    assert done.returncode == 2
    assert "cannot listen" in done.stderr
