"""Options that several commands have, and files that are checked before the first game rather than after the last."""

from __future__ import annotations

import functools
import os
import typing
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import click
from click import option

from ddz_env.support.atomic_files import is_stream
from ddz_env.support.errors import install_hint
from ddz_env.support.options import Option, Options, Range
from ddz_training.cli.console import bar
from ddz_training.cli.faults import RESUMED, CommandLineError

Command = TypeVar("Command", bound=Callable[..., Any])
COUNT, NATURAL = click.IntRange(1), click.IntRange(0)
Count = Annotated[int, Range(1)]
RULES = "A preset, with options behind it if wanted (ddz show rules)."
WEIGHTS = ".safetensors"


def together(*options: Any) -> Callable[[Command], Command]:
    """Several options as one decorator, in the order of the help."""
    return lambda function: functools.reduce(lambda made, decorate: decorate(made), reversed(options), function)


def options_of(kind: type[Options], name: str = "options") -> Callable[[Command], Command]:
    """The fields of a class of options as options of a command, which gets them as one object.

    What a field may be is its annotation, its help is what the docstring's ``Attributes:`` say of it.  A set of options
    within the class adds its own.  The fields of a class come before those of its bases.

    Args:
        kind: The class.  An annotation may hold the type of Click's that reads the option: ``Annotated[Path, NEW]``.
        name: The command's parameter.
    """

    def decorate(command: Command) -> Any:
        @functools.wraps(command)
        def given_one_by_one(**given: Any) -> Any:
            options = _of_given(kind, given)
            return command(**{name: options}, **given)

        return together(*_parameters(kind))(given_one_by_one)

    return decorate


def _of_given(kind: type[Options], given: dict[str, Any]) -> Options:
    """The options among the arguments of a command, which are taken out."""
    parts = {option.name: option.kinds[0] for option in kind.options() if option.nested_options}
    names = [option.name for option in kind.options()]
    return kind(**{name: _of_given(parts[name], given) if name in parts else given.pop(name) for name in names})


def _parameters(kind: type[Options]) -> list[Any]:
    """Options of Click's for the fields of a class, before those of its bases."""
    hints = typing.get_type_hints(kind, include_extras=True)
    having = Counter(field.name for base in kind.__mro__ if is_dataclass(base) for field in fields(base))
    made = []
    for declared in sorted(kind.options(), key=lambda declared: having[declared.name]):  # the root's are in all classes
        extras = getattr(hints[declared.name], "__metadata__", ())
        reader = next((extra for extra in extras if isinstance(extra, click.ParamType)), None)
        made += _parameters(declared.kinds[0]) if declared.nested_options else [_parameter(declared, reader)]
    return made


def _parameter(declared: Option, reader: click.ParamType[Any] | None) -> Any:
    """An option of Click's."""
    flag = f"--{declared.name.replace('_', '-')}"
    if declared.default is MISSING:
        return option(flag, type=reader, required=True, help=declared.meaning)
    if bool in declared.kinds:
        both = f"{flag}/--no-{flag.removeprefix('--')}" if declared.default else flag
        return option(both, is_flag=True, default=declared.default, help=declared.meaning)
    if declared.range.least is not None:
        reader = click.IntRange(int(declared.range.least))
    return option(flag, type=reader or declared.kinds[0], default=declared.default, help=declared.meaning)


# --- files that a command writes ---------------------------------------------


class Output(click.Path):
    """A file that a command writes, but never over results of an earlier run; its folder is made if need be.

    The file is this command's from when its name is read until the command ends: another one that names it is refused
    before it has done anything, and what is not there yet is still not there when it is written.

    Args:
        *suffixes: How its name may end; none for anything.
        new: Whether it must not be there yet.
        resumed: Whether it is a file of results that the command adds to; those have a lock of their own.
        plot: Whether it is drawn with matplotlib.
    """

    def __init__(self, *suffixes: str, new: bool = False, resumed: bool = False, plot: bool = False) -> None:
        super().__init__(dir_okay=False, writable=True, path_type=Path)
        self.suffixes, self.new, self.resumed, self.plot = suffixes, new, resumed, plot

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Claim a path, and refuse one that cannot be written.

        Raises:
            CommandLineError: If it cannot.
            InUseError: If another process writes it.
        """
        from ddz_training.measure.plotting import can_plot
        from ddz_training.measure.store import is_results_file, locked_for_writing

        if self.plot and not can_plot():
            raise CommandLineError(f"a plot needs matplotlib: {install_hint('plot')}")
        super().convert(value, param, ctx)
        path = Path(value)
        if self.suffixes and path.suffix.lower() not in self.suffixes:
            raise CommandLineError(f"{path} must end in {' or '.join(self.suffixes)}")
        folder = next(above for above in path.absolute().parents if above.exists())
        if not (folder.is_dir() and os.access(folder, os.W_OK)):
            raise CommandLineError(f"cannot write into {folder}")
        if self.resumed:
            return path
        if ctx is not None and not is_stream(path):
            ctx.find_root().with_resource(
                locked_for_writing(path)
            )  # the root's: where parsing fails, a command's stays open
        if self.new and path.exists():
            raise CommandLineError(f"{path} is there already: name another file")
        if path.is_file() and is_results_file(path):
            raise CommandLineError(f"{path} holds the results of an earlier run: name another file")
        return path


class Weights(click.ParamType[Path]):
    """Weights by their file or, of a shipped policy, by their id."""

    name = "file or id"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The file."""
        from ddz_agents.neural.shipped import policy_path

        return policy_path(value)


NEW, NEW_WEIGHTS, TABLE = Output(new=True), Output(WEIGHTS, new=True), Output()
LEAGUE = Output(".sqlite", ".db", resumed=True)
WEIGHTS_OR_ID = Weights()
FOLDER = click.Path(file_okay=False, writable=True, path_type=Path)

results_option = option(
    "--out",
    type=Output(".csv", ".sqlite", resumed=True),
    help="Save results as they come: FILE.sqlite, and FILE.csv at the end; resumed if there.",
)
plot_option = option(
    "--plot", type=Output(".png", ".pdf", ".svg", plot=True), help="Write a plot here (.png, .pdf or .svg)."
)

deal_file_option = option(
    "--deal-file",
    type=Path,
    help="Play the first --deals deals of this file (hands or numbers, one deal per line) or of module:function.",
)


# --- how games are played ----------------------------------------------------


@dataclass(frozen=True)
class Workers(Options):
    """Where the games of a command are played.

    Attributes:
        processes: Worker processes; results do not depend on them.
        ray: Play on a Ray cluster, yours or one of --processes cores; same results.
    """

    processes: Count = 2
    ray: bool = False


@dataclass(frozen=True)
class PlayingOptions(Options):
    """How games are played.

    Attributes:
        rules: A preset, with options behind it if wanted (ddz show rules).
        seed: Seed of deals and agents.
        workers: Where they are played.
    """

    rules: str = "standard"
    seed: Annotated[int, Range(0)] = 0
    workers: Workers = Workers()


@contextmanager
def working(what: str, workers: Workers) -> Iterator[dict[str, Any]]:
    """Show a progress bar, and use Ray if asked.

    Args:
        what: What is counted.
        workers: Who plays.

    Yields:
        The arguments of what does the work: ``processes`` and ``on_progress``.
    """
    context = click.get_current_context()
    context.meta[RESUMED] = context.params.get("out")
    with ExitStack() as leave:
        if workers.ray:
            from ddz_training.measure import ray_cluster

            leave.enter_context(ray_cluster.use_ray())
        yield {"processes": workers.processes, "on_progress": leave.enter_context(bar(what))}
