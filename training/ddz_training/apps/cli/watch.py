"""``ddz watch``: agents play, and say what they think."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from ddz_training.apps.cli.help import RULES
from ddz_training.apps.cli.keeping import GOES_ON, GoOn, Keep, Lang
from ddz_training.apps.cli.options import leave_out

if TYPE_CHECKING:
    from ddz_env.table.session import Record, Session
    from ddz_training.apps.cli.board import Board
    from ddz_training.apps.cli.keeping import Keeper


def watch(
    context: typer.Context,
    agents: Annotated[
        list[str] | None, typer.Argument(help="An agent a seat, seat 0 first; a single name stands for all.")
    ] = None,
    rules: Annotated[str | None, typer.Option(help=f"{RULES} standard by default.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of the deal; a new deal each time by default.")] = None,
    seat: Annotated[
        int | None,
        typer.Option(min=0, max=2, help="Look on from this seat: its cards and thoughts alone, in the file, too."),
    ] = None,
    thoughts: Annotated[
        bool, typer.Option("--thoughts/--no-thoughts", help="Show what they compared, where they say so.")
    ] = True,
    boards: Annotated[bool, typer.Option("--boards", help="Show the table after every move, not only at the ends.")] = (
        False
    ),
    pause: Annotated[float, typer.Option(min=0, max=60, help="Seconds between two moves.")] = 0.0,
    out: Keep = None,
    resume: GoOn = False,
    lang: Lang = "en",
) -> None:
    """Watch agents play, with what they think of each move."""
    from ddz_env.table.session import Session
    from ddz_training.apps.cli.board import Board
    from ddz_training.apps.cli.keeping import Keeper, kept_game

    board, named = Board(lang, suits=False), out is not None
    if resume:
        leave_out(context, GOES_ON, "agents", "--rules", "--seed")
        leave_out(context, "a game that goes on is kept with all hands", "--seat")
        record, out = kept_game("watch", out)
    else:
        record = _new_game(agents or ["isuct"], rules or "standard", seed)
    session = Session(record)
    if seat is not None:
        session.view(seat)  # a wrong seat, or a file that cannot be, is said now
        if named:
            session.record(seat)
    keeper = Keeper(board, "watch", out, chosen=named, resumed=resume, viewer=seat)
    if seat is None:  # whoever has the seed has all hands
        board.line("seed", seed=record.deal.seed)
    keeper.keep_playing(session, lambda: _look_on(board, session, keeper, seat, thoughts, boards, pause))


def _new_game(agents: list[str], rules: str, seed: int | None) -> Record:
    import secrets

    from ddz_env import Rules
    from ddz_env.table.session import PERSON, Deal, Record
    from ddz_training.measure.match.errors import InvalidArenaError

    preset = Rules.preset(rules)
    names = agents * preset.players if len(agents) == 1 else agents
    if len(names) != preset.players or PERSON in names:
        raise InvalidArenaError(f"name one agent, or {preset.players}: one a seat (ddz play is for people)")
    return Record(Deal(preset, secrets.randbelow(2**32) if seed is None else seed), tuple(names))


def _look_on(
    board: Board, session: Session, keeper: Keeper, viewer: int | None, thoughts: bool, boards: bool, pause: float
) -> bool:
    """Show every move, and the table at the beginning and at the end; nobody leaves before it."""
    board.position(session.position(viewer), viewer)
    board.screen.print()
    while not session.is_over:
        turn = session.let_agent_play()
        keeper.save(session)
        board.turn(session, turn)
        thought = session.thought(turn.number, viewer) if viewer in (None, turn.seat) else None
        if thoughts and thought is not None:
            board.thought(thought)
        if boards and not session.is_over:
            board.position(session.position(viewer), viewer)
        time.sleep(pause)
    board.position(session.position(viewer), viewer)
    board.line("returns", returns=" ".join(f"{value:+g}" for value in session.returns()))
    return True
