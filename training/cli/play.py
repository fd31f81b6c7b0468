"""``ddz play``: a person at the table, in a terminal."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from training.cli.console import console
from training.cli.dialogue import BRIEF, HELP, HINT, LEAVE, MOVES, asked, help_text, moves_table, read_move, say
from training.cli.help import RULES

if TYPE_CHECKING:
    import numpy as np
    from rich.console import Console

    from ddz_env import Move, Rules, State
    from ddz_env.agent import Agent

_ROLE_NAMES = ("landlord", "peasant-down", "peasant-up")


def play(
    agents: Annotated[
        str, typer.Option(help="Your opponents in playing order, separated by ';'; a single name stands for all.")
    ] = "isuct",
    seat: Annotated[int | None, typer.Option(min=0, max=2, help="Your seat.")] = None,
    role: Annotated[str | None, typer.Option(help="landlord, peasant-down or peasant-up, instead of a seat.")] = None,
    rules: Annotated[str, typer.Option(help=RULES)] = "standard",
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of the deal; a new deal each time by default.")] = None,
    hints: Annotated[str, typer.Option(metavar="AGENT", help="Who answers when you type hint.")] = "rules",
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
    advise = _adviser(hints, number)
    screen.print(f"seed {number}; you are in seat {own}.  {BRIEF}", markup=False)
    state = State.new(number, preset)
    try:
        _play_out(screen, state, own, others, seat_generators([number, 0, 0], preset.players), advise)
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
    screen: Console,
    state: State,
    own: int,
    others: dict[int, Agent],
    rngs: list[np.random.Generator],
    advise: Callable[[State], str],
) -> None:
    """Play until the end or until the person leaves."""
    from ddz_env.agent import observe, reset
    from ddz_env.playing import ask, call, play_answer

    for seat, agent in others.items():
        call(agent, seat, "reset", reset, agent, seat, state.rules)
    while not state.is_over:
        seat = state.seat
        if seat == own:
            move = _ask(screen, state, advise)
            if move is None:
                screen.print("goodbye")
                return
            state.step(move)
        else:
            who = f"seat {seat} ({(state.role(seat) or 'bidder').replace('_', ' ')})"
            answer = call(others[seat], seat, "act", ask, others[seat], state, rngs[seat])
            before = state.copy()
            move = play_answer(state, others[seat], answer)
            said = say(before, move)
            screen.print(f"{who}: {said}", markup=False)
        if not state.history:
            screen.print("everybody declined: a new deal")
        for place, agent in others.items():
            call(agent, place, "observe", observe, agent, seat, move)
    _render(screen, state, own, reveal=True)
    result = state.returns("win")[own]
    screen.print("[bold green]you win[/]" if result > 0 else "[bold red]you lose[/]" if result < 0 else "nobody bid")


def _ask(screen: Console, state: State, advise: Callable[[State], str]) -> Move | None:
    """A legal move typed by the person, None to leave."""
    from ddz_env.errors import DouDizhuError

    _render(screen, state, state.seat)
    while True:
        try:
            text = screen.input("your move (h helps)> ").strip()
        except EOFError:
            return None
        word = text.lower()
        if word in LEAVE:
            return None
        try:
            if word in MOVES:
                screen.print(moves_table(state))
            elif word in HELP:
                screen.print(help_text(asked(state)), markup=False)
            elif word in HINT:
                screen.print(advise(state), markup=False)
            else:
                return read_move(state, text)
        except DouDizhuError as error:
            screen.print(f"{error}", style="red", markup=False)


def _adviser(spec: str, seed: int) -> Callable[[State], str]:
    """What tells what an agent would do in the place of the seat to act; it draws none of the game's numbers."""
    import numpy as np

    from ddz_env.agent import observe, reset, sight
    from ddz_env.registry import make_agent

    agent = make_agent(spec)

    def advise(state: State) -> str:
        reset(agent, state.seat, state.rules)
        for seat, move in state.history:
            observe(agent, seat, move)
        rng = np.random.default_rng([seed, len(state.history)])
        return f"{agent.name} would play {agent.act(sight(agent, state), rng)}"

    return advise


def _render(screen: Console, state: State, own: int, *, reveal: bool = False) -> None:
    from ddz_env.render import render_ansi

    screen.print()
    screen.print(Text.from_ansi(render_ansi(state, perspective=own, reveal=reveal, width=screen.width)))
