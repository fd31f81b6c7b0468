"""The commands ``ddz solve``, ``puzzles`` and ``bidding``: exact endgame solving and hand evaluation before play."""

from __future__ import annotations

import functools
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click import argument, option

from ddz_env.support.checks import check_choice
from ddz_env.support.errors import DouDizhuError, pluralize
from ddz_training.cli.console import print_prose, print_table
from ddz_training.cli.options import COUNT, RULES

if TYPE_CHECKING:
    from ddz_env import Rules
    from ddz_env.core.state import State

EXIT_UNKNOWN = 4
"""A limit came before the verdict."""


@click.command()
@argument("position", required=False, help="Two or three hands, 'KK5543 / 225543'; the moves from there follow a ':'.")
@option("--turn", type=int, default=1, help="The hand that moves, from 1.")
@option("--to-beat", help="The move on the table; without it the hand leads.")
@option("--landlord", type=int, default=1, help="The landlord's hand, from 1; the others are one side.")
@option("--file", type=Path, help="Solve every line of a file of positions ('#' begins a remark).")
@option("--all", "every", is_flag=True, help="Say of every legal move whether it wins.")
@option("--stake", is_flag=True, help="Also what the landlord wins, in base stakes.")
@option("--nodes", type=COUNT, help="Stop a search after this many positions.")
@option("--seconds", type=float, help="Stop a position after this many seconds.")
@option("--json", "as_json", is_flag=True, help="Print one JSON object per position.")
@option("--without", multiple=True, help="A category that may not be played, as trio+pair; may be repeated.")
@option("--rules", default="standard", help=RULES)
def solve(
    position: str | None,
    turn: int,
    to_beat: str | None,
    landlord: int,
    file: Path | None,
    every: bool,
    stake: bool,
    nodes: int | None,
    seconds: float | None,
    as_json: bool,
    without: tuple[str, ...],
    rules: str,
) -> None:
    """Say who wins with all hands known, and by which line.

    \b
    Examples:
      ddz solve 'KK5543 / 225543'
      ddz solve 'KK5543 / 225543' --turn 2 --to-beat 4 --all
      ddz solve '44668 / 5578 / 3399: 3, 5' --rules rlcard --json
      ddz solve '33344 / 66789' --without trio+pair
      ddz solve --file positions.txt --seconds 10 --stake
    """
    from ddz_agents.open_cards.solver.position import InvalidPositionError, open_position
    from ddz_agents.open_cards.solver.solver import OpenSolver

    if (position is None) == (file is None):
        raise InvalidPositionError("give one position, or --file FILE with one per line")
    played = _rules_without(rules, without)
    read = functools.partial(open_position, rules=played, turn=turn, to_beat=to_beat, landlord=landlord)
    states = [(position, read(position))] if position is not None else list(_read_positions(file, read))
    solver_of, unknown = functools.cache(functools.partial(OpenSolver, nodes=nodes)), False
    for text, state in states:
        solver = solver_of(state.rules)
        solution = solver.solve(state, seconds=seconds)
        line = [str(move) for _, move in solver.line(state, seconds)] if solution.landlord_wins is not None else []
        answer: dict[str, Any] = {
            "winner": _winning_side(state, solution.landlord_wins),
            "move": line[0] if line else None,
        }
        answer |= {"line": line, "nodes": solution.nodes, "seconds": round(solution.seconds, 6)}
        if solution.reason:
            answer["reason"] = solution.reason
        if every:
            answer["moves"] = {str(move): wins for move, wins in solver.move_values(state, seconds)}
        if stake:
            answer["stake"] = solver.stake(state, seconds)
        click.echo(json.dumps(answer, ensure_ascii=False) if as_json else f"{text}: {_answer_text(answer)}")
        unknown = unknown or solution.landlord_wins is None
    if unknown:
        raise click.exceptions.Exit(EXIT_UNKNOWN)


def _rules_without(name: str, forbidden: Sequence[str]) -> Rules:
    """Return a rules preset with some categories of moves forbidden (禁手)."""
    from ddz_env import Rules
    from ddz_env.support.errors import InvalidRulesError

    rules = Rules.preset(name)
    for category in forbidden:
        check_choice("category", category, rules.categories, InvalidRulesError)
    return rules.replace(categories=tuple(known for known in rules.categories if known not in forbidden))


def _read_positions(file: Any, read: Callable[[str], State]) -> Iterator[tuple[str, State]]:
    """Read positions from a file, one per line, and yield each line with the state that it describes."""
    from ddz_agents.open_cards.solver.position import InvalidPositionError
    from ddz_env.support.atomic_files import read_text

    content = read_text(file, errors="replace")
    lines = [line.partition("#")[0].strip() for line in content.splitlines()]
    if not any(lines):
        raise InvalidPositionError(f"there is no position in {file}: write one per line, as 'KK5543 / 225543'")
    for number, text in enumerate(lines, 1):
        try:
            if text:
                yield text, read(text)
        except DouDizhuError as error:
            raise InvalidPositionError(f"{file}:{number}: {error}") from error


def _winning_side(state: State, landlord_wins: bool | None) -> str | None:
    """Return the winner: ``first`` or ``second`` of two hands, else ``landlord`` or ``peasants``; None if unknown."""
    from ddz_env.core.engine import layout

    if landlord_wins is None:
        return None
    if state.rules.players == 2:
        return "first" if landlord_wins == (int(state.row[layout.LANDLORD]) == 0) else "second"
    return "landlord" if landlord_wins else "peasants"


def _answer_text(answer: dict[str, Any]) -> str:
    """Format an answer of ``ddz solve`` as sentences for the terminal."""
    winner, spent = answer["winner"], f"{pluralize(answer['nodes'], 'node')}, {answer['seconds']:.3f} s"
    if winner is None:
        lines = [f"unknown, stopped by {answer['reason']} after {spent}"]
    else:
        side = "peasants win" if winner == "peasants" else f"{winner}{' hand' * (winner != 'landlord')} wins"
        lines = [f"the {side} ({spent})", f"  {' '.join(answer['line'])}"]
    known = {True: "wins", False: "loses", None: "unknown"}
    lines += [f"  {move}: {known[wins]}" for move, wins in answer.get("moves", {}).items()]
    if "stake" in answer:
        value = answer["stake"]
        lines.append(f"  the landlord's stake: {'unknown' if value is None else f'{value:+d}'}")
    return "\n".join(lines)


@click.command()
@argument("number", required=False, type=COUNT, help="A puzzle by its number; without it the grades are counted.")
@option("--answer", is_flag=True, help="Show the winning move and a line to the end.")
def puzzles(number: int | None, answer: bool) -> None:
    """Pose endgame puzzles (残局) with exactly one winning first move.

    \b
    Examples:
      ddz puzzles
      ddz puzzles 12 --answer
    """
    from ddz_agents.open_cards.solver.position import InvalidPositionError, open_position
    from ddz_agents.open_cards.solver.solver import OpenSolver
    from ddz_play.puzzles import load_puzzles

    known = load_puzzles()
    if number is None:
        for grade, count in sorted(Counter(puzzle.grade for puzzle in known).items()):
            click.echo(f"grade {grade}: {pluralize(count, 'puzzle')}")
        return
    if number > len(known):
        raise InvalidPositionError(f"there is no puzzle {number}: there are {len(known)}")
    puzzle = known[number - 1]
    click.echo(f"puzzle {number}, grade {puzzle.grade}: {puzzle.hands}\nThe first hand leads. Which move wins?")
    if answer:
        state = open_position(puzzle.hands)
        line = OpenSolver(state.rules).line(state)
        click.echo(f"{puzzle.move}: {' '.join(str(move) for _, move in line)}")


@click.command()
@argument("cards", help="The 17 cards dealt: 3344567TJQQKA22BR.")
@option("--bottom", default="", help="The three landlord cards: the auction is over; show the hand, or double?")
@option("--role", default="landlord", help="With --bottom: landlord, peasant-down or peasant-up.")
@option("--bid", type=click.IntRange(0, 3), default=0, help="The highest bid so far; with --bottom the landlord's.")
@option("--player", multiple=True, default=("rules", "policy"), help="Who plays the worlds out; may be repeated.")
@option("--worlds", type=click.IntRange(1, 1_000_000), default=500, help="How many worlds are dealt.")
@option("--rules", default="bidding,doubling=true", help=RULES)
@option("--seed", type=click.IntRange(0), default=0, help="Seed of the worlds.")
@option("--convergence", is_flag=True, help="Show how the win rate settles as worlds are added.")
@option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
def bidding(
    cards: str,
    bottom: str,
    role: str,
    bid: int,
    player: tuple[str, ...],
    worlds: int,
    rules: str,
    seed: int,
    convergence: bool,
    as_json: bool,
) -> None:
    """Estimate a hand's win rate from sampled deals, and the expected value of bidding, showing or doubling.

    \b
    Examples:
      ddz bidding 3344567TJQQKA22BR
      ddz bidding 3344567TJQQKA22BR --bid 1 --convergence
      ddz bidding 3344567TJQQKA22BR --bottom 359 --role peasant-up --bid 2 --json
    """
    from ddz_agents.bidding.hand import hand_view
    from ddz_agents.bidding.policy import PayoffOptions
    from ddz_play import hand_odds

    view = hand_view(cards, rules, bottom, role, bid)
    reports = [hand_odds.make_report(view, PayoffOptions(worlds, name), seed) for name in player]
    if as_json:
        click.echo(json.dumps([report.as_dict() for report in reports], ensure_ascii=False))
        return
    for report in reports:
        print_table(report.table())
    for report in reports if convergence else ():
        print_table(report.settling_table())
    print_prose("95 % intervals; stakes and payoffs in base stakes.", dim=True)
