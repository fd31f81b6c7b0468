"""A console of the Rich library that raises an error when its output pipe is closed."""

from __future__ import annotations

from rich.console import Console


class Screen(Console):
    """A rich console that raises an error when its output pipe is closed, so that the caller can react."""

    def on_broken_pipe(self) -> None:
        """Raise ``BrokenPipeError``, which rich would otherwise turn into exit code 1, the code for a bug."""
        raise BrokenPipeError
