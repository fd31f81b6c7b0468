"""The commands ``ddz play``, ``watch`` and ``mcp``, each of which plays one game at a time."""

from __future__ import annotations

import secrets
import signal
import textwrap
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click
from click import argument, option

from ddz_env.core.cards import RANK_NAMES
from ddz_env.support.errors import DouDizhuError
from ddz_env.support.options import Options
from ddz_training.cli.console import make_console, quote_path
from ddz_training.cli.faults import CommandLineError
from ddz_training.cli.options import NEW, take_options_of

if TYPE_CHECKING:
    from ddz_env import Rules
    from ddz_env.saved_games import Deal
    from ddz_play.session import Session
    from ddz_play.texts import Texts

_WIDTH = 80
"""Columns where there is no terminal."""
_ADVISER = "rollout"
"""Of a language model's program; people get the page's."""
_HINT_WORDS, _HELP_WORDS = ("hint", "提示"), ("help", "?", "？", "帮助")


@dataclass(frozen=True)
class TableOptions(Options):
    """The options that ``ddz play`` and ``ddz watch`` share: the rules, the deal and the game's file.

    Attributes:
        rules: A preset, optionally followed by options, as bidding,doubling=true (ddz show rules).
        seed: Seed of the deal; a new deal each time by default.
        out: Keep the game in this new file; the page opens it.
        after: The kept game before this one, whose cards unshuffled rules deal.
    """

    rules: str = "standard"
    seed: int | None = None
    out: Annotated[Path | None, NEW] = None
    after: Path | None = None


_lang_option = option(
    "--lang",
    type=click.Choice(("en", "zh")),
    default="en",
    envvar="DDZ_LANG",
    help="English, or zh (中文); the variable DDZ_LANG changes the default.",
)


@click.command()
@option(
    "--agents", default="isuct", help="Opponents in playing order, 'rules;policy', or one for all; person is a human."
)
@option("--seat", default=0, help="Your seat; without an auction seat 0 is the landlord.")
@take_options_of(TableOptions)
@_lang_option
def play(agents: str, seat: int, lang: str, options: TableOptions) -> None:
    """Play against agents: type a move (333+4, pass, bid 2), hint (or hint AGENT), help, or quit.

    \b
    Examples:
      ddz play
      ddz play --agents 'rules;policy' --seat 2 --lang zh
      ddz play --agents rules --rules bidding,doubling=true --seed 7
    """
    from ddz_play.seating import assign_seats

    _play_game(lambda seats: assign_seats(agents, seat, seats), lang, options)


@click.command()
@argument("agents", nargs=-1, help="An agent per seat, seat 0 first, or one for all (isuct by default).")
@option("--pause", type=click.FloatRange(0, 60), default=0.0, help="Seconds between two moves.")
@take_options_of(TableOptions)
@_lang_option
def watch(agents: tuple[str, ...], pause: float, lang: str, options: TableOptions) -> None:
    """Watch agents play with open hands.

    \b
    Examples:
      ddz watch rollout
      ddz watch policy rules rules --seed 7 --pause 1 --out game.txt
      ddz watch rules --rules bidding --lang zh
    """

    def players(seats: int) -> Sequence[str]:
        named = (agents or ("isuct",)) * (seats if len(agents) < 2 else 1)
        if "person" in named:
            raise CommandLineError("only agents play in ddz watch, not 'person': ddz play is for people")
        if len(named) != seats:
            raise CommandLineError(f"name one agent, or {seats}, one per seat, not {len(named)}")
        return named

    _play_game(players, lang, options, pause)


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
    from ddz_env.support.processes import exit_at_once
    from ddz_play import mcp_server

    for name in (*agents.split(";"), adviser):
        make_agent(name.strip())  # a wrong name is reported now, not to the client
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # nothing is kept, and the server would wait for its client
    game = mcp_server.GameTable(agents, adviser)
    mcp_server.drop_lone_surrogates()
    mcp_server.make_server(game).run("stdio")
    exit_at_once(0, game.close)


# --- one game ----------------------------------------------------------------


def _play_game(players: Callable[[int], Sequence[str]], language: str, options: TableOptions, pause: float = 0) -> None:
    """Play a game until it ends or the person leaves, and save it if a file is given.

    Args:
        players: Who holds each of so many seats.
        language: Of what is said, of errors too.
        options: The deal, and where the game is kept.
        pause: Seconds between two moves.
    """
    from ddz_env import Rules
    from ddz_env.saved_games import SavedGame
    from ddz_play.session import Session
    from ddz_play.texts import Texts

    texts = Texts(language)
    try:
        deal = _choose_deal(Rules.preset(options.rules), options.seed, options.after)
        session = Session(SavedGame(deal, tuple(players(deal.rules.players))))
        try:
            _play_to_the_end(session, texts, pause)
        finally:
            click.echo(texts("seed", seed=deal.seed))  # not before: it deals the hands of the others
            if options.out is not None:
                session.to_saved_game().save(options.out)
                click.echo(texts("kept", file=quote_path(options.out)))
            session.close()
    except DouDizhuError as error:
        raise CommandLineError(texts.error_text(error)) from error


def _choose_deal(rules: Rules, seed: int | None, after: Path | None) -> Deal:
    """Return a new deal from the seed, or the deal that follows a saved game."""
    from ddz_env.saved_games import Deal, SavedGame
    from ddz_play.session import Replay

    seed = secrets.randbits(64) if seed is None else seed
    if after is None:
        return Deal(rules, seed)
    last = SavedGame.load(after)
    if not rules.unshuffled:
        raise CommandLineError(f"--after needs unshuffled rules: the rules {rules.name} shuffle every deal")
    if last.deal.rules != rules:
        raise CommandLineError(f"{after} has the rules {last.deal.rules.name}, not {rules.name}")
    return Replay(last, len(last.moves)).next_deal(seed)


def _play_to_the_end(session: Session, texts: Texts, pause: float) -> None:
    from ddz_env.saved_games import PERSON

    viewer = session.players.index(PERSON) if PERSON in session.players else None
    if viewer is None:
        _print_table(session, texts, None)
    while not session.is_over:
        if session.waits_for == PERSON:
            viewer = session.seat
            _print_table(session, texts, viewer)
            if not _read_move(session, texts):
                return
        else:
            _let_agent_move(session, texts)
            time.sleep(pause)
    _print_table(session, texts, viewer)


def _read_move(session: Session, texts: Texts) -> bool:
    """Read commands until the person has made a move; return False if the person leaves."""
    while True:
        try:
            text = input(f"{texts('your move')}> ").strip()
        except EOFError:
            return False
        if text == "quit":
            return False
        word, _, rest = text.partition(" ")
        try:
            if word in _HELP_WORDS:
                click.echo(texts("help"))
            elif word in _HINT_WORDS:
                _print_hint(session, texts, rest)
            else:
                session.play(text)
                return True
        except DouDizhuError as error:
            click.secho(texts.error_text(error), fg="red")


def _print_hint(session: Session, texts: Texts, agent: str) -> None:
    """Print an agent's advised move with its winning chances and a reason, as the web page shows it."""
    from ddz_play.cli.web import ADVISER
    from ddz_play.session.reasons import explain
    from ddz_play.winning_chances import ChanceEstimator

    view, asked = session.view(session.seat), session.hint(agent or ADVISER)
    advice = ChanceEstimator().add_chances(view, asked, players=session.players)
    click.echo(
        texts(
            "would play", agent=advice.agent.partition(":")[0], move=texts.move(advice.option_name(advice.options[0]))
        )
    )
    reason = explain(advice, texts, view)
    if advice.chance is not None:
        reason += texts(f"wins {advice.opponents or 'search'}", number=round(100 * advice.chance))
    click.echo(textwrap.fill(reason, _WIDTH))


def _let_agent_move(session: Session, texts: Texts) -> None:
    turn = session.let_agent_play()
    role, player = texts(session.role(turn.seat)), session.players[turn.seat]
    click.echo(texts("made", seat=turn.seat, role=role, player=player, move=texts.move(turn.text)))
    if turn.redealt:
        click.echo(texts("redealt"))


def _print_table(session: Session, texts: Texts, viewer: int | None) -> None:
    """Print the table as a seat sees it, with every hand once the game is over or if only agents play."""
    from ddz_env.rendering import render_ansi

    screen = make_console()
    width = screen.width if screen.is_terminal else min(screen.width, _WIDTH)
    position = session.position(viewer, reveal=True)
    click.echo()
    about: dict[str, Any] = {"width": width, "language": texts.language, "highest_first": True, "suits": session.suits}
    click.echo(render_ansi(position, perspective=viewer, reveal=True, **about))
    if viewer is not None and not session.is_over and not session.rules.open_hands:
        unseen = zip(RANK_NAMES, session.view(viewer).unseen.counts, strict=True)
        cards = " ".join(f"{name}:{count}" for name, count in reversed([*unseen]) if count)
        click.echo(texts("still out", cards=cards))
