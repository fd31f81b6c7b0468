"""An arena with a progress bar."""

from __future__ import annotations

from typing import TYPE_CHECKING

from training.cli.console import counting_bar

if TYPE_CHECKING:
    from training.arena.duplicate import GameRecord
    from training.arena.results_file import ResultsFile
    from training.arena.round_robin import Arena


def run_with_progress(
    arena: Arena,
    deals: int,
    *,
    first_deal: int = 0,
    processes: int = 1,
    results: ResultsFile | None = None,
    partial: list[GameRecord] | None = None,
) -> list[GameRecord]:
    """Play an arena and show how far it is.

    Args:
        arena: Agents, rules and seed.
        deals: Deals a pair.
        first_deal: Number of the first deal.
        processes: Worker processes.
        results: Where to save.
        partial: Gets the games as they are played, for a table after an interruption.
    """
    from training.arena.round_robin import run_arena

    pairs = len(arena.pairs)
    with counting_bar() as progress:
        bar = progress.add_task("deals" if pairs == 1 else f"deals × {pairs} pairs", total=None, visible=False)

        def start(done: int, total: int) -> None:
            progress.update(bar, completed=done, total=total, visible=True)

        def advance(records: list[GameRecord]) -> None:
            progress.advance(bar)
            if partial is not None:
                partial.extend(records)

        return run_arena(
            arena,
            deals,
            first_deal=first_deal,
            processes=processes,
            results=results,
            on_start=start,
            on_deal=advance,
        )
