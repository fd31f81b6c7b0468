"""Rich's console as the commands use it."""

from __future__ import annotations

from rich.console import Console


class Screen(Console):
    """A console that lets the command line say how it ends where nobody reads any more."""

    def on_broken_pipe(self) -> None:
        """Raise what rich would turn into exit code 1, that of a bug."""
        raise BrokenPipeError
