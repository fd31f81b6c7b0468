"""What a command of ``ddz`` is: a frozen dataclass whose fields are its options, with a ``run``.

Everything else that commands have is here, once.  The docstring is the help: ``Attributes:`` says what each option
means, ``Example:`` what one may type.  Values are read and checked by their annotations
(:mod:`ddz_env.core.options`), as those of agents, rules and experiments are; files are checked before any work
(:mod:`ddz_training.apps.cli.outputs`).  An error is one line on standard error with an exit code (:func:`fault_of`).
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar, get_type_hints

import click
from click.core import ParameterSource

import ddz_env
from ddz_env.core.errors import DouDizhuError, command_line, did_you_mean, install_hint
from ddz_env.core.options import Option, Options, Range
from ddz_training.apps.cli.console import complain, tell
from ddz_training.apps.cli.lazily import lazily
from ddz_training.apps.cli.outputs import File, check_files
from ddz_training.apps.cli.signals import EXIT_INTERRUPTED, interruptible

with lazily():
    from ddz_env.table import texts as table_texts
    from ddz_training.measure import errors as match_errors
    from ddz_training.measure import provenance, ray_cluster

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: Any) -> Any:
        """What type checkers read, from Python 3.11 on in :mod:`typing`."""
        return lambda kind: kind


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

_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
_METAVARS = {int: "N", float: "NUMBER", Path: "PATH"}
_ANYWHERE = {
    "--debug": "Show the full traceback of an error; an agent's first fault ends a match.",
    "--ray": "Play on a Ray cluster (ray start), or on one begun with --processes cores; same results.",
    "--allow-other-code": "Add to a file that other code has written; it then names both.",
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


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Command(Options):
    """A command: every subclass is a frozen dataclass.  A field that ends in an underscore is an option without it.

    Attributes:
        error: What a wrong value raises.
        went: Options of an earlier release, with what to do instead; nothing where they change nothing now.
        words: What calls it, without ``ddz``.
        given: The fields that were typed.
    """

    error: ClassVar[type[DouDizhuError]] = CommandLineError
    went: ClassVar[Mapping[str, str]] = {}
    words: ClassVar[Sequence[str]] = ()
    given: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls) -> None:
        dataclasses.dataclass(frozen=True, kw_only=True, repr=False, eq=False)(cls)  # made at every start

    def run(self) -> None:
        """Do its work.

        Raises:
            DouDizhuError: What is wrong, for one line.
            click.exceptions.Exit: To end with another exit code than 0.
        """
        raise NotImplementedError

    @classmethod
    def typed(cls) -> dict[str, str]:
        """How each option is typed, by its field, its own before those of its base classes."""
        own = vars(cls).get("__annotations__", {})
        hints = get_type_hints(cls, include_extras=True)
        fields = sorted(dataclasses.fields(cls), key=lambda field: field.name not in own)  # type: ignore[arg-type]
        positional = {field.name for field in fields if _ARGUMENT in getattr(hints[field.name], "__metadata__", ())}
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
        """The command line that goes on with this run, as :meth:`again`."""
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


class Playing(UnderRules):
    """A command that plays games in several processes.

    Attributes:
        seed: Seed of deals and agents.
        processes: Worker processes; results do not depend on them.
    """

    seed: Natural = 0
    processes: Count = 2


class SavedGames(Playing):
    """One that saves what it has played.

    Attributes:
        out: Save every game here as it is played (FILE.csv or FILE.jsonl); an existing file is resumed.
    """

    out: Annotated[Path | None, File(".csv", ".jsonl", use="results")] = None


# --- commands for click ------------------------------------------------------


def _spelled(name: str, on: bool = True) -> str:
    return f"--{'' if on else 'no-'}{name.strip('_').replace('_', '-')}"


def unmarked(text: str) -> str:
    """A docstring's text without its markup, for the screen."""
    return re.sub(r":\w+:`~?([^`]*)`", r"\1", text).replace("`", "")


def _examples(*lines: str) -> str:
    """The end of a help; click leaves its lines as they are."""
    return "\n".join(["\b", "Examples:" if len(lines) > 1 else "Example:", *(f"  {line}" for line in lines)])


class ClickCommand(click.Command):
    """What click runs for a command.

    Args:
        words: What calls it, without ``ddz``.
        kind: The command.
    """

    def __init__(self, words: Sequence[str], kind: type[Command]) -> None:
        self.words, self.kind, self.typed = words, kind, kind.typed()
        self.options = {option.name: option for option in kind.options()}
        text = inspect.cleandoc(kind.__doc__ or "")
        lines = text.partition("\nExample:\n")[2].splitlines()
        params = [_parameter(self.options[name], typed) for name, typed in self.typed.items()]
        super().__init__(
            words[-1],
            context_settings=_SETTINGS,
            params=[*params, *map(_that_went, kind.went.items())],
            help=unmarked(re.split(r"\n\n(?:Attributes|Example):\n", text)[0]),
            epilog=_examples(*filter(None, map(str.strip, lines))),
            callback=self._run,
        )

    def _run(self, **values: Any) -> None:
        context = click.get_current_context()
        given = [name for name in values if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
        command = self.kind(**{name: self._read(name, values[name]) for name in given})
        object.__setattr__(command, "words", self.words)
        object.__setattr__(command, "given", frozenset(given))
        context.find_root().obj = command
        check_files(command, self.typed)
        command.run()

    def _read(self, name: str, value: Any) -> Any:
        """The value of an option from what was typed."""
        option = self.options[name]._replace(name=self.typed[name], optional=False)
        if isinstance(value, bool):
            return value
        if isinstance(value, tuple):
            one = (option.element or option)._replace(name=self.typed[name])
            return tuple(one.read(text, self.kind.error) for text in value)
        return option.read(value, self.kind.error)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what the arguments mean, and the options."""
        arguments = [one for one in self.params if isinstance(one, click.Argument)]
        if arguments:
            with formatter.section("Arguments"):
                formatter.write_dl([(one.make_metavar(ctx), _about(self.options[one.name or ""])) for one in arguments])
        super().format_options(ctx, formatter)


def _about(option: Option) -> str:
    has_default = option.default is not dataclasses.MISSING and str(option.default) not in ("None", "False", "()", "")
    return unmarked(option.meaning) + (f"  [default: {option.written}]" if has_default else "")


def _parameter(option: Option, typed: str) -> click.Parameter:
    """An option as click wants it: text, which is read later."""
    required, several = option.default is dataclasses.MISSING, tuple in option.kinds
    if not typed.startswith("-"):
        return click.Argument([option.name], nargs=-1 if several else 1, required=required)
    settings: dict[str, Any] = {"help": _about(option), "required": required, "multiple": several}
    if option.kinds == (bool,):
        typed += f"/{_spelled(option.name, False)}" if option.default else ""
        settings |= {"is_flag": True, "default": option.default}
    else:
        inner = option.element or option
        kinds = (_METAVARS[kind] for kind in inner.kinds if kind in _METAVARS)
        settings["metavar"] = "|".join(map(str, inner.choices)) or next(kinds, "TEXT")
    return click.Option([option.name, typed], **settings)


def _that_went(option: tuple[str, str]) -> click.Option:
    """A hidden option for one that went."""
    name, instead = option

    def refuse(context: click.Context, parameter: click.Parameter, given: bool) -> None:
        if given and instead:
            raise CommandLineError(f"--{name} went: {instead}")

    return click.Option([f"--{name}"], is_flag=True, hidden=True, expose_value=False, is_eager=True, callback=refuse)


Headings = Mapping[str, Mapping[str, Any]]
"""Commands by heading and name: the class of a command, a group, or what makes a class from the name."""


class Group(click.Group):
    """Commands under headings, each made when it is called for.

    Args:
        words: What calls the group, without ``ddz``; empty for ``ddz`` itself.
        about: Its help.
        headings: Its commands, or what looks them up.
        *lines: Examples.
    """

    def __init__(
        self,
        words: Sequence[str],
        about: str,
        headings: Headings | Callable[[], Headings],
        *lines: str,
        **settings: Any,
    ) -> None:
        settings |= {"context_settings": _SETTINGS, "epilog": _examples(*lines), "no_args_is_help": True}
        super().__init__(words[-1] if words else "ddz", help=about, **settings)
        self.words, self._headings = words, headings

    @functools.cached_property
    def headings(self) -> Headings:
        """The commands by heading and name."""
        return self._headings() if callable(self._headings) else self._headings

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names in the order of the headings."""
        return [name for kinds in self.headings.values() for name in kinds]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A command by its name; None if there is none."""
        kind = next((kinds[cmd_name] for kinds in self.headings.values() if cmd_name in kinds), None)
        if kind is None or isinstance(kind, click.Command):
            return kind
        return ClickCommand((*self.words, cmd_name), kind if isinstance(kind, type) else kind(cmd_name))

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find the command that is named first, or say which is near."""
        if not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            words = " ".join(("ddz", *self.words, "--help"))
            near = did_you_mean(args[0], self.list_commands(ctx))
            ctx.fail(f"there is no command {args[0]!r}{near}; {words} lists them")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands with the first sentence of their help, under their headings."""
        for heading, kinds in self.headings.items():
            if heading:
                commands = ((name, self.get_command(ctx, name)) for name in kinds)
                with formatter.section(heading):
                    formatter.write_dl([(name, one.get_short_help_str(200)) for name, one in commands if one])


# --- ddz itself --------------------------------------------------------------


class Main(Group):
    """``ddz``: what may be typed anywhere on the line, and how every command ends.

    Args:
        gone: What to do instead of each command that went, by its one or two words.
        *given: As of :class:`Group`.
    """

    def __init__(self, gone: Mapping[str, str], *given: Any) -> None:
        flags = [click.Option([name], is_flag=True, help=about) for name, about in _ANYWHERE.items()]
        flags[0].envvar = "DDZ_DEBUG"
        super().__init__(*given, params=flags)
        self._gone = gone

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Bring what may be typed anywhere before ``--`` to the front, and refuse a command that went.

        Raises:
            CommandLineError: If there is one.
        """
        end = args.index("--") if "--" in args else len(args)
        front = [arg for arg in args[:end] if arg in _ANYWHERE]
        args = [*front, *(arg for arg in args[:end] if arg not in _ANYWHERE), *args[end:]]
        words = [word for word in args if not word.startswith("-")]
        for name in (" ".join(words[:2]), *words[:1]):
            if name in self._gone:
                complain(f"{name} went: {self._gone[name]} instead")
                raise click.exceptions.Exit(EXIT_BAD_INPUT)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> None:
        """Run a command; its error is one line, unless ``--debug`` is given."""
        try:
            with interruptible(), warnings.catch_warnings():
                _complain_of_agents()
                if ctx.params["ray"]:
                    ctx.with_resource(ray_cluster.on_ray())
                if ctx.params["allow_other_code"]:
                    ctx.with_resource(provenance.other_code())
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


def follow(why: str, *words: str | Path) -> None:
    """Say with which command one goes on: on standard error, so that standard output holds results alone.

    Args:
        why: What it is for, behind "Next, ".
        *words: The command, without ``ddz``.
    """
    tell(f"Next, {why}:", err=True, dim=True)
    tell(f"  {command_line('ddz', *words)}", err=True)


def follow_policy(path: Path, rules: str, *, trust: bool = False) -> None:
    """Say with which command a policy that a training has written plays.

    Args:
        path: Its file.
        rules: Those that it was trained under.
        trust: Whether its file is one that is only read with ``trust_file=true``.
    """
    agent = f"policy:path={path}{',trust_file=true' if trust else ''}"
    follow("to see how strong it is", "arena", agent, "rules", *rules_words(rules))


def rules_words(rules: str) -> list[str]:
    """``--rules`` as it is typed; nothing for the standard rules."""
    return [] if rules == "standard" else ["--rules", rules]
