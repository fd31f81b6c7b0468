"""``ddz solve``, ``puzzles`` and ``bidding``: open cards solved to the end, and what a hand is worth before."""

from __future__ import annotations

import functools
import itertools
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click import argument, option

from ddz_env.core.errors import DouDizhuError, plural
from ddz_training.apps.cli.console import remark, show, tell
from ddz_training.apps.cli.options import COUNT, NATURAL, PATH, RULES, SECONDS, Texts
from ddz_training.apps.cli.outputs import NEW
from ddz_training.apps.cli.typed import leave_out

if TYPE_CHECKING:
    from ddz_agents.open_cards.solver.solver import OpenSolver, Solution
    from ddz_env.core.state import State

EXIT_UNKNOWN = 4
"""A limit came before the verdict."""
_WON = {
    "first": "the first hand wins",
    "second": "the second hand wins",
    "landlord": "the landlord wins",
    "peasants": "the peasants win",
}
"""How each winner of the JSON is named in words."""


@click.command()
@argument("position", required=False, help="Two or three hands, 'KK5543 / 225543'; behind ':' the moves from there.")
@option("--turn", type=int, default=1, help="The hand that moves, from 1.")
@option("--to-beat", help="The move on the table; without it the hand leads.")
@option("--landlord", type=int, default=1, help="The landlord's hand, from 1; the others are one side.")
@option("--at", "played", type=int, help="Solve after this many of the moves behind ':'; all by default.")
@option("--file", type=PATH, help="Solve every line of a file of positions ('#' begins a remark).")
@option("--all", "every", is_flag=True, help="Say of every legal move whether it wins.")
@option("--stake", is_flag=True, help="Also what the landlord wins, in base stakes.")
@option("--nodes", type=COUNT, help="Stop a search after this many positions.")
@option("--seconds", type=SECONDS, help="Stop a position after this many seconds.")
@option("--json", "as_json", is_flag=True, help="Print one JSON object per position.")
@option("--rules", default="standard", help=RULES)
def solve(
    position: str | None, file: Path | None, every: bool, stake: bool, as_json: bool, nodes: int | None, **where: Any
) -> None:
    """Say who wins with all hands known, and by which line.

    \b
    Examples:
      ddz solve 'KK5543 / 225543'
      ddz solve 'KK5543 / 225543' --turn 2 --to-beat 4 --all
      ddz solve '44668 / 5578 / 3399: 3, 5' --rules rlcard --json
      ddz solve --file positions.txt --seconds 10 --stake
    """
    from ddz_agents.open_cards.solver.position import InvalidPositionError
    from ddz_agents.open_cards.solver.solver import OpenSolver

    if (position is None) == (file is None):
        raise InvalidPositionError("give one position, or --file FILE with one per line")
    seconds = where.pop("seconds")
    states = list(_states({"": position or ""} if file is None else _lines(file), where))
    if not stake and all(state.rules.players == 2 for _, state in states):
        leave_out("of two hands only --stake depends on who is the landlord", "landlord")
    solver_of = functools.cache(functools.partial(OpenSolver, nodes=nodes))
    unknown = False
    for text, state in states:
        solver = solver_of(state.rules)
        solution = solver.solve(state, seconds=seconds)
        found = _answer(solver, state, solution, seconds)
        if every:
            found["moves"] = {str(move): wins for move, wins in solver.move_values(state, seconds)}
        if stake:
            found["stake"] = solver.stake(state, seconds)
        if as_json:
            tell(json.dumps(found, ensure_ascii=False))
        else:
            _tell_in_words(text, found, solution)
        unknown = unknown or solution.landlord_wins is None
    if unknown:
        raise click.exceptions.Exit(EXIT_UNKNOWN)


def _lines(file: Path) -> dict[str, str]:
    """The positions of a file, by what names their line."""
    from ddz_agents.open_cards.solver.position import InvalidPositionError

    lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    stripped = {f"{file}:{number}: ": line.partition("#")[0].strip() for number, line in enumerate(lines, 1)}
    texts = {where: text for where, text in stripped.items() if text}
    if not texts:
        example = "write one per line, as 'KK5543 / 225543'"
        raise InvalidPositionError(f"there is no position in {file}: {example}")
    return texts


def _states(texts: dict[str, str], options: dict[str, Any]) -> Iterator[tuple[str, State]]:
    """The positions as text and as states; one of a file that cannot be read is named by its line."""
    from ddz_agents.open_cards.solver.position import InvalidPositionError, open_position

    for where, text in texts.items():
        try:
            yield text, open_position(text, **options)
        except DouDizhuError as error:
            raise InvalidPositionError(f"{where}{error}") from error


def _answer(solver: OpenSolver, state: State, solution: Solution, seconds: float | None) -> dict[str, Any]:
    """What is printed, as JSON has it."""
    line = solver.line(state, seconds) if solution.landlord_wins is not None else []
    found: dict[str, Any] = {
        "winner": _winner(state, solution.landlord_wins),
        "move": str(line[0][1]) if line else None,
        "line": [str(move) for _, move in line],
        "nodes": solution.nodes,
        "seconds": round(solution.seconds, 6),
    }
    return {**found, "reason": solution.reason} if solution.reason else found


def _winner(state: State, landlord_wins: bool | None) -> str | None:
    """The side that wins: of two hands the first or the second, of three the landlord or the peasants."""
    from ddz_env.core.engine import layout

    if landlord_wins is None:
        return None
    if state.rules.players == 2:
        return "first" if landlord_wins == (int(state.row[layout.LANDLORD]) == 0) else "second"
    return "landlord" if landlord_wins else "peasants"


def _tell_in_words(text: str, found: dict[str, Any], solution: Solution) -> None:
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


@click.command()
@argument("number", required=False, type=COUNT, help="A puzzle by its number; without it the grades are counted.")
@option("--answer", is_flag=True, help="Show the winning move and a line to the end.")
@option("--make", type=COUNT, help="Make this many new ones instead.")
@option("--deal", default="8+8", help="Cards of each hand of new ones.")
@option("--seed", type=NATURAL, default=1, help="Seed of new ones.")
@option("--out", type=NEW, help="Write new ones to a new file, one per line.")
def puzzles(number: int | None, answer: bool, make: int | None, deal: str, seed: int, out: Path | None) -> None:
    """Pose endgame puzzles (残局) with exactly one winning first move, or make new ones.

    \b
    Examples:
      ddz puzzles
      ddz puzzles 12 --answer
      ddz puzzles --make 20 --deal 9+9 --out mine.txt
    """
    from ddz_agents.open_cards.solver.position import InvalidPositionError, open_position
    from ddz_agents.open_cards.solver.puzzles import shipped_puzzles
    from ddz_agents.open_cards.solver.solver import OpenSolver

    known = shipped_puzzles()
    if make is not None:
        leave_out("--make makes new puzzles", "number", "answer")
        _make_puzzles(make, deal, seed, out)
        return
    leave_out("only --make makes new puzzles", "deal", "seed", "out")
    if number is None:
        for grade, count in sorted(Counter(puzzle.grade for puzzle in known).items()):
            tell(f"grade {grade}: {plural(count, 'puzzle')}")
        return
    if number > len(known):
        raise InvalidPositionError(f"there is no puzzle {number}: there are {len(known)}")
    puzzle = known[number - 1]
    tell(f"puzzle {number}, grade {puzzle.grade}: {puzzle.hands}")
    tell("The first hand leads. Which move wins?")
    if answer:
        state = open_position(puzzle.hands)
        line = OpenSolver(state.rules).line(state)
        tell(f"{puzzle.move}: {' '.join(str(move) for _, move in line)}")


def _make_puzzles(count: int, deal: str, seed: int, out: Path | None) -> None:
    from numpy.random import default_rng

    from ddz_agents.open_cards.solver.position import hand_sizes
    from ddz_agents.open_cards.solver.puzzles import make_puzzles
    from ddz_env.core.whole_file import replace_file

    every = make_puzzles(hand_sizes(deal), default_rng(seed))
    made = sorted(itertools.islice(every, count), key=lambda puzzle: puzzle.grade)
    lines = "".join(f"{puzzle}\n" for puzzle in made)
    if out is None:
        click.echo(lines, nl=False)
    else:
        replace_file(out, lines.encode())


@click.command()
@argument("cards", help="The 17 cards dealt: 3344567TJQQKA22BR.")
@option("--bottom", default="", help="The three landlord cards: the auction is over; show the hand, or double?")
@option("--role", default="landlord", help="With --bottom: landlord, peasant-down or peasant-up.")
@option("--bid", type=click.IntRange(0, 3), default=0, help="The highest bid so far; with --bottom the landlord's.")
@option("--player", multiple=True, default=("rules", "policy"), help="Who plays the worlds out; may be repeated.")
@option("--worlds", type=click.IntRange(1, 1_000_000), default=500, help="How many worlds are dealt.")
@option("--bankroll", type=float, help="All that could be lost, in base stakes; none by default: no loss rate.")
@option("--rules", default="bidding,doubling=true", help=RULES)
@option("--seed", type=NATURAL, default=0, help="Seed of the worlds.")
@option("--convergence", is_flag=True, help="Show how the win rate settles as worlds are added.")
@option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
def bidding(
    player: Texts, worlds: int, bankroll: float | None, seed: int, convergence: bool, as_json: bool, **hand: Any
) -> None:
    """Estimate a hand's win rate from dealt worlds, and what bidding (or showing, or doubling) is expected to bring.

    \b
    Examples:
      ddz bidding 3344567TJQQKA22BR
      ddz bidding 3344567TJQQKA22BR --bid 1 --convergence
      ddz bidding 3344567TJQQKA22BR --bottom 359 --role peasant-up --bid 2 --json
    """
    from ddz_agents.bidding.hand import hand_view
    from ddz_agents.bidding.policy import PayoffOptions
    from ddz_training.apps import hand_odds

    if not hand["bottom"]:
        leave_out("roles come with the landlord cards (--bottom)", "role")
    view = hand_view(hand.pop("cards"), **hand)
    reports = [hand_odds.report(view, PayoffOptions(worlds, name, bankroll), seed) for name in player]
    if as_json:
        tell(json.dumps([report.as_dict() for report in reports], ensure_ascii=False))
        return
    for report in reports:
        show(report.table())
    for report in reports if convergence else ():
        show(report.settling_table())
    remark("95 % intervals; stakes and payoffs in base stakes.", dim=True)
