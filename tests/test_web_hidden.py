"""``ddz web``: no answer depends on a card that its reader cannot see."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ddz_env import Hand, Rules
from ddz_env.session import PERSON, Deal, Record
from tests.web_page import LOWEST, Json, Page, error
from training.web.routes import Server


@pytest.mark.parametrize("viewer", [0, 1, 2])
def test_games_that_differ_in_hidden_cards_alone_give_the_same_answers(page: Page, viewer: int) -> None:
    base = Deal(Rules(), seed=3).state()
    hands = [list(base.hand(seat).counts) for seat in range(3)]
    hands[0] = [a - b for a, b in zip(hands[0], base.bottom.counts, strict=True)]
    one, other = (seat for seat in range(3) if seat != viewer)
    names = []
    # Of the two hidden hands, one has a high rank that it gives for another one.
    high = max(rank for rank in range(13) if hands[one][rank])
    low = next(rank for rank in range(12, 0, -1) if hands[other][rank] and rank != high)
    for swapped in (False, True):
        if swapped:
            for rank, step in ((high, 1), (low, -1)):
                hands[one][rank] -= step
                hands[other][rank] += step
        deal = Deal(Rules(), hands=tuple(Hand(tuple(counts)) for counts in hands), bottom=base.bottom)
        players = [LOWEST] * 3
        players[viewer] = PERSON
        names.append(page.post("games", {"record": str(Record(deal, tuple(players)))})["id"])
    compared = 0
    for number in range(7):
        answers = [_probed(page, name, number) for name in names]
        if answers[0]["game"]["moves"] != answers[1]["game"]["moves"] or answers[0]["game"]["over"]:
            break
        assert answers[0] == answers[1]
        compared += 1
        game = answers[0]["game"]
        mine = game["turn"] == viewer
        for name in names:
            move = {"text": answers[0]["hint"]["move"], "moves": number} if mine else {"moves": number}
            page.post(f"games/{name}/{'move' if mine else 'advance'}", move)
    assert compared > 4


def _probed(page: Page, name: str, number: int) -> Json:
    """What every address says of a game, refusals included."""
    found: Json = {}
    at = {"moves": number}
    for method, path, body in (
        ("GET", "", None),
        ("GET", "/record", None),
        ("GET", "/moves/0", None),
        ("GET", f"/moves/{number}", None),
        ("POST", f"/moves/{number}/thoughts", {}),
        ("POST", f"/moves/{number}/thoughts", {"agent": "random"}),
        ("POST", f"/moves/{number}/branch", {}),
        ("POST", "/hint", {}),
        ("POST", "/hint", {"agent": "random"}),
        ("POST", "/move", {"text": "BR", **at}),
        ("POST", "/move", {"text": "33344+5", **at}),
        ("POST", "/move", {"text": "nonsense", **at}),
        ("POST", "/move", {"text": "pass", "moves": number + 1}),
        ("POST", "/advance", {"moves": number + 1}),
        ("POST", "/undo", {"moves": number + 1}),
        ("POST", "/replace", {"seat": 0, "agent": "nobody", **at}),
    ):
        answer = page.send(method, f"/api/games/{name}{path}", body)
        assert answer.status_code < 500
        if path.startswith("/moves"):
            assert answer.status_code == 403
        text = answer.text.replace(name, "NAME").replace(name[:6], "NAME")
        assert '"seed"' not in text
        assert "seed:" not in text
        key = {" None": "game", "/hint {}": "hint"}.get(f"{path} {body}", f"{method} {path} {body}")
        found[key] = json.loads(text)
    return found


_SEAT = {"number", "role", "hand", "size", "unseen", "play", "acting", "doubled"}
_TABLE = {"seats", "landlord", "landlord_cards", "landlord_backs", "stake", "spring"}
_GAME = {
    "id",
    "rules",
    "puzzle",
    "number",
    "open",
    "seat",
    "names",
    "table",
    "stage",
    "turn",
    "moves",
    "to_beat",
    "over",
}
_GAME |= {"winner", "result", "may_pass", "may_undo", "words", "question"}


@pytest.mark.parametrize("rules", ["standard", "bidding,doubling=true", "half-deck", "mini"])
def test_every_field_of_a_running_game_is_for_its_viewer(page: Page, rules: str) -> None:
    """A field that is not named here has to be thought about first."""
    for viewer in range(Rules.preset(rules).players):
        name = page.begin(viewer, LOWEST, rules)
        for number in range(5):
            game = page.get(f"games/{name}")
            assert set(game) == _GAME
            assert set(game["table"]) == _TABLE
            public = {(card["rank"], card["suit"]) for card in game["table"]["landlord_cards"]}
            for seat in game["table"]["seats"]:
                assert set(seat) == _SEAT
                if seat["number"] != viewer:
                    assert {(card["rank"], card["suit"]) for card in seat["hand"]} <= public
            file = page.get(f"games/{name}/record")["text"]
            assert not file.startswith("Dou Dizhu game")
            assert set(re.findall(r"^# ([a-z ]+):", file, re.M)) <= {
                "rules",
                "your seat",
                "your hand now",
                "landlord cards",
                "game",
            }
            if game["stage"] == "bid":
                assert not game["table"]["landlord_cards"]
            if game["over"]:
                break
            if game["turn"] == viewer:
                move = page.post(f"games/{name}/hint", {"agent": LOWEST})["move"]
                page.post(f"games/{name}/move", {"text": move, "moves": number})
            else:
                page.post(f"games/{name}/advance", {"moves": number})


def test_an_agent_that_looks_at_hidden_cards_gives_no_hints(tmp_path: Path) -> None:
    page = Page(tmp_path, Server(tmp_path / "games", ["rules"], "cheating-minimax"))
    name = page.begin()
    assert "hidden" in error(page.send("POST", f"/api/games/{name}/hint"), 403)["error"]
