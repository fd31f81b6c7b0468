"""``ddz solve``: open cards, solved to the end."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ddz_training.apps.cli.console import tell
from ddz_training.apps.cli.help import RULES
from ddz_training.apps.cli.options import leave_out
from ddz_training.apps.cli.signals import EXIT_INTERRUPTED

if TYPE_CHECKING:
    from ddz_agents.open_cards.solver.solver import OpenSolver, Solution
    from ddz_env import Rules, State

EXIT_UNKNOWN = 4
"""A limit came before the verdict."""
_OF_POSITIONS = ("--turn", "--to-beat", "--passed", "--landlord", "--at", "--all", "--stake", "--threads")
"""Options that a position is described or asked about by."""
_WON = {
    "first": "the first hand wins",
    "second": "the second hand wins",
    "landlord": "the landlord wins",
    "peasants": "the peasants win",
}
"""How each winner of the JSON is told in words."""


def solve(
    context: typer.Context,
    position: Annotated[
        str | None,
        typer.Argument(help="Two or three hands, 'KK5543 / 225543'; behind ':' the moves played from there."),
    ] = None,
    turn: Annotated[int, typer.Option(help="The hand that moves, from 1.")] = 1,
    to_beat: Annotated[str | None, typer.Option(help="The move on the table; without it the hand leads.")] = None,
    passed: Annotated[int, typer.Option(help="Of three hands, how many have passed on that move (0 or 1).")] = 0,
    landlord: Annotated[int, typer.Option(help="The landlord's hand, from 1; the others are one side.")] = 1,
    at_move: Annotated[
        int | None, typer.Option("--at", help="Solve after so many of the moves behind ':'; all by default.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option(help="Solve every line of a file of positions ('#' begins a remark).")
    ] = None,
    deal: Annotated[
        str | None, typer.Option(help="Solve positions dealt at random, as 12+13 or 10+10+10, and sum them up.")
    ] = None,
    count: Annotated[int, typer.Option(min=1, help="How many --deal deals.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Their seed.")] = 1,
    without: Annotated[list[str] | None, typer.Option(help="Switch a technique off; it changes no verdict.")] = None,
    rules: Annotated[str, typer.Option(help=RULES)] = "standard",
    every: Annotated[bool, typer.Option("--all", help="Say of every legal move whether it wins.")] = False,
    stake: Annotated[bool, typer.Option("--stake", help="Also what the landlord wins, in base stakes.")] = False,
    nodes: Annotated[int | None, typer.Option(min=1, help="Stop a search after so many positions.")] = None,
    seconds: Annotated[float | None, typer.Option(min=0.001, help="Stop a position after so many seconds.")] = None,
    megabytes: Annotated[float, typer.Option(min=0.01, max=65536, help="Size of the transposition table.")] = 64,
    threads: Annotated[int, typer.Option(min=1, max=256, help="Moves of --all searched at the same time.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a position.")] = False,
) -> None:
    """Say who wins with all hands known, and by which line."""
    from ddz_agents.open_cards.solver.position import InvalidPositionError
    from ddz_agents.open_cards.solver.solver import OpenSolver
    from ddz_env import Rules

    if sum(given is not None for given in (position, file, deal)) != 1:
        raise InvalidPositionError(
            "give one position, or --file FILE with one a line, or --deal SIZES: one of the three"
        )
    settings = {"nodes": nodes, "megabytes": megabytes, **_switches(without or [])}
    if deal is not None:
        leave_out(context, "positions of --deal are summed up, dealt as they are", *_OF_POSITIONS)
        _solve_dealt(deal, count, seed, rules, {**settings, "seconds": seconds}, as_json)
        return
    leave_out(context, "only --deal deals positions", "--count", "--seed")
    options = {"turn": turn, "to_beat": to_beat, "passed": passed, "landlord": landlord, "played": at_move}
    states = _positions(position, file, Rules.preset(rules), options)
    if not stake and all(state.rules.players == 2 for _, state in states):
        leave_out(context, "of two hands only --stake asks who is the landlord", "--landlord")
    solvers: dict[Any, OpenSolver] = {}
    unknown = False
    for text, state in states:
        if state.rules not in solvers:
            solvers[state.rules] = OpenSolver(state.rules, **settings)
        solver = solvers[state.rules]
        solution = solver.solve(state, seconds=seconds)
        found = _answer(solver, state, solution, threads if every else 0, stake, seconds)
        if as_json:
            typer.echo(json.dumps(found, ensure_ascii=False))
        else:
            _tell(text, found, solution)
        unknown = unknown or solution.landlord_wins is None
        if solution.reason == "interrupted":
            raise typer.Exit(EXIT_INTERRUPTED)
    if unknown:
        raise typer.Exit(EXIT_UNKNOWN)


def _switches(without: list[str]) -> dict[str, Any]:
    """The techniques' options."""
    from ddz_agents.open_cards.solver.solver import TECHNIQUES
    from ddz_env.core.checks import check_choice
    from ddz_env.core.errors import InvalidOptionError

    switches: dict[str, Any] = {}
    for name in without:
        check_choice("technique", name, TECHNIQUES, InvalidOptionError)
        switches[name] = "never" if name == "quick_wins" else False
    return switches


def _solve_dealt(deal: str, count: int, seed: int, rules: str, options: dict[str, Any], as_json: bool) -> None:
    """Solve random positions, each with an empty table, and tell times of the processor."""
    import numpy as np

    from ddz_agents.open_cards.solver.position import dealt_position, hand_sizes
    from ddz_agents.open_cards.solver.solver import OpenSolver

    sizes, rng = hand_sizes(deal), np.random.default_rng(seed)
    states = [dealt_position(sizes, rng, rules) for _ in range(count)]
    solver = OpenSolver(states[0].rules, **options)
    solver.solve(dealt_position([2] * len(sizes), rng, rules))  # compiles, where nothing is compiled
    taken, opened, solved, first = [], [], 0, 0
    for state in states:
        solver.clear()
        began = time.process_time()
        solution = solver.solve(state)
        taken.append(time.process_time() - began)
        opened.append(solution.nodes)
        solved += solution.landlord_wins is not None
        first += solution.landlord_wins is True
        if solution.reason == "interrupted":
            raise typer.Exit(EXIT_INTERRUPTED)
    found = {
        "deal": deal,
        "positions": count,
        "solved": solved,
        "first_wins": first,
        "median_seconds": round(float(np.median(taken)), 6),
        "seconds_99": round(float(np.quantile(taken, 0.99)), 6),
        "median_nodes": int(np.median(opened)),
        "mean_nodes": int(np.mean(opened)),
        "nodes_per_second": int(sum(opened) / max(sum(taken), 1e-9)),
    }
    if as_json:
        typer.echo(json.dumps(found))
    else:
        for name, value in found.items():
            tell(f"{name}: {value}")


def _positions(
    position: str | None, file: Path | None, rules: Rules, options: dict[str, Any]
) -> list[tuple[str, State]]:
    """The position, or those of a file, as text and as a state: all of them are read before the first is solved.

    Raises:
        InvalidPositionError: If a line of the file, which it then names, is no position, or there is none.
        DouDizhuError: If the position itself is none.
    """
    from ddz_agents.open_cards.solver.position import InvalidPositionError, open_position
    from ddz_env.core.errors import DouDizhuError

    if position is not None:
        return [(position, open_position(position, rules, **options))]
    assert file is not None
    found = []
    for number, text in _lines(file):
        try:
            found.append((text, open_position(text, rules, **options)))
        except DouDizhuError as error:
            raise InvalidPositionError(f"{file}:{number}: {error}") from error
    return found


def _lines(file: Path) -> list[tuple[int, str]]:
    """The lines of a file that are more than a remark, with their numbers.

    Raises:
        InvalidPositionError: If there are none.
    """
    from ddz_agents.open_cards.solver.position import InvalidPositionError

    try:
        lines = (line.partition("#")[0].strip() for line in file.read_text(encoding="utf-8").splitlines())
    except UnicodeDecodeError as error:
        raise InvalidPositionError(f"{file} is no text: {error}") from error
    found = [(number, line) for number, line in enumerate(lines, 1) if line]
    if not found:
        raise InvalidPositionError(f"there is no position in {file}: write one a line, as 'KK5543 / 225543'")
    return found


def _answer(
    solver: OpenSolver, state: State, solution: Solution, threads: int, stake: bool, seconds: float | None
) -> dict[str, Any]:
    """What is printed, as JSON has it; the value of every move if there are threads for them."""
    line = solver.line(state, seconds) if solution.landlord_wins is not None else []
    found: dict[str, Any] = {
        "winner": _winner(state, solution.landlord_wins),
        "move": str(line[0][1]) if line else None,
        "line": [str(move) for _, move in line],
        "nodes": solution.nodes,
        "seconds": round(solution.seconds, 6),
    }
    if solution.reason:
        found["reason"] = solution.reason
    if threads:
        found["moves"] = {str(move): wins for move, wins in solver.move_values(state, seconds, threads)}
    if stake:
        found["stake"] = solver.stake(state, seconds)
    return found


def _winner(state: State, landlord_wins: bool | None) -> str | None:
    """The side that wins: of two hands the first or the second, of three the landlord or the peasants."""
    from ddz_env.core.engine.layout import LANDLORD

    if landlord_wins is None:
        return None
    if state.rules.players == 2:
        return "first" if landlord_wins == (int(state.row[LANDLORD]) == 0) else "second"
    return "landlord" if landlord_wins else "peasants"


def _tell(text: str, found: dict[str, Any], solution: Solution) -> None:
    """The same in words."""
    from ddz_env.core.errors import plural

    spent = f"{plural(solution.nodes, 'node')}, {solution.seconds:.3f} s"
    if found["winner"] is None:
        tell(f"{text}: unknown, stopped by {solution.reason} after {spent}")
    else:
        tell(f"{text}: {_WON[found['winner']]} ({spent})")
        tell("  " + " ".join(found["line"]))
    for move, wins in found.get("moves", {}).items():
        tell(f"  {move}: {'unknown' if wins is None else 'wins' if wins else 'loses'}")
    if "stake" in found:
        value = found["stake"]
        tell(f"  the landlord's stake: {'unknown' if value is None else f'{value:+d}'}")
