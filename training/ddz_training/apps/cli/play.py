"""``ddz play``: a person at the table, in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ddz_env.core.errors import plural
from ddz_training.apps.cli.help import RULES
from ddz_training.apps.cli.keeping import GOES_ON, GoOn, Keep, Lang
from ddz_training.apps.cli.options import leave_out

if TYPE_CHECKING:
    from collections.abc import Callable

    from ddz_env import Rules
    from ddz_env.table.session import Record, Session
    from ddz_training.apps.cli.board import Board
    from ddz_training.apps.cli.talk import Talk

_ROLE_NAMES = ("landlord", "peasant-down", "peasant-up")
_AGENTS, _HINTS = "isuct", "rollout"
_PUZZLE_OPPONENT = "solver"


def play(
    context: typer.Context,
    agents: Annotated[
        str | None,
        typer.Option(
            help="Your opponents in playing order, separated by ';'; a single name stands for all (isuct by default), "
            "and person is another person at this terminal."
        ),
    ] = None,
    seat: Annotated[int | None, typer.Option(min=0, max=2, help="Your seat.")] = None,
    role: Annotated[str | None, typer.Option(help="landlord, peasant-down or peasant-up, instead of a seat.")] = None,
    rules: Annotated[str | None, typer.Option(help=f"{RULES} standard by default.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of the deal; a new deal each time by default.")] = None,
    hints: Annotated[
        str | None, typer.Option(metavar="AGENT", help="Who answers when you type hint (rollout by default).")
    ] = None,
    puzzle: Annotated[
        int | None, typer.Option(min=1, help="Play an endgame puzzle (ddz puzzles) against the solver.")
    ] = None,
    out: Keep = None,
    resume: GoOn = False,
    lang: Lang = "en",
) -> None:
    """Play against agents, with hints and undo; the game is kept as you play."""
    from ddz_env.table.session import Session
    from ddz_training.apps.cli.board import Board
    from ddz_training.apps.cli.keeping import Keeper, kept_game
    from ddz_training.apps.cli.talk import Talk

    board, named = Board(lang), out is not None
    choices = ("--agents", "--seat", "--role", "--rules", "--seed")
    if resume:
        leave_out(context, GOES_ON, *choices, "--puzzle")
        record, out = kept_game("play", out)
    elif puzzle is not None:
        leave_out(context, "a puzzle is played as it is, against the solver", *choices)
        record = _puzzle(board, puzzle)
    else:
        record = _new_game(agents or _AGENTS, seat, role, rules or "standard", seed)
    session = Session(record)
    open_hands = session.rules.open_hands
    talk = Talk(board, session, hints or (_PUZZLE_OPPONENT if open_hands else _HINTS))
    keeper = Keeper(board, "play", out, chosen=named, resumed=resume)
    _greet(board, record, resumed=resume)
    keeper.keep_playing(session, lambda: _play_out(board, session, talk, keeper.save))


def _new_game(agents: str, seat: int | None, role: str | None, rules: str, seed: int | None) -> Record:
    """A new deal with the person and the agents at it."""
    import secrets

    from ddz_env import Rules
    from ddz_env.table.session import PERSON, Deal, Record

    preset = Rules.preset(rules)
    own = _own_seat(preset, seat, role)
    names = _opponents(agents, preset, own)
    number = secrets.randbelow(2**32) if seed is None else seed
    return Record(Deal(preset, number), tuple(names.get(place, PERSON) for place in range(preset.players)))


def _puzzle(board: Board, number: int) -> Record:
    """An endgame puzzle as a game with open hands."""
    from ddz_agents.open_cards.solver.position import InvalidPositionError
    from ddz_agents.open_cards.solver.puzzles import shipped_puzzles
    from ddz_env.table.session import PERSON, Record

    known = shipped_puzzles()
    if number > len(known):
        raise InvalidPositionError(f"there is no puzzle {number}: there are {len(known)}")
    board.line("puzzle", "bold", number=number)
    return Record(known[number - 1].deal(), (PERSON, _PUZZLE_OPPONENT))


def _own_seat(rules: Rules, seat: int | None, role: str | None) -> int:
    """The person's seat.

    Raises:
        InvalidArenaError: If seat or role do not fit the rules or each other.
    """
    from ddz_env.core.errors import unknown
    from ddz_training.measure.match.errors import InvalidArenaError

    if role is not None:
        name = role.replace("_", "-")
        if seat is not None:
            raise InvalidArenaError("--seat and --role say the same: give one of them")
        if rules.bidding != "fixed":
            raise InvalidArenaError(f"under the {rules.name} rules the auction decides the roles: give --seat")
        if name not in _ROLE_NAMES[: rules.players]:
            raise InvalidArenaError(unknown("role", role, _ROLE_NAMES[: rules.players]))
        return _ROLE_NAMES.index(name)
    own = seat or 0
    if own >= rules.players:
        raise InvalidArenaError(f"the {rules.name} rules have {rules.players} seats, there is no seat {own}")
    return own


def _opponents(names: str, rules: Rules, own: int) -> dict[int, str]:
    """Who holds every other seat."""
    from ddz_training.measure.match.errors import InvalidArenaError

    specs = [name.strip() for name in names.split(";") if name.strip()]
    count = rules.players - 1
    if len(specs) == 1:
        specs *= count
    if len(specs) != count:
        raise InvalidArenaError(f"--agents names {plural(len(specs), 'agent')} for {plural(count, 'other seat')}")
    return {(own + 1 + place) % rules.players: spec for place, spec in enumerate(specs)}


def _greet(board: Board, record: Record, *, resumed: bool) -> None:
    """Say who sits where, and what can be typed."""
    from ddz_env.table.session import PERSON

    own = [seat for seat, player in enumerate(record.players) if player == PERSON]
    seats = " ".join(board.say("you sit", seat=seat) for seat in own)
    board.text(f"{board.say('seed', seed=record.deal.seed)} · {seats}")
    board.line("brief", "dim")
    if resumed:
        board.line("resumed", number=len(record.moves))


def _play_out(board: Board, session: Session, talk: Talk, save: Callable[[Session], None]) -> bool:
    """Play until the end, or until the person leaves (False)."""
    from ddz_env.table.session import PERSON

    viewer = None
    while not session.is_over:
        if session.waits_for == PERSON:
            viewer = session.seat
            board.position(session.position(viewer), viewer)
            if not talk.move(board.say("your move")):
                return False
            save(session)
        else:
            board.turn(session, session.let_agent_play())
    save(session)
    board.position(session.position(viewer, reveal=True), viewer)
    _tell_result(board, session)
    return True


def _tell_result(board: Board, session: Session) -> None:
    """Who has won; to a person alone, whether it is they."""
    from ddz_env.table.session import PERSON

    own = [seat for seat, player in enumerate(session.players) if player == PERSON]
    returns = session.returns()
    if len(own) == 1:
        result = returns[own[0]]
        key, style = ("win", "bold green") if result > 0 else ("lose", "bold red") if result < 0 else ("nobody", None)
        board.line(key, style)
    else:
        board.line("returns", returns=" ".join(f"{value:+g}" for value in returns))
