"""``ddz web``: no answer depends on a card that its reader cannot see."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ddz_env import Rules
from ddz_env.saved_games import PERSON, SavedGame
from ddz_play.web.server import Server
from tests.hidden import Scripted, twin_games
from tests.play.web.web_page import BEGIN, LOWEST, SCRIPTED, Json, Page


@pytest.mark.parametrize(
    ("rules", "viewer"),
    [
        ("standard", 1),
        ("bidding,doubling=true", 1),
        ("half-deck", 2),
        ("half-deck-open", 1),
        ("mini", 0),
    ],
)
def test_games_that_differ_in_hidden_cards_alone_give_the_same_answers(page: Page, rules: str, viewer: int) -> None:
    names = []
    for record in twin_games(rules, viewer):
        players = [SCRIPTED] * record.deal.rules.players
        players[viewer] = PERSON
        names.append(page.post("games", {"record": str(SavedGame(record.deal, tuple(players)))})["id"])
    Scripted.moves = [move for _, move in record.moves]
    own = f"{(record.deal.hands or ())[viewer]}{record.deal.bottom}"
    lacking = next(rank for rank in "RB2AK3456789TJQ" if rank not in own)
    for number, (mover, move) in enumerate(record.moves):
        if number % 4 == 0 or number > len(record.moves) - 4:
            one, other = (_probed(page, name, number, lacking) for name in names)
            assert one == other
            assert not one["game"]["over"]
        path, body = ("move", "advance")[mover != viewer], {"text": str(move), "exact": True, "moves": number}
        answers = [page.run(page.ask(f"games/{name}/{path}", body)) for name in names]
        told = [answer.text.replace(name, "NAME") for answer, name in zip(answers, names, strict=True)]
        assert {answer.status_code for answer in answers} == {200}
        assert told[0] == told[1] or number == len(record.moves) - 1  # then all hands are shown
    assert told[0] != told[1]


def _probed(page: Page, name: str, number: int, lacking: str) -> Json:
    """What every address says of a game, refusals included; the person holds no card of a rank."""
    found: Json = {}
    at, late = {"moves": number}, {"moves": number + 1}
    bodies: dict[str, list[Json]] = {
        f"/moves/{number}/thoughts": [{}, {"agent": "random"}],
        f"/moves/{number}/branch": [{}],
        "/hint": [{}, {"agent": "random"}, {"agent": SCRIPTED}],
        "/solution": [{}],
        "/move": [{"text": "pass", **late}, *({"text": text, **at} for text in (lacking, 2 * lacking, "nonsense"))],
        "/advance": [late],
        "/undo": [late],
        "/replace": [{"seat": 0, "agent": "nobody", **at}],
    }
    addresses: list[tuple[str, Json | None]] = [(path, body) for path in bodies for body in bodies[path]]
    addresses += [(path, None) for path in ("", "/record", "/moves/0", f"/moves/{number}", f"/moves/{number}/chance")]
    for path, body in addresses:
        answer = page.run(page.ask(f"games/{name}{path}", body))
        assert answer.status_code < 500
        if path.startswith("/moves"):
            assert answer.status_code == 403
        text = answer.text.replace(name, "NAME").replace(name[:6], "NAME")
        assert '"seed"' not in text
        assert "seed:" not in text
        found[f"{path} {body}" if path else "game"] = json.loads(text)
    return found


_SEAT = {"number", "role", "hand", "size", "play", "acting", "doubled", "result"}
_TABLE = {
    "seats",
    "landlord",
    "landlord_cards",
    "landlord_backs",
    "left_out",
    "stake",
    "bombs",
    "spring",
    "highest_bid",
}
_GAME = {"id", "rules", "puzzle", "number", "open", "seat", "names", "table", "stage", "turn", "moves", "to_beat"}
_GAME |= {"cheaters", "bombs", "scoring", "winner", "result", "may_pass", "must_pass", "may_undo", "words", "question"}
_GAME |= {"over", "unseen"}
_FILE = {"rules", "your seat", "your hand now", "landlord cards", "game"}


@pytest.mark.parametrize("rules", ["standard", "bidding,doubling=true", "half-deck"])
def test_every_field_of_a_running_game_is_for_its_viewer(page: Page, rules: str) -> None:
    """A field that is not named here has to be thought about first."""
    for viewer in range(Rules.preset(rules).players):
        game = page.get(f"games/{page.begin(viewer, LOWEST, rules)}")
        for _ in range(5):
            assert set(game) == _GAME
            assert set(game["table"]) == _TABLE
            public = {(card["rank"], card["suit"]) for card in game["table"]["landlord_cards"]}
            for seat in game["table"]["seats"]:
                assert set(seat) == _SEAT
                if seat["number"] != viewer:
                    assert {(card["rank"], card["suit"]) for card in seat["hand"]} <= public
            file = page.get(f"games/{game['id']}/record")["text"]
            assert not file.startswith("Dou Dizhu game")
            assert set(re.findall(r"^# ([a-z ]+):", file, re.M)) <= _FILE
            assert game["stage"] != "bid" or not game["table"]["landlord_cards"]
            game = page.step(game, agent=LOWEST)


def test_a_cheat_gives_no_hints_plays_only_where_it_is_offered_and_is_called_one(tmp_path: Path) -> None:
    page = Page(tmp_path, Server(tmp_path / "games", ["rules"], "cheating-minimax"))
    for agent in ("solver", "cheating-minimax"):
        said = page.refused("games", {**BEGIN, "agents": [agent] * 3})
        assert f"{agent} looks at hidden cards" in said["error"]
        name = page.begin()
        replaced = page.refused(f"games/{name}/replace", {"seat": 1, "agent": agent, "moves": 0})
        assert "looks at hidden cards" in replaced["error"]
    assert "hidden" in page.refused(f"games/{name}/hint", {}, 403)["error"]
    assert page.get(f"games/{name}")["cheaters"] == page.get("choices")["cheaters"] == []
    assert page.get(f"games/{page.post('games', {'puzzle': 1})['id']}")["cheaters"] == []  # all hands are open
    page.server.games.close()
    offering = Page(tmp_path, Server(tmp_path / "others", ["rules", "solver"], "rules"))
    assert offering.get("choices")["cheaters"] == ["solver"]
    assert offering.get(f"games/{offering.begin(0, 'solver')}")["cheaters"] == [1, 2]
    assert offering.get(f"games/{offering.begin(None, 'solver')}/moves/0")["cheaters"] == [0, 1, 2]
