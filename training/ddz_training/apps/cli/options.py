"""Options that several commands have, and files that are checked before the first game rather than after the last."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

import click
from click import option

from ddz_env.support.errors import install_hint
from ddz_env.support.whole_file import is_stream
from ddz_training.apps.cli.console import bar
from ddz_training.apps.cli.faults import RESUMED, CommandLineError

Command = TypeVar("Command", bound=Callable[..., Any])
COUNT, NATURAL = click.IntRange(1), click.IntRange(0)
RULES = "A preset, with options behind it if wanted (ddz show rules)."
WEIGHTS = ".safetensors"


def together(*options: Any) -> Callable[[Command], Command]:
    """Several options as one decorator, in the order of the help."""
    return lambda function: functools.reduce(lambda made, decorate: decorate(made), reversed(options), function)


def packed(name: str, kind: type[Any], *options: Any) -> Callable[[Command], Command]:
    """Several options as one decorator; the command gets their values as one object.

    Args:
        name: The command's parameter.
        kind: Its type: a dataclass with one field per option.
        *options: The options, in the order of the help.
    """

    def decorate(command: Command) -> Any:
        @functools.wraps(command)
        def unpacked(**given: Any) -> Any:
            values = {field.name: given.pop(field.name) for field in fields(kind)}
            return command(**{name: kind(**values)}, **given)

        return together(*options)(unpacked)

    return decorate


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
        from ddz_training.measure.store import holds_results, writing

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
            ctx.find_root().with_resource(writing(path))  # the root's: where parsing fails, a command's stays open
        if self.new and path.exists():
            raise CommandLineError(f"{path} is there already: name another file")
        if path.is_file() and holds_results(path):
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

processes_option = option("--processes", type=COUNT, default=2, help="Worker processes; results do not depend on them.")


@dataclass(frozen=True)
class Workers:
    """Where the games of a command are played.

    Attributes:
        processes: How many worker processes.
        ray: Whether they are on a Ray cluster.
    """

    processes: int
    ray: bool = False


parallel_options = packed(
    "workers",
    Workers,
    processes_option,
    option("--ray", is_flag=True, help="Play on a Ray cluster, yours or one of --processes cores; same results."),
)


def playing_options(rules: str = "standard") -> Callable[[Command], Command]:
    """How games are played: under which rules, from which seed, in how many processes.

    Args:
        rules: The preset by default.
    """
    return together(
        option("--rules", default=rules, help=RULES),
        option("--seed", type=NATURAL, default=0, help="Seed of deals and agents."),
        parallel_options,
    )


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

            leave.enter_context(ray_cluster.on_ray())
        yield {"processes": workers.processes, "on_progress": leave.enter_context(bar(what))}
