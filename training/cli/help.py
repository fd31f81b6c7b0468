"""What the help of several commands says alike: what rules are, and how examples look."""

from __future__ import annotations

import re

from rich.markup import escape

TENSORBOARD = "Write the curves for TensorBoard into this folder, too (needs the extra tensorboard)."
RULES = "Rules: a preset, with options behind it if wanted (ddz rules --help)."


def unmarked(text: str) -> str:
    """A docstring's text without its markup, for the screen."""
    return re.sub(r":\w+:`~?([^`]*)`", r"\1", text).replace("`", "")


def examples(*lines: str) -> str:
    """The end of a command's help: what one may type, a line each.

    Args:
        lines: Whole command lines, beginning with ``ddz``.
    """
    return "\n\n".join(["Examples:" if len(lines) > 1 else "Example:", *(f"  {escape(line)}" for line in lines)])
