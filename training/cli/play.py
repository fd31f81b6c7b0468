"""``ddz play``: a person at the table, in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from training.cli.console import console

if TYPE_CHECKING:
    import numpy as np
    from rich.console import Console

    from ddz_env import Move, Rules, State
    from ddz_env.agent import Agent

_HELP = "type cards (34567, 333+4, 10JQKA, BR), pass, bid 2, double; ? lists the legal moves, q quits"
_ROLE_NAMES = ("landlord", "peasant-down", "peasant-up")


def play(
    agents: Annotated[
        str, typer.Option(help="Your opponents in playing order, separated by ';'; a single name stands for all.")
    ] = "isuct",
    seat: Annotated[int | None, typer.Option(min=0, max=2, help="Your seat.")] = None,
    role: Annotated[str | None, typer.Option(help="landlord, peasant-down or peasant-up, instead of a seat.")] = None,
    rules: Annotated[str, typer.Option(help="Rules preset (ddz rules).")] = "standard",
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of the deal; a new deal each time by default.")] = None,
) -> None:
    """Play against agents."""
    import secrets

    from ddz_env import Rules, State
    from ddz_env.agent import close
    from ddz_env.playing import seat_generators

    preset = Rules.preset(rules)
    own = _own_seat(preset, seat, role)
    others = _opponents(agents, preset, own)
    number = secrets.randbelow(2**32) if seed is None else seed
    screen = console()
    screen.print(f"seed {number}; you are in seat {own}.  {_HELP}", markup=False)
    state = State.new(number, preset)
    try:
        _play_out(screen, state, own, others, seat_generators([number, 0, 0], preset.players))
    finally:
        for agent in others.values():
            close(agent)


def _own_seat(rules: Rules, seat: int | None, role: str | None) -> int:
    """The person's seat.

    Raises:
        InvalidArenaError: If seat or role do not fit the rules or each other.
    """
    from ddz_env.errors import unknown
    from training.arena.errors import InvalidArenaError

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


def _opponents(names: str, rules: Rules, own: int) -> dict[int, Agent]:
    """The agent of every other seat."""
    from ddz_env.registry import make_agent
    from training.arena.errors import InvalidArenaError

    specs = [name.strip() for name in names.split(";") if name.strip()]
    count = rules.players - 1
    if len(specs) == 1:
        specs *= count
    if len(specs) != count:
        raise InvalidArenaError(f"--agents names {len(specs)} agents; there are {count} other seats")
    return {(own + 1 + place) % rules.players: make_agent(spec) for place, spec in enumerate(specs)}


def _play_out(
    screen: Console, state: State, own: int, others: dict[int, Agent], rngs: list[np.random.Generator]
) -> None:
    """Play until the end or until the person leaves."""
    from ddz_env.agent import observe, reset
    from ddz_env.playing import ask, call, play_answer

    for seat, agent in others.items():
        call(agent, seat, "reset", reset, agent, seat, state.rules)
    while not state.is_over:
        seat = state.seat
        if seat == own:
            move = _ask(screen, state)
            if move is None:
                screen.print("goodbye")
                return
            state.step(move)
        else:
            role = (state.role(seat) or "bidder").replace("_", " ")
            answer = call(others[seat], seat, "act", ask, others[seat], state, rngs[seat])
            move = play_answer(state, others[seat], answer)
            screen.print(f"seat {seat} ({role}): {move}", markup=False)
        for place, agent in others.items():
            call(agent, place, "observe", observe, agent, seat, move)
    _render(screen, state, None)
    result = state.returns("win")[own]
    screen.print("[bold green]you win[/]" if result > 0 else "[bold red]you lose[/]" if result < 0 else "nobody bid")


def _ask(screen: Console, state: State) -> Move | None:
    """A legal move typed by the person, None to leave."""
    from ddz_env.errors import DouDizhuError

    _render(screen, state, state.seat)
    while True:
        try:
            text = screen.input("your move> ").strip()
        except EOFError:
            return None
        if text.lower() in ("q", "quit", "exit"):
            return None
        if text == "?":
            screen.print("  ".join(map(str, state.legal_moves())), markup=False)
            continue
        if not text:
            screen.print(_HELP, markup=False)
            continue
        try:
            return _read(state, text)
        except DouDizhuError as error:
            screen.print(f"{error}", style="red", markup=False)


def _read(state: State, text: str) -> Move:
    """The legal move that a text means; bare cards mean the one reading that is legal.

    Raises:
        DouDizhuError: If the text is no move or the move is not legal.
    """
    from ddz_env import Move
    from ddz_env.errors import AmbiguousMoveError

    try:
        move = Move.parse(text, state.rules)
    except AmbiguousMoveError:
        cards = Move.parse(text, state.rules.replace(ambiguous_cards="longest")).cards
        fitting = [legal for legal in state.legal_moves() if legal.cards == cards]
        if len(fitting) != 1:
            raise
        move = fitting[0]
    state.copy().step(move)
    return move


def _render(screen: Console, state: State, perspective: int | None) -> None:
    from ddz_env.render import render_ansi

    screen.print()
    screen.print(Text.from_ansi(render_ansi(state, perspective=perspective)))
