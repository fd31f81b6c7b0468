"""``ddz solve``, ``puzzles`` and ``bidding``: open cards solved to the end, and what a hand is worth before."""

from __future__ import annotations

import functools
import itertools
import json as json_module
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import click

from ddz_env.core.errors import DouDizhuError, plural
from ddz_env.core.options import Range
from ddz_env.core.whole_file import replace_file
from ddz_training.apps.cli.command import Argument, Command, Count, Natural, Seconds, UnderRules
from ddz_training.apps.cli.console import remark, show, tell
from ddz_training.apps.cli.lazily import lazily
from ddz_training.apps.cli.outputs import File
from ddz_training.apps.cli.signals import EXIT_INTERRUPTED

with lazily():
    from numpy import random

    from ddz_agents.bidding import hand as bidding_hand
    from ddz_agents.bidding import policy as bidding_policy
    from ddz_agents.open_cards.solver import position as solver_position
    from ddz_agents.open_cards.solver import puzzles as solver_puzzles
    from ddz_agents.open_cards.solver import solver as open_solver
    from ddz_env.core import state as game_state
    from ddz_env.core.engine import layout
    from ddz_training.apps import hand_odds

EXIT_UNKNOWN = 4
"""A limit came before the verdict."""
_WON = {
    "first": "the first hand wins",
    "second": "the second hand wins",
    "landlord": "the landlord wins",
    "peasants": "the peasants win",
}
"""How each winner of the JSON is named in words."""


class SolveCommand(UnderRules, call="solve", heading="Play"):
    """Say who wins with all hands known, and by which line.

    Attributes:
        position: Two or three hands, 'KK5543 / 225543'; behind ':' the moves played from there.
        turn: The hand that moves, from 1.
        to_beat: The move on the table; without it the hand leads.
        landlord: The landlord's hand, from 1; the others are one side.
        at: Solve after this many of the moves behind ':'; all by default.
        file: Solve every line of a file of positions ('#' begins a remark).
        all_: Say of every legal move whether it wins.
        stake: Also what the landlord wins, in base stakes.
        nodes: Stop a search after this many positions.
        seconds: Stop a position after this many seconds.
        json: Print one JSON object a position.

    Example:
        ddz solve 'KK5543 / 225543'
        ddz solve 'KK5543 / 225543' --turn 2 --to-beat 4 --all
        ddz solve '44668 / 5578 / 3399: 3, 5' --rules rlcard --json
        ddz solve --file positions.txt --seconds 10 --stake
    """

    position: Argument[str | None] = None
    turn: int = 1
    to_beat: str | None = None
    landlord: int = 1
    at: int | None = None
    file: Annotated[Path | None, File(use="read")] = None
    all_: bool = False
    stake: bool = False
    nodes: Count | None = None
    seconds: Seconds | None = None
    json: bool = False

    def run(self) -> None:
        """Solve the position, or those of the file."""
        if (self.position is None) == (self.file is None):
            raise solver_position.InvalidPositionError("give one position, or --file FILE with one a line")
        states = list(self._states())
        if not self.stake and all(state.rules.players == 2 for _, state in states):
            self.leave_out("of two hands only --stake depends on who is the landlord", "landlord")
        new_solver = functools.cache(functools.partial(open_solver.OpenSolver, nodes=self.nodes))
        unknown = False
        for text, state in states:
            solver = new_solver(state.rules)
            solution = solver.solve(state, seconds=self.seconds)
            found = self._answer(solver, state, solution)
            if self.json:
                tell(json_module.dumps(found, ensure_ascii=False))
            else:
                _tell_in_words(text, found, solution)
            unknown = unknown or solution.landlord_wins is None
            if solution.reason == "interrupted":
                raise click.exceptions.Exit(EXIT_INTERRUPTED)
        if unknown:
            raise click.exceptions.Exit(EXIT_UNKNOWN)

    def _states(self) -> Iterator[tuple[str, game_state.State]]:
        """The positions as text and as states.

        Raises:
            InvalidPositionError: If a position cannot be read; one of a file is named by its line.
        """
        options: dict[str, Any] = {"turn": self.turn, "to_beat": self.to_beat, "landlord": self.landlord}
        preset, texts = self.preset, {"": self.position or ""}
        if self.file is not None:
            lines = self.file.read_text(encoding="utf-8", errors="replace").splitlines()
            stripped = {
                f"{self.file}:{number}: ": line.partition("#")[0].strip() for number, line in enumerate(lines, 1)
            }
            texts = {where: text for where, text in stripped.items() if text}
        if not texts:
            example = "write one a line, as 'KK5543 / 225543'"
            raise solver_position.InvalidPositionError(f"there is no position in {self.file}: {example}")
        for where, text in texts.items():
            try:
                yield text, solver_position.open_position(text, preset, played=self.at, **options)
            except DouDizhuError as error:
                raise solver_position.InvalidPositionError(f"{where}{error}") from error

    def _answer(
        self, solver: open_solver.OpenSolver, state: game_state.State, solution: open_solver.Solution
    ) -> dict[str, Any]:
        """What is printed, as JSON has it."""
        line = solver.line(state, self.seconds) if solution.landlord_wins is not None else []
        found: dict[str, Any] = {
            "winner": _winner(state, solution.landlord_wins),
            "move": str(line[0][1]) if line else None,
            "line": [str(move) for _, move in line],
            "nodes": solution.nodes,
            "seconds": round(solution.seconds, 6),
        }
        if solution.reason:
            found["reason"] = solution.reason
        if self.all_:
            found["moves"] = {str(move): wins for move, wins in solver.move_values(state, self.seconds)}
        if self.stake:
            found["stake"] = solver.stake(state, self.seconds)
        return found


def _winner(state: game_state.State, landlord_wins: bool | None) -> str | None:
    """The side that wins: of two hands the first or the second, of three the landlord or the peasants."""
    if landlord_wins is None:
        return None
    if state.rules.players == 2:
        return "first" if landlord_wins == (int(state.row[layout.LANDLORD]) == 0) else "second"
    return "landlord" if landlord_wins else "peasants"


def _tell_in_words(text: str, found: dict[str, Any], solution: open_solver.Solution) -> None:
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


class PuzzlesCommand(Command, call="puzzles", heading="Play"):
    """Pose endgame puzzles (残局) with exactly one winning first move, or make new ones.

    Attributes:
        number: A puzzle by its number; by default how many of each grade there are.
        answer: Show the winning move and a line to the end.
        make: Make this many new ones instead.
        deal: Cards of each hand of new ones.
        seed: Seed of new ones.
        out: Write new ones to a new file, one a line.

    Example:
        ddz puzzles
        ddz puzzles 12 --answer
        ddz puzzles --make 20 --deal 9+9 --out mine.txt
    """

    number: Argument[Count | None] = None
    answer: bool = False
    make: Count | None = None
    deal: str = "8+8"
    seed: Natural = 1
    out: Annotated[Path | None, File(use="new")] = None

    def run(self) -> None:
        """Pose one, make new ones, or count them."""
        if self.make is not None:
            self.leave_out("--make makes new puzzles", "number", "answer")
            self._make(self.make)
            return
        self.leave_out("only --make makes new puzzles", "deal", "seed", "out")
        known = solver_puzzles.shipped_puzzles()
        if self.number is None:
            self.leave_out("no puzzle is named by its number", "answer")
            for grade, count in sorted(Counter(puzzle.grade for puzzle in known).items()):
                tell(f"grade {grade}: {plural(count, 'puzzle')}")
            return
        if self.number > len(known):
            raise solver_position.InvalidPositionError(f"there is no puzzle {self.number}: there are {len(known)}")
        puzzle = known[self.number - 1]
        tell(f"puzzle {self.number}, grade {puzzle.grade}: {puzzle.hands}")
        tell("The first hand leads. Which move wins?")
        if self.answer:
            state = solver_position.open_position(puzzle.hands)
            line = open_solver.OpenSolver(state.rules).line(state)
            tell(f"{puzzle.move}: {' '.join(str(move) for _, move in line)}")

    def _make(self, count: int) -> None:
        every = solver_puzzles.make_puzzles(solver_position.hand_sizes(self.deal), random.default_rng(self.seed))
        made = sorted(itertools.islice(every, count), key=lambda puzzle: puzzle.grade)
        lines = "".join(f"{puzzle}\n" for puzzle in made)
        if self.out is None:
            click.echo(lines, nl=False)
        else:
            replace_file(self.out, lines.encode())


class BiddingCommand(UnderRules, call="bidding", heading="Play"):
    """Estimate a hand's win rate from dealt worlds, and what bidding (or showing, or doubling) is expected to bring.

    Attributes:
        cards: The 17 cards dealt: 3344567TJQQKA22BR.
        bottom: The three landlord cards: the auction is over; show the hand, or double?
        role: With --bottom: landlord, peasant-down or peasant-up.
        bid: The highest bid so far: of the seat before; with --bottom the landlord's.
        player: Who plays the worlds out; may be repeated.
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

    cards: Argument[str]
    bottom: str = ""
    role: str = "landlord"
    bid: Annotated[int, Range(0, 3)] = 0
    player: tuple[str, ...] = ("rules", "policy")
    worlds: Annotated[int, Range(1, 1_000_000)] = 500
    bankroll: float | None = None
    rules: str = "bidding,doubling=true"
    seed: Natural = 0
    convergence: bool = False
    json: bool = False

    def run(self) -> None:
        """Deal worlds and print what came of them."""
        preset = self.preset
        if not self.bottom:
            self.leave_out("roles come with the landlord cards (--bottom)", "role")
        elif self.bid == 0:
            self.leave_out("with --bottom the bid is the landlord's, which is never 0", "bid")
        elif preset.bidding == "fixed":
            self.leave_out(f"the {preset.name} rules have no auction", "bid")
        view = bidding_hand.hand_view(self.cards, self.rules, self.bottom, self.role, self.bid)
        options = [bidding_policy.PayoffOptions(self.worlds, name, self.bankroll) for name in self.player]
        reports = [hand_odds.report(view, one, self.seed) for one in options]
        if self.json:
            tell(json_module.dumps([one.as_dict() for one in reports], ensure_ascii=False))
            return
        for one in reports:
            show(one.table())
        for one in reports if self.convergence else ():
            show(one.settling_table())
        remark("95 % intervals; stakes and payoffs in base stakes.", dim=True)
