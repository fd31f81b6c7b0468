"""The command line ``ddz``.  One file a command; what they do lives below, in :mod:`training.arena`.

Modules that compile or import much are imported inside the commands, so that ``ddz --help`` answers at once.
"""

from __future__ import annotations

import typer

from training.cli.arena import arena
from training.cli.bench import bench
from training.cli.console import FriendlyGroup
from training.cli.demo import demo
from training.cli.docs import docs
from training.cli.export import export
from training.cli.info import actions, agents, rules, version
from training.cli.play import play
from training.cli.reproduce import app as reproduce
from training.cli.train import app as train

__all__ = ["app", "main"]

app = typer.Typer(
    cls=FriendlyGroup,
    help="A Dou Dizhu (斗地主) laboratory: play, compare agents, measure speeds.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (arena, bench, demo, play, rules, actions, agents, docs, export, version):
    app.command()(command)
app.add_typer(reproduce, name="reproduce")
app.add_typer(train, name="train")


@app.callback()
def _options(
    debug: bool = typer.Option(
        False, "--debug", help="Show the full traceback of an error (works anywhere on the line)."
    ),
) -> None:
    """A Dou Dizhu (斗地主) laboratory: play, compare agents, measure speeds."""


def main() -> None:
    """Run ``ddz``."""
    app()
