"""``ddz play``, ``watch``, ``review`` and ``mcp``: one game at a time.  ``ddz web`` has a page with advice."""

from __future__ import annotations

import json as json_module
import os
import secrets
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import click

from ddz_env.core.errors import DouDizhuError
from ddz_env.core.options import Range
from ddz_training.apps.cli.command import Argument, Command, Natural, UnderRules
from ddz_training.apps.cli.console import console, quoted, show, tell
from ddz_training.apps.cli.lazily import lazily
from ddz_training.apps.cli.outputs import File

with lazily():
    from ddz_env.playing import registry
    from ddz_env.table import render as table_render
    from ddz_env.table import session as table_session
    from ddz_env.table import texts as table_texts
    from ddz_training.apps import chances, protocol, seating
    from ddz_training.measure import errors as match_errors
    from ddz_training.measure import markdown

_WIDTH = 80
"""Columns where there is no terminal."""
_ADVISER = "rollout"


class TableCommand(UnderRules):
    """One game on the screen.

    Attributes:
        seed: Seed of the deal; a new deal each time by default.
        out: Keep the game in this new file; the page opens it.
        after: The kept game before this one, whose cards unshuffled rules deal.
        lang: en or zh (中文); by default the variable DDZ_LANG, or en.
    """

    seed: Natural | None = None
    out: Annotated[Path | None, File(use="new")] = None
    after: Path | None = None
    lang: str | None = None

    @property
    def language(self) -> str:
        """The language of the table, and of errors."""
        return self.lang or os.environ.get("DDZ_LANG", "en")

    def play(self, players: Sequence[str], pause: float = 0.0) -> None:
        """Play to the end, or until the person leaves; the game is kept however it ends.

        Args:
            players: Who holds each seat.
            pause: Seconds after the move of an agent.
        """
        say = table_texts.Texts(self.language)
        seed = secrets.randbelow(2**32) if self.seed is None else self.seed
        deal = table_session.Deal(self.preset, seed) if self.after is None else self._next_deal(self.after, seed)
        session = table_session.Session(table_session.Record(deal, tuple(players)))
        tell(say("seed", seed=deal.seed))
        try:
            _play(session, say, pause)
        finally:
            if self.out is not None:
                session.record().save(self.out)
                tell(say("kept", file=quoted(self.out)))
            session.close()

    def _next_deal(self, after: Path, seed: int) -> table_session.Deal:
        """The deal that follows a kept game."""
        last = table_session.Record.load(after)
        if not last.deal.rules.unshuffled:
            raise match_errors.InvalidArenaError(f"{quoted(after)} was shuffled: --after needs an unshuffled game")
        if last.deal.rules != self.preset:
            wanted = f"{quoted(after)} has other rules: add --rules {last.deal.rules.name}"
            raise match_errors.InvalidArenaError(wanted)
        return table_session.Replay(last, len(last.moves)).next_deal(seed)


class PlayCommand(TableCommand, call="play", heading="Play"):
    """Play against agents: type a move (333+4, pass, bid 2), hint (or hint AGENT), or quit.

    Attributes:
        agents: Your opponents in playing order, separated by ';'; a single name is used for all, and person is another
            person at this terminal.
        seat: Your seat; without an auction seat 0 is the landlord.

    Example:
        ddz play
        ddz play --agents 'rules;policy' --seat 2 --lang zh
        ddz play --agents rules --rules bidding,doubling=true --seed 7
    """

    agents: str = "isuct"
    seat: Natural = 0

    def run(self) -> None:
        """Play."""
        self.play(seating.seated(self.agents, self.seat, self.preset.players))


class WatchCommand(TableCommand, call="watch", heading="Play"):
    """Watch agents play with open hands.

    Attributes:
        agents: An agent a seat, seat 0 first; a single name is used for all (isuct by default).
        pause: Seconds between two moves.

    Example:
        ddz watch rollout
        ddz watch policy rules rules --seed 7 --pause 1 --out game.txt
        ddz watch rules --rules bidding --lang zh
    """

    agents: Argument[tuple[str, ...]] = ("isuct",)
    pause: Annotated[float, Range(0, 60)] = 0.0

    def run(self) -> None:
        """Let them play."""
        seats = self.preset.players
        players = self.agents * seats if len(self.agents) == 1 else self.agents
        if len(players) != seats or table_session.PERSON in players:
            wanted = f"name one agent, or {seats}: one a seat (ddz play is for people)"
            raise match_errors.InvalidArenaError(wanted)
        self.play(players, self.pause)


class ProtocolCommand(Command, call="mcp", heading="Play"):
    """Let a language model's program play: a server of the Model Context Protocol on standard input and output.

    Attributes:
        agents: The model's opponents, as for ddz play.
        adviser: Who gives hints.

    Example:
        ddz mcp
        ddz mcp --agents 'rules;policy' --adviser policy
    """

    agents: str = "rules"
    adviser: str = _ADVISER

    def run(self) -> None:
        """Serve until the client leaves."""
        table = protocol.GameTable(self.agents, self.adviser)
        for name in (*self.agents.split(";"), self.adviser):
            registry.make_agent(name.strip())  # a wrong name is reported now, not to the client
        try:
            protocol.make_server(table).run("stdio")
        finally:
            table.close()


class ReviewCommand(Command, call="review", heading="Play"):
    """Say of every move of a saved game what it lost in chances of winning, by what its seat knew.

    Attributes:
        game: The file, as `ddz play --out` and the page save it.
        json: Print one JSON object a move.

    Example:
        ddz review game.txt
        ddz review game.txt --json
    """

    game: Argument[Path]
    json: bool = False

    def run(self) -> None:
        """Review it."""
        replay, known = table_session.Replay(table_session.Record.load(self.game)), chances.Chances()
        lines = []
        for number in range(len(replay)):
            replay.go(number)
            found = known.review(replay)
            if self.json:
                tell(json_module.dumps(found._asdict(), ensure_ascii=False))
            shares = ("" if share is None else f"{100 * share:.0f}" for share in (found.landlord, found.loss))
            lines.append([str(number + 1), str(found.seat), str(found.role), str(found.move), *shares])
        if not self.json:
            show(markdown.Table("", ("move", "seat", "role", "played", "landlord %", "lost %"), lines))


def _play(session: table_session.Session, say: table_texts.Texts, pause: float) -> None:
    viewer = session.players.index(table_session.PERSON) if table_session.PERSON in session.players else None
    if viewer is None:
        _show(session, say, None)
    while not session.is_over:
        if session.waits_for == table_session.PERSON:
            viewer = session.seat
            _show(session, say, viewer)
            if not _person_moves(session, say):
                return
        else:
            _agent_moves(session, say)
            time.sleep(pause)
    _show(session, say, viewer)


def _person_moves(session: table_session.Session, say: table_texts.Texts) -> bool:
    """Read until the person has moved; False where they leave."""
    while True:
        try:
            text = input(f"{say('your move')}> ").strip()
        except EOFError:
            return False
        if text == "quit":
            return False
        word, _, rest = text.partition(" ")
        try:
            if word != "hint":
                session.play(text)
                return True
            advice = session.hint(rest or _ADVISER)
            tell(say("would play", agent=advice.agent, move=say.move(advice.said(advice.options[0]))))
        except DouDizhuError as error:
            tell(say.complaint(error), fg="red")


def _agent_moves(session: table_session.Session, say: table_texts.Texts) -> None:
    turn = session.let_agent_play()
    role, player = say(session.role(turn.seat)), session.players[turn.seat]
    tell(say("made", seat=turn.seat, role=role, player=player, move=say.move(turn.text)))
    if turn.redealt:
        tell(say("redealt"))


def _show(session: table_session.Session, say: table_texts.Texts, viewer: int | None) -> None:
    """The table as a seat sees it; with every hand in the end, or where only agents play."""
    screen = console()
    width = screen.width if screen.is_terminal else min(screen.width, _WIDTH)
    position = session.position(viewer, reveal=True)
    click.echo()
    click.echo(table_render.render_ansi(position, perspective=viewer, reveal=True, width=width, language=say.language))
