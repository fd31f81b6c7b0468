"""How a function becomes a command of ``ddz``, and what every command has: help, errors, what comes next.

A command's parameters are its options.  Its docstring is its help: ``Options:`` says what each of them means, unless
its type does (:mod:`ddz_training.apps.cli.options`), and ``Example:`` what one may type.  What a command raises is
said in one line (:func:`fault_of`).
"""

from __future__ import annotations

import copy
import inspect
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

import typer
from rich.markup import escape, render
from typer.core import TyperCommand, TyperGroup

from ddz_env.core.docstrings import own_docstring
from ddz_env.core.errors import DouDizhuError, command_line, install_hint
from ddz_training.apps.cli.console import complain, error_console, remark, tell
from ddz_training.apps.cli.lazily import lazily
from ddz_training.apps.cli.signals import EXIT_INTERRUPTED, interruptible

with lazily():
    from ddz_env.table import texts as table_texts

EXIT_BAD_INPUT = 2
EXIT_FAULT = 1
EXIT_AGENT_FAILED = 3
"""Played to the end, but an agent failed on the way."""

_EXTRAS = {
    **dict.fromkeys(("torch", "stable_baselines3", "sb3_contrib"), "train"),
    **dict.fromkeys(("onnx", "onnxruntime", "onnxscript"), "onnx"),
    **dict.fromkeys(("PIL", "pygame"), "render"),
    **dict.fromkeys(("pyspiel", "douzero"), "peers"),
    **dict.fromkeys(("starlette", "uvicorn"), "web"),
    "matplotlib": "plot",
    "tensorboard": "tensorboard",
    "rlcard": "rlcard",
}
"""The extra that installs an optional package."""

# --- errors ------------------------------------------------------------------


class Fault(NamedTuple):
    """How a command ends that could not do its work.

    Attributes:
        message: For the person.
        exit_code: Of the command.
    """

    message: str
    exit_code: int


def fault_of(error: BaseException) -> Fault | None:
    """What to tell of an error; None for what the command line itself tells or passes on.

    Args:
        error: What was raised.
    """
    if isinstance(error, (typer.Exit, typer.Abort, SystemExit, BrokenPipeError)) or hasattr(error, "exit_code"):
        return None
    # A call of compiled code that ends while Ctrl-C arrives has a result and an exception.
    if isinstance(error, KeyboardInterrupt) or isinstance(error.__cause__, KeyboardInterrupt):
        return Fault("interrupted", EXIT_INTERRUPTED)
    if isinstance(error, DouDizhuError):
        return Fault(error.said, EXIT_BAD_INPUT)
    if isinstance(error, ImportError):
        package = (error.name or "").partition(".")[0]
        hint = f": {install_hint(_EXTRAS[package])}" if package in _EXTRAS else ""
        return Fault(f"this needs the package {package!r} ({error}){hint}", EXIT_BAD_INPUT)
    if isinstance(error, MemoryError):
        return Fault(f"there is not enough memory {error}".strip(), EXIT_BAD_INPUT)
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return Fault(f"{where}{error.strerror or error}", EXIT_BAD_INPUT)
    return Fault(f"a fault of ddz, {type(error).__name__}: {error}; --debug shows where", EXIT_FAULT)


class _Examples:
    """Lets the help of a command end with its examples, each on a line of its own at any width."""

    epilog: str | None

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, and below it what one may type."""
        shown, self.epilog = self.epilog, None
        try:
            super().format_help(ctx, formatter)  # type: ignore[misc]  # of the class that this is mixed into
        finally:
            self.epilog = shown
        tell(render(shown or "").plain.replace("\n\n", "\n"))


class FriendlyCommand(_Examples, TyperCommand):
    """A command whose examples can be copied."""


class FriendlyGroup(_Examples, TyperGroup):
    """A group of commands that reports errors in one line, unless ``--debug`` is given or ``DDZ_DEBUG`` is set."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take ``--debug`` out of the arguments, wherever it stands before ``--``."""
        end = args.index("--") if "--" in args else len(args)
        wanted = os.environ.get("DDZ_DEBUG", "0") not in ("", "0")
        ctx.meta["ddz.debug"] = ctx.meta.get("ddz.debug", wanted) or "--debug" in args[:end]
        return super().parse_args(ctx, [arg for arg in args[:end] if arg != "--debug"] + args[end:])

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            with nullcontext() if ctx.parent else interruptible():
                return super().invoke(ctx)
        except (Exception, KeyboardInterrupt) as error:
            fault = fault_of(error)
            if ctx.parent is None and hasattr(error, "format_message"):
                _complain_of_usage(error)
            if fault is None or ctx.parent or ctx.meta["ddz.debug"]:
                raise
            language = ctx.meta.get("ddz.language")
            texts = table_texts.Texts(language if language in table_texts.LANGUAGES else "en")
            complain(texts.complaint(fault.message))
            raise typer.Exit(fault.exit_code) from error


def _complain_of_usage(error: Any) -> None:
    """Say what is wrong with the words of a command, as typer does, but not in a box, whose edge would break a path.

    Raises:
        Exit: Always, with the error's own code.
    """
    message = error.format_message()
    if message and error.ctx is not None:
        tell(f"{error.ctx.get_usage()}\nTry '{error.ctx.command_path} -h' for help.", screen=error_console())
        complain(message)
    raise typer.Exit(error.exit_code) from error


# --- a function as a command -------------------------------------------------


class FriendlyTyper(typer.Typer):
    """An app of commands, each a function with its help in its docstring."""

    def __init__(self, **settings: Any) -> None:
        usual = {"cls": FriendlyGroup, "add_completion": False, "pretty_exceptions_enable": False}
        super().__init__(**{**usual, **settings})

    def command(self, name: str | None = None, **settings: Any) -> Callable[..., Any]:
        """Add a command, as :meth:`typer.Typer.command` does."""

        def add(run: Callable[..., Any]) -> Callable[..., Any]:
            about, *parts = re.split(r"\n\n(Options|Example):\n", own_docstring(run))
            sections = dict(zip(parts[::2], parts[1::2], strict=True))
            _explain(run, sections.get("Options", ""))
            lines = [line.strip() for line in sections.get("Example", "").splitlines()]
            own = {"cls": FriendlyCommand, "help": about, "epilog": examples(*lines)}
            return super(FriendlyTyper, self).command(name, **{**own, **settings})(run)

        return add


def group(about: str, commands: Iterable[Callable[..., Any]], *lines: str, **settings: Any) -> FriendlyTyper:
    """A group of commands.

    Args:
        about: Its help.
        commands: Its commands in order.
        *lines: Examples.
        **settings: As for :class:`typer.Typer`.
    """
    app = FriendlyTyper(help=about, epilog=examples(*lines), no_args_is_help=True, **settings)
    for command in commands:
        app.command()(command)
    return app


def _explain(run: Callable[..., Any], options: str) -> None:
    """Give the parameters of a command the help that its docstring has; a bool that is off by default has no --no-."""
    meanings = dict(re.findall(r"^ {4}(\w+): (.*?)(?=^ {4}\w+: |\Z)", options, re.DOTALL | re.MULTILINE))
    hints = get_type_hints(run, include_extras=True)
    for parameter in inspect.signature(run).parameters.values():
        name, hint = parameter.name, hints[parameter.name]
        if hint is typer.Context:
            continue
        kind, about = get_args(hint)[:2] if get_origin(hint) is Annotated else (hint, None)
        if about is None:
            is_flag = kind is bool and parameter.default is False
            about = typer.Option(f"--{name.replace('_', '-')}") if is_flag else typer.Option()
        if about.help is None and name in meanings:
            about = copy.copy(about)
            about.help = " ".join(meanings[name].split())
        hints[name] = Annotated[kind, about]
    run.__annotations__ = hints


def examples(*lines: str) -> str:
    """The end of a command's help: what one may type, a line each.

    Args:
        lines: Whole command lines, beginning with ``ddz``.
    """
    return "\n\n".join(["Examples:" if len(lines) > 1 else "Example:", *(f"  {escape(line)}" for line in lines)])


def unmarked(text: str) -> str:
    """A docstring's text without its markup, for the screen."""
    return re.sub(r":\w+:`~?([^`]*)`", r"\1", text).replace("`", "")


class ContradictingOptionsError(DouDizhuError):
    """An option was given that the rest of the command line leaves without effect; nothing has been done yet."""


def leave_out(context: typer.Context, why: str, *options: str) -> None:
    """Refuse options that would be ignored, whatever their values are: their defaults, too.

    Args:
        context: The command's.
        why: What leaves them without effect.
        *options: As they are typed (``--deals``); an argument by its name (``agents``).

    Raises:
        ContradictingOptionsError: If one of them was given.
    """
    names = {spelling: one.name for one in context.command.params for spelling in (*one.opts, *one.secondary_opts)}
    given = [
        option if option.startswith("-") else f"the {option}"
        for option in options
        if _is_given(context, names[option] or "")
    ]
    if given:
        raise ContradictingOptionsError(f"{why}: leave out {' and '.join(given)}")


def _is_given(context: typer.Context, name: str) -> bool:
    """Whether a parameter stands on the command line."""
    return getattr(context.get_parameter_source(name), "name", "") == "COMMANDLINE"


# --- what comes next ---------------------------------------------------------


def follow(why: str, *words: str | Path) -> None:
    """Say with which command one goes on: on standard error, so that standard output holds results alone.

    Args:
        why: What it is for, behind "Next, ".
        *words: The command, without ``ddz``.
    """
    screen = error_console()
    remark(f"Next, {why}:", screen=screen)
    tell(f"  {command_line('ddz', *words)}", screen=screen)


def follow_policy(path: Path, rules: str, *, trust: bool = False) -> None:
    """Say with which command a policy that a training has written plays.

    Args:
        path: Its file.
        rules: Those that it was trained under.
        trust: Whether its file is one that is only read with ``trust_file=true``.
    """
    agent = f"policy:path={path}{',trust_file=true' if trust else ''}"
    follow("to see how strong it is", "arena", agent, "rules", *rules_option(rules))


def rules_option(rules: str) -> list[str]:
    """``--rules`` as it is typed; nothing for the standard rules."""
    return [] if rules == "standard" else ["--rules", rules]


def resuming(context: typer.Context, **changed: Any) -> str:
    """The command that goes on with the run of this one.

    Args:
        context: The command's.
        **changed: As for :func:`again`; what only a beginning takes is None.
    """
    return command_line("ddz", *again(context, resume=True, **changed))


def again(context: typer.Context, **changed: Any) -> list[str]:
    """The command line of a command as it was given, with other values for some of its parameters.

    Args:
        context: The command's.
        **changed: Values by the names of parameters; None leaves one out.

    Returns:
        Its words, without ``ddz``.
    """
    arguments: list[str] = []
    options: list[str] = []
    for one in context.command.params:
        (arguments if one.param_type_name == "argument" else options).extend(_words(context, one, changed))
    if any(word.startswith("-") for word in arguments):
        return [*_path(context), *options, "--", *arguments]
    return [*_path(context), *arguments, *options]


def _path(context: Any) -> Iterator[str]:
    """The names that lead to a command, below ``ddz`` itself."""
    if context.parent is not None:
        yield from _path(context.parent)
        yield context.info_name


def _words(context: typer.Context, parameter: Any, changed: dict[str, Any]) -> Iterator[str]:
    """How a parameter was given, or is to be given."""
    given = _is_given(context, parameter.name)
    value = changed[parameter.name] if parameter.name in changed else context.params[parameter.name] if given else None
    if value is None:
        return
    values = value if isinstance(value, (list, tuple)) else [value]
    if parameter.param_type_name == "argument":
        yield from map(str, values)
    elif isinstance(value, bool):
        spellings = parameter.opts if value else parameter.secondary_opts
        yield from spellings[-1:]
    else:
        for one in values:
            yield from (parameter.opts[-1], str(one))
