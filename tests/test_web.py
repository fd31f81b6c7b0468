"""``ddz web``: games, replays and questions from the first request to the last; the page's own files; the command."""

from __future__ import annotations

import gzip
import importlib
import re
import sys
from pathlib import Path

import pytest

from ddz_env import Hand, Rules
from ddz_env.session import PERSON, Deal, Record
from tests.web_page import Page, error
from training.cli import app as command_line
from training.web.routes import PAGE, RULES

# --- games ---


@pytest.mark.parametrize(
    ("seat", "rules"), [(0, "standard"), (1, "standard"), (2, "bidding,doubling=true"), (1, "mini")]
)
def test_a_game_from_the_deal_to_its_replay(page: Page, seat: int, rules: str) -> None:
    name = page.begin(seat, rules=rules)
    game = page.finish(name)
    assert game["winner"] is not None
    assert game["open"]
    text = page.get(f"games/{name}/record")["text"]
    total = len(Record.parse(text).moves)
    assert total == game["number"]
    first, last = page.get(f"games/{name}/moves/0"), page.get(f"games/{name}/moves/{total}")
    assert last["over"]
    assert not first["over"]
    assert all(len(one["hand"]) == one["size"] for one in first["table"]["seats"])
    thoughts = page.post(f"games/{name}/moves/{total - 1}/thoughts", {"agent": "rules"})
    assert thoughts["seat"] == last["moves"][-1]["seat"]
    assert sum(map(sum, (one["expected"] for one in thoughts["beliefs"]))) > 0
    again = page.post("games", {"record": text})
    assert again["open"]
    assert again["id"] != name
    branch = page.get(f"games/{page.post(f'games/{name}/moves/{total - 1}/branch')['id']}")
    assert branch["turn"] == branch["seat"] == thoughts["seat"]
    assert not branch["open"]


def test_undo_takes_the_persons_decision_back(page: Page) -> None:
    name = page.begin()
    before = page.get(f"games/{name}")
    game = page.post(f"games/{name}/move", {"text": page.post(f"games/{name}/hint")["move"], "moves": 0})
    page.post(f"games/{name}/advance", {"moves": game["number"]})
    assert page.post(f"games/{name}/undo", {"moves": 2}) == before


def test_the_file_of_a_running_game_leads_back_to_it(page: Page) -> None:
    name = page.begin()
    text = page.get(f"games/{name}/record")["text"]
    pattern = re.search(r"const kept = /(.*)/m", (PAGE / "js" / "open.js").read_text(encoding="utf-8"))
    assert pattern is not None
    found = re.search(pattern[1], text, re.M)
    assert found is not None
    assert found[1] == name


def test_what_is_compiled_is_told(page: Page) -> None:
    import numba

    seen = []

    @numba.njit
    def half(number: float) -> float:
        return number / 2

    class Watching(type(half._compiler)):  # type: ignore[misc]
        def compile(self, *args: object) -> object:
            seen.append(page.get("compiling"))
            return super().compile(*args)

    half._compiler.__class__ = Watching
    half(1.0)
    assert seen == [{"compiling": True}]
    assert page.get("compiling") == {"compiling": False}


def test_agents_are_asked_when_the_server_starts(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, bool]] = []

    def answer(agent: str, deal: Deal) -> int:
        asked.append((agent, deal.endgame))
        return len(asked)

    monkeypatch.setattr("training.web.routes._answer", answer)
    page.server.warm()
    assert asked == [("rules", False), ("rules", False), ("solver", True)]  # one answer of one move is no search


def test_agents_alone_are_watched(page: Page) -> None:
    name = page.begin(None, "random")
    start = page.get(f"games/{name}/moves/0")
    assert start["running"]
    assert start["total"] == 0
    page.post(f"games/{name}/advance", {"moves": 0})
    assert page.get(f"games/{name}/moves/1")["number"] == 1


def test_bare_cards_that_are_several_moves_are_asked_back(page: Page) -> None:
    rules = Rules.preset("openspiel,bidding=fixed")
    hands = tuple(map(Hand.parse, ("33344455566677778", "8889999TTTTJJJJQQ", "34QQKKKKAAAA2222B")))
    record = Record(Deal(rules, hands=hands, bottom=Hand.parse("56R")), (PERSON, "rules", "rules"))
    name = page.post("games", {"record": str(record)})["id"]
    readings = error(page.send("POST", f"/api/games/{name}/move", {"text": "333444555666", "moves": 0}), 400)[
        "readings"
    ]
    assert len(readings) > 1
    assert page.post(f"games/{name}/move", {"text": readings[0], "exact": True, "moves": 0})["number"] == 1


def test_a_puzzle_has_open_hands(page: Page) -> None:
    grades = page.get("puzzles")["grades"]
    name = page.post("games", {"puzzle": len(grades)})["id"]
    game = page.get(f"games/{name}")
    assert game["puzzle"]
    assert game["turn"] == game["seat"]
    assert all(len(seat["hand"]) == seat["size"] for seat in game["table"]["seats"])
    text = page.get(f"games/{name}/record")["text"]
    assert "endgame: yes" in text
    assert Record.parse(text).deal.rules.open_hands  # else the solver, which looks at all hands, may give no hint


def test_a_question_about_a_table(page: Page) -> None:
    hand = "3344567TJQQKA22BR"
    table = {
        "rules": "standard",
        "role": "landlord",
        "hand": hand,
        "landlord_cards": "359",
        "moves": [],
        "agent": "rules",
    }
    found = page.post("ask", table)
    assert found["moves"][0]["text"] == found["move"]
    assert page.post("ask", {**table, "hand": f"{hand}359"}) == found
    assert "line 1" in error(page.send("POST", "/api/ask", {**table, "moves": ["AAA"]}), 400)["error"]
    chinese = page.send("POST", "/api/ask", {**table, "moves": ["AAA"]}, headers={"accept-language": "zh-CN"})
    assert "第 1 行:0号位不能出 AAA" in error(chinese, 400)["error"]
    later = page.post("ask", {**table, "moves": ["34567", "89TJQ", "pass"], "role": "landlord"})
    assert later["move"]


def test_a_question_under_other_rules(page: Page) -> None:
    rules = {one["name"]: one for one in page.get("choices")["rules"]}
    assert rules["mini"]["observable"]
    assert not rules["half-deck"]["observable"]
    table = {"rules": "mini", "role": "peasant", "hand": "33345BR", "landlord_cards": "", "moves": ["4"]}
    assert page.post("ask", table)["move"]
    error(page.send("POST", "/api/ask", {**table, "rules": "perfect"}), 400)


# --- the page's own files ---


def test_a_first_game_loads_little() -> None:
    files = [path for path in PAGE.rglob("*") if path.is_file()]
    assert len(files) > 10
    assert sum(len(gzip.compress(path.read_bytes())) for path in files) <= 300_000


def test_the_page_names_nothing_on_other_servers() -> None:
    for path in PAGE.rglob("*.*"):
        text = path.read_text(encoding="utf-8")
        assert not re.findall(
            r"(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}", text.replace("http://www.w3.org/2000/svg", "")
        ), path


def _words() -> dict[str, set[str]]:
    text = (PAGE / "js" / "words.js").read_text(encoding="utf-8")
    parts = re.split(r"^  (en|zh): \{$", text[: text.index("let language")], flags=re.M)
    entry = re.compile(r'(?:^|[,{])\s*(?:"([^"]*)"|([a-z]+)): "', re.M)
    return {parts[at]: {quoted or bare for quoted, bare in entry.findall(parts[at + 1])} for at in (1, 3)}


def test_both_languages_have_every_word() -> None:
    words = _words()
    assert words["en"] == words["zh"]
    used = set()
    for path in (PAGE / "js").glob("*.js"):
        used |= set(re.findall(r'\bword\("([^"]+)"', path.read_text(encoding="utf-8")))
    used |= set(re.findall(r'data-word="([^"]+)"', (PAGE / "index.html").read_text(encoding="utf-8")))
    used |= {f"rules {name}" for name in RULES}
    assert used <= words["en"]


def _luminance(color: str) -> float:
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize(
    ("ink", "ground"),
    [(ink, ground) for ink in ("ink", "soft", "gold") for ground in ("felt", "felt-dark", "panel", "wood", "button")]
    + [("ink", "alarm"), ("red", "paper"), ("black", "paper")],
)
def test_texts_stand_out(ink: str, ground: str) -> None:
    style = (PAGE / "style.css").read_text()
    colors = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", style))
    light, dark = sorted((_luminance(colors[ink]), _luminance(colors[ground])), reverse=True)
    assert (light + 0.05) / (dark + 0.05) >= 4.5  # WCAG 2.2, level AA


# --- the command ---


def test_the_command_names_the_extra_that_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    from typer.testing import CliRunner

    monkeypatch.setitem(sys.modules, "uvicorn", None)
    result = CliRunner().invoke(command_line, ["web"], env={"COLUMNS": "160", "NO_COLOR": "1"})
    assert result.exit_code == 2
    assert "ddz-env[web]" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_what_is_measured_is_what_the_command_offers() -> None:
    from training.bench import web as measured

    command = importlib.import_module("training.cli.web")

    assert (command.OFFERED[0], command.ADVISER) == (measured.POLICY, measured.SEARCH)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--agent", "nobody"], "nobody"),
        (["--host", "192.0.2.1"], "cannot listen"),
        (["--folder", "{file}"], "cannot be kept"),
    ],
)
def test_the_command_refuses_what_cannot_be(tmp_path: Path, options: list[str], said: str) -> None:
    from typer.testing import CliRunner

    (tmp_path / "file").write_text("")
    options = [option.format(file=tmp_path / "file") for option in options]
    result = CliRunner().invoke(
        command_line,
        ["web", "--adviser", "rules", "--port", "0", "--agent", "rules", *options],
        env={"COLUMNS": "160", "NO_COLOR": "1"},
    )
    assert result.exit_code == 2, result.output
    assert said in result.stderr
