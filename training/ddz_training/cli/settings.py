"""Commands that take an option for each field of an options class, so that options are declared only once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import click

from ddz_env.support.options import Option, Options
from ddz_training.cli.faults import CommandLineError
from ddz_training.cli.info import strip_markup
from ddz_training.learn.settings import renamed_setting


class SettingsCommand(click.Command):
    """A command that also takes the fields of an options class: ``--learning-rate 0.001`` for ``learning_rate``.

    The command gets those that were given as ``settings``: texts of the form ``name=value``, as
    :meth:`ddz_env.support.options.Options.read` takes them.  A field that has the name of an option of the command is
    left to that.

    Args:
        options: Imports the class; called when the command is used, so that ``ddz`` starts at once.
        **attributes: As of a command.
    """

    def __init__(self, *, options: Callable[[], type[Options]], **attributes: Any) -> None:
        super().__init__(**attributes)
        self._options = options

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the command's own options, followed by one for each field of its options class."""
        return [*super().get_params(ctx), *self._setting_options().values()]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line, and refuse settings written as in earlier versions.

        Raises:
            CommandLineError: If a setting is written as in earlier versions.
        """
        _refuse_old_forms(args, {str(param.name) for param in self.params}, self._setting_options())
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command with the given settings as ``name=value`` strings in its argument ``settings``."""
        given = {name: ctx.params.pop(str(setting.name)) for name, setting in self._setting_options().items()}
        ctx.params["settings"] = tuple(
            f"{name}={','.join(value) if isinstance(value, tuple) else value}"
            for name, value in given.items()
            if value not in (None, ())
        )
        return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help of the command's own options, followed by its settings."""
        for title, params in (("Options", super().get_params(ctx)), ("Settings", self._setting_options().values())):
            records = [record for param in params if (record := param.get_help_record(ctx)) is not None]
            with formatter.section(title):
                formatter.write_dl(records)

    def _setting_options(self) -> Mapping[str, click.Option]:
        taken = {param.name for param in self.params}
        return {
            name: click.Option(
                [_flag(name), name.replace(".", "_")],
                multiple=tuple in setting.kinds,
                metavar=_value_placeholder(setting),
                help=f"{strip_markup(setting.meaning)}  [default: {setting.default_text}]",
            )
            for name, setting in _flatten_options(self._options())
            if name not in taken
        }


def _flatten_options(kind: type[Options]) -> Iterator[tuple[str, Option]]:
    """Yield all options of a class by name, those of a nested set as ``name.part``."""
    for option in kind.options():
        if option.nested_options:
            yield from ((f"{option.name}.{part.name}", part) for part in option.nested_options)
        elif option.is_textual:
            yield option.name, option


def _value_placeholder(setting: Option) -> str:
    """Return the placeholder for a setting's value in the help: its choices, or its type such as ``INTEGER``."""
    if setting.choices or bool in setting.kinds:
        return "|".join(map(str, setting.choices)) or "true|false"
    kinds = {int: "INTEGER", float: "NUMBER", tuple: "LIST"}
    return next((word for kind, word in kinds.items() if kind in setting.kinds), "TEXT")


def _refuse_old_forms(args: list[str], own: Collection[str], settings: Collection[str]) -> None:
    """Refuse forms of earlier versions (``name=value``, former setting names), and show the current form.

    Args:
        args: The command line.
        own: The command's own options.
        settings: The settings that it takes besides.
    """
    today = {*own, *settings}
    for before, text in zip(["", *args], args, strict=False):
        text = text.removeprefix("--set=")
        name, equals, value = text.partition("=")
        new = renamed_setting(name.removeprefix("--").replace("-", "_"), today)
        old = before == "--set" or text not in args or ((new or name in settings) and not before.startswith("-"))
        if old and equals and not name.startswith("--"):
            raise CommandLineError(f"settings are options now: {_flag(new or name)} {value}, not {text}")
        if new and name.startswith("--"):
            raise CommandLineError(f"{name} is {_flag(new)} now")


def _flag(name: str) -> str:
    """Format a setting's name as a command-line option."""
    return f"--{name.replace('_', '-')}"
