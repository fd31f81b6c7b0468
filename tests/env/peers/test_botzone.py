"""Botzone at home: judges, bots of ours and of others, logs that replay."""

from __future__ import annotations

import codecs
import json
import shutil
import subprocess
import zipfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from ddz_agents.random import RandomAgent
from ddz_env import Move, Rules, State
from ddz_env.core.actions import BID_BASE
from ddz_env.core.cards import card_rank
from ddz_env.peers.botzone.games import GAMES, game_for_rules, recognize_combination, shuffle_and_deal
from ddz_env.peers.botzone.judges import next_output, score_bidding_game, score_fixed_game
from ddz_env.peers.botzone.log import BotzoneLogError, read_log, read_logs
from ddz_env.peers.botzone.player import KEEP_RUNNING, BotzonePlayer, InvalidRequestError, read_move, read_requests
from ddz_env.playing.registry import make_agent
from ddz_env.support.errors import InvalidAgentOptionError, InvalidDealError, InvalidRulesError
from ddz_training.botzone.bundle import BundleError, write_bundle
from ddz_training.botzone.match import play_botzone_match
from ddz_training.cli.app import app
from tests.packages import ROOT

FIXED, BIDDING = GAMES.values()
BOTS = ROOT / "tests" / "data" / "bots"
KEEPS = f"botzone:{BOTS / 'keeps_running.py'}"


@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES)
def test_a_match_of_our_agents_replays_to_the_byte(game: Any) -> None:
    for seed in range(2):
        log = play_botzone_match(game, ["random", "rules", "random"], seed)
        assert log.faults == ["", "", ""]
        again = read_log(str(log))
        assert str(again) == str(log)
        first = again.outputs[0]["initdata"]
        judged = [next_output(game, again.entries[:place], first) for place in range(0, len(again.entries), 2)]
        assert judged == log.outputs
        state, decisions = again.replay()
        assert state.is_over
        assert len(decisions) == len(log.entries) // 2
        assert all(decision.move in decision.view.legal_moves() for decision in decisions)
        assert log.scores is not None
        if game.has_auction:
            assert tuple(log.scores) == state.returns("stake")
        else:
            landlord, *peasants = state.returns("botzone")
            assert log.scores == pytest.approx([landlord, sum(peasants) / 2, sum(peasants) / 2])


def test_other_ways_of_writing_a_log_are_kept(tmp_path: Path) -> None:
    log = play_botzone_match(FIXED, ["random"] * 3, 1)
    for text in (
        json.dumps(log.entries, indent=2),
        json.dumps({"_id": "x", "players": ["甲"], "logs": log.entries}, ensure_ascii=False) + "\n",
        json.dumps({"_id": "乙", "log": log.entries}, separators=(",", ":")),
    ):
        assert str(read_log(text)) == text
        (tmp_path / "log.json").write_bytes(codecs.BOM_UTF8 + text.encode())
        assert [str(found) for found in read_logs(tmp_path / "log.json")] == [text]
    for text in ("", "[]", "{}", '[{"output": 1}]', '[{"output": {"content": {"0": {"own": [1]}}}}]', "[" * 100_000):
        with pytest.raises(BotzoneLogError):
            read_log(text)


class Recorder(RandomAgent):
    def __init__(self) -> None:
        self.views: list[Any] = []

    def act(self, view: Any, rng: np.random.Generator) -> Move:
        self.views.append(view)
        return super().act(view, rng)


@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES)
def test_a_bot_of_ours_sees_what_its_seat_knows(game: Any) -> None:
    """The view made from the requests is the view of the real game to the bit."""
    for seed in range(2):
        deal = shuffle_and_deal(game, np.random.default_rng(seed))
        initdata = {**deal._asdict(), "seed": "1"}
        recorders = [Recorder() for _ in range(3)]
        players = [BotzonePlayer(recorder, game, seed) for recorder in recorders]
        state, log = deal.state(game), []
        said = next_output(game, log, initdata)
        asked, answers = defaultdict(list), defaultdict(list)
        while said["command"] == "request":
            [(seat, request)] = said["content"].items()
            asked[seat].append(request)
            answer = players[int(seat)].answer({"requests": asked[seat], "responses": answers[seat]})
            assert "debug" not in answer
            seen, real = recorders[int(seat)].views[-1], state.view()
            assert seen.seat == state.seat == int(seat)
            if game.has_auction and state.stage == "play":  # the bids of others are not in the requests
                for row in (seen.row, real.row):
                    row[[20, 26]] = 0
            assert seen.row.tolist() == real.row.tolist()
            response = answer["response"]
            answers[seat].append(response)
            state.step(Move(BID_BASE + response) if isinstance(response, int) else read_move(response, game))
            log += [{"output": said}, {seat: {"verdict": "OK", "response": response}}]
            said = next_output(game, log, initdata)
        assert state.is_over


def at(shape: str) -> list[int]:
    """Card ids of ranks, each rank's suits in order."""
    places = ["3456789TJQKA2BR".index(name) for name in shape]
    used = [shape[:number].count(name) for number, name in enumerate(shape)]
    return [4 * place + copy if place < 13 else 39 + place for place, copy in zip(places, used, strict=True)]


@pytest.mark.parametrize(
    ("cards", "old", "new"),
    [
        ("33334444", "shuttle", "shuttle"),
        ("3333444456", "shuttle+solos", None),
        ("333344445566", "shuttle+pairs", None),
        ("333344445678", None, "shuttle+solos"),
        ("3333444455667788", None, "shuttle+pairs"),
        ("AAAA2222", None, None),
        ("333344445556", None, None),
        ("", "pass", "pass"),
    ],
)
def test_each_judge_has_its_own_kickers_of_shuttles(cards: str, old: str | None, new: str | None) -> None:
    found = [recognize_combination(at(cards), game) for game in (FIXED, BIDDING)]
    assert [each and each.category for each in found] == [old, new]


@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES)
def test_every_move_of_ours_is_one_to_the_judge(game: Any) -> None:
    fixed = game.rules.replace(bidding="fixed")
    state = State.from_hands(["333344445566778", "9", "T"], rules=fixed, check_sizes=False)
    assert all(recognize_combination(at(str(move.cards)), game) for move in state.legal_moves())


@pytest.mark.parametrize(
    ("reason", "pairs"),
    [
        ("", ["4 3", "3333 2", "BR 2222", "5555 33334444"]),
        ("LESS_COMPARE", ["3 4", "3333 BR", "33334444 5555"]),
        ("MISMATCH_CARDTYPE", ["44 3", "4445 333"]),
        ("MISMATCH_CARDLENGTH", ["45678 345678"]),
    ],
)
def test_refusals_have_the_judges_words(reason: str, pairs: list[str]) -> None:
    for pair in pairs:
        mine, theirs = (recognize_combination(at(cards), BIDDING) for cards in pair.split())
        assert mine is not None
        assert theirs is not None
        assert mine.refusal_code(theirs) == reason, pair


def entry(seat: int, response: Any, verdict: str = "OK") -> dict[str, Any]:
    return {str(seat): {"verdict": verdict, "response": response}}


def told(game: Any, initdata: Any, *entries: dict[str, Any]) -> list[dict[str, Any]]:
    log: list[dict[str, Any]] = []
    said = [next_output(game, log, initdata)]
    for each in entries:
        log += [{"output": said[-1]}, each]
        said.append(next_output(game, log, initdata))
    return said


def test_the_older_judge_ends_the_game_at_a_fault() -> None:
    low = [*range(20)]
    deal = {"allocation": [low, [*range(20, 37)], [*range(37, 54)]], "publiccard": [0, 1, 2], "seed": "7"}
    for answers, reason, turn in (
        ([entry(0, [])], "INVALID_PASS", 0),
        ([entry(0, [20])], "MISSING_CARD", 0),
        ([entry(0, [0]), entry(1, [20]), entry(2, []), entry(0, [0])], "REPEATED_CARD", 0),
        ([entry(0, [0, 4])], "BAD_FORMAT", 0),
        ([entry(0, 5)], "BAD_FORMAT", -1),
        ([entry(0, None, "TLE")], "INVALID_INPUT_VERDICT_TLE", -1),
        ([entry(0, [4]), entry(1, [20, 21])], "MISMATCH_CARDTYPE", 1),
        ([entry(0, [4]), entry(1, [], "RE")], "INVALID_INPUT_VERDICT_RE", 1),
    ):
        last = told(FIXED, deal, *answers)[-1]
        assert (last["command"], last["display"]["errorInfo"]) == ("finish", reason)
        assert last["display"]["event"]["player"] == turn
        scores = [-1, 2.5, 2.5] if turn <= 0 else [2.5, -1, -1]
        assert list(last["content"].values()) == scores
    first, second, *_ = told(FIXED, json.dumps(deal), entry(0, [7, 6, 5, 4]), entry(1, []))
    assert first["content"] == {"0": {"own": low, "history": [[], []], "publiccard": [0, 1, 2]}}
    assert second["content"]["1"]["history"] == [[], [4, 5, 6, 7]]
    assert second["display"] == {"event": {"player": 0, "action": [4, 5, 6, 7]}}
    with pytest.raises(InvalidDealError, match="publiccard"):
        next_output(FIXED, [], {**deal, "publiccard": [50, 51, 52]})


def test_the_newer_judge_plays_on_for_a_bot_at_fault() -> None:
    deal = {
        "allocation": [[*range(17)], [*range(17, 34)], [*range(34, 51)]],
        "publiccard": [51, 52, 53],
        "seed": "7",
    }
    said = told(BIDDING, deal, entry(0, "1"), entry(1, 1), entry(2, 2))
    assert [output["content"].popitem()[1].get("bid") for output in said[:3]] == [[], [1], [1, 0]]
    play = said[3]["content"]["2"]
    assert (play["own"], play["landlord"], play["pos"], play["finalbid"]) == (deal["allocation"][2], 2, 2, 2)
    assert said[3]["display"] == {"landlord": 2, "bid": [1, 0, 2], "errored": [None, "INVALID_BID", None]}
    after = told(BIDDING, deal, entry(0, 3), entry(0, [], "TLE"), entry(1, [17]), entry(2, [50]), {}, entry(1, [99]))
    assert after[2]["display"]["errored"] == ["INVALID_INPUT_VERDICT_TLE", None, None]
    assert after[2]["display"]["event"] == {"player": 0, "action": [0]}
    assert after[4]["content"] == {}
    assert after[5]["display"]["event"] == {"player": 0, "action": []}
    assert after[6]["display"]["errored"] == ["INVALID_INPUT_VERDICT_TLE", "MISSING_CARD", None]
    ended = told(BIDDING, deal, entry(0, 3), entry(0, 7), entry(1, [99]), entry(2, [[]]))[-1]
    assert (ended["command"], ended["content"]) == ("finish", {"0": -1, "1": -1, "2": -1})


def test_scores_by_hand() -> None:
    played = [at("3"), at("44"), at("BR"), at("5555"), [], [], at("A")]
    assert score_fixed_game(played, 0) == [2 + 12 / 100, (2 / 100 + 16 / 100) / 2, (2 / 100 + 16 / 100) / 2]
    assert score_bidding_game([at("3333"), [], [], at("4")], [0, 2, 3], 2) == [-12, -12, 24]
    assert score_bidding_game([at("3"), at("4"), [], at("5"), at("6")], [0, 0, 0], 0) == [-2, 1, 1]


@pytest.mark.parametrize("written_in", ["Python", pytest.param("C++", marks=pytest.mark.long)])
def test_programs_play_matches(written_in: str, tmp_path: Path) -> None:
    bot, compiler = KEEPS, shutil.which("g++")
    if written_in == "C++":
        if compiler is None:
            pytest.skip("needs g++")
        subprocess.run([compiler, "-o", tmp_path / "bot", BOTS / "smallest.cpp"], check=True)
        bot = f"botzone:{tmp_path / 'bot'}"
    for game in GAMES.values() if bot == KEEPS else [FIXED]:
        log = play_botzone_match(game, ["rules", bot, KEEPS], 2)
        assert log.faults == ["", "", ""]
        assert log.replay()[0].is_over


def test_a_bot_is_told_the_new_cards_when_every_seat_has_declined(tmp_path: Path) -> None:
    """Of the opener of the second deal in its auction, and of the others when its bid has ended the auction."""
    bot = tmp_path / "bot"
    bot.write_text(
        """#!/bin/sh
        read -r asked
        echo "$asked" > asked
        case $asked in *history*) echo "[]";; *) echo 0;; esac
        """
    )
    bot.chmod(0o755)
    agent, rng = make_agent(f"botzone:{bot}"), np.random.default_rng(0)
    state = State.new(3, "bidding")
    for _ in range(3):
        state.step(agent.act(state.view(), rng))
    opener = state.seat
    assert state.history == []
    for seat in (opener, (opener + 1) % 3, (opener + 2) % 3):
        view = state.view(seat)
        agent.act(view, rng)
        [request] = json.loads((tmp_path / "asked").read_text())["requests"]
        assert np.bincount([card_rank(card) for card in request["own"]], minlength=15).tolist() == [*view.hand.counts]
        if seat == opener:
            state.step("bid 3")


@pytest.mark.long
def test_a_process_a_move_gets_the_data_of_its_last_answer() -> None:
    for game in GAMES.values():
        log = play_botzone_match(game, ["rules", f"botzone:{BOTS / 'smallest.py'}", "rules"], 2)
        assert log.faults == ["", "", ""]
        said = [entry["1"]["debug"] for entry in log.entries[1::2] if "debug" in entry.get("1", {})]
        assert said[-1] == str(len(said) - 2 + game.has_auction)


def test_rules_without_a_game_of_the_platform() -> None:
    assert game_for_rules(Rules.preset("standard")) is game_for_rules(Rules.preset("standard,unshuffled=true")) is FIXED
    half_decks, auctions = ("half-deck", "half-deck-open"), ("bidding,doubling=true", "robbing")
    for preset in (*half_decks, *auctions, "mini", "openspiel", "standard,showing=true"):
        with pytest.raises(InvalidRulesError, match="Botzone has no game"):
            game_for_rules(Rules.preset(preset))
    with pytest.raises(InvalidAgentOptionError, match="no such file"):
        make_agent("botzone:./nothing")
    with pytest.raises(InvalidAgentOptionError, match="hidden cards"):
        BotzonePlayer(make_agent("cheating-uct"), FIXED)


def test_bad_requests_are_named_and_answered() -> None:
    for requests in ([{}], [{"history": [[], []], "own": [1], "publiccard": "x"}], [{"bid": [], "own": [1] * 17}]):
        with pytest.raises(InvalidRequestError):
            read_requests(FIXED, requests, [])
    shuttle = {"own": [*range(24, 41)], "publiccard": [0, 1, 2], "history": [[], at("3333444456")]}
    said = BotzonePlayer(make_agent("random"), FIXED).answer({"requests": [shuttle], "responses": []})
    assert said["response"] == []
    assert "is not a move under the botzone rules" in said["debug"]


def test_a_bot_on_standard_input_and_output() -> None:
    own = at("334567899TTJQQKKA2BR")
    request = {"requests": [{"own": own, "history": [[], []], "publiccard": own[:3]}], "responses": []}
    told = f"{json.dumps(request)}\n{json.dumps({'history': [[], []]})}\n"
    result = CliRunner().invoke(app, ["botzone", "bot", "--agent", "rules", "--stay"], input=told)
    assert result.exit_code == 0, result.output
    first, marker, second, _ = result.output.splitlines()
    assert marker == KEEP_RUNNING
    cards = [card for line in (first, second) for card in json.loads(line)["response"]]
    assert 0 < len(cards) == len(set(cards) & set(own))


@pytest.mark.long
def test_a_bundle_plays_by_itself(tmp_path: Path) -> None:
    for spec in ("rules", "policy"):
        write_bundle(tmp_path / "bot.zip", spec)
        same = (tmp_path / "bot.zip").read_bytes()
        write_bundle(tmp_path / "bot.zip", spec)
        assert (tmp_path / "bot.zip").read_bytes() == same
        bot = f"botzone:{tmp_path / 'bot.zip'},seconds=300"
        log = play_botzone_match(FIXED, [bot, "random", "random"])
        assert log.faults == ["", "", ""]
        assert log.played == play_botzone_match(FIXED, [spec, "random", "random"]).played


def test_only_agents_of_this_package_that_do_not_cheat_are_bundled(tmp_path: Path) -> None:
    for spec in ("cheating-uct", "tests.env.peers.test_botzone:Recorder"):
        with pytest.raises(BundleError):
            write_bundle(tmp_path / "bot.zip", spec)
    assert not list(tmp_path.iterdir())
    bundle = write_bundle(tmp_path / "bot.zip", "rules")
    assert bundle.data == []
    with zipfile.ZipFile(tmp_path / "bot.zip") as archive:
        names = archive.namelist()
    assert len(names) == bundle.files
    assert {"__main__.py", "ddz_env/__init__.py", "ddz_agents/rules/agent.py"} <= set(names)
