"""``ddz demo``, which ``make demo`` runs: a game to look at, then a benchmark of search agents and baselines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.rule import Rule
from rich.text import Text

from training.cli.console import console
from training.cli.contest import run_with_progress
from training.cli.tables import NOTE, results_table

if TYPE_CHECKING:
    from rich.console import Console

    from ddz_env import State

AGENTS = ("isuct", "duct", "rules", "random")
"""At their default budgets; the first is the landlord of the game that is shown."""

PEASANT = "rules"
"""Who plays against it there."""

_SHOWN_MOVES = 9


def demo(
    deals: Annotated[int, typer.Option(min=1, help="Duplicate deals a pair of agents.")] = 25,
    seed: Annotated[int, typer.Option(min=0, help="Seed of deals and agents.")] = 0,
    processes: Annotated[int, typer.Option(min=1, help="Worker processes; the results do not depend on them.")] = 2,
) -> None:
    """Watch search agents play Dou Dizhu, then see them and the baselines in a fair benchmark."""
    from training.evaluation.arena import Arena
    from training.evaluation.statistics import standings, summarize

    screen = console()
    _show_game(screen, seed)
    screen.print(Rule(f"benchmark: every pair on {deals} deals, each played from both sides", align="left"))
    records = run_with_progress(Arena(AGENTS, seed=seed), deals, processes=processes)
    screen.print(results_table(summarize(records), "Pair by pair", screen.width))
    screen.print(results_table(standings(records), "Against all others", screen.width, pairs=False))
    screen.print(NOTE, style="dim")


def _show_game(screen: Console, seed: int) -> None:
    """An excerpt of one game: information-set UCT as landlord against two rule agents."""
    from agents.playing import play_game
    from agents.registry import make_agent
    from ddz_env import State
    from training.evaluation.duplicate import seat_generators

    screen.print(Rule("a game: information-set UCT is the landlord, rule agents are the peasants", align="left"))
    start = State.new(seed)
    _render(screen, start)
    with screen.status("thinking (the first time on a machine, compiling takes half a minute) ..."):
        final = start.copy()
        agents = [make_agent(AGENTS[0]), make_agent(PEASANT), make_agent(PEASANT)]
        play_game(final, agents, seat_generators(seed, 0, 0, 3))
    moves = final.history
    for seat, move in moves[:_SHOWN_MOVES]:
        name = f"seat {seat}  {start.role(seat) or '':<13}"
        screen.print(f"  {name.replace('_', ' ')}  {move}", markup=False)
    screen.print(f"  ... {max(0, len(moves) - _SHOWN_MOVES)} moves later:\n")
    _render(screen, final)
    screen.print()


def _render(screen: Console, state: State) -> None:
    from ddz_env.render import render_ansi

    screen.print(Text.from_ansi(render_ansi(state)))
