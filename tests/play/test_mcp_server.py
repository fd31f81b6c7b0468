"""``ddz mcp``: a client of the protocol plays against agents."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from typing import Any

import pytest
from mcp import Client

from ddz_play.mcp_server import GameTable, make_server
from tests.packages import ROOT
from tests.programs import program

CLIENT = program("protocol_client")


def test_a_client_plays_a_whole_game(capsys: pytest.CaptureFixture[str]) -> None:
    table = GameTable("random", "rules")
    asyncio.run(CLIENT["play"](make_server(table)))
    told = capsys.readouterr().out
    assert told.startswith("Dou Dizhu (standard rules): a landlord against two peasants")
    assert told.count("Seed of the deal: 7\n") == 1
    assert "rules would play " in told
    assert re.search(
        r"seat 1: peasant down, \d+ cards?, return [+-]0\.5\n(?:.+\n)*.*: seat \d went out\nSeed of the deal: \d+\n\n$",
        told,
    )


@pytest.mark.long
def test_a_client_plays_a_whole_game_with_the_command(capfd: pytest.CaptureFixture[str]) -> None:
    CLIENT["main"]()
    assert "went out" in capfd.readouterr().out


def test_what_is_wrong_is_said_and_the_game_is_unchanged() -> None:
    async def session() -> list[tuple[bool, str]]:
        said = []
        async with Client(make_server(GameTable("rules", "cheating-uct"))) as client:

            async def call(tool: str, **arguments: Any) -> str:
                result = await client.call_tool(tool, arguments)
                said.append((bool(result.is_error), result.content[0].text))
                return said[-1][1]

            tools = (await client.list_tools()).tools
            assert [tool.name for tool in tools] == ["new_game", "look", "play", "hint"]
            assert not any("\n " in str(tool.description) for tool in tools)
            await call("look")
            await call("new_game", rules="nowhere")
            await call("new_game", seat=3)
            await call("new_game", seat=1, seed="five")
            await call("new_game", rules=None, seat=None)
            begun = await call("new_game", seat=1, seed="5", rules="bidding")
            for move in ("5" * 10**6, 199, "BR and the rest"):
                await call("play", move=move)
            await call("hint")
            assert await call("look", rules=True) == begun
        return said

    said = asyncio.run(session())
    assert [is_error for is_error, _ in said] == [True] * 4 + [False] * 2 + [True] * 4 + [False]
    for (_, text), why in zip(
        said,
        [
            "no game yet: begin one with new_game",
            "unknown rules preset 'nowhere'",
            "seat=3 must be",
            "seed='five' must be",
            "You are seat 0.",
            "You are seat 1.",
            "is neither a number nor a move; legal are",
            "no legal move has the number 199; legal are",
            "; legal are",
            "looks at hidden cards",
        ],
        strict=False,
    ):
        assert why in text
        assert len(text) < 3000


def test_half_a_pair_of_surrogates_is_answered() -> None:
    """No text may hold it, while JSON may escape it."""
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "\ud800", "version": "1"}}
    messages = [
        {"id": 1, "method": "initialize", "params": about},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "look\udc00", "arguments": {"\ud800": "\\ud800"}}},
    ]
    line = [sys.executable, "-m", "ddz_training", "mcp", "--agents", "random", "--adviser", "random"]
    with subprocess.Popen(line, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        for message in messages:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        server.stdin.flush()
        assert [json.loads(server.stdout.readline())["id"] for _ in range(2)] == [1, 2]
        server.stdin.close()
