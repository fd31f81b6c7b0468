"""``ddz record``: games as a data set."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ddz_training.apps.cli.console import counting_bar, quoted, tell
from ddz_training.apps.cli.experiment import OtherCode
from ddz_training.apps.cli.following import follow
from ddz_training.apps.cli.help import RULES
from ddz_training.apps.cli.options import OnRay
from ddz_training.apps.cli.outputs import output_folder


def record(
    agents: Annotated[
        list[str],
        typer.Argument(help="One agent plays itself; two play each deal from both sides; three sit seat by seat."),
    ],
    out: Annotated[
        Path,
        typer.Option(
            help="Folder for games, tables and card; one with fewer deals is completed.", callback=output_folder
        ),
    ],
    deals: Annotated[int, typer.Option(min=1, help="Deals to play.")] = 100,
    first_deal: Annotated[int, typer.Option(min=0, help="Number of the first deal under the seed.")] = 0,
    visits: Annotated[
        bool, typer.Option("--visits", help="Record what searches think of every action; all agents must be searches.")
    ] = False,
    rules: Annotated[str, typer.Option("--rules", help=RULES)] = "standard",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the deals and the agents.")] = 0,
    processes: Annotated[int, typer.Option(min=1, help="Worker processes; the games do not depend on them.")] = 2,
    ray: OnRay = False,
    allow_other_code: OtherCode = False,
) -> None:
    """Record games as a data set: tables of states and actions, and games that replay exactly."""
    from ddz_env import Rules
    from ddz_env.core.errors import plural
    from ddz_training.data.dataset import write_data_set
    from ddz_training.data.games import GAMES
    from ddz_training.data.recording import Recording, record_games
    from ddz_training.data.table import check_tables
    from ddz_training.measure.match.provenance import other_code

    check_tables()
    recording = Recording(tuple(agents), Rules.preset(rules), seed, visits)
    with other_code(allow_other_code), counting_bar() as progress:
        playing = progress.add_task("deals", total=None)
        record_games(
            recording,
            deals,
            first_deal=first_deal,
            processes=processes,
            store=recording.store(out / GAMES),
            on_progress=lambda done, total: progress.update(playing, completed=done, total=total),
        )
        writing = progress.add_task("tables", total=None)
        made = write_data_set(out, lambda done, total: progress.update(writing, completed=done, total=total))
    tell(f"{quoted(out)}: {plural(made.games, 'game')}, {plural(made.rows, 'row')}")
    follow("to learn from them", "train", "imitate", "--out", "warm.safetensors", "--data", out)
