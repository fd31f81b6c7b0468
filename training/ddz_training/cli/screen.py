"""The rich console that the commands use."""

from __future__ import annotations

from rich.console import Console


class Screen(Console):
    """A console that leaves it to the command line how to exit when the output pipe is closed."""

    def on_broken_pipe(self) -> None:
        """Raise ``BrokenPipeError``, which rich would otherwise turn into exit code 1, the code for a bug."""
        raise BrokenPipeError
