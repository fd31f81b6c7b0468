"""A bot on standard input and output: a message a line in, an answer a line out."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ddz_env.peers.botzone.games import GAMES, BotzoneGame
from ddz_env.peers.botzone.player import BotzonePlayer
from ddz_env.peers.botzone.position import InvalidRequestError
from ddz_env.playing.agent import Agent

KEEP_RUNNING = ">>>BOTZONE_REQUEST_KEEP_RUNNING<<<"


def serve(agent: Agent, lines: Iterable[str], say: Callable[[str], None], seed: int = 0, stay: bool = True) -> None:
    """Answer until the input ends.

    What the agent itself prints goes to standard error.

    Args:
        agent: The agent.
        lines: The input.
        say: Takes the output, a line at a time.
        seed: Of the agent's draws.
        stay: Whether to ask to be kept running; otherwise there is one answer.

    Raises:
        InvalidRequestError: If a line is no JSON, or the first message names no game.
        InvalidAgentOptionError: If the agent looks at hidden cards.
    """
    player: BotzonePlayer | None = None
    for line in filter(str.strip, lines):
        try:
            message = json.loads(line)
        except ValueError as error:
            raise InvalidRequestError(f"a message is a line of JSON: {error}") from error
        with contextlib.redirect_stdout(sys.stderr):
            if player is None:
                player = BotzonePlayer(agent, game_asked(message), seed)
            answer = player.answer(message)
        say(json.dumps(answer))
        if not stay:
            return
        say(KEEP_RUNNING)


def game_asked(message: Mapping[str, Any]) -> BotzoneGame:
    """The game that a first message is of.

    Raises:
        InvalidRequestError: If it is of none.
    """
    try:
        first = message["requests"][0]
        if "own" in first:
            return GAMES["FightTheLandlord2" if {"bid", "finalbid"} & set(first) else "FightTheLandlord"]
    except (LookupError, TypeError):
        pass
    raise InvalidRequestError('a first message is {"requests": [{"own": ...}], "responses": []}')
