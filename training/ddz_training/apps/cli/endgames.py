"""``ddz solve``, ``puzzles`` and ``bidding``: open cards solved to the end, and what a hand is worth before."""

from __future__ import annotations

import itertools
import json as json_module
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ddz_env import Rules, State
from ddz_env.core.engine.layout import LANDLORD
from ddz_env.core.errors import DouDizhuError, plural
from ddz_env.core.whole_file import replace_file
from ddz_training.apps.cli.commands import leave_out
from ddz_training.apps.cli.console import remark, show, tell
from ddz_training.apps.cli.lazily import lazily
from ddz_training.apps.cli.options import Natural, OptionalCount, Preset, output_file
from ddz_training.apps.cli.signals import EXIT_INTERRUPTED

with lazily():
    from ddz_agents.bidding import hand as bidding_hand
    from ddz_agents.bidding import policy as bidding_policy
    from ddz_agents.open_cards.solver import position as solver_position
    from ddz_agents.open_cards.solver import puzzles as solver_puzzles
    from ddz_agents.open_cards.solver import solver as open_solver
    from ddz_training.apps import hand_odds

EXIT_UNKNOWN = 4
"""A limit came before the verdict."""
_WON = {
    "first": "the first hand wins",
    "second": "the second hand wins",
    "landlord": "the landlord wins",
    "peasants": "the peasants win",
}
"""How each winner of the JSON is told in words."""


def solve(
    context: typer.Context,
    position: Annotated[str | None, typer.Argument()] = None,
    turn: int = 1,
    to_beat: str | None = None,
    passed: int = 0,
    landlord: int = 1,
    at_move: Annotated[int | None, typer.Option("--at")] = None,
    file: Path | None = None,
    rules: Preset = "standard",
    every: Annotated[bool, typer.Option("--all")] = False,
    stake: bool = False,
    nodes: OptionalCount = None,
    seconds: Annotated[float | None, typer.Option(min=0.001)] = None,
    megabytes: Annotated[float, typer.Option(min=0.01, max=65536)] = 64,
    threads: Annotated[int, typer.Option(min=1, max=256)] = 1,
    as_json: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    """Say who wins with all hands known, and by which line.

    Options:
        position: Two or three hands, 'KK5543 / 225543'; behind ':' the moves played from there.
        turn: The hand that moves, from 1.
        to_beat: The move on the table; without it the hand leads.
        passed: Of three hands, how many have passed on that move (0 or 1).
        landlord: The landlord's hand, from 1; the others are one side.
        at_move: Solve after so many of the moves behind ':'; all by default.
        file: Solve every line of a file of positions ('#' begins a remark).
        every: Say of every legal move whether it wins.
        stake: Also what the landlord wins, in base stakes.
        nodes: Stop a search after so many positions.
        seconds: Stop a position after so many seconds.
        megabytes: Size of the transposition table.
        threads: Moves of --all searched at the same time.
        as_json: Print one JSON object a position.

    Example:
        ddz solve 'KK5543 / 225543'
        ddz solve 'KK5543 / 225543' --turn 2 --to-beat 4 --all
        ddz solve '44668 / 5578 / 3399: 3, 5' --rules rlcard --json
        ddz solve --file positions.txt --seconds 10 --stake
    """
    if (position is None) == (file is None):
        raise solver_position.InvalidPositionError("give one position, or --file FILE with one a line")
    options: dict[str, Any] = {
        "turn": turn,
        "to_beat": to_beat,
        "passed": passed,
        "landlord": landlord,
        "played": at_move,
    }
    preset = Rules.preset(rules)
    if file is not None:
        states = _positions(file, preset, options)
    else:
        states = [(position or "", solver_position.open_position(position or "", preset, **options))]
    if not stake and all(state.rules.players == 2 for _, state in states):
        leave_out(context, "of two hands only --stake asks who is the landlord", "--landlord")
    solvers: dict[Any, open_solver.OpenSolver] = {}
    unknown = False
    for text, state in states:
        if state.rules not in solvers:
            solvers[state.rules] = open_solver.OpenSolver(state.rules, nodes=nodes, megabytes=megabytes)
        solver = solvers[state.rules]
        solution = solver.solve(state, seconds=seconds)
        found = _answer(solver, state, solution, threads if every else 0, stake, seconds)
        if as_json:
            typer.echo(json_module.dumps(found, ensure_ascii=False))
        else:
            _tell(text, found, solution)
        unknown = unknown or solution.landlord_wins is None
        if solution.reason == "interrupted":
            raise typer.Exit(EXIT_INTERRUPTED)
    if unknown:
        raise typer.Exit(EXIT_UNKNOWN)


def _positions(file: Path, rules: Rules, options: dict[str, Any]) -> list[tuple[str, State]]:
    """The positions of a file, as text and as states: all of them are read before the first is solved.

    Raises:
        InvalidPositionError: If a line of the file, which it then names, is no position, or there is none.
    """
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise solver_position.InvalidPositionError(f"{file} is no text: {error}") from error
    found = []
    for number, line in enumerate(lines, 1):
        text = line.partition("#")[0].strip()
        try:
            if text:
                found.append((text, solver_position.open_position(text, rules, **options)))
        except DouDizhuError as error:
            raise solver_position.InvalidPositionError(f"{file}:{number}: {error}") from error
    if not found:
        example = "write one a line, as 'KK5543 / 225543'"
        raise solver_position.InvalidPositionError(f"there is no position in {file}: {example}")
    return found


def _answer(
    solver: open_solver.OpenSolver,
    state: State,
    solution: open_solver.Solution,
    threads: int,
    stake: bool,
    seconds: float | None,
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
    if landlord_wins is None:
        return None
    if state.rules.players == 2:
        return "first" if landlord_wins == (int(state.row[LANDLORD]) == 0) else "second"
    return "landlord" if landlord_wins else "peasants"


def _tell(text: str, found: dict[str, Any], solution: open_solver.Solution) -> None:
    """The same in words."""
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


def puzzles(
    context: typer.Context,
    number: Annotated[int | None, typer.Argument(min=1)] = None,
    answer: bool = False,
    make: OptionalCount = None,
    deal: str = "8+8",
    seed: Natural = 1,
    out: Annotated[Path | None, typer.Option(callback=output_file(new=True))] = None,
) -> None:
    """Pose endgame puzzles (残局) with exactly one winning first move, or make new ones.

    Options:
        number: A puzzle by its number; by default how many of each grade there are.
        answer: Show the winning move and a line to the end.
        make: Make so many new ones instead.
        deal: Cards of each hand of new ones.
        seed: Seed of new ones.
        out: Write new ones to a new file, one a line.

    Example:
        ddz puzzles
        ddz puzzles 12 --answer
        ddz puzzles --make 20 --deal 9+9 --out mine.txt
    """
    if make is not None:
        leave_out(context, "--make makes new puzzles", "number", "--answer")
        rng = np.random.default_rng(seed)
        made = itertools.islice(solver_puzzles.make_puzzles(solver_position.hand_sizes(deal), rng), make)
        lines = "".join(f"{puzzle}\n" for puzzle in sorted(made, key=lambda puzzle: puzzle.grade))
        if out is None:
            typer.echo(lines, nl=False)
        else:
            replace_file(out, lines.encode())
        return
    leave_out(context, "only --make makes new puzzles", "--deal", "--seed", "--out")
    known = solver_puzzles.shipped_puzzles()
    if number is None:
        leave_out(context, "no puzzle is named by its number", "--answer")
        for grade in sorted({puzzle.grade for puzzle in known}):
            count = sum(puzzle.grade == grade for puzzle in known)
            tell(f"grade {grade}: {plural(count, 'puzzle')}")
        return
    if number > len(known):
        raise solver_position.InvalidPositionError(f"there is no puzzle {number}: there are {len(known)}")
    puzzle = known[number - 1]
    tell(f"puzzle {number}, grade {puzzle.grade}: {puzzle.hands}")
    remark("The first hand leads. Which move wins?", None)
    if answer:
        state = solver_position.open_position(puzzle.hands)
        line = open_solver.OpenSolver(state.rules).line(state)
        tell(f"{puzzle.move}: {' '.join(str(move) for _, move in line)}")


def bidding(
    context: typer.Context,
    cards: Annotated[str, typer.Argument()],
    bottom: str = "",
    role: str = "landlord",
    bid: Annotated[int, typer.Option(min=0, max=3)] = 0,
    player: list[str] | None = None,
    worlds: Annotated[int, typer.Option(min=1, max=1000000)] = 500,
    bankroll: float | None = None,
    rules: Preset = "bidding,doubling=true",
    seed: Natural = 0,
    convergence: bool = False,
    json: bool = False,
) -> None:
    """Estimate a hand's win rate from dealt worlds, and what bidding (or showing, or doubling) is expected to bring.

    Options:
        cards: The 17 cards dealt: 3344567TJQQKA22BR.
        bottom: The three landlord cards: the auction is over; show the hand, or double?
        role: With --bottom: landlord, peasant-down or peasant-up.
        bid: The bid that stands: of the seat before; with --bottom the landlord's.
        player: Who plays the worlds out; may be repeated (rules and policy by default).
        worlds: How many worlds are dealt.
        bankroll: All that could be lost, in base stakes; none by default: no loss rate.
        seed: Seed of the worlds.
        convergence: Show how the win rate settles as worlds are added.
        json: Print JSON instead of tables.

    Example:
        ddz bidding 3344567TJQQKA22BR
        ddz bidding 3344567TJQQKA22BR --bid 1 --convergence
        ddz bidding 3344567TJQQKA22BR --bottom 359 --role peasant-up --bid 2 --json
    """
    if not bottom:
        leave_out(context, "roles come with the landlord cards (--bottom)", "--role")
    elif bid == 0:
        leave_out(context, "with --bottom the bid is the landlord's, which is never 0", "--bid")
    elif (preset := Rules.preset(rules)).bidding == "fixed":
        leave_out(context, f"under the {preset.name} rules nobody bids", "--bid")
    view = bidding_hand.hand_view(cards, rules, bottom, role, bid)
    options = [bidding_policy.PayoffOptions(worlds, name, bankroll) for name in player or ("rules", "policy")]
    reports = [hand_odds.report(view, one, seed) for one in options]
    if json:
        typer.echo(json_module.dumps([one.as_dict() for one in reports], ensure_ascii=False))
        return
    for one in reports:
        show(one.table())
    for one in reports if convergence else ():
        show(one.settling_table())
    remark("95 % intervals; stakes and payoffs in base stakes.")
