"""``ddz web``: games, replays and questions from the first request to the last; the page's own files; the command."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ddz_env import Hand, Rules
from ddz_env.saved_games import PERSON, Deal, SavedGame
from ddz_play.puzzles import load_puzzles
from ddz_play.session import Replay
from ddz_play.web import preparing
from ddz_play.web.preparing import CompileStep, Preparation, list_compile_steps
from ddz_play.web.puzzles import PuzzleRecord
from ddz_play.web.routes import PAGE
from ddz_play.web.server import OFFERED_RULES
from tests.play.web.web_page import LOWEST, QUESTION, Json, Page, error
from tests.training.cli.terminal import refused

SEARCH = "neural-ismcts:milliseconds=500"


@pytest.mark.parametrize(("seat", "rules"), [(1, "standard"), (2, "bidding,doubling=true"), (1, "mini")])
def test_a_game_from_the_deal_to_its_replay(page: Page, seat: int, rules: str) -> None:
    name = page.begin(seat, rules=rules)
    game = page.finish(name)
    assert game["winner"] is not None
    assert game["open"]
    text = page.get(f"games/{name}/record")["text"]
    total = len(SavedGame.parse(text).moves)
    assert total == game["number"]
    first, last = page.get(f"games/{name}/moves/0"), page.get(f"games/{name}/moves/{total}")
    assert last["over"]
    assert not first["over"]
    assert all(len(one["hand"]) == one["size"] for one in first["table"]["seats"])
    assert first["roles"] == [one["role"] for one in last["table"]["seats"]]
    thoughts = page.post(f"games/{name}/moves/{total - 1}/thoughts", {"agent": "rules"})
    assert thoughts["seat"] == last["moves"][-1]["seat"]
    assert sum(map(sum, (one["expected"] for one in thoughts["beliefs"]))) > 0
    again = page.post("games", {"record": text})
    assert again["open"]
    assert again["id"] != name
    branch = page.get(f"games/{page.post(f'games/{name}/moves/{total - 1}/branch')['id']}")
    assert branch["turn"] == branch["seat"] == thoughts["seat"]
    assert not branch["open"]


def test_a_review_knows_what_every_move_lost(page: Page) -> None:
    name = page.begin(None, agent="random", seed=4)
    first, game = page.get(f"games/{name}/moves/0"), page.get(f"games/{name}")
    assert (first["running"], first["total"]) == (True, 0)
    while not game["over"]:
        game = page.step(game)
    story, losses = page.get(f"games/{name}/moves/0")["story"], []
    replay = Replay(SavedGame.parse(page.get(f"games/{name}/record")["text"]))
    for number, made in enumerate(story):
        replay.go_to(number)
        found = page.get(f"games/{name}/moves/{number}/chance")
        view, losses = replay.view(made["seat"]), [*losses, found["loss"] or 0]
        moves = {str(move): move for move in view.legal_moves()}
        assert found["seat"] == made["seat"]
        assert (found["loss"] is None) == (len(moves) == 1)  # which is no decision
        assert 0 <= losses[-1] <= 1
        assert (found["better"] in {*moves} - {made["text"]}) == (losses[-1] > 0)
        if found["outcome"]:
            assert (found["outcome"] == "goes out") == (moves[found["better"]].cards == view.hand)
    worst = losses.index(max(losses))
    assert losses[worst] > 0.1  # they play by chance
    assert page.get(f"games/{name}/moves/{worst}")["story"] == story
    thoughts = page.post(f"games/{name}/moves/{worst}/thoughts", {"agent": "rules"})
    assert thoughts["played"] == story[worst]["text"] != thoughts["move"]
    assert thoughts["played"] in [one["text"] for one in thoughts["moves"]]
    assert page.get(f"games/{name}/moves/{len(story)}/chance")["landlord"] in (0, 1)


def test_another_unshuffled_game_has_the_cards_of_the_one_before(page: Page) -> None:
    rules = "standard,unshuffled=true"
    before = page.finish(page.begin(seat=None, rules=rules))["id"]
    asked = {"rules": rules, "seat": None, "agents": ["rules"] * 3, "seed": 4, "after": before}
    texts = [page.get(f"games/{name}/record")["text"] for name in (before, page.post("games", asked)["id"])]
    last, following = map(SavedGame.parse, texts)
    assert following.deal == Replay(last, len(last.moves)).next_deal(4)


def test_the_file_of_a_running_game_leads_back_to_it(page: Page) -> None:
    name = page.begin()
    pattern = re.search(r"const kept = /(.*)/m", (PAGE / "js" / "open.js").read_text(encoding="utf-8"))
    assert pattern is not None
    assert re.findall(pattern[1], page.get(f"games/{name}/record")["text"], re.M) == [name]


def test_who_plays_and_bids_by_default_is_compiled_first_then_the_weakest_and_nobody_elses_agent() -> None:
    found = list_compile_steps(["medium", "master", LOWEST, "easy", SEARCH], SEARCH)
    order = ["medium", "payoff", "easy", "rules", "policy", "master", SEARCH, "neural-ismcts", "solver"]
    assert [step.agent for step in found] == order
    assert [step.what for step in found if step.agent in ("medium", "rules", "solver")] == [
        "opponents",
        "hints",
        "puzzles",
    ]


def test_preparing_tells_what_is_left_and_how_long_and_who_waits_compiles_it(monkeypatch: pytest.MonkeyPatch) -> None:
    gate, made = threading.Event(), list[str]()

    def make(agent: str, rules: Rules) -> object:
        if agent == "a":
            gate.wait(60)
        made.append(agent)
        if agent == "b":
            raise ValueError(agent)  # which ends nothing
        return object()

    monkeypatch.setattr(preparing, "make_agent", make)
    preparation = Preparation([CompileStep("opponents", name, Rules(), 10) for name in "abcd"])
    preparation.wait_for("a")
    assert preparation.status() == {"ready": True, "left": [], "seconds": []}  # nothing was begun
    preparation.start()
    preparation.wait_for("d")
    assert made == ["d"]
    assert (preparation.is_ready("d"), preparation.is_ready("a")) == (True, False)
    status = preparation.status()
    assert (status["ready"], status["left"]) == (False, ["opponents"] * 3)
    assert status["seconds"] == sorted(status["seconds"])
    assert (preparation.seconds_until_ready("c"), preparation.seconds_until_ready("d")) == (status["seconds"][-1], None)
    gate.set()
    for name in "abc":
        preparation.wait_for(name)
    assert set(made) == {"a", "b", "c", "d"}
    assert preparation.status()["ready"]


def test_a_hint_comes_from_who_is_compiled_and_says_when_a_better_one_is_ready(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, preparation = f"games/{page.begin()}", page.server.preparation
    left = {"policy": 20, "neural-ismcts": 50}
    monkeypatch.setattr(preparation, "is_ready", lambda agent: agent not in left)
    monkeypatch.setattr(preparation, "seconds_until_ready", left.get)
    monkeypatch.setattr(page.server, "_adviser", "neural-ismcts")
    hint = page.post(f"{path}/hint")
    assert (hint["agent"], hint["source"], hint["better_in"]) == ("rules", None, 50)
    left.clear()
    assert page.post(f"{path}/hint", {"agent": "rules"})["better_in"] is None


def test_the_port_is_bound_and_the_browser_open_before_anything_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = """
import sys, webbrowser
from numba.core import event
from ddz_training.cli.app import app

class Compiling(event.Listener):
    def on_start(self, event):
        print("compiling", flush=True)
    def on_end(self, event):
        pass

def opened(address):
    print("opened", flush=True)
    sys.exit()

event.register("numba:compile", Compiling())
webbrowser.open = opened
app(["web", "--port", "0", "--folder", sys.argv[1], "--open"])
"""
    games, cache = tmp_path / "games", tmp_path / "cache"
    cache.mkdir(mode=0o700)
    environment = {**os.environ, "DDZ_CACHE_DIR": str(cache)}
    command = [sys.executable, "-c", script, str(games)]
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    address, *rest = run.stdout.splitlines()
    assert address.startswith("http://localhost:")
    assert rest == ["opened"]


def test_chosen_cards_that_are_several_moves_are_asked_back(page: Page) -> None:
    rules = Rules.preset("openspiel,bidding=fixed")
    hands = tuple(map(Hand.parse, ("33344455566677778", "8889999TTTTJJJJQQ", "34QQKKKKAAAA2222B")))
    record = SavedGame(Deal(rules, hands=hands, bottom=Hand.parse("56R")), (PERSON, "rules", "rules"))
    path = f"games/{page.post('games', {'record': str(record)})['id']}"
    readings = page.post(f"{path}/choice", {"text": "333444555666", "moves": 0})["readings"]
    assert len(readings) > 1
    for text in readings:
        assert page.post(f"{path}/move", {"text": text, "moves": 0})["moves"][-1]["text"] == text
        page.post(f"{path}/undo", {"moves": 1})


def test_a_puzzle_has_open_hands_and_a_solution_until_it_is_lost(page: Page) -> None:
    path = f"games/{page.post('games', {'puzzle': 1})['id']}"
    game, solved = page.get(path), page.post(f"{path}/solution")
    assert page.get("puzzles")["tried"] == 1  # who asks gives up
    assert game["puzzle"]
    assert all(len(seat["hand"]) == seat["size"] for seat in game["table"]["seats"])
    assert SavedGame.parse(page.get(f"{path}/record")["text"]).deal.rules.open_hands  # else the solver may give no hint
    assert solved["wins"]
    for number, move in enumerate(solved["line"]):
        if number % 2:
            assert page.post(f"{path}/advance", {"moves": number})["moves"][-1]["text"] == move
        else:
            game = page.post(f"{path}/move", {"text": move, "moves": number})
            if not game["over"]:  # the other side is to move
                assert page.post(f"{path}/solution") == {"wins": True, "line": solved["line"][number + 1 :]}
    assert game["result"] > 0
    assert (game["verdict"], game["followed"]) == ("won", True)
    assert page.get("puzzles")["solved"] == []
    for number in (0, 1):
        page.post(f"{path}/undo", {"moves": len(solved["line"]) - number})
    wrong = next(card for card in solved["line"][0] if card != solved["line"][0])
    assert page.post(f"{path}/move", {"text": wrong, "moves": 0})["verdict"] == "lost"
    page.post(f"{path}/advance", {"moves": 1})
    assert page.post(f"{path}/solution") == {"wins": False, "line": []}
    again = page.post("games", {"puzzle": 1})["id"]
    for number, move in enumerate(solved["line"]):
        page.post(f"games/{again}/{'advance' if number % 2 else 'move'}", {"text": move, "moves": number})
    assert (page.get(f"games/{again}")["followed"], page.get("puzzles")["solved"]) == (False, [1])
    page.refused(f"games/{page.begin()}/solution", {})


def test_the_first_try_of_a_puzzle_counts_and_is_kept(tmp_path: Path) -> None:
    puzzles = load_puzzles()[:4]
    book = PuzzleRecord(tmp_path / "kept.json", puzzles)
    for number, won in ((0, False), (0, True), (1, True), (2, True), (2, False)):
        book.record_result(puzzles[number].deal(), won)
    known = book.to_json()
    assert (known["tried"], known["first"], known["solved"], known["streak"]) == (3, [2, 3], [1, 2, 3], 2)
    assert known == PuzzleRecord(tmp_path / "kept.json", puzzles).to_json()
    book.record_result(puzzles[3].deal(), won=True)
    assert book.to_json()["rating"] > known["rating"]
    assert 1 <= known["daily"] <= len(puzzles)
    fewer = PuzzleRecord(tmp_path / "kept.json", puzzles[:2])  # of another version, which keeps what it does not know
    assert (fewer.to_json()["tried"], fewer.to_json()["solved"]) == (2, [1, 2])
    fewer.record_result(puzzles[1].deal(), won=False)
    assert PuzzleRecord(tmp_path / "kept.json", puzzles).to_json()["tried"] == 4


def test_results_of_puzzles_kept_by_an_earlier_version_count(tmp_path: Path) -> None:
    file = tmp_path / "kept.json"
    file.write_text("[[1, false], [1, true], [3, true]]")  # as version 0.2.0 wrote them
    known = PuzzleRecord(file, load_puzzles()[:4]).to_json()
    assert (known["tried"], known["first"], known["solved"], known["streak"]) == (2, [3], [1, 3], 1)


@pytest.mark.parametrize("text", ["{", "[[1]]", "[[1e999, true]]", "[" * 10_000], ids="{:.9}".format)
def test_results_of_puzzles_that_cannot_be_read_are_kept_beside(text: str, tmp_path: Path) -> None:
    puzzles, file = load_puzzles()[:4], tmp_path / "kept.json"
    file.write_text(text)
    book = PuzzleRecord(file, puzzles)
    assert book.to_json()["tried"] == 0
    book.record_result(puzzles[0].deal(), won=True)
    assert (tmp_path / "kept.json.unread").read_text() == text
    assert PuzzleRecord(file, puzzles).to_json()["tried"] == 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [("3KR", "no combination"), ("34", "no combination"), ("AA", "impossible"), ("oops", "no combination")],
)
def test_a_move_that_cannot_be_played_has_a_reason(page: Page, text: str, reason: str) -> None:
    table = {"role": "peasant down", "hand": "33344455566677889", "landlord_cards": "9TJ", "moves": ["K", text]}
    told = page.refused("ask", {**QUESTION, **table})
    assert (told["reason"], told["line"]) == (reason, 2)
    if reason == "no combination" and text != "oops":  # a page knows cards alone
        assert page.post(f"games/{page.begin()}/choice", {"text": text, "moves": 0}) == {
            "readings": [],
            "reason": reason,
        }


def test_a_pass_that_is_forced_is_known_and_no_decision_to_take_back(page: Page) -> None:
    game, decided = page.get(f"games/{page.begin(2, seed=3)}"), []
    path = f"games/{game['id']}"
    while not game["must_pass"] or not decided:
        if game["turn"] == game["seat"] and not game["must_pass"]:
            decided.append(game["number"])
        game = page.step(game)
    passed = page.post(f"{path}/move", {"text": "pass", "moves": game["number"]})
    assert not passed["must_pass"]
    while not passed["must_pass"]:  # two passes that were forced, one after the other
        passed = page.step(passed)
    again = page.post(f"{path}/undo", {"moves": passed["number"]})
    assert (again["number"], again["turn"], again["must_pass"]) == (decided[-1], 2, False)
    game = page.get(f"games/{page.begin(2, seed=1)}")  # its first pass is forced
    while game["turn"] != 2:
        game = page.step(game)
    passed = page.post(f"games/{game['id']}/move", {"text": "pass", "moves": game["number"]})
    assert (game["must_pass"], passed["may_undo"]) == (True, False)
    assert "nothing to take back" in page.refused(f"games/{game['id']}/undo", {"moves": passed["number"]})["error"]


def test_an_auction_that_everybody_declined_is_not_taken_back(page: Page) -> None:
    game = page.get(f"games/{page.begin(0, LOWEST, 'bidding')}")
    path = f"games/{game['id']}"
    while len(game["moves"]) == game["number"]:
        asked = {"moves": game["number"]}
        own = game["turn"] == game["seat"]
        game = page.post(f"{path}/{'move' if own else 'advance'}", {**asked, "text": "no bid"} if own else asked)
    assert (game["number"], game["moves"], game["may_undo"]) == (3, [], False)
    assert "nothing to take back" in page.refused(f"{path}/undo", {"moves": 3})["error"]


def test_a_question_about_a_table(page: Page) -> None:
    found = page.post("ask", QUESTION)
    assert found["moves"][0]["text"] == found["move"]
    assert page.post("ask", {**QUESTION, "hand": f"{QUESTION['hand']}359"}) == found
    wrong = {**QUESTION, "moves": ["AAA"]}
    assert "line 1" in page.refused("ask", wrong)["error"]
    chinese = page.run(page.ask("ask", wrong, **{"accept-language": "zh-CN"}))
    assert "第 1 行：0号位不能出 AAA" in error(chinese, 400)["error"]
    assert page.post("ask", {**QUESTION, "moves": ["34567", "89TJQ", "pass"]})["move"]
    out_of_turn = {**QUESTION, "moves": ["34567", "89TJQ"]}
    assert "to move: peasant before landlord" in page.refused("ask", out_of_turn)["error"]
    chinese = page.run(page.ask("ask", out_of_turn, **{"accept-language": "zh-CN"}))
    assert error(chinese, 400)["error"] == "出完这几手还没轮到您；轮到：地主上家"


@pytest.mark.parametrize(
    ("rules", "role", "bottom", "moves", "best"),
    [
        ("robbing", "bids second", "", ["no call"], "call"),
        ("robbing", "bids third", "", ["call", "no rob"], "rob"),
        ("bidding,doubling=true", "bids first", "", [], "bid 3"),
        ("bidding,doubling=true", "bids first", "449", ["bid 3"], "double"),
    ],
)
def test_a_question_in_an_auction(page: Page, rules: str, role: str, bottom: str, moves: list[str], best: str) -> None:
    table = {"rules": rules, "role": role, "hand": "3457778AAAKK222BR", "landlord_cards": bottom, "moves": moves}
    found = page.post("ask", table)
    assert (found["move"], found["source"]) == (best, "payoff")
    assert found["moves"][0]["points"] == max(one["points"] or 0 for one in found["moves"])
    if bottom:
        page.refused("ask", {**table, "landlord_cards": ""})
        page.refused("ask", {**table, "moves": [*moves, *["no double"] * 3]})
    page.refused("ask", {**table, "hand": table["hand"][:-1]})


@pytest.mark.parametrize(("rules", "seed"), [("standard", 3), ("bidding", 0), ("bidding", 1)])
def test_a_replay_is_seen_from_the_persons_seat_with_the_suits_of_the_game(page: Page, rules: str, seed: int) -> None:
    def hand(game: Json, seat: int) -> set[tuple[int, str]]:
        return {(card["rank"], card["suit"]) for card in game["table"]["seats"][seat]["hand"]}

    name = page.begin(1, rules=rules, seed=seed)
    first = page.get(f"games/{name}")
    assert len({suit for _, suit in hand(first, 1)}) >= 4
    end = page.finish(name)
    replayed = [page.get(f"games/{name}/moves/{number}") for number in range(end["number"] + 1)]
    assert replayed[0]["seat"] == 1
    assert hand(replayed[0], 1) == hand(first, 1)
    bottom = {(card["rank"], card["suit"]) for card in end["table"]["landlord_cards"]}
    for before, after in itertools.pairwise(replayed):  # no card changes its suit, whoever holds it
        assert all(hand(after, seat) <= hand(before, seat) | bottom for seat in range(3))
    for game in replayed:
        assert all(len(hand(game, seat["number"])) == seat["size"] for seat in game["table"]["seats"])
    assert all(hand(replayed[-1], seat) == hand(end, seat) for seat in range(3))


def test_the_pages_files_are_small_name_no_other_server_and_make_markup_of_no_text() -> None:
    files = [path for path in PAGE.rglob("*") if path.is_file()]
    assert len(files) > 10
    assert sum(path.stat().st_size for path in files) <= 135_000
    elsewhere = r"(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}"
    made = r"(inner|outer)HTML|insertAdjacentHTML|document\.write|\beval\(|Function\(|srcdoc|DOMParser|Fragment\("
    for path in files:
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.findall(elsewhere, text), path
        assert path.suffix != ".js" or not re.search(made, text), path


def _words() -> dict[str, set[str]]:
    text = (PAGE / "js" / "words.js").read_text(encoding="utf-8")
    parts = re.split(r"^  (en|zh): \{$", text[: text.index("let language")], flags=re.M)
    entry = re.compile(r'(?:^|[,{])\s*(?:"([^"]*)"|([a-z]+)): "', re.M)
    return {parts[at]: {quoted or bare for quoted, bare in entry.findall(parts[at + 1])} for at in (1, 3)}


def test_both_languages_have_every_word() -> None:
    words = _words()
    assert words["en"] <= words["zh"]  # a word that English calls by its key is not there twice
    used = set()
    for path in (PAGE / "js").glob("*.js"):
        used |= set(re.findall(r'\bword\("([^"]+)"', path.read_text(encoding="utf-8")))
    used |= set(re.findall(r'data-word="([^"]+)"', (PAGE / "index.html").read_text(encoding="utf-8")))
    used |= {f"rules {name}" for name in OFFERED_RULES}
    assert used <= words["zh"]


@pytest.mark.parametrize(
    ("options", "said"), [("--host 192.0.2.1", "name another --port, or 0"), ("--folder file", "cannot be kept")]
)
def test_the_command_refuses_what_cannot_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("")
    assert said in refused("web", "--adviser", "rules", "--port", "0", "--agent", "rules", *options.split())
