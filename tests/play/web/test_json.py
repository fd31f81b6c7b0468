"""The JSON interface is what its page says, and the page's programs run as they stand there."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from ddz_play.web.routes import STATUSES
from ddz_play.web.shapes import API
from tests.packages import ROOT
from tests.programs import PROGRAMS

if TYPE_CHECKING:
    from tests.play.web.web_page import Page

PAGE = (ROOT / "docs" / "reference" / "json.md").read_text(encoding="utf-8")
CURL = re.search(r"```sh\n(curl .*?)```", PAGE, re.DOTALL)


def documented(head: str) -> set[str]:
    """The fields in the first column of a table."""
    table = PAGE.partition(f"| {head} | meaning |\n")[2].partition("\n\n")[0]
    return {name for line in table.splitlines() for name in re.findall("`([a-z_]+)`", line.split("|")[1])}


def question(agent: str = "rules") -> Any:
    """What the page's command sends, with another agent."""
    assert CURL
    return {**json.loads(CURL[1].partition("-d '")[2].rpartition("'")[0]), "agent": agent}


def test_the_page_names_the_version_and_every_field(page: Page) -> None:
    assert page.get("choices")["api"] == API
    assert f"**{API}**" in PAGE
    assert documented("sent") == question().keys()
    answer = page.post("ask", question())
    assert documented("answer") == answer.keys()
    assert all(documented("field") == move.keys() for move in answer["moves"])
    assert {f"{status}" for status in (400, *STATUSES.values())} <= {*re.findall(r"(?m)^\| (\d{3}) \|", PAGE)}


def test_curl_gets_the_answer_of_the_page_s_command(site: str) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    assert CURL
    command = CURL[1].replace("localhost:8000/", site).replace("policy-v2", "rules")
    answer = json.loads(subprocess.run(["sh", "-c", command], capture_output=True, check=True, timeout=60).stdout)
    assert answer["move"] == answer["moves"][0]["text"]


def test_the_program_in_javascript_plays_a_game(site: str) -> None:
    if shutil.which("node") is None:
        pytest.skip("Node.js is not installed")
    command = ["node", PROGRAMS / "table.mjs", site.rstrip("/"), "rules"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert re.match(r"-?\d \d \S+, ", run.stdout), run.stderr
