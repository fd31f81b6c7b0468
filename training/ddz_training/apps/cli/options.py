"""Options that several commands have, and how a command gets several of them as one value."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click import option

from ddz_training.apps.cli.console import bar

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


processes_option = option("--processes", type=COUNT, default=2, help="Worker processes; results do not depend on them.")

_PARALLEL = (
    processes_option,
    option("--ray", is_flag=True, help="Play on a Ray cluster, yours or one of --processes cores; same results."),
)


@dataclass(frozen=True)
class Parallel:
    """How work is shared.

    Attributes:
        processes: Worker processes.
        ray: Whether they are on a Ray cluster.
    """

    processes: int
    ray: bool

    @staticmethod
    def options() -> Decorator[Any]:
        """The options; the command gets them as ``parallel``."""
        return gathered("parallel", Parallel, *_PARALLEL)

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

    @classmethod
    def playing(cls, *more: Any, rules: str = "standard") -> Decorator[Any]:
        """The options; the command gets them as ``playing``.

        Args:
            *more: Options that a subclass has besides.
            rules: The preset by default.
        """
        rules_option = option("--rules", default=rules, help=RULES)
        seed_option = option("--seed", type=NATURAL, default=0, help="Seed of deals and agents.")
        return gathered("playing", cls, *more, rules_option, seed_option, *_PARALLEL)

    @property
    def preset(self) -> Rules:
        """The rules."""
        from ddz_env import Rules

        return Rules.preset(self.rules)
