"""The commands of the training package, grouped by the headings of ``ddz --help``."""

from __future__ import annotations

from collections.abc import Mapping

import click

from ddz_training.cli import benchmark, botzone, data, demo, info, measure, train

COMMANDS: Mapping[str, tuple[click.Command, ...]] = {
    "Environment": (info.show_group,),
    "Agents": (info.agents,),
    "Train and measure": (
        *(train.train, demo.demo, data.record),
        *(measure.arena, measure.rate, benchmark.benchmark),
    ),
    "Import and export": (data.export, botzone.botzone),
}
