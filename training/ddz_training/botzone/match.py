"""Botzone matches as the platform runs them: the judge asks and the bots answer until the judge reports scores.

A bot of ours and a program get the same messages, and the log is what the platform would write.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from ddz_agents.external.botzone.agent import BotzoneAgent
from ddz_agents.external.botzone.program import BotFaultError, BotProgram, Limits, build_command
from ddz_env.peers.botzone.games import SEATS, BotzoneGame
from ddz_env.peers.botzone.judges import next_output
from ddz_env.peers.botzone.log import BotzoneLog
from ddz_env.peers.botzone.player import BotzonePlayer
from ddz_env.playing.agent import Agent, close_agent
from ddz_env.playing.generators import make_agent_generator
from ddz_env.playing.registry import make_agent
from ddz_env.support.errors import DouDizhuError


class _AgentSeat:
    """A seat that an agent of this project plays."""

    def __init__(self, agent: Agent, game: BotzoneGame, seed: int) -> None:
        self._player, self._begun = BotzonePlayer(agent, game, seed), False

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Let the agent answer a request, and return the log entry of the answer."""
        start, bare = time.monotonic(), self._begun
        self._begun = True
        said = self._player.answer(request if bare else {"requests": [request], "responses": []})
        return _make_entry(bare, 0, round(1000 * (time.monotonic() - start)), "OK", **said)


class _ProgramSeat:
    """A seat that an external bot plays in a process of its own."""

    def __init__(self, agent: BotzoneAgent) -> None:
        options = agent.options
        limits = Limits(options.seconds, options.megabytes, options.kilobytes)
        self.program = BotProgram(build_command(options.path), limits, options.keep_running)
        self._requests: list[Mapping[str, Any]] = []
        self._responses: list[Any] = []
        self._kept: dict[str, Any] = {}

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Let the program answer a request, and return the log entry of the answer or the fault."""
        self._requests.append(request)
        bare = self.program.is_running
        said = {"requests": self._requests, "responses": self._responses, **self._kept}
        try:
            answer = self.program.ask(json.dumps(request if bare else said))
        except BotFaultError as fault:
            return _make_entry(bare, 0, 0, fault.verdict)
        try:
            reply = json.loads(answer.text)
        except (ValueError, RecursionError):
            return _make_entry(bare, answer.megabytes, answer.milliseconds, "NJ")
        reply = reply if isinstance(reply, dict) and "response" in reply else {"response": reply}
        self._responses.append(reply["response"])
        self._kept = {name: reply[name] for name in ("data", "globaldata") if reply.get(name)}
        shown = {name: reply[name] for name in ("response", "debug") if name in reply}
        return _make_entry(bare, answer.megabytes, answer.milliseconds, "OK", **shown)


def _make_entry(keeps_running: bool, memory: int, milliseconds: int, verdict: str, **rest: Any) -> dict[str, Any]:
    return {"keep_running": keeps_running, "memory": memory, "time": milliseconds, "verdict": verdict, **rest}


def play_botzone_match(game: BotzoneGame, agents: Sequence[str], seed: int = 0) -> BotzoneLog:
    """Play one match by exchanging the Botzone platform's messages.

    Args:
        game: The game.
        agents: Three agents by name, one for each seat; ``botzone:./bot`` for programs.
        seed: Of the deal and of our agents' draws.

    Raises:
        DouDizhuError: If there are not three agents, or one cannot be made.
    """
    if len(agents) != SEATS:
        raise DouDizhuError(f"a match has {SEATS} seats, not {len(agents)}: name an agent for each")
    rng = make_agent_generator([seed])
    entries: list[dict[str, Any]] = []
    with ExitStack() as leave:
        bots = [_make_seat(spec, game, seed, leave) for spec in agents]
        said = next_output(game, entries, None, rng)
        deal = said["initdata"]
        while True:
            entries.append({"keep_running": False, "memory": 0, "output": said, "time": 0, "verdict": "OK"})
            if said["command"] == "finish":
                return BotzoneLog(game, entries)
            entries.append({seat: bots[int(seat)].answer(request) for seat, request in said["content"].items()})
            said = next_output(game, entries, deal)


def _make_seat(spec: str, game: BotzoneGame, seed: int, leave: ExitStack) -> _AgentSeat | _ProgramSeat:
    agent = make_agent(spec)
    if isinstance(agent, BotzoneAgent):
        program = _ProgramSeat(agent)
        leave.callback(program.program.end)
        return program
    leave.callback(close_agent, agent)
    return _AgentSeat(agent, game, seed)
