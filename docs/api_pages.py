"""The reference of the Python interface: each module's public names with their signatures and first paragraphs."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import itertools
from collections.abc import Callable, Iterator
from enum import Enum
from types import ModuleType
from typing import Any, ForwardRef, NamedTuple, Protocol

import numpy as np

from code_tables import opening, without_roles
from ddz_env import Rules

MODULES = {
    "environments": (
        "ddz_env",
        "ddz_env.dou_dizhu_v0",
        "ddz_env.gym",
        "ddz_env.batch",
        "ddz_env.saved_games",
        "ddz_env.rendering",
        "ddz_env.core.observation",
        "ddz_env.core.actions",
        "ddz_env.support.errors",
        "ddz_env.peers.flat_action",
        "ddz_env.peers.rlcard_ids",
        "ddz_env.peers.openspiel",
        "ddz_env.peers.openspiel.policies",
        "ddz_env.peers.botzone.games",
        "ddz_env.peers.botzone.log",
    ),
    "playing": (
        "ddz_env.playing",
        "ddz_env.playing.agent",
        "ddz_env.playing.registry",
        "ddz_env.playing.bidder",
        "ddz_env.playing.search_statistics",
        "ddz_env.support.options",
    ),
    "agents": (
        "ddz_agents.random",
        "ddz_agents.rules.agent",
        "ddz_agents.search_agent",
        "ddz_agents.tree_search.agent",
        "ddz_agents.tree_search.rollout",
        "ddz_agents.neural.agent",
        "ddz_agents.neural.torch_model",
        "ddz_agents.neural.onnx_files",
        "ddz_agents.neural_search.agent",
        "ddz_agents.neural_search.search",
        "ddz_agents.neural_search.priors",
        "ddz_agents.neural_search.values",
        "ddz_agents.open_cards.solver.position",
        "ddz_agents.open_cards.solver.solver",
        "ddz_agents.open_cards.solver.agents",
        "ddz_agents.bidding.payoff",
        "ddz_agents.bidding.policy",
        "ddz_agents.worlds.inference",
        "ddz_agents.worlds.history",
        "ddz_agents.worlds.learned_player",
        "ddz_agents.external.rlcard_player",
        "ddz_agents.external.douzero.agent",
        "ddz_agents.external.botzone.agent",
    ),
    "training": (
        "ddz_training.measure.contest",
        "ddz_training.measure.store",
        "ddz_training.measure.statistics",
        "ddz_training.measure.summaries",
        "ddz_training.measure.workers",
        "ddz_training.measure.ray_cluster",
        "ddz_training.measure.ratings",
        "ddz_training.data.games",
        "ddz_training.data.recording",
        "ddz_training.learn.ppo.config",
        "ddz_training.learn.sb3.train",
        "ddz_training.learn.sb3.vec_env",
    ),
    "play": (
        "ddz_play.session",
        "ddz_play.dialogue",
        "ddz_play.language_models.agent",
    ),
    "papers": (
        "ddz_papers.experiments.experiment",
        "ddz_papers.determinization_2011.agents",
        "ddz_papers.textbook_search.agent",
        "ddz_papers.thesis_2020.tendency",
    ),
}
"""The modules of each page of ``docs/reference/api``."""


class Entry(NamedTuple):
    """An item of a page's lists.

    Attributes:
        signature: What is written to use it, as Python.
        about: The first paragraph of its docstring, or of the text below a constant.
        member: Whether it belongs to the class before it.
    """

    signature: str
    about: str
    member: bool = False


class AsWritten(str):
    """Text of a signature that is shown without quotes: an annotation, or the name of a function."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def page(modules: tuple[str, ...]) -> str:
    """The sections of a page."""
    return "\n\n".join(section(importlib.import_module(name)) for name in modules)


def section(module: ModuleType) -> str:
    """A module: what it is for, and a list of its public names, those of a class below it."""
    found = (entry for name in public_names(module) for entry in entries(module, name))
    items = (f"{'  ' * entry.member}- `{entry.signature}`: {without_roles(entry.about)}" for entry in found)
    return "\n".join([f"## `{module.__name__}`", "", without_roles(opening(module.__doc__)), "", *items])


def public_names(module: ModuleType) -> list[str]:
    """The names in ``__all__``, or those without an underscore that the module defines."""
    constants = constant_texts(module.__name__)
    own = (name for name, value in vars(module).items() if name in constants or _home(value) == module.__name__)
    return [name for name in getattr(module, "__all__", own) if not name.startswith("_")]


def _home(value: object) -> str | None:
    """The module of a class or a function."""
    return value.__module__ if inspect.isclass(value) or inspect.isfunction(value) else None


def entries(module: ModuleType, name: str) -> Iterator[Entry]:
    """A function, a class with its public methods, or a constant; nothing if it has no text."""
    value = getattr(module, name)
    if inspect.isclass(value):
        yield from class_entries(value)
    elif inspect.isfunction(value):
        yield Entry(f"{name}{signature(value)}", opening(value.__doc__))
    elif text := constant_text(module.__name__, name):
        yield Entry(name, text)


def class_entries(kind: type[Any]) -> Iterator[Entry]:
    """A class with the parameters of its constructor, and its own documented methods and properties."""
    parameters = "(Protocol)" if Protocol in kind.__bases__ else signature(kind, returns=False)
    yield Entry(f"class {kind.__name__}{parameters}", opening(kind.__doc__))
    for name, member in vars(kind).items():
        if not name.startswith("_") and member.__doc__:
            if isinstance(member, property | functools.cached_property):
                yield Entry(name, opening(member.__doc__), member=True)
            elif inspect.isroutine(member):
                bound = signature(getattr(kind, name), skip=inspect.isfunction(member))
                yield Entry(f"{name}{bound}", opening(member.__doc__), member=True)


def signature(function: Callable[..., Any], *, skip: bool = False, returns: bool = True) -> str:
    """The parameters of a function or of a class's constructor, and what is returned.

    Args:
        function: The function or class.
        skip: Whether the first parameter is the object itself, which callers do not pass.
        returns: Whether to show the type of what is returned.
    """
    found = inspect.signature(function)
    parameters = [
        parameter.replace(annotation=_unquoted(parameter.annotation), default=_named(parameter.default))
        for parameter in found.parameters.values()
    ][skip:]
    result = _unquoted(found.return_annotation) if returns else found.empty
    return str(found.replace(parameters=parameters, return_annotation=result))


def _unquoted(annotation: object) -> object:
    """An annotation as it is written; a named tuple keeps those of its fields as references."""
    written = annotation.__forward_arg__ if isinstance(annotation, ForwardRef) else annotation
    return AsWritten(written) if isinstance(written, str) else written


def _named(default: object) -> object:
    """Functions, members of an enumeration and presets by their names; arrays and nameless functions as three dots."""
    if inspect.isfunction(default):
        return AsWritten(default.__name__.replace("<lambda>", "..."))
    if isinstance(default, np.ndarray):
        return AsWritten("...")
    if isinstance(default, Rules):
        return AsWritten(f"Rules.preset({default.name!r})")
    return AsWritten(default) if isinstance(default, Enum) else default


def constant_text(module: str, name: str) -> str:
    """The text below a constant, in this module or in the one of ours that it comes from; empty if there is none."""
    imported = (node for node in ast.walk(_source(module)) if isinstance(node, ast.ImportFrom) and node.module)
    origins = [node.module for node in imported if name in {alias.name for alias in node.names}]
    return constant_text(origins[0] or "", name) if origins else constant_texts(module).get(name, "")


def constant_texts(module: str) -> dict[str, str]:
    """The text below each constant that a module defines, by its name."""
    body, found = _source(module).body, {}
    for node, below in itertools.pairwise(body):
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            found |= {target.id: opening(below.value.value) for target in targets if isinstance(target, ast.Name)}
    return found


@functools.cache
def _source(module: str) -> ast.Module:
    return ast.parse(inspect.getsource(importlib.import_module(module)))


TABLES: dict[str, Callable[[], str]] = {
    f"api-{name}": functools.partial(page, modules) for name, modules in MODULES.items()
}
"""``api-PAGE`` for the pages of ``docs/reference/api``."""
