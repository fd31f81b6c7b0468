"""What the page of ``ddz web`` keeps of a person's games: own mistakes, a history and a rating, in a real browser."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import pytest

from ddz_env.playing.registry import LEVELS
from tests.play.web.browser import Person
from tests.play.web.test_web_browser import play_badly

pytest.importorskip("uvicorn")
pytest.importorskip("playwright.sync_api")

pytestmark = pytest.mark.long

HARD = next(level.elo for level in LEVELS if level.name == "hard")


def kept(person: Person, name: str) -> Any:
    return json.loads(person.page.evaluate(f"localStorage.getItem('{name}') ?? '[]'"))


def rating(person: Person, games: list[dict[str, float]]) -> Any:
    return person.page.evaluate(f"import('./js/rating.js').then(({{ ratingOf }}) => ratingOf({json.dumps(games)}))")


def test_own_mistakes_are_the_next_days_positions(person: Person) -> None:
    page = person.page
    person.deal("0", agent="hard", seed=3)
    play_badly(person)
    page.click("#review")
    person.wait("#curve:text-is('My game')")  # all is known
    lost = [int(one) for one in re.findall(r"−(\d+) %", person.text(".worst ol"))]
    found = re.search(r"(\d+) of your (\d+) decisions", person.text(".worst p"))
    assert lost
    assert found
    assert [round(100 * one["loss"]) for one in kept(person, "positions")] == pytest.approx(lost, abs=1)
    person.visit()
    assert person.text("#reviews").endswith(f": {round(100 * int(found[1]) / int(found[2]))} %.")
    assert person.text("#rating") == "A rating after 19 more games against levels."
    person.visit("#/puzzle")
    assert not person.has(".own")  # not today
    earlier = [one | {"day": "Mon Jan 05 2026"} for one in kept(person, "positions")]
    page.evaluate("all => localStorage.setItem('positions', all)", json.dumps(earlier))
    person.visit("#/ask")
    person.visit("#/puzzle")
    offered = page.query_selector_all(".own")
    assert len(offered) == len(lost)
    assert f"Jan 5 · −{lost[0]} %" in offered[0].inner_text()
    number = kept(person, "positions")[0]["number"]
    offered[0].click()
    person.wait("#hint:not(:disabled)")
    assert len(page.query_selector_all(".log li")) == number
    assert page.url.rpartition("/")[2] in kept(person, "practice")  # it counts for no rating
    person.visit("#/puzzle")
    assert len(page.query_selector_all(".own")) == len(lost) - 1  # each is offered once


@pytest.mark.parametrize(("won", "elo"), [(20, 139.0), (0, -311.0), (14, 0.0), (5, -124.0)])
def test_a_rating_is_the_likeliest_one(person: Person, won: int, elo: float) -> None:
    person.visit()
    games = [{"won": float(number < won), "elo": elo} for number in range(20)]
    assert rating(person, games[1:]) is None  # too few
    answer = rating(person, games)

    def chance(other: float, value: float) -> float:
        return 1 / (1 + 10 ** ((other - value) / 400))

    def slope(value: float) -> float:
        return won - 20 * chance(elo, value) + 0.5 - chance(HARD, value)

    assert slope(answer["value"] - 1) > 0 > slope(answer["value"] + 1)
    shares = [*[chance(elo, answer["value"])] * 20, chance(HARD, answer["value"])]
    deviation = 400 / math.log(10) / math.sqrt(sum(share * (1 - share) for share in shares))
    assert answer["error"] == pytest.approx(1.96 * deviation, rel=0.02)


def test_a_rating_counts_games_against_levels_alone(person: Person) -> None:
    person.visit()
    of = [
        {"id": str(number), "scoring": "win", "result": (-1) ** number, "rivals": ["hard", "hard"]}
        for number in range(24)
    ]
    others = [
        {"id": f"other {number}", "scoring": "win", "result": 1, "rivals": rivals}
        for number, rivals in enumerate(([], ["rules", "hard"]))
    ]
    game = {"id": "x" * 22, "rules": "standard", "since": 0, "end": {"result": 1, "role": "landlord"}}
    for name, value in (("results", of + others), ("games", [game])):
        person.page.evaluate(f"localStorage.setItem('{name}', JSON.stringify({json.dumps(value)}))")
    person.visit("#/ask")
    person.visit()
    text = person.text("#rating")
    assert re.match(r"Rating 0 ± 1\d\d after 24 games against levels", text)
    assert "Hard 0" in text
