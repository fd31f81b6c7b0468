"""Options shared by several commands, including output files that are checked before the first game."""

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
from ddz_training.cli.console import progress_bar
from ddz_training.cli.faults import RESUMABLE_FILE, CommandLineError

Command = TypeVar("Command", bound=Callable[..., Any])
COUNT, NATURAL = click.IntRange(1), click.IntRange(0)
Count = Annotated[int, Range(1)]
RULES = "A preset, optionally followed by options, as bidding,doubling=true (ddz show rules)."
WEIGHTS = ".safetensors"


def combine_options(*options: Any) -> Callable[[Command], Command]:
    """Combine several options into one decorator, keeping their order in the help."""
    return lambda function: functools.reduce(lambda made, decorate: decorate(made), reversed(options), function)


def take_options_of(kind: type[Options], name: str = "options") -> Callable[[Command], Command]:
    """Make a decorator that gives a command an option for each field of a class, passed as one object.

    What a field may be is its annotation, its help is what the docstring's ``Attributes:`` say of it.  A set of options
    within the class adds its own.  The fields of a class come before those of its bases.

    Args:
        kind: The class.  An annotation may hold the type of Click's that reads the option: ``Annotated[Path, NEW]``.
        name: The command's parameter.
    """

    def decorate(command: Command) -> Any:
        @functools.wraps(command)
        def given_one_by_one(**given: Any) -> Any:
            options = _take_options(kind, given)
            return command(**{name: options}, **given)

        return combine_options(*_make_click_options(kind))(given_one_by_one)

    return decorate


def _take_options(kind: type[Options], given: dict[str, Any]) -> Options:
    """Build an options object from a command's arguments, and remove those arguments."""
    parts = {option.name: option.kinds[0] for option in kind.options() if option.nested_options}
    names = [option.name for option in kind.options()]
    return kind(**{name: _take_options(parts[name], given) if name in parts else given.pop(name) for name in names})


def _make_click_options(kind: type[Options]) -> list[Any]:
    """Make the Click options for the fields of a class, followed by those of its base classes."""
    hints = typing.get_type_hints(kind, include_extras=True)
    having = Counter(field.name for base in kind.__mro__ if is_dataclass(base) for field in fields(base))
    made = []
    for declared in sorted(kind.options(), key=lambda declared: having[declared.name]):  # the root's are in all classes
        extras = getattr(hints[declared.name], "__metadata__", ())
        reader = next((extra for extra in extras if isinstance(extra, click.ParamType)), None)
        made += (
            _make_click_options(declared.kinds[0])
            if declared.nested_options
            else [_make_click_option(declared, reader)]
        )
    return made


def _make_click_option(declared: Option, reader: click.ParamType[Any] | None) -> Any:
    """Create the Click option for one field of an options class, with its flag, type, default and help."""
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


class OutputFile(click.Path):
    """A parameter type for output files, which never overwrites earlier results and creates missing folders.

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
        """Lock a path for the command and return it, or refuse a path that cannot be written.

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


class WeightsFile(click.ParamType[Path]):
    """A parameter type for files of weights, given by path or, for a shipped policy, by id."""

    name = "file or id"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the path of the weights file that a path or a shipped policy's id stands for."""
        from ddz_agents.neural.shipped import policy_path

        return policy_path(value)


NEW, NEW_WEIGHTS, TABLE = OutputFile(new=True), OutputFile(WEIGHTS, new=True), OutputFile()
LEAGUE = OutputFile(".sqlite", ".db", resumed=True)
WEIGHTS_OR_ID = WeightsFile()
FOLDER = click.Path(file_okay=False, writable=True, path_type=Path)

results_option = option(
    "--out",
    type=OutputFile(".csv", ".sqlite", resumed=True),
    help="Save results as they come: FILE.sqlite, and FILE.csv at the end; resumed if there.",
)
plot_option = option(
    "--plot", type=OutputFile(".png", ".pdf", ".svg", plot=True), help="Write a plot here (.png, .pdf or .svg)."
)

deal_file_option = option(
    "--deal-file",
    type=Path,
    help="Play the first --deals deals of this file (hands or numbers, one deal per line) or of module:function.",
)


# --- how games are played ----------------------------------------------------


@dataclass(frozen=True)
class Workers(Options):
    """The workers of a command: processes of this machine, or a Ray cluster.

    Attributes:
        processes: Worker processes; results do not depend on them.
        ray: Play on a Ray cluster, yours or one of --processes cores; same results.
    """

    processes: Count = 2
    ray: bool = False


@dataclass(frozen=True)
class PlayingOptions(Options):
    """Options shared by the commands that play games.

    Attributes:
        rules: A preset, optionally followed by options, as bidding,doubling=true (ddz show rules).
        seed: Seed of deals and agents.
        workers: Where they are played.
    """

    rules: str = "standard"
    seed: Annotated[int, Range(0)] = 0
    workers: Workers = Workers()


@contextmanager
def work_under_bar(what: str, workers: Workers) -> Iterator[dict[str, Any]]:
    """Show a progress bar while a command's games are played, and yield the arguments for playing them.

    Args:
        what: What is counted.
        workers: Who plays.

    Yields:
        The arguments of what does the work: ``processes`` and ``on_progress``.
    """
    context = click.get_current_context()
    context.meta[RESUMABLE_FILE] = context.params.get("out")
    with ExitStack() as leave:
        if workers.ray:
            from ddz_training.measure import ray_cluster

            leave.enter_context(ray_cluster.use_ray())
        yield {"processes": workers.processes, "on_progress": leave.enter_context(progress_bar(what))}
