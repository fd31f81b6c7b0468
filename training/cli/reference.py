"""The table of all commands for the docs: what each does, with an example."""

from __future__ import annotations

import inspect
import re

from training.cli import app
from training.cli.train import app as train
from training.documentation import opening
from training.markdown import markdown_table


def commands_table() -> str:
    """A line a command, from its docstring and the examples of its help."""
    rows = []
    for group, known in (("", app), ("train ", train)):
        for command in known.registered_commands:
            run = command.callback
            if run is None:
                continue
            [example, *_] = re.findall(r"(?m)^  (ddz .*)$", command.epilog or "")
            name = f"`ddz {group}{command.name or run.__name__.replace('_', '-')}`"
            rows.append((name, opening(inspect.getdoc(run)), f"`{example}`"))
    return markdown_table(("command", "what it does", "for example"), sorted(rows))
