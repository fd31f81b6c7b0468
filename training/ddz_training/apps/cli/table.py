"""``ddz play``, ``watch`` and ``mcp``: one game at a time.  ``ddz web`` has a page with advice."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click import argument, option

from ddz_env.core.errors import DouDizhuError
from ddz_training.apps.cli.console import console, quoted, tell
from ddz_training.apps.cli.faults import LANGUAGE
from ddz_training.apps.cli.options import NATURAL, PATH, RULES, together
from ddz_training.apps.cli.outputs import NEW
from ddz_training.measure.errors import InvalidArenaError

if TYPE_CHECKING:
    from ddz_env.table.session import Deal, Session
    from ddz_env.table.texts import Texts

_WIDTH = 80
"""Columns where there is no terminal."""
_ADVISER = "rollout"


def _note_language(context: click.Context, parameter: click.Parameter, language: str) -> str:
    context.meta[LANGUAGE] = language
    return language


_table_options = together(
    option("--rules", default="standard", help=RULES),
    option("--seed", type=NATURAL, help="Seed of the deal; a new deal each time by default."),
    option("--out", type=NEW, help="Keep the game in this new file; the page opens it."),
    option("--after", type=PATH, help="The kept game before this one, whose cards unshuffled rules deal."),
    option(
        "--lang",
        type=click.Choice(("en", "zh")),
        default="en",
        envvar="DDZ_LANG",
        callback=_note_language,
        is_eager=True,
        help="English, or zh (中文); the variable DDZ_LANG changes the default.",
    ),
)


@click.command()
@option(
    "--agents", default="isuct", help="Opponents in playing order, 'rules;policy', or one for all; person is a human."
)
@option("--seat", type=NATURAL, default=0, help="Your seat; without an auction seat 0 is the landlord.")
@_table_options
def play(agents: str, seat: int, rules: str, **table: Any) -> None:
    """Play against agents: type a move (333+4, pass, bid 2), hint (or hint AGENT), or quit.

    \b
    Examples:
      ddz play
      ddz play --agents 'rules;policy' --seat 2 --lang zh
      ddz play --agents rules --rules bidding,doubling=true --seed 7
    """
    from ddz_env import Rules
    from ddz_training.apps.seating import seated

    _play_game(seated(agents, seat, Rules.preset(rules).players), rules, **table)


@click.command()
@argument("agents", nargs=-1, help="An agent per seat, seat 0 first, or one for all (isuct by default).")
@option("--pause", type=click.FloatRange(0, 60), default=0.0, help="Seconds between two moves.")
@_table_options
def watch(agents: tuple[str, ...], rules: str, **table: Any) -> None:
    """Watch agents play with open hands.

    \b
    Examples:
      ddz watch rollout
      ddz watch policy rules rules --seed 7 --pause 1 --out game.txt
      ddz watch rules --rules bidding --lang zh
    """
    from ddz_env import Rules
    from ddz_env.table.session import PERSON

    seats = Rules.preset(rules).players
    players = (agents or ("isuct",)) * (seats if len(agents) < 2 else 1)
    if len(players) != seats or PERSON in players:
        raise InvalidArenaError(f"name one agent, or {seats}: one per seat (ddz play is for people)")
    _play_game(players, rules, **table)


@click.command()
@option("--agents", default="rules", help="The model's opponents, as for ddz play.")
@option("--adviser", default=_ADVISER, help="Who gives hints.")
def mcp(agents: str, adviser: str) -> None:
    """Let a language model's program play: a server of the Model Context Protocol on standard input and output.

    \b
    Examples:
      ddz mcp
      ddz mcp --agents 'rules;policy' --adviser policy
    """
    from ddz_env.playing.registry import make_agent
    from ddz_training.apps import protocol

    for name in (*agents.split(";"), adviser):
        make_agent(name.strip())  # a wrong name is reported now, not to the client
    game = protocol.GameTable(agents, adviser)
    try:
        protocol.make_server(game).run("stdio")
    finally:
        game.close()


# --- one game ----------------------------------------------------------------


def _play_game(
    players: Sequence[str],
    rules: str,
    seed: int | None,
    out: Path | None,
    after: Path | None,
    lang: str,
    pause: float = 0,
) -> None:
    """Play to the end, or until the person leaves; the game is kept however it ends."""
    from ddz_env.table.session import Record, Session
    from ddz_env.table.texts import Texts

    say, deal = Texts(lang), _deal(rules, seed, after)
    session = Session(Record(deal, tuple(players)))
    tell(say("seed", seed=deal.seed))
    try:
        _play_to_the_end(session, say, pause)
    finally:
        if out is not None:
            session.record().save(out)
            tell(say("kept", file=quoted(out)))
        session.close()


def _deal(rules: str, seed: int | None, after: Path | None) -> Deal:
    """A new deal, or the one that follows a kept game."""
    import secrets

    from ddz_env import Rules
    from ddz_env.table.session import Deal, Record, Replay

    seed = secrets.randbelow(2**32) if seed is None else seed
    if after is None:
        return Deal(Rules.preset(rules), seed)
    last = Record.load(after)
    if not last.deal.rules.unshuffled:
        raise InvalidArenaError(f"{quoted(after)} was shuffled: --after needs an unshuffled game")
    if last.deal.rules != Rules.preset(rules):
        raise InvalidArenaError(f"{quoted(after)} has other rules: add --rules {last.deal.rules.name}")
    return Replay(last, len(last.moves)).next_deal(seed)


def _play_to_the_end(session: Session, say: Texts, pause: float) -> None:
    import time

    from ddz_env.table.session import PERSON

    viewer = session.players.index(PERSON) if PERSON in session.players else None
    if viewer is None:
        _show(session, say, None)
    while not session.is_over:
        if session.waits_for == PERSON:
            viewer = session.seat
            _show(session, say, viewer)
            if not _person_moves(session, say):
                return
        else:
            _agent_moves(session, say)
            time.sleep(pause)
    _show(session, say, viewer)


def _person_moves(session: Session, say: Texts) -> bool:
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


def _agent_moves(session: Session, say: Texts) -> None:
    turn = session.let_agent_play()
    role, player = say(session.role(turn.seat)), session.players[turn.seat]
    tell(say("made", seat=turn.seat, role=role, player=player, move=say.move(turn.text)))
    if turn.redealt:
        tell(say("redealt"))


def _show(session: Session, say: Texts, viewer: int | None) -> None:
    """The table as a seat sees it; with every hand in the end, or where only agents play."""
    from ddz_env.table.render import render_ansi

    screen = console()
    width = screen.width if screen.is_terminal else min(screen.width, _WIDTH)
    position = session.position(viewer, reveal=True)
    click.echo()
    click.echo(render_ansi(position, perspective=viewer, reveal=True, width=width, language=say.language))
