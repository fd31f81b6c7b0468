"""``ddz advise``: a game at a real table, told move by move, and what an agent would play in the own seat."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ddz_training.apps.cli.help import RULES
from ddz_training.apps.cli.keeping import GOES_ON, GoOn, Keep, Lang
from ddz_training.apps.cli.options import leave_out

if TYPE_CHECKING:
    from ddz_env import Hand, Rules
    from ddz_env.table.session import Record, Session
    from ddz_training.apps.cli.board import Board
    from ddz_training.apps.cli.keeping import Keeper
    from ddz_training.apps.cli.talk import Talk

_ROLES = {
    "landlord": ("landlord", "l", "地主"),
    "peasant-down": ("peasant-down", "peasant down", "down", "d", "下家"),
    "peasant-up": ("peasant-up", "peasant up", "up", "u", "上家"),
}
"""What a person may call its role."""


def advise(
    context: typer.Context,
    hand: Annotated[
        str | None, typer.Option(help="Your cards as dealt, without the landlord cards; else asked.")
    ] = None,
    bottom: Annotated[str | None, typer.Option(help="The landlord cards, once they are turned up; else asked.")] = None,
    role: Annotated[
        str | None, typer.Option(help="landlord, peasant-down (after the landlord) or peasant-up; else asked.")
    ] = None,
    opener: Annotated[
        int, typer.Option(min=0, max=2, help="With an auction: who opens it (0 is you, 1 the next, 2 the one before).")
    ] = 0,
    rules: Annotated[str | None, typer.Option(help=f"{RULES} standard by default.")] = None,
    agent: Annotated[str, typer.Option(help="Who advises (ddz agents).")] = "rollout",
    out: Keep = None,
    resume: GoOn = False,
    lang: Lang = "en",
) -> None:
    """Get the best move at a real table: type your hand, then every move as it is played, one a line."""
    from ddz_env.table.session import Session, SessionError
    from ddz_training.apps.cli.board import Board
    from ddz_training.apps.cli.keeping import Keeper, kept_game
    from ddz_training.apps.cli.talk import Talk

    board, named = Board(lang), out is not None
    if resume:
        leave_out(context, GOES_ON, "--hand", "--bottom", "--role", "--opener", "--rules")
        record, out = kept_game("advise", out)
    else:
        try:
            record = _table(board, hand, bottom, role, opener, rules or "standard")
        except EOFError:
            raise SessionError(
                "the input ended before the table was set up: give --hand, --bottom and --role"
            ) from None
    session = Session(record)
    keeper = Keeper(board, "advise", out, chosen=named, resumed=resume)
    board.line("observing", "dim")
    keeper.keep_playing(session, lambda: _advise_on(board, session, Talk(board, session, agent), keeper))


def _table(board: Board, hand: str | None, bottom: str | None, role: str | None, opener: int, rules: str) -> Record:
    """The table as the person sees it; what was not given is asked for."""
    from ddz_env import Hand, Rules
    from ddz_env.table.session import PERSON, Deal, Record

    preset = Rules.preset(rules)
    own = _cards(board, preset, hand, "tell hand", preset.hand_size)
    if preset.bidding != "fixed":
        low = None if bottom is None else Hand.parse(bottom)
        deal = Deal.observed(preset, 0, own, low, opener)
    else:
        seat = _role(board, preset, role)
        low = _cards(board, preset, bottom, "tell bottom", preset.bottom) if preset.bottom else None
        deal = Deal.observed(preset, seat, own, low)
    return Record(deal, (PERSON,) * preset.players)


def _cards(board: Board, rules: Rules, given: str | None, key: str, number: int) -> Hand:
    """Cards from an option, or asked for until they are so many.

    Raises:
        DouDizhuError: If those of an option are wrong.
        EOFError: If the input ends.
    """
    from ddz_env import Hand
    from ddz_env.core.errors import DouDizhuError, InvalidDealError, plural

    while True:
        try:
            cards = Hand.parse(board.ask(board.say(key, number=number)) if given is None else given)
            if len(cards) != number:
                raise InvalidDealError(f"{plural(len(cards), 'card')}, {cards}; the {rules.name} rules deal {number}")
            return cards
        except DouDizhuError as error:
            if given is not None:
                raise
            board.complain(error)


def _role(board: Board, rules: Rules, given: str | None) -> int:
    """The seat of a role from an option, or asked for.

    Raises:
        InvalidDealError: If that of an option is none.
        EOFError: If the input ends.
    """
    from ddz_env.core.errors import InvalidDealError, unknown

    known = list(_ROLES)[: rules.players]
    while True:
        text = (board.ask(board.say("tell role")) if given is None else given).lower().replace("_", "-")
        for seat, name in enumerate(known):
            if text in _ROLES[name]:
                return seat
        error = InvalidDealError(unknown("role", text, known))
        if given is not None:
            raise error
        board.complain(error)


def _advise_on(board: Board, session: Session, talk: Talk, keeper: Keeper) -> bool:
    """Follow the game to its end, or until the person leaves (False)."""
    advised = False
    while not session.is_over:
        if session.needs_landlord_cards:
            if not _turn_up(board, session):
                return False
        elif session.seat == session.observer and not advised:
            advised = True
            board.position(session.position(talk.viewer), talk.viewer)
            _advise_now(board, session, talk)
        elif talk.move(_prompt(board, session)):
            advised = False
        else:
            return False
        keeper.save(session)
    board.position(session.position(talk.viewer), talk.viewer)
    return True


def _advise_now(board: Board, session: Session, talk: Talk) -> None:
    moves = session.view(talk.viewer).legal_moves()
    if len(moves) == 1:
        board.line("forced", "bold", move=board.say.move(session.worded(moves[0])))
    else:
        talk.hint()


def _prompt(board: Board, session: Session) -> str:
    """Whose move is asked for."""
    if session.seat == session.observer:
        return board.say("your move")
    return board.say("their move", seat=session.seat, role=board.say(session.role(session.seat)))


def _turn_up(board: Board, session: Session) -> bool:
    """Ask for the landlord cards until they fit; False at the end of the input."""
    from ddz_env.core.errors import DouDizhuError
    from ddz_training.apps.cli.dialogue import word_typed

    while session.needs_landlord_cards:
        try:
            text = board.ask(board.say("tell bottom", number=session.rules.bottom))
        except EOFError:
            return False
        if word_typed(text) == ("leave", ""):
            return False
        try:
            session.tell_landlord_cards(text)
        except DouDizhuError as error:
            board.complain(error)
    return True
