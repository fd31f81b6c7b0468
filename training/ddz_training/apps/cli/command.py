"""What commands share: options that several of them have, and what they say of themselves and of each other."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click import option
from click.core import ParameterSource

from ddz_env.core.errors import command_line
from ddz_training.apps.cli.console import bar, tell
from ddz_training.apps.cli.faults import FAILED, CommandLineError

if TYPE_CHECKING:
    from ddz_env import Rules

Function = TypeVar("Function", bound=Callable[..., Any])
Decorator = Callable[[Function], Function]
Texts = tuple[str, ...]

COUNT, NATURAL, SECONDS = click.IntRange(1), click.IntRange(0), click.FloatRange(0.001)
PATH = click.Path(path_type=Path)
"""A file that is read, or a name that is checked where it is used."""
RULES = "A preset, with options behind it if wanted (ddz show rules)."


def together(*options: Any) -> Decorator[Any]:
    """Several options as one decorator, in the order of the help."""
    return lambda function: functools.reduce(lambda made, one: one(made), reversed(options), function)


def gathered(name: str, kind: type, *options: Any) -> Decorator[Any]:
    """Several options as one decorator; the command gets them as one value.

    Args:
        name: The name of the value.
        kind: Its dataclass, whose fields are named as the options are.
        *options: The options.
    """

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def command(**typed: Any) -> Any:
            value = kind(**{field.name: typed.pop(field.name) for field in fields(kind)})
            return function(**{name: value}, **typed)

        return together(*options)(command)  # type: ignore[no-any-return]  # what click makes of a function

    return decorate


# --- how games are played ----------------------------------------------------


def _allow_other_code(context: click.Context, parameter: click.Parameter, allowed: bool) -> None:
    if allowed:
        from ddz_training.measure.provenance import other_code

        context.with_resource(other_code())


other_code_help = "Add to a file that other code has written; it then names both."
other_code_option = option(
    "--allow-other-code", is_flag=True, expose_value=False, callback=_allow_other_code, help=other_code_help
)
processes_option = option("--processes", type=COUNT, default=2, help="Worker processes; results do not depend on them.")


@dataclass(frozen=True)
class Parallel:
    """How work is shared.

    Attributes:
        processes: Worker processes.
        ray: Whether they are on a Ray cluster.
    """

    processes: int
    ray: bool

    @contextmanager
    def working(self, what: str) -> Iterator[dict[str, Any]]:
        """A bar of what is done; yields the arguments of what does it: ``processes`` and ``on_progress``."""
        with ExitStack() as leave:
            if self.ray:
                from ddz_training.measure import ray_cluster

                leave.enter_context(ray_cluster.on_ray())
            yield {"processes": self.processes, "on_progress": leave.enter_context(bar(what))}


@dataclass(frozen=True)
class Playing(Parallel):
    """How games are played.

    Attributes:
        rules: A preset.
        seed: Seed of deals and agents.
    """

    rules: str
    seed: int

    @property
    def preset(self) -> Rules:
        """The rules."""
        from ddz_env import Rules

        return Rules.preset(self.rules)


_parallel_options = (
    processes_option,
    option("--ray", is_flag=True, help="Play on a Ray cluster, yours or one of --processes cores; same results."),
    other_code_option,
)
parallel_options = gathered("parallel", Parallel, *_parallel_options)


def playing_options(kind: type[Playing] = Playing, *more: Any, rules: str = "standard") -> Decorator[Any]:
    """The options of a command that plays games; it gets them as ``playing``.

    Args:
        kind: What they are gathered in.
        *more: Options that this kind has besides.
        rules: The preset by default.
    """
    rules_option = option("--rules", default=rules, help=RULES)
    seed_option = option("--seed", type=NATURAL, default=0, help="Seed of deals and agents.")
    return gathered("playing", kind, *more, rules_option, seed_option, *_parallel_options)


# --- what was typed ----------------------------------------------------------


def is_typed(name: str) -> bool:
    """Whether a parameter of the command was typed."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


def spelled(name: str) -> str:
    """How a parameter of the command is typed: ``--deal-file``, or ``POLICY`` for one without a name."""
    [parameter] = [one for one in click.get_current_context().command.params if one.name == name]
    return parameter.opts[0] if isinstance(parameter, click.Option) else name.upper()


def leave_out(why: str, *names: str) -> None:
    """Refuse parameters that would be ignored, their defaults included.

    Args:
        why: What leaves them without effect.
        *names: The parameters.

    Raises:
        CommandLineError: If one of them was typed.
    """
    if refused := [spelled(name) for name in names if is_typed(name)]:
        raise CommandLineError(f"{why}: leave out {' and '.join(refused)}")


def again(**changed: Any) -> list[str]:
    """The words of this command as it was typed, without ``ddz``, with other values for some of its parameters.

    Args:
        **changed: Values by the names of parameters; None leaves one out.
    """
    context = click.get_current_context()
    values = {name: value for name, value in context.params.items() if is_typed(name)} | changed
    arguments: list[str] = []
    options: list[str] = []
    for parameter in context.command.params:
        value = values.get(str(parameter.name))
        if isinstance(value, bool):
            options += (parameter.opts if value else parameter.secondary_opts)[:1]
            continue
        for part in value if isinstance(value, tuple) else () if value is None else (value,):
            if isinstance(parameter, click.Option):
                options += [parameter.opts[0], str(part)]
            else:
                arguments.append(str(part))
    words = context.command_path.split()[1:]
    if any(word.startswith("-") for word in arguments):
        return [*words, *options, "--", *arguments]
    return [*words, *arguments, *options]


# --- what comes next ---------------------------------------------------------


def follow(why: str, *words: object) -> None:
    """Say which command comes next, unless an agent failed: on standard error, for standard output holds the results.

    Args:
        why: What it is for, behind "Next, ".
        *words: The command, without ``ddz``.
    """
    if FAILED in click.get_current_context().meta:
        return
    tell(f"Next, {why}:", err=True, dim=True)
    tell(f"  {command_line('ddz', *words)}", err=True)


def rules_words(rules: str) -> list[str]:
    """``--rules`` as it is typed; nothing for the standard rules."""
    return [] if rules == "standard" else ["--rules", rules]
