"""What a command of ``ddz`` is: a frozen dataclass whose fields are its options, with a ``run``.

Everything else that commands have is here, once.  The docstring is the help: ``Attributes:`` says what each option
means, ``Example:`` what one may type.  Values are read and checked by their annotations
(:mod:`ddz_env.core.options`), as those of agents, rules and experiments are; files are checked before any work
(:mod:`ddz_training.apps.cli.outputs`).  An error is one line on standard error with an exit code (:func:`fault_of`).
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar, get_type_hints

import click
from click.core import ParameterSource
from typing_extensions import dataclass_transform

import ddz_env
from ddz_env.core.errors import DouDizhuError, command_line, did_you_mean, install_hint
from ddz_env.core.options import Option, Options, Range
from ddz_training.apps.cli.console import bar, complain, tell
from ddz_training.apps.cli.lazily import lazily
from ddz_training.apps.cli.outputs import File, check_files
from ddz_training.apps.cli.signals import EXIT_INTERRUPTED, answering, interrupt

with lazily():
    from ddz_env.table import texts as table_texts
    from ddz_training.measure import errors as match_errors
    from ddz_training.measure import ray_cluster

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
    "mcp": "mcp",
    "tensorboard": "tensorboard",
    "rlcard": "rlcard",
}
"""The extra that installs an optional package."""

_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
_METAVARS = {int: "N", float: "NUMBER", Path: "PATH"}
_ANYWHERE = {
    "--debug": "Show the full traceback of an error; an agent's first fault ends a match.",
    "--ray": "Play on a Ray cluster (ray start), or on one begun with --processes cores; same results.",
}
"""What may be typed anywhere on the line."""

_T = TypeVar("_T")
_ARGUMENT = "argument"

Argument = Annotated[_T, _ARGUMENT]
"""An option that is typed without its name."""
Natural = Annotated[int, Range(0)]
Count = Annotated[int, Range(1)]
Seconds = Annotated[float, Range(0.001)]


class CommandLineError(DouDizhuError):
    """An option of the command line has a value that it may not have, or would be ignored; nothing has been done."""


# --- commands ----------------------------------------------------------------


COMMANDS: list[type[Command]] = []
"""All commands that have words of their own, in the order of their definitions."""


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Command(Options):
    """A command: every subclass is a frozen dataclass.  A field that ends in an underscore is an option without it.

    Attributes:
        error: What a wrong value raises.
        ray: Whether ``--ray`` has an effect.
        words: What calls it, without ``ddz``.
        heading: Where ``ddz --help`` lists it; empty for nowhere.
        given: The fields that were typed.
    """

    error: ClassVar[type[DouDizhuError]] = CommandLineError
    ray: ClassVar[bool] = False
    words: ClassVar[Sequence[str]] = ()
    heading: ClassVar[str] = ""
    given: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls, *, call: str = "", heading: str = "") -> None:
        """Make a dataclass of it, and enter it among the commands.

        Args:
            call: The words that call it, without ``ddz``; none for a base of commands.
            heading: Where ``ddz --help`` lists it.
        """
        dataclasses.dataclass(frozen=True, kw_only=True, repr=False, eq=False)(cls)  # made at every start
        if call:
            cls.words, cls.heading = tuple(call.split()), heading
            COMMANDS.append(cls)

    def run(self) -> None:
        """Do its work.

        Raises:
            DouDizhuError: What is wrong, for one line.
            click.exceptions.Exit: To end with another exit code than 0.
        """
        raise NotImplementedError

    @classmethod
    def typed(cls) -> dict[str, str]:
        """How each option is typed, by its field: required ones first, and a class's own before those of its bases."""
        hints = get_type_hints(cls, include_extras=True)
        order = [name for kind in cls.__mro__ for name in inspect.get_annotations(kind)]
        fields = sorted(
            dataclasses.fields(cls),  # type: ignore[arg-type]  # a subclass is a dataclass
            key=lambda field: (field.default is not dataclasses.MISSING, order.index(field.name)),
        )
        positional = [field.name for field in fields if _ARGUMENT in getattr(hints[field.name], "__metadata__", ())]
        return {one.name: one.name.upper() if one.name in positional else _spelled(one.name) for one in fields}

    def leave_out(self, why: str, *names: str) -> None:
        """Refuse options that would be ignored, their defaults included.

        Args:
            why: What leaves them without effect.
            *names: Their fields.

        Raises:
            CommandLineError: If one of them was typed.
        """
        typed = self.typed()
        if refused := [typed[name] for name in names if name in self.given]:
            raise CommandLineError(f"{why}: leave out {' and '.join(refused)}")

    def again(self, **changed: Any) -> list[str]:
        """The words of this command as it was typed, without ``ddz``, with other values for some of its fields.

        Args:
            **changed: Values by the names of fields; None leaves one out.
        """
        values = {name: getattr(self, name) for name in self.given} | changed
        arguments: list[str] = []
        options: list[str] = []
        for name, typed in self.typed().items():
            value = values.get(name)
            if isinstance(value, bool):
                options.append(_spelled(name, value))
                continue
            for one in value if isinstance(value, tuple) else () if value is None else (value,):
                if typed.startswith("-"):
                    options += [typed, str(one)]
                else:
                    arguments.append(str(one))
        if any(word.startswith("-") for word in arguments):
            return [*self.words, *options, "--", *arguments]
        return [*self.words, *arguments, *options]

    def resuming(self, **changed: Any) -> str:
        """The command line that continues this run, as :meth:`again`."""
        return command_line("ddz", *self.again(**changed))


class UnderRules(Command):
    """A command for a variant of the game.

    Attributes:
        rules: A preset, with options behind it if wanted (ddz rules).
    """

    rules: str = "standard"

    @property
    def preset(self) -> ddz_env.Rules:
        """The rules."""
        return ddz_env.Rules.preset(self.rules)


class Parallel(Command):
    """A command whose work is shared by several processes.

    Attributes:
        processes: Worker processes; results do not depend on them.
    """

    ray = True

    processes: Count = 2

    @contextmanager
    def working(self, what: str) -> Iterator[dict[str, Any]]:
        """A bar of what is done; yields the arguments of what does it: ``processes`` and ``on_progress``."""
        with bar(what) as on_progress:
            yield {"processes": self.processes, "on_progress": on_progress}


class Playing(Parallel, UnderRules):
    """A command that plays games.

    Attributes:
        seed: Seed of deals and agents.
    """

    seed: Natural = 0


class SavedGames(Playing):
    """One that saves what it has played.

    Attributes:
        out: Save every game as it is played, in FILE.sqlite, and write FILE.csv at the end; what is there is resumed.
    """

    out: Annotated[Path | None, File(".csv", ".sqlite", use="results")] = None


# --- commands for click ------------------------------------------------------


def _spelled(name: str, on: bool = True) -> str:
    return f"--{'' if on else 'no-'}{name.strip('_').replace('_', '-')}"


def unmarked(text: str) -> str:
    """A docstring's text without its markup, for the screen."""
    return re.sub(r":\w+:`~?([^`]*)`", r"\1", text).replace("`", "")


def _examples(*lines: str) -> str:
    """The end of a help; click leaves its lines as they are."""
    return "\n".join(["\b", "Examples:" if len(lines) > 1 else "Example:", *(f"  {line}" for line in lines)])


def click_command(kind: type[Command]) -> click.Command:
    """What click runs for a command."""
    typed, options = kind.typed(), {option.name: option for option in kind.options()}

    def run(**values: Any) -> None:
        context = click.get_current_context()
        source = context.get_parameter_source
        given = {name: value for name, value in values.items() if source(name) is ParameterSource.COMMANDLINE}
        command = kind(**given)
        vars(command).update(given=frozenset(given))
        root = context.find_root()
        root.obj = command
        check_files(command, typed)
        if root.params["ray"]:
            if not kind.ray:
                raise CommandLineError("this command does not play on a cluster: leave out --ray")
            root.with_resource(ray_cluster.on_ray())
        command.run()

    text, _, examples = inspect.cleandoc(kind.__doc__ or "").partition("\n\nExample:\n")
    return click.Command(
        kind.words[-1],
        context_settings=_SETTINGS,
        params=[_parameter(options[name], spelling, kind.error) for name, spelling in typed.items()],
        help=unmarked(text.partition("\n\nAttributes:\n")[0]),
        epilog=_examples(*filter(None, map(str.strip, examples.splitlines()))),
        callback=run,
    )


class Value(click.ParamType[Any]):
    """What is typed for an option, read as its annotation says.

    Args:
        option: The option.
        error: What a wrong value raises.
    """

    name = "text"

    def __init__(self, option: Option, error: type[DouDizhuError]) -> None:
        self.option, self.error = option, error

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read it."""
        return self.option.read(value, self.error)


def _parameter(option: Option, typed: str, error: type[DouDizhuError]) -> click.Parameter:
    """An option as click wants it."""
    required, several = option.default is dataclasses.MISSING, tuple in option.kinds
    about = unmarked(option.meaning)
    if not required and str(option.default) not in ("None", "False", "()", ""):
        about += f"  [default: {option.written}]"
    one = (option.element if several and option.element else option)._replace(name=typed, optional=False)
    settings: dict[str, Any] = {"help": about, "required": required, "type": Value(one, error)}
    if not typed.startswith("-"):
        return click.Argument([option.name], nargs=-1 if several else 1, **settings)
    if option.kinds == (bool,):
        both = f"{typed}/{_spelled(option.name, False)}" if option.default else typed
        return click.Option([option.name, both], is_flag=True, default=option.default, help=about)
    metavar = "|".join(map(str, one.choices)) or next(
        (_METAVARS[kind] for kind in one.kinds if kind in _METAVARS), None
    )
    return click.Option([option.name, typed], multiple=several, metavar=metavar or "TEXT", **settings)


Headings = Mapping[str, dict[str, Any]]
"""Commands by heading and name: the class of a command, a group, or what makes a class from the name."""


class Group(click.Group):
    """Commands under headings, each made when it is called for.

    Args:
        name: What calls the group.
        about: Its help.
        headings: Its commands.
        *lines: Examples.
    """

    def __init__(self, name: str, about: str, headings: Headings, *lines: str, **settings: Any) -> None:
        settings |= {"context_settings": _SETTINGS, "epilog": _examples(*lines), "no_args_is_help": True}
        super().__init__(name, help=about, **settings)
        self.headings = headings

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names in the order of the headings."""
        return [name for kinds in self.headings.values() for name in kinds]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        """A command by its name.

        Raises:
            NoSuchCommand: If there is none.
        """
        kind = next((kinds[cmd_name] for kinds in self.headings.values() if cmd_name in kinds), None)
        if kind is None:
            names = [name for heading, kinds in self.headings.items() if heading for name in kinds]
            there = f"No such command {cmd_name!r}; there are {', '.join(names)}."
            said = None if did_you_mean(cmd_name, names) else there
            raise click.exceptions.NoSuchCommand(cmd_name, said, names, ctx)
        if isinstance(kind, click.Command):
            return kind
        return click_command(kind if isinstance(kind, type) else kind(cmd_name))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands with the first sentence of their help, under their headings."""
        for heading, kinds in self.headings.items():
            if heading:
                with formatter.section(heading):
                    formatter.write_dl([(name, self.get_command(ctx, name).get_short_help_str(200)) for name in kinds])


# --- ddz itself --------------------------------------------------------------


class Main(Group):
    """``ddz``: what may be typed anywhere on the line, and how every command ends.

    Args:
        *given: As of :class:`Group`.
    """

    def __init__(self, *given: Any) -> None:
        flags = [click.Option([name], is_flag=True, help=about) for name, about in _ANYWHERE.items()]
        flags[0].envvar = "DDZ_DEBUG"
        super().__init__(*given, params=flags)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Move the options that may be typed anywhere before ``--`` to the front."""
        end = args.index("--") if "--" in args else len(args)
        front = [arg for arg in args[:end] if arg in _ANYWHERE]
        return super().parse_args(ctx, [*front, *(arg for arg in args[:end] if arg not in _ANYWHERE), *args[end:]])

    def invoke(self, ctx: click.Context) -> None:
        """Run a command; its error is one line, unless ``--debug`` is given."""
        try:
            with answering(interrupt), warnings.catch_warnings():
                _complain_of_agents()
                super().invoke(ctx)
        except (Exception, KeyboardInterrupt) as error:
            fault = fault_of(error)
            if fault is None or (ctx.params["debug"] and fault[1] != EXIT_INTERRUPTED):
                raise
            language = getattr(ctx.obj, "language", "en")
            texts = table_texts.Texts(language if language in table_texts.LANGUAGES else "en")
            complain(texts.complaint(fault[0]))
            raise click.exceptions.Exit(fault[1]) from error
        if ctx.meta.get(_FAILED):
            raise click.exceptions.Exit(EXIT_AGENT_FAILED)


_FAILED = "ddz.agent_failed"


def agent_failed(message: str) -> None:
    """Say once in red that an agent failed; the command ends with an exit code for it."""
    said = click.get_current_context().meta.setdefault(_FAILED, set())
    if message not in said:
        complain(message)
    said.add(message)


def _complain_of_agents() -> None:
    """Report an agent that fails where there is no game to lose, too."""
    show, failures = warnings.showwarning, match_errors.AgentFaultWarning

    def report(message: Warning | str, category: type[Warning], *where: Any) -> None:
        if issubclass(category, failures):
            agent_failed(str(message))
        elif issubclass(category, match_errors.OtherVersionWarning):
            complain(str(message))
        else:
            show(message, category, *where)

    warnings.simplefilter("always", failures)
    warnings.showwarning = report  # type: ignore[assignment]  # its own parameters are looser


def fault_of(error: BaseException) -> tuple[str, int] | None:
    """What to say of an error, and the exit code; None for what click itself reports or passes on."""
    passed_on = (click.ClickException, click.exceptions.Exit, click.Abort, SystemExit, BrokenPipeError)
    if isinstance(error, passed_on):
        return None
    # A call of compiled code that ends while Ctrl-C arrives has a result and an exception.
    if isinstance(error, KeyboardInterrupt) or isinstance(error.__cause__, KeyboardInterrupt):
        return "interrupted", EXIT_INTERRUPTED
    if isinstance(error, DouDizhuError):
        return error.said, EXIT_BAD_INPUT
    if isinstance(error, ImportError):
        package = (error.name or "").partition(".")[0]
        hint = f": {install_hint(_EXTRAS[package])}" if package in _EXTRAS else ""
        return f"this needs the package {package!r} ({error}){hint}", EXIT_BAD_INPUT
    if isinstance(error, MemoryError):
        return f"there is not enough memory {error}".strip(), EXIT_BAD_INPUT
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or error}", EXIT_BAD_INPUT
    return f"a fault of ddz, {type(error).__name__}: {error}; --debug shows where", EXIT_FAULT


# --- what comes next ---------------------------------------------------------


def follow(why: str, *words: object) -> None:
    """Say which command comes next, unless an agent failed: on standard error, for standard output holds the results.

    Args:
        why: What it is for, behind "Next, ".
        *words: The command, without ``ddz``.
    """
    if _FAILED in click.get_current_context().meta:
        return
    tell(f"Next, {why}:", err=True, dim=True)
    tell(f"  {command_line('ddz', *words)}", err=True)


def rules_words(rules: str) -> list[str]:
    """``--rules`` as it is typed; nothing for the standard rules."""
    return [] if rules == "standard" else ["--rules", rules]
