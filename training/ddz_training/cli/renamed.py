"""Rejection of command lines from earlier versions, with an error that shows today's command."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import Any

import click

from ddz_training.cli.faults import CommandLineError


class RenamedGroup(click.Group):
    """A command group that refuses command lines of earlier versions and shows their current form.

    Args:
        today: The words behind ``ddz`` of today for those behind the group's name; None where they are of today.
        **attributes: As of a group.
    """

    def __init__(self, *, today: Callable[[Sequence[str]], Sequence[str] | None], **attributes: Any) -> None:
        super().__init__(**attributes)
        self._today = today

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line, rejecting the syntax of earlier versions.

        Raises:
            CommandLineError: If it is one of an earlier version.
        """
        if (words := self._today(args)) is not None:
            there = ", ".join(self.list_commands(ctx))
            raise CommandLineError(f"{ctx.command_path} has the commands {there}; this is now: ddz {shlex.join(words)}")
        return super().parse_args(ctx, args)
