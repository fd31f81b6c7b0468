"""The commands of the package by the headings of ``ddz --help``."""

from __future__ import annotations

from collections.abc import Mapping

import click

from ddz_training.apps.cli import (
    benchmark,
    botzone,
    data,
    demo,
    endgames,
    info,
    measure,
    replay,
    study,
    table,
    train,
    warmup,
    web,
)

COMMANDS: Mapping[str, tuple[click.Command, ...]] = {
    "Environment": (info.show_group, warmup.warmup),
    "Agents": (info.agents, endgames.solve, endgames.bidding),
    "Train and measure": (
        *(train.train, demo.demo, data.record),
        *(measure.arena, measure.rate, benchmark.benchmark),
    ),
    "Play": (table.play, table.watch, table.mcp, web.web, endgames.puzzles),
    "Papers": (study.study, study.reproduce),
    "Import and export": (data.export, replay.replay, botzone.botzone),
}
