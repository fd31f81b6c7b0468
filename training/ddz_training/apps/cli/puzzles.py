"""``ddz puzzles``: endgames in which exactly one move wins."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ddz_env.core.errors import plural
from ddz_env.core.whole_file import replace_file
from ddz_training.apps.cli.console import remark, tell
from ddz_training.apps.cli.help import RULES
from ddz_training.apps.cli.options import leave_out
from ddz_training.apps.cli.outputs import output_file


def puzzles(
    context: typer.Context,
    number: Annotated[
        int | None, typer.Argument(min=1, help="A puzzle by its number; by default how many of each grade there are.")
    ] = None,
    answer: Annotated[bool, typer.Option("--answer", help="Show the winning move and a line to the end.")] = False,
    make: Annotated[int | None, typer.Option(min=1, help="Make so many new ones instead.")] = None,
    deal: Annotated[str, typer.Option(help="Cards of each hand of new ones.")] = "8+8",
    seed: Annotated[int, typer.Option(min=0, help="Seed of new ones.")] = 1,
    verify: Annotated[bool, typer.Option("--verify", help="Check new ones by plain minimax.")] = False,
    out: Annotated[
        Path | None, typer.Option(help="Write new ones to a new file, one a line.", callback=output_file(new=True))
    ] = None,
    rules: Annotated[str, typer.Option(help=RULES)] = "standard",
) -> None:
    """Pose endgame puzzles (残局) with exactly one winning first move, or make new ones."""
    from ddz_agents.open_cards.solver.position import InvalidPositionError
    from ddz_agents.open_cards.solver.puzzles import shipped_puzzles

    if make is not None:
        leave_out(context, "--make makes new puzzles", "number", "--answer")
        _make(make, deal, seed, verify, out, rules)
        return
    leave_out(context, "only --make makes new puzzles", "--deal", "--seed", "--verify", "--out")
    if number is None:
        leave_out(context, "no puzzle is named by its number", "--answer", "--rules")
    elif not answer:
        leave_out(context, "rules matter only to --answer and --make", "--rules")
    known = shipped_puzzles()
    if number is None:
        for grade in sorted({puzzle.grade for puzzle in known}):
            count = sum(puzzle.grade == grade for puzzle in known)
            tell(f"grade {grade}: {plural(count, 'puzzle')}")
        return
    if number > len(known):
        raise InvalidPositionError(f"there is no puzzle {number}: there are {len(known)}")
    puzzle = known[number - 1]
    tell(f"puzzle {number}, grade {puzzle.grade}: {puzzle.hands}")
    remark("The first hand leads. Which move wins?", None)
    if answer:
        from ddz_agents.open_cards.solver.position import open_position
        from ddz_agents.open_cards.solver.solver import OpenSolver

        state = open_position(puzzle.hands, rules)
        line = OpenSolver(state.rules).line(state)
        tell(f"{puzzle.move}: {' '.join(str(move) for _, move in line)}")


def _make(count: int, deal: str, seed: int, verify: bool, out: Path | None, rules: str) -> None:
    import itertools

    import numpy as np

    from ddz_agents.open_cards.minimax import MinimaxSolver
    from ddz_agents.open_cards.solver.position import hand_sizes, open_position
    from ddz_agents.open_cards.solver.puzzles import brute_force_agrees, make_puzzles

    made = list(itertools.islice(make_puzzles(hand_sizes(deal), np.random.default_rng(seed), rules), count))
    if verify:
        brute = MinimaxSolver(open_position(made[0].hands, rules).rules, epsilon=0, table_bits=20)
        made = [puzzle for puzzle in made if brute_force_agrees(puzzle, brute, rules)]
        remark(f"{len(made)} of {count} agree with plain minimax", None)
    made.sort(key=lambda puzzle: puzzle.grade)
    lines = "".join(f"{puzzle}\n" for puzzle in made)
    if out is None:
        typer.echo(lines, nl=False)
    else:
        replace_file(out, lines.encode())
