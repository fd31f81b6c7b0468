"""A Model Context Protocol server, through which a language model's own program plays against agents.

It has one table with one game at a time, as a server on standard input and output has one client.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import json
import logging
import os
import secrets
import threading
from collections.abc import Awaitable, Callable, Mapping

from anyio.to_thread import run_sync
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from ddz_env import Rules, __version__
from ddz_env.playing.game import AgentFaultError
from ddz_env.saved_games import PERSON, Deal, SavedGame
from ddz_env.support.checks import check_integer
from ddz_env.support.errors import DouDizhuError
from ddz_play.dialogue import position_text, read_move, rules_text
from ddz_play.seating import assign_seats, parse_seed
from ddz_play.session import Session, SessionError
from ddz_play.session.reasons import explain
from ddz_play.texts import Texts

_INSTRUCTIONS = "Dou Dizhu (斗地主) against other players: call new_game, then play until the game is over."
_log = logging.getLogger(__name__)


class GameTable:
    """A table at which an MCP client plays against agents, with the tools that the client may call.

    Args:
        agents: Who plays against the client, as ``--agents`` of ``ddz play``.  A client names no agents: those that
            run programs are for the owner of the machine to choose.
        adviser: Who gives hints.
    """

    def __init__(self, agents: str, adviser: str) -> None:
        self._agents, self._adviser = agents, adviser
        self._session: Session | None = None
        self._lock = threading.Lock()  # the tools run in threads

    def new_game(self, rules: str | None = None, seat: int | None = None, seed: int | str | None = None) -> str:
        """Begin a new game and show the rules and your position.

        rules is a preset, as standard (the default), bidding or robbing; seat is 0 by default, the landlord where there
        is no auction.  A seed, shown after each game, repeats a deal.
        """
        preset = Rules.preset("standard" if rules is None else rules)
        seat = check_integer("seat", 0 if seat is None else seat, 0, preset.players - 1)
        deal = Deal(preset, secrets.randbits(64) if seed is None else parse_seed(seed))
        session = Session(SavedGame(deal, assign_seats(self._agents, seat, preset.players)))
        self.close()
        self._session = session
        return f"{rules_text(preset)}\n\n{self._describe_position(session)}"

    def look(self, rules: bool | None = None) -> str:
        """Show your position and your legal moves; with rules=true the rules of the game come first."""
        session = self._current_session()
        return f"{rules_text(session.rules)}\n\n" * bool(rules) + self._describe_position(session)

    def play(self, move: str | int) -> str:
        """Play a move, by its number or its cards; the other players answer, and your next position is shown."""
        session = self._current_session()
        seat = _client_seat(session)
        session.let_agents_play()  # where one of them failed before
        session.play(read_move(str(move), session.view(seat)), seat)
        return self._describe_position(session)

    def hint(self) -> str:
        """Say what another player would do in your place, and why."""
        session = self._current_session()
        seat, texts = _client_seat(session), Texts()
        advice = session.hint(self._adviser, seat)
        chosen = advice.option_name(advice.options[0])
        return f"{advice.agent} would play {chosen}. {explain(advice, texts, session.view(seat))}"

    def close(self) -> None:
        """Release the resources that the table's agents hold."""
        if self._session is not None:
            self._session.close()

    def as_tool(self, do: Callable[..., str]) -> Callable[..., Awaitable[str]]:
        """Turn a method into a server tool that runs one call at a time and reports errors to the client.

        It runs in a thread that is given up when the client has left.
        """

        @functools.wraps(do)
        async def run(**named: object) -> str:
            return await run_sync(functools.partial(self._run_tool, do, named), abandon_on_cancel=True)

        return run

    def _run_tool(self, do: Callable[..., str], named: Mapping[str, object]) -> str:
        with self._lock:
            try:
                return do(**named)
            except AgentFaultError as error:  # its text may reveal what the agent saw
                _log.warning("%s", error)
                raise ToolError(f"{error.agent} on seat {error.seat} failed; the server's log says why") from error
            except DouDizhuError as error:
                raise ToolError(str(error)) from error

    def _current_session(self) -> Session:
        if self._session is None:
            raise SessionError("there is no game yet: begin one with new_game")
        return self._session

    def _describe_position(self, session: Session) -> str:
        """Let the agents move until the client must act or the game is over, and describe the client's position."""
        session.let_agents_play()
        text = position_text(session.view(_client_seat(session)))
        return f"{text}\nSeed of the deal: {session.deal.seed}" if session.is_over else text


def _client_seat(session: Session) -> int:
    return session.players.index(PERSON)


def drop_lone_surrogates() -> None:
    """Route standard input through a pipe that drops lone surrogates from the client's messages.

    JSON may escape them and no text may hold them: the protocol's library drops such a request without an answer.
    """
    source, (reader, writer) = os.fdopen(os.dup(0), "rb"), os.pipe()
    os.dup2(reader, 0)
    os.close(reader)

    def forward() -> None:
        with contextlib.suppress(OSError), source, os.fdopen(writer, "wb", buffering=0) as server:
            for line in source:
                server.write(_drop_lone_surrogates(line))

    threading.Thread(target=forward, daemon=True).start()


def _drop_lone_surrogates(line: bytes) -> bytes:
    if b"\\ud" not in line.lower():
        return line
    with contextlib.suppress(ValueError, RecursionError):
        return json.dumps(json.loads(line), ensure_ascii=False).encode(errors="replace") + b"\n"
    return line


def make_server(table: GameTable) -> MCPServer:
    """Create an MCP server that offers the tools of a game table.

    Args:
        table: The table.
    """
    server = MCPServer("ddz-env", instructions=_INSTRUCTIONS, version=__version__, log_level="WARNING")
    for do in (table.new_game, table.look, table.play, table.hint):
        server.add_tool(table.as_tool(do), description=inspect.getdoc(do), structured_output=False)
    return server
