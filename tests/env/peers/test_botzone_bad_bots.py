"""Bad bots lose their games, and nothing else: no match stops, and no process is left behind."""

from __future__ import annotations

import contextlib
import os
import sys
import time
import uuid
from pathlib import Path

import pytest

from ddz_agents.external.botzone.program import BotFaultError, BotProgram, Limits
from ddz_env import Rules
from ddz_env.peers.botzone.games import GAMES
from ddz_training.botzone.match import play_botzone_match
from ddz_training.measure.duplicate import DealPlayer, GameResult, Match

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")

MARKER = ">>>BOTZONE_REQUEST_KEEP_RUNNING<<<"
BAD: dict[str, tuple[str, str]] = {
    "hangs and hears no signal": ("trap '' TERM INT HUP; sleep 1000; sleep 1000", "TLE"),
    "crashes": ("exit 3", "RE: it crashed (exit code 3)"),
    "says nothing": ("exit 0", "NJ"),
    "floods": ("head -c 2000000 /dev/zero", "OLE"),
    "breaks off": ("""printf '{"response": [0'""", "NJ"),
    "answers text": ("echo hello", "NJ"),
    "answers an object": ("""echo '{"response": {"0": 1}}'""", "BAD_FORMAT"),
    "plays a card that does not exist": ("""echo '{"response": [99]}'""", "MISSING_CARD"),
    "plays a card twice": ("""echo '{"response": [0, 0]}'""", "MISSING_CARD|REPEATED_CARD"),
    "forks and hangs": ("for i in 1 2 3 4 5 6 7 8; do (sleep 1000; sleep 1000) & done; wait", "TLE"),
    "closes its output": ("exec 1>&-; sleep 1000", "TLE"),
    "hangs when it is to go on": (f"echo '[]'; echo '{MARKER}'; read x; read x; sleep 1000", "TLE|PASS|not legal"),
}


@pytest.fixture
def mark(monkeypatch: pytest.MonkeyPatch) -> bytes:
    """In the environment of everything that the test starts."""
    value = uuid.uuid4().hex
    monkeypatch.setenv("DDZ_TEST", value)
    return f"DDZ_TEST={value}".encode()


def left_running(mark: bytes) -> list[bytes]:
    """The commands that still carry a mark after two seconds; a process that was killed needs a moment to be gone."""
    deadline = time.monotonic() + 2
    while (commands := commands_of(mark)) and time.monotonic() < deadline:
        time.sleep(0.01)
    return commands


def commands_of(mark: bytes) -> list[bytes]:
    """The commands of the running processes that carry a mark."""
    commands = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if folder.name != str(os.getpid()) and mark in (folder / "environ").read_bytes().split(b"\0"):
                commands.append((folder / "cmdline").read_bytes())
    return [command for command in commands if b"resource_tracker" not in command]  # Python's own stays


def lost(spec: str, preset: str, time_limit: float | None = None) -> list[GameResult]:
    player = DealPlayer(Rules.preset(preset), 1, timing=False, time_limit=time_limit, on_fault="lose")
    try:
        return player.play(Match(0, (spec, "random"), ("bad", "good")))
    finally:
        player.close()


def bot_of(folder: Path, script: str) -> Path:
    bot = folder / "bot"
    bot.write_text(f"#!/bin/sh\n{script}\n")
    bot.chmod(0o755)
    return bot


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_bot_loses_its_games(kind: str, tmp_path: Path, mark: bytes) -> None:
    script, reason = BAD[kind]
    seconds = 0.15 if "TLE" in reason else 5.0
    records = lost(f"botzone:{bot_of(tmp_path, script)},seconds={seconds}", "botzone")
    assert [record.fault_by for record in records] == ["a", "a"]
    for record in records:
        assert any(each in record.fault for each in reason.split("|")), record.fault
        assert record.win[0] == (1.0 if record.seats == "baa" else -1.0)
    assert left_running(mark) == []


def test_a_bot_at_fault_ends_a_match_by_the_judges_rules(tmp_path: Path, mark: bytes) -> None:
    bot = bot_of(tmp_path, "exit 1")
    log = play_botzone_match(GAMES["FightTheLandlord"], ["random", f"botzone:{bot}", "random"])
    assert log.scores == [2.5, -1, -1]
    assert log.faults == ["", "INVALID_INPUT_VERDICT_RE", ""]
    assert not log.replay()[0].is_over
    log = play_botzone_match(GAMES["FightTheLandlord2"], [f"botzone:{bot}", "random", "random"])
    assert log.faults == ["INVALID_BID", "", ""]
    assert log.replay()[0].is_over
    assert left_running(mark) == []


def test_limits_of_memory_and_a_bot_that_cannot_be_started(tmp_path: Path, mark: bytes) -> None:
    hungry = BotProgram([sys.executable, "-c", "x = bytearray(1 << 31); print([])"], Limits(20, 512, 64))
    with pytest.raises(BotFaultError, match="RE: it crashed"):
        hungry.ask("{}")
    with pytest.raises(BotFaultError, match="RE: it cannot be started"):
        BotProgram([str(tmp_path / "nothing")], Limits(1, 512, 64)).ask("{}")
    assert left_running(mark) == []


@pytest.mark.long
def test_an_agent_that_is_cut_off_takes_its_bot_with_it(tmp_path: Path, mark: bytes) -> None:
    bot = bot_of(tmp_path, "sleep 1000 &\nsleep 1000")
    records = lost(f"botzone:{bot},seconds=100", "botzone", time_limit=0.5)
    assert [record.fault_by for record in records] == ["a", "a"]
    assert left_running(mark) == []
