"""The ``ddz`` commands of this package, grouped by the headings of ``ddz --help``."""

from __future__ import annotations

from collections.abc import Mapping

import click

from ddz_play.cli import endgames, replay, table, warmup, web

COMMANDS: Mapping[str, tuple[click.Command, ...]] = {
    "Environment": (warmup.warmup,),
    "Agents": (endgames.solve, endgames.bidding),
    "Play": (table.play, table.watch, table.mcp, web.web, endgames.puzzles),
    "Import and export": (replay.replay,),
}
