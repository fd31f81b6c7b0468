"""``ddz play`` and ``ddz watch``: one game in a terminal.  The page (``ddz web``) has advice, replays and puzzles."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from ddz_env import Rules
from ddz_env.core.checks import check_integer
from ddz_env.core.errors import DouDizhuError, plural
from ddz_training.apps.cli.console import console, quoted, tell
from ddz_training.apps.cli.lazily import lazily
from ddz_training.apps.cli.options import Natural, OptionalNatural, Preset, output_file
from ddz_training.measure.errors import InvalidArenaError

with lazily():
    from ddz_env.table import render as table_render
    from ddz_env.table import session as table_session
    from ddz_env.table import texts as table_texts

_WIDTH = 80
"""Columns where there is no terminal."""
_ADVISER = "rollout"


def _speak(context: typer.Context, language: str) -> str:
    """Let the command's errors speak the language, too."""
    context.meta["ddz.language"] = language
    return language


Keep = Annotated[
    Path | None,
    typer.Option("--out", help="Keep the game in this new file; the page opens it.", callback=output_file(new=True)),
]
Lang = Annotated[str, typer.Option("--lang", envvar="DDZ_LANG", help="en or zh (中文).", callback=_speak)]


def play(
    agents: str = "isuct",
    seat: Natural = 0,
    rules: Preset = "standard",
    seed: OptionalNatural = None,
    out: Keep = None,
    lang: Lang = "en",
) -> None:
    """Play against agents: type a move (333+4, pass, bid 2), hint (or hint AGENT), or quit.

    Options:
        agents: Your opponents in playing order, separated by ';'; a single name stands for all, and person is another
            person at this terminal.
        seat: Your seat; without an auction seat 0 is the landlord.
        seed: Seed of the deal; a new deal each time by default.

    Example:
        ddz play
        ddz play --agents 'rules;policy' --seat 2 --lang zh
        ddz play --agents rules --rules bidding,doubling=true --seed 7
    """
    preset = Rules.preset(rules)
    own = check_integer("--seat", seat, 0, preset.players - 1, InvalidArenaError)
    names = [name.strip() for name in agents.split(";")]
    if len(names) == 1:
        names *= preset.players - 1
    if len(names) != preset.players - 1:
        others = plural(preset.players - 1, "other seat")
        raise InvalidArenaError(f"--agents names {plural(len(names), 'agent')} for {others}")
    order = [table_session.PERSON, *names]
    players = [order[(place - own) % preset.players] for place in range(preset.players)]
    _Table(lang, preset, players, seed).run(out)


def watch(
    agents: Annotated[list[str] | None, typer.Argument()] = None,
    rules: Preset = "standard",
    seed: OptionalNatural = None,
    pause: Annotated[float, typer.Option(min=0, max=60)] = 0.0,
    out: Keep = None,
    lang: Lang = "en",
) -> None:
    """Watch agents play with open hands.

    Options:
        agents: An agent a seat, seat 0 first; a single name stands for all (isuct by default).
        seed: Seed of the deal; a new deal each time by default.
        pause: Seconds between two moves.

    Example:
        ddz watch rollout
        ddz watch policy rules rules --seed 7 --pause 1 --out game.txt
        ddz watch rules --rules bidding --lang zh
    """
    preset = Rules.preset(rules)
    names = agents or ["isuct"]
    players = names * preset.players if len(names) == 1 else names
    if len(players) != preset.players or table_session.PERSON in players:
        raise InvalidArenaError(f"name one agent, or {preset.players}: one a seat (ddz play is for people)")
    _Table(lang, preset, players, seed).run(out, pause)


class _Table:
    """A new game on the screen.

    Args:
        language: ``en`` or ``zh``.
        rules: The rules.
        players: Who holds each seat.
        seed: Of the deal; None draws one.
    """

    def __init__(self, language: str, rules: Rules, players: Sequence[str], seed: int | None) -> None:
        self._say = table_texts.Texts(language)
        self._screen = console()
        if not self._screen.is_terminal:
            self._screen.width = min(self._screen.width, _WIDTH)
        deal = table_session.Deal(rules, secrets.randbelow(2**32) if seed is None else seed)
        self._session = table_session.Session(table_session.Record(deal, tuple(players)))
        self._tell("seed", seed=deal.seed)

    def run(self, out: Path | None, pause: float = 0.0) -> None:
        """Play to the end, or until the person leaves; the game is kept however it ends.

        Args:
            out: Its file; None for none.
            pause: Seconds after the move of an agent.
        """
        session = self._session
        viewer = session.players.index(table_session.PERSON) if table_session.PERSON in session.players else None
        try:
            if viewer is None:
                self._show(None)
            while not session.is_over:
                if session.waits_for == table_session.PERSON:
                    viewer = session.seat
                    self._show(viewer)
                    if not self._ask():
                        return
                else:
                    self._let_agent_play()
                    time.sleep(pause)
            self._show(viewer)
        finally:
            if out is not None:
                session.record().save(out)
                self._tell("kept", file=quoted(out))
            session.close()

    def _ask(self) -> bool:
        """Ask until the person has moved; False where they leave."""
        session = self._session
        while True:
            try:
                text = self._screen.input(Text(f"{self._say('your move')}> ")).strip()
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
                self._tell("would play", agent=advice.agent, move=self._say.move(advice.said(advice.options[0])))
            except DouDizhuError as error:
                tell(self._say.complaint(error), "red", screen=self._screen)

    def _let_agent_play(self) -> None:
        session = self._session
        turn = session.let_agent_play()
        role, player = self._say(session.role(turn.seat)), session.players[turn.seat]
        move = self._say.move(session.worded(turn.move, turn.number))
        self._tell("made", seat=turn.seat, role=role, player=player, move=move)
        if turn.redealt:
            self._tell("redealt")

    def _show(self, viewer: int | None) -> None:
        """The table as a seat sees it; with every hand in the end, or where only agents play."""
        position = self._session.position(viewer, reveal=True)
        text = table_render.render_ansi(
            position, perspective=viewer, reveal=True, width=self._screen.width, language=self._say.language
        )
        self._screen.print()
        self._screen.print(Text.from_ansi(text))

    def _tell(self, key: str, **values: object) -> None:
        tell(self._say(key, **values), screen=self._screen)
