"""``ddz play``, ``watch`` and ``advise``: a game in a terminal, kept as it is played."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from ddz_env import Hand, Rules
from ddz_env.core.errors import DouDizhuError, InvalidDealError, Message, plural, unknown
from ddz_training.apps.cli.board import Board, Talk
from ddz_training.apps.cli.commands import leave_out
from ddz_training.apps.cli.endgames import shipped_puzzle
from ddz_training.apps.cli.keeping import Keeper, kept_game
from ddz_training.apps.cli.lazily import lazily
from ddz_training.apps.cli.options import NewGameRules, OptionalCount, OptionalNatural, Seat, output_file
from ddz_training.measure.match.errors import InvalidArenaError

with lazily():
    from ddz_env.table import session as table_session

_ROLES = {
    "landlord": ("landlord", "l", "地主"),
    "peasant-down": ("peasant-down", "peasant down", "down", "d", "下家"),
    "peasant-up": ("peasant-up", "peasant up", "up", "u", "上家"),
}
"""The roles in the order of the seats, and what a person may call them."""
_Told = TypeVar("_Told")

_AGENTS, _HINTS = "isuct", "rollout"
_PUZZLE_OPPONENT = "solver"
_GOES_ON = "--resume goes on with the game as it is"
"""Why options that make a new game are refused beside it."""


def _speak(context: typer.Context, language: str) -> str:
    """Let the command's errors speak the language, too."""
    context.meta["ddz.language"] = language
    return language


Keep = Annotated[
    Path | None, typer.Option("--out", help="Keep the game in this file as it is played.", callback=output_file())
]
GoOn = Annotated[bool, typer.Option("--resume", help="Go on with the game in --out, or with the last unfinished one.")]
Lang = Annotated[str, typer.Option("--lang", envvar="DDZ_LANG", help="en or zh (中文).", callback=_speak)]


def _sit_down(
    board: Board,
    command: str,
    out: Path | None,
    resume: bool,
    new_game: Callable[[], table_session.Record],
    viewer: int | None = None,
) -> tuple[table_session.Record, table_session.Session, Keeper]:
    """The game that goes on, or a new one, as a record and to play on, and who keeps it."""
    record, path = kept_game(command, out) if resume else (new_game(), out)
    session = table_session.Session(record)
    if viewer is not None:
        session.view(viewer)  # a wrong seat, or a file that cannot be, is said now
        if out is not None:
            session.record(viewer)
    return record, session, Keeper(board, command, path, chosen=out is not None, resumed=resume, viewer=viewer)


def _new_seed(seed: int | None) -> int:
    return secrets.randbelow(2**32) if seed is None else seed


# --- ddz play ----------------------------------------------------------------


def play(
    context: typer.Context,
    agents: str | None = None,
    seat: Seat = None,
    role: str | None = None,
    rules: NewGameRules = None,
    seed: OptionalNatural = None,
    hints: Annotated[str | None, typer.Option(metavar="AGENT")] = None,
    puzzle: OptionalCount = None,
    out: Keep = None,
    resume: GoOn = False,
    lang: Lang = "en",
) -> None:
    """Play against agents, with hints and undo; the game is kept as you play.

    Options:
        agents: Your opponents in playing order, separated by ';'; a single name stands for all (isuct by default), and
            person is another person at this terminal.
        seat: Your seat.
        role: landlord, peasant-down or peasant-up, instead of a seat.
        seed: Seed of the deal; a new deal each time by default.
        hints: Who answers when you type hint (rollout by default).
        puzzle: Play an endgame puzzle (ddz puzzles) against the solver.

    Example:
        ddz play
        ddz play --agents 'rules;policy' --role peasant-up --lang zh
        ddz play --agents rules --rules bidding,doubling=true --seed 7
        ddz play --puzzle 12
        ddz play --resume
    """
    board = Board(lang)
    choices = ("--agents", "--seat", "--role", "--rules", "--seed")

    def new_game() -> table_session.Record:
        if puzzle is not None:
            leave_out(context, "a puzzle is played as it is, against the solver", *choices)
            return _puzzle(board, puzzle)
        return _new_game(agents or _AGENTS, seat, role, rules or "standard", seed)

    if resume:
        leave_out(context, _GOES_ON, *choices, "--puzzle")
    record, session, keeper = _sit_down(board, "play", out, resume, new_game)
    talk = Talk(board, session, hints or (_PUZZLE_OPPONENT if session.rules.open_hands else _HINTS))
    _greet(board, record, resumed=resume)
    keeper.keep_playing(session, lambda: _play_out(board, session, talk, keeper.save))


def _new_game(agents: str, seat: int | None, role: str | None, rules: str, seed: int | None) -> table_session.Record:
    """A new deal with the person and the agents at it."""
    preset = Rules.preset(rules)
    own = _own_seat(preset, seat, role)
    names = _opponents(agents, preset, own)
    return table_session.Record(
        table_session.Deal(preset, _new_seed(seed)),
        tuple(names.get(place, table_session.PERSON) for place in range(preset.players)),
    )


def _puzzle(board: Board, number: int) -> table_session.Record:
    """An endgame puzzle as a game with open hands."""
    deal = shipped_puzzle(number).deal()
    board.line("puzzle", "bold", number=number)
    return table_session.Record(deal, (table_session.PERSON, _PUZZLE_OPPONENT))


def _own_seat(rules: Rules, seat: int | None, role: str | None) -> int:
    """The person's seat.

    Raises:
        InvalidArenaError: If seat or role do not fit the rules or each other.
    """
    if role is not None:
        if seat is not None:
            raise InvalidArenaError("--seat and --role say the same: give one of them")
        if rules.bidding != "fixed":
            raise InvalidArenaError(f"under the {rules.name} rules the auction decides the roles: give --seat")
        return _seat_of(role, rules)
    own = seat or 0
    if own >= rules.players:
        raise InvalidArenaError(f"the {rules.name} rules have {rules.players} seats, there is no seat {own}")
    return own


def _opponents(names: str, rules: Rules, own: int) -> dict[int, str]:
    """Who holds every other seat."""
    specs = [name.strip() for name in names.split(";") if name.strip()]
    count = rules.players - 1
    if len(specs) == 1:
        specs *= count
    if len(specs) != count:
        raise InvalidArenaError(f"--agents names {plural(len(specs), 'agent')} for {plural(count, 'other seat')}")
    return {(own + 1 + place) % rules.players: spec for place, spec in enumerate(specs)}


def _greet(board: Board, record: table_session.Record, *, resumed: bool) -> None:
    """Say who sits where, and what can be typed."""
    own = [seat for seat, player in enumerate(record.players) if player == table_session.PERSON]
    seats = " ".join(board.say("you sit", seat=seat) for seat in own)
    board.text(f"{board.say('seed', seed=record.deal.seed)} · {seats}")
    board.line("brief", "dim")
    if resumed:
        board.line("resumed", number=len(record.moves))


def _play_out(
    board: Board, session: table_session.Session, talk: Talk, save: Callable[[table_session.Session], None]
) -> bool:
    """Play until the end, or until the person leaves (False)."""
    viewer = None
    while not session.is_over:
        if session.waits_for == table_session.PERSON:
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


def _tell_result(board: Board, session: table_session.Session) -> None:
    """Who has won; to a person alone, whether it is they."""
    own = [seat for seat, player in enumerate(session.players) if player == table_session.PERSON]
    returns = session.returns()
    if len(own) == 1:
        result = returns[own[0]]
        key, style = ("win", "bold green") if result > 0 else ("lose", "bold red") if result < 0 else ("nobody", None)
        board.line(key, style)
    else:
        board.line("returns", returns=" ".join(f"{value:+g}" for value in returns))


# --- ddz watch ---------------------------------------------------------------


def watch(
    context: typer.Context,
    agents: Annotated[list[str] | None, typer.Argument()] = None,
    rules: NewGameRules = None,
    seed: OptionalNatural = None,
    seat: Seat = None,
    thoughts: Annotated[bool, typer.Option("--thoughts/--no-thoughts")] = True,
    boards: bool = False,
    pause: Annotated[float, typer.Option(min=0, max=60)] = 0.0,
    out: Keep = None,
    resume: GoOn = False,
    lang: Lang = "en",
) -> None:
    """Watch agents play, with what they think of each move.

    Options:
        agents: An agent a seat, seat 0 first; a single name stands for all.
        seed: Seed of the deal; a new deal each time by default.
        seat: Look on from this seat: its cards and thoughts alone, in the file, too.
        thoughts: Show what they compared, where they say so.
        boards: Show the table after every move, not only at the ends.
        pause: Seconds between two moves.

    Example:
        ddz watch rollout
        ddz watch policy rules rules --seed 7 --pause 1 --out game.txt
        ddz watch rules --rules bidding --boards --lang zh
    """
    board = Board(lang, suits=False)
    if resume:
        leave_out(context, _GOES_ON, "agents", "--rules", "--seed")
        leave_out(context, "a game that goes on is kept with all hands", "--seat")
    names = agents or [_AGENTS]
    record, session, keeper = _sit_down(
        board, "watch", out, resume, lambda: _watched_game(names, rules or "standard", seed), seat
    )
    if seat is None:  # whoever has the seed has all hands
        board.line("seed", seed=record.deal.seed)
    keeper.keep_playing(session, lambda: _look_on(board, session, keeper, seat, thoughts, boards, pause))


def _watched_game(agents: list[str], rules: str, seed: int | None) -> table_session.Record:

    preset = Rules.preset(rules)
    names = agents * preset.players if len(agents) == 1 else agents
    if len(names) != preset.players or table_session.PERSON in names:
        raise InvalidArenaError(f"name one agent, or {preset.players}: one a seat (ddz play is for people)")
    return table_session.Record(table_session.Deal(preset, _new_seed(seed)), tuple(names))


def _look_on(
    board: Board,
    session: table_session.Session,
    keeper: Keeper,
    viewer: int | None,
    thoughts: bool,
    boards: bool,
    pause: float,
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


# --- ddz advise --------------------------------------------------------------


def advise(
    context: typer.Context,
    hand: str | None = None,
    bottom: str | None = None,
    role: str | None = None,
    opener: Annotated[int, typer.Option(min=0, max=2)] = 0,
    rules: NewGameRules = None,
    agent: str = "rollout",
    out: Keep = None,
    resume: GoOn = False,
    lang: Lang = "en",
) -> None:
    """Get the best move at a real table: type your hand, then every move as it is played, one a line.

    Options:
        hand: Your cards as dealt, without the landlord cards; else asked.
        bottom: The landlord cards, once they are turned up; else asked.
        role: landlord, peasant-down (after the landlord) or peasant-up; else asked.
        opener: With an auction: who opens it (0 is you, 1 the next, 2 the one before).
        agent: Who advises (ddz agents).

    Example:
        ddz advise
        ddz advise --hand 3344567TJQQKA22BR --bottom 359 --role landlord
        ddz advise --rules bidding --hand 3344567TJQQKA22BR --opener 2
        ddz advise --resume --lang zh
    """
    board = Board(lang)

    def new_game() -> table_session.Record:
        try:
            return _table(board, hand, bottom, role, opener, rules or "standard")
        except EOFError:
            raise table_session.SessionError(
                "the input ended before the table was set up: give --hand, --bottom and --role"
            ) from None

    if resume:
        leave_out(context, _GOES_ON, "--hand", "--bottom", "--role", "--opener", "--rules")
    _, session, keeper = _sit_down(board, "advise", out, resume, new_game)
    board.line("observing", "dim")
    keeper.keep_playing(session, lambda: _advise_on(board, session, Talk(board, session, agent), keeper))


def _table(
    board: Board, hand: str | None, bottom: str | None, role: str | None, opener: int, rules: str
) -> table_session.Record:
    """The table as the person sees it; what was not given is asked for."""
    preset = Rules.preset(rules)
    own = _cards(board, preset, hand, "tell hand", preset.hand_size)
    if preset.bidding != "fixed":
        low = None if bottom is None else Hand.parse(bottom)
        deal = table_session.Deal.observed(preset, 0, own, low, opener)
    else:
        seat = _told(board, role, board.say("tell role"), partial(_seat_of, rules=preset))
        low = _cards(board, preset, bottom, "tell bottom", preset.bottom) if preset.bottom else None
        deal = table_session.Deal.observed(preset, seat, own, low)
    return table_session.Record(deal, (table_session.PERSON,) * preset.players)


def _told(board: Board, given: str | None, prompt: str, read: Callable[[str], _Told]) -> _Told:
    """What an option says, or what is asked for until it can be read.

    Raises:
        DouDizhuError: If the option is wrong.
        EOFError: If the input ends.
    """
    if given is not None:
        return read(given)
    while True:
        try:
            return read(board.ask(prompt))
        except DouDizhuError as error:
            board.complain(error)


def _cards(board: Board, rules: Rules, given: str | None, key: str, number: int) -> Hand:
    """Cards from an option, or asked for until they are so many."""

    def read(text: str) -> Hand:
        cards = Hand.parse(text)
        if len(cards) != number:
            raise InvalidDealError(
                "{count}, {cards}; the {rules} rules deal {most}",
                count=plural(len(cards), "card"),
                cards=cards,
                rules=Message(rules.name),
                most=number,
            )
        return cards

    return _told(board, given, board.say(key, number=number), read)


def _seat_of(role: str, rules: Rules) -> int:
    """The seat of a role, by any of its names.

    Raises:
        InvalidDealError: If the rules have no such role.
    """
    known = list(_ROLES)[: rules.players]
    name = role.lower().replace("_", "-")
    for seat, one in enumerate(known):
        if name in _ROLES[one]:
            return seat
    raise InvalidDealError(unknown("role", role, known))


def _advise_on(board: Board, session: table_session.Session, talk: Talk, keeper: Keeper) -> bool:
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


def _advise_now(board: Board, session: table_session.Session, talk: Talk) -> None:
    moves = session.view(talk.viewer).legal_moves()
    if len(moves) == 1:
        board.line("forced", "bold", move=board.say.move(session.worded(moves[0])))
    else:
        talk.hint()


def _prompt(board: Board, session: table_session.Session) -> str:
    """Whose move is asked for."""
    if session.seat == session.observer:
        return board.say("your move")
    return board.say("their move", seat=session.seat, role=board.say(session.role(session.seat)))


def _turn_up(board: Board, session: table_session.Session) -> bool:
    """Ask for the landlord cards until they fit; False at the end of the input."""

    def tell(text: str) -> bool:
        session.tell_landlord_cards(text)
        return not session.needs_landlord_cards

    return board.converse(lambda: board.say("tell bottom", number=session.rules.bottom), tell)
