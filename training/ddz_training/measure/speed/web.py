"""What a person at ``ddz web`` waits for: moves of agents, and a first game in Chromium."""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from ddz_training.measure.speed.benchmark import Contender, Prepare, Repeat

LEVEL, SEARCH = "medium", "neural-ismcts:milliseconds=500"
"""Who plays and who gives hints at ``ddz web`` unless told otherwise; a test compares them with the command's."""
_SEED = 3


@functools.cache
def _site() -> str:
    """The address of a server that ends with the process."""
    from ddz_training.apps.web.serving import serving

    stack = contextlib.ExitStack()
    atexit.register(stack.close)
    folder = stack.enter_context(tempfile.TemporaryDirectory())
    return stack.enter_context(serving(Path(folder), [LEVEL, SEARCH], SEARCH))


def _post(path: str, body: dict[str, Any]) -> Any:
    import urllib.request

    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{_site()}api/{path}", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def slowest_answer(agent: str) -> Prepare:
    """The longest that a page waits for a move in a game of three such agents, in milliseconds."""

    def repeat() -> float:
        name = _post("games", {"rules": "standard", "seat": None, "agents": [agent] * 3, "seed": _SEED})["id"]
        slowest, moves, over = 0.0, 0, False
        while not over:
            start = time.perf_counter()
            over = _post(f"games/{name}/advance", {"moves": moves})["over"]
            slowest, moves = max(slowest, time.perf_counter() - start), moves + 1
        return 1000 * slowest

    def prepare(seconds: float) -> Repeat:
        repeat()  # compiles
        return repeat

    return prepare


@functools.cache
def _browser() -> Any:
    """A Chromium that ends with the process.

    Raises:
        ImportError: If there is none.
    """
    from playwright.sync_api import Error, sync_playwright

    from ddz_training.apps.web.serving import chromium

    stack = contextlib.ExitStack()
    driver = stack.enter_context(sync_playwright())
    try:
        found = chromium(driver)
    except Error as error:
        stack.close()
        raise ImportError(f"no Chromium: {str(error).splitlines()[0]}", name="playwright") from error
    stack.callback(found.close)
    atexit.register(stack.close)
    return found


def _first_game() -> tuple[float, float]:
    """Milliseconds from the address to the cards of a first game, the form included; and kilobytes that came over."""
    context = _browser().new_context()
    page = context.new_page()
    sizes: list[float] = []
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    session.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    start = time.perf_counter()
    page.goto(_site())
    page.click("#deal")
    page.wait_for_selector(".hand button")
    elapsed = time.perf_counter() - start
    context.close()
    return 1000 * elapsed, sum(sizes) / 1000


def first_game(which: int) -> Prepare:
    """A first game in a browser that has kept nothing: its time (0) or its weight (1)."""

    def prepare(seconds: float) -> Repeat:
        _first_game()
        return lambda: _first_game()[which]

    return prepare


WAITING = (
    Contender(f"slowest move of a game, the default opponents (`{LEVEL}`)", slowest_answer(LEVEL), 200),
    Contender("slowest move of a game, the default adviser", slowest_answer(SEARCH), 1000),
    Contender("from the address to the cards of a first game, in Chromium", first_game(0), 1000),
)
WEIGHT = (Contender("page, scripts and answers, compressed", first_game(1), 300),)
