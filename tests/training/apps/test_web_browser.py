"""``ddz web`` in a real browser, without a window.  Long; left out where there is no Chromium or Playwright."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.training.apps.browser import ADVISER, PHONE, Person
from tests.training.apps.web_page import FAILING

pytest.importorskip("uvicorn")
pytest.importorskip("playwright.sync_api")

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("web_browser")]

LYING = {"width": 844, "height": 390}


@pytest.mark.parametrize("seat", ["0", "1", "2"])
def test_a_whole_game_by_clicks(person: Person, seat: str) -> None:
    person.deal(seat)
    person.play_to_the_end()
    assert re.search("You (win|lose).*(landlord|peasant).* point", person.page.inner_text(".result"), re.DOTALL)


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
    assert "tries" in page.inner_text(".thoughts")
    folded = page.query_selector(".thoughts details")
    if folded is not None:
        folded.query_selector("summary").click()
        assert folded.query_selector(".entry").is_visible()
    assert float(page.inner_text("table.beliefs td .number >> nth=0")) > 0
    page.select_option("#asked", ADVISER)
    page.click("#curve")
    page.wait_for_selector("#curve:text-is('Chance of winning')")
    sides = {side: page.get_attribute(f"svg.curve .{side}", "points").split() for side in ("own", "theirs")}
    assert len(sides["own"]) + len(sides["theirs"]) > 5
    turns = [word.split("(")[1].split(")")[0] for word in page.inner_text(".log").splitlines() if "(" in word]
    assert turns[0] == "landlord"
    places = [
        round(float(point.split(",")[0]) * int(page.inner_text(".status").split()[2]) / 100) for point in sides["own"]
    ]
    assert places[0] == 0
    assert not {1, 2} & set(places)  # what the peasants knew is another line
    assert "landlord" in page.inner_text("#chance-now")
    page.keyboard.press("b")
    page.wait_for_selector("#undo")
    assert "#/game/" in page.url


def test_a_question(person: Person) -> None:
    person.visit("#/ask")
    page = person.page
    cards = "3344567 10 jqqka22 小王大王"
    page.fill("#own", cards)
    page.fill("#bottom", "359")
    assert "17 cards" in page.inner_text(".drawn")
    page.fill("#moves", "34567\n8910JQ\npass")
    page.click("#question")
    page.wait_for_selector(".thoughts .entry")  # the server takes what the picture shows
    page.reload()
    page.wait_for_selector("#own")
    assert page.input_value("#own") == cards
    page.fill("#moves", "34567\nAA")
    assert not person.has(".thoughts")  # it was said of another table
    page.click("#question")
    page.wait_for_selector("#notice:not(:empty)")
    assert re.search("Line 2: .AA. cannot be played there", person.notice())
    page.fill("#moves", "34567")
    assert not person.notice()
    page.fill("#own", "3344567TJQQKA2大五")
    assert "大五" in page.inner_text(".drawn .bad")
    page.click("#question")
    assert "大五" in person.notice()
    page.click("nav a[href='#/puzzle']")
    page.wait_for_selector(".controls button")
    assert not person.notice()


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
    page.click(".ranks button:text-is('10')")
    assert page.input_value("#own").endswith("10")
    page.click(".ranks button:text-is('Delete')")
    page.click(".ranks button:text-is('black joker')")
    assert page.input_value("#own") == "333456B"
    assert len(page.query_selector_all(".panel .cards .card")) == 7
    page.click("#moves")
    page.click(".ranks button:text-is('4')")
    page.select_option("#agent", "rules")
    page.click("#question")
    page.wait_for_selector(".thoughts .entry")


def _puzzle(person: Person) -> None:
    person.visit("#/puzzle")
    person.page.click(".controls button >> nth=0")
    person.page.wait_for_selector(".hand button")
    person.settle()


def test_a_puzzle(person: Person) -> None:
    page = person.page
    _puzzle(person)
    page.click(".hand button >> nth=-1", position={"x": 6, "y": 14})
    page.click("#play")
    page.wait_for_selector(".status:has-text('That move loses')")
    assert not person.has("#hint")  # there is nothing to show any more
    page.click("#undo")
    person.settle()
    page.click("#hint")
    page.wait_for_selector(".thoughts .moves button")
    line = page.inner_text(".thoughts .moves small").removeprefix("then ").split(" · ")
    moves = [str(page.get_attribute(".moves > li > button", "id")).removeprefix("move-"), *line[1::2]]
    assert "Pass" in line[::2]
    person.play_to_the_end()
    assert "by the solution" in page.inner_text(".result")
    _puzzle(person)
    assert not person.has("button.solved")
    for move in moves:  # who has seen it and comes back knows it
        person.choose(move)
        page.click("#play")
        page.wait_for_selector(":is(#hint, #step-through):not(:disabled)")
    assert "Solved!" in page.inner_text(".result")
    person.visit("#/puzzle")
    page.wait_for_selector("button.solved[aria-label*=solved]")


@pytest.mark.parametrize(
    ("language", "wrong", "low"),
    [("en", "do not go together", "does not beat .*: play a higher"), ("zh", "凑不成牌型", "压不过.*更大的")],
)
def test_a_wrong_selection_is_told_in_a_players_words(person: Person, language: str, wrong: str, low: str) -> None:
    page = person.page
    page.set_viewport_size(PHONE)
    person.visit()
    if language == "zh":
        page.click("#language")
        person.settle()
    person.deal("1", seed=2)
    page.wait_for_selector("#hint:not(:disabled)")
    to_beat = page.get_attribute(".play.beat", "data-move")
    for card in ("R", "3"):
        person.page.keyboard.press(card.lower())
    assert page.inner_text(".status")
    page.click("#play")
    page.wait_for_selector("#notice:not(:empty)")
    assert wrong in person.notice()
    assert "standard" not in person.notice()
    assert "333" not in person.notice()
    notice, hand, plate = person.box("#notice"), person.box(".hand"), person.box(".own .plate")
    assert plate["y"] + plate["height"] <= notice["y"] + 1
    assert notice["y"] + notice["height"] <= hand["y"] + 1  # it covers nothing
    page.keyboard.press("3")
    assert not person.notice()  # another choice is another question
    page.keyboard.press("Escape")
    page.keyboard.press("3")
    page.click("#play")
    page.wait_for_selector("#notice:not(:empty)")
    assert to_beat
    assert re.search(low, person.notice())


def test_a_start_page_says_what_is_being_prepared_until_it_is(person: Person) -> None:
    status = {"ready": False, "preparing": "hints", "done": 2, "of": 5, "compiling": True}
    person.page.route("**/api/ready", lambda route: route.fulfill(json=status))
    person.page.set_viewport_size(LYING)
    person.visit()
    person.page.wait_for_selector(".told .source:has-text('the hints')")
    deal = person.box("#deal")
    assert deal["y"] + deal["height"] <= LYING["height"]  # a form in one view
    status |= {"ready": True, "preparing": None, "done": 5, "compiling": False}
    person.page.wait_for_selector(".told .source:empty", state="attached")


def test_a_stroke_chooses_cards(person: Person) -> None:
    person.deal("0")
    page, cards = person.page, person.page.query_selector_all(".hand button")
    chosen = (
        "[...document.querySelectorAll('.hand button')].map((card) => card.getAttribute('aria-pressed') === 'true')"
    )
    spots = [(box["x"] + 8, box["y"] + 30) for box in (card.bounding_box() for card in cards)]
    page.mouse.move(*spots[3])
    page.mouse.down()
    page.mouse.move(*spots[9], steps=12)
    page.mouse.move(*spots[7], steps=4)
    page.mouse.up()
    assert [place for place, on in enumerate(page.evaluate(chosen)) if on] == [3, 4, 5, 6, 7]
    page.mouse.click(*spots[5])
    assert [place for place, on in enumerate(page.evaluate(chosen)) if on] == [3, 4, 6, 7]

    def color(which: str) -> str:
        return str(page.evaluate(f"getComputedStyle(document.querySelector('.hand {which}')).backgroundColor"))

    page.mouse.click(*spots[0])
    assert (
        color(":hover[aria-pressed=true]") == color("[aria-pressed=true]:not(:hover)") != color("[aria-pressed=false]")
    )
    # a chosen card looks chosen under the mouse, too
    page.mouse.click(*spots[0])
    touch = page.context.new_cdp_session(page)

    def finger(kind: str, *points: tuple[float, float]) -> None:
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y} for x, y in points]})

    finger("touchStart", spots[12])
    for spot in spots[13:17]:
        finger("touchMove", spot)
    finger("touchEnd")
    assert [place for place, on in enumerate(page.evaluate(chosen)) if on][-5:] == [12, 13, 14, 15, 16]


def test_another_game_and_the_last_ones(person: Person) -> None:
    page = person.page
    person.deal("1", "mini")
    person.play_to_the_end()
    assert page.is_visible(".result")
    cards = page.inner_text(".log")
    before = page.url
    page.click("#again")
    page.wait_for_url(lambda url: url != before)
    page.wait_for_selector("#hint:not(:disabled)")
    assert "peasant" in page.inner_text(".own .plate")
    assert page.inner_text(".log") != cards
    person.visit()
    page.wait_for_selector(".recent li")
    assert [
        re.search("won|lost|running", line.inner_text())[0] in ("won", "lost")
        for line in page.query_selector_all(".recent li")
    ] == [False, True]  # type: ignore[index]


def test_levels_are_called_by_name(person: Person) -> None:
    page = person.page
    person.visit()
    page.wait_for_selector("#agent-1")
    assert page.inner_text("#agent-1").split("\n")[:2] == ["Hard", "rules"]
    page.click("#language")
    page.wait_for_selector("#agent-1:has-text('困难')")
    assert page.input_value("#rules") == "bidding"  # what people expect there
    person.deal("1", agent="hard")
    page.wait_for_selector("#hint:not(:disabled)")
    assert "电脑" in page.inner_text(".log")
    assert "困难" in page.inner_text(".seat.left .plate")
    assert not re.search("[a-z]{3}", page.inner_text("main"))


def test_ten_is_written_as_on_the_cards(person: Person) -> None:
    person.visit()
    said = person.page.evaluate(
        "import('./js/cards.js').then(({ said }) => ['89TJQ', '333444+5T', 'TT', 'BR', 'R', 'bid 2', 'pass'].map(said))"
    )
    assert said == ["8 9 10 J Q", "333 444 + 5 10", "10 10", "rocket", "red joker", "Bid 2", "Pass"]


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
    slow = {"ready": False, "preparing": "hints", "done": 2, "of": 5, "compiling": True}
    page.route("**/api/ready", lambda route: route.fulfill(json=slow))
    page.route(
        "**/hint",
        lambda route: page.wait_for_selector("#waiting:has-text('the first time only')") and route.continue_(),
    )
    page.route(
        "**/api/games/*",
        lambda route: page.wait_for_selector("#waiting:has-text('Dealing')") and route.continue_(),
        times=1,
    )
    person.deal("0")  # something is to be seen before the table
    page.click("#hint")
    page.wait_for_selector("#waiting:has-text('the first time only')")
    page.keyboard.press("3")
    assert not page.is_disabled("#play")  # a hint that takes long keeps nobody from playing
    page.wait_for_selector(".page[aria-busy=false] .thoughts")
    assert not page.inner_text("#waiting")


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


# --- the command ---


def _serve(port: int, folder: Path) -> subprocess.Popen[str]:
    options = ["--port", str(port), "--folder", str(folder), "--agent", "rules", "--adviser", "rules"]
    command = [sys.executable, "-c", "from ddz_training.apps.cli import main; main()", "web", *options]
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
