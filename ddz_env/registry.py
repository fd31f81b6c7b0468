"""Agents by name, with options: ``rules``, ``isuct:iterations=2000``, ``mymodule:MyAgent:depth=3``.

Names come from the table of built-in agents and from the entry-point group ``ddz_env.agents``, so that other
distributions add theirs.  Factories are loaded when they are asked for: nobody waits for search kernels to play
``random``.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
import os
import sys
from collections.abc import Callable
from importlib import metadata
from typing import Any

from ddz_env.agent import Agent
from ddz_env.errors import InvalidAgentOptionError, UnknownAgentError
from ddz_env.options import Option

GROUP = "ddz_env.agents"
"""The entry-point group; ``ddz_env.opponents`` reads the same."""

BUILT_IN: dict[str, str] = {
    "random": "agents.random:RandomAgent",
    "random-staged": "agents.random:RandomStagedAgent",
    "rules": "agents.rule_agent.rules:RulesAgent",
    "isuct": "agents.mcts.agent:IsUctAgent",
    "isuct-redetermined": "agents.mcts.ablations.redetermined:RedeterminizedUctAgent",
    "isuct-moves": "agents.mcts.ablations.whole_moves:WholeMoveUctAgent",
    "duct": "agents.mcts.agent:DeterminizedUctAgent",
    "cheating-uct": "agents.mcts.agent:CheatingUctAgent",
    "rollout": "agents.mcts.rollout:RolloutAgent",
    "cheating-minimax": "agents.exact.agents:CheatingMinimaxAgent",
    "determinized-minimax": "agents.exact.agents:DeterminizedMinimaxAgent",
    "expectimax": "agents.exact.agents:InformationSetExpectimaxAgent",
    "rlcard-rule": "agents.external.rlcard_rule:RLCardRuleAgent",
    "policy": "agents.neural.agent:PolicyAgent",
    "neural-ismcts": "agents.neural_search.agent:NeuralSearchAgent",
}
"""Agents of this distribution, as ``module:factory``; a plain checkout has no entry points."""


def agent_names() -> list[str]:
    """All names that :func:`make_agent` knows, sorted."""
    return sorted({*BUILT_IN, *(point.name for point in metadata.entry_points(group=GROUP))})


def make_agent(spec: str) -> Agent:
    """Make an agent from its name and options.

    Args:
        spec: ``name``, ``name:option=value,option=value``, or the user's own ``module:factory`` with options after a
            second colon.  Values are integers, floats, ``true``, ``false``, ``none`` or text.

    Raises:
        UnknownAgentError: If nothing answers to the name, or what answers is no agent.
        InvalidAgentOptionError: If the options cannot be read or the agent has no such option.

    Example:
        >>> make_agent("random").name
        'random'
    """
    if not isinstance(spec, str) or not spec.strip():
        raise UnknownAgentError(f"an agent is named by text, not {spec!r}; {_known()}")
    name, _, rest = spec.strip().partition(":")
    factory = _factory(name)
    if factory is None:
        if not rest or "=" in rest.partition(":")[0]:
            raise UnknownAgentError(f"no agent is called {name!r}{_nearest(name)}; {_known()}")
        attribute, _, rest = rest.partition(":")
        _look_here()
        factory = _import(f"{name}:{attribute}", spec)
    options = parse_options(rest, spec)
    _check_options(factory, options, spec)
    agent = factory(**options)
    if not callable(getattr(agent, "act", None)):
        raise UnknownAgentError(f"{spec!r} made {agent!r}, which has no act(view, rng): see ddz_env.agent.Agent")
    return agent if hasattr(agent, "name") else _Named(agent, spec)


def _look_here() -> None:
    """Let imports find the current directory, where a user's own agent lies; console scripts do not."""
    here = os.getcwd()
    if here not in sys.path and "" not in sys.path:
        sys.path.append(here)


class _Named:
    """A user's agent that has no name of its own: the specification names it."""

    def __init__(self, agent: Any, name: str) -> None:
        self._agent = agent
        self.name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__") or attribute == "_agent":  # while unpickling there is no agent yet
            raise AttributeError(attribute)
        return getattr(self._agent, attribute)


def parse_options(text: str, spec: str = "") -> dict[str, Any]:
    """Read ``option=value,option=value``.

    Args:
        text: The options; empty for none.
        spec: The whole specification, for the message.

    Raises:
        InvalidAgentOptionError: If a part is not ``option=value`` or an option stands twice.

    Example:
        >>> parse_options("iterations=2000,exploration=0.7,reuse=true")
        {'iterations': 2000, 'exploration': 0.7, 'reuse': True}
    """
    options: dict[str, Any] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not name.isidentifier() or not value:
            raise InvalidAgentOptionError(f"{part!r} in {spec or text!r} is not option=value, as in iterations=2000")
        if name in options:
            raise InvalidAgentOptionError(f"option {name!r} stands twice in {spec or text!r}")
        options[name] = _value(value)
    return options


def _value(text: str) -> Any:
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def agent_options(name: str) -> tuple[Option, ...]:
    """The options of an agent by its name; empty where its factory takes none or declares none.

    Raises:
        UnknownAgentError: If there is no agent of that name.
    """
    factory = _factory(name)
    if factory is None:
        raise UnknownAgentError(f"no agent is called {name!r}{_nearest(name)}; {_known()}")
    options_type = getattr(factory, "options_type", None)
    return options_type.options() if options_type is not None else ()


def _factory(name: str) -> Callable[..., Any] | None:
    """The factory of a known name: ours first, so that no other distribution shadows it unseen."""
    if name in BUILT_IN:
        return _import(BUILT_IN[name], name)
    for point in metadata.entry_points(group=GROUP):
        if point.name == name:
            return point.load()  # type: ignore[no-any-return]
    return None


def _import(path: str, spec: str) -> Callable[..., Any]:
    module_name, _, attribute = path.partition(":")
    module = _import_module(module_name, spec)
    found: Any = module
    for part in attribute.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise UnknownAgentError(f"module {module_name!r} has no class or function {attribute!r}, asked for by {spec!r}")
    return found  # type: ignore[no-any-return]


def _import_module(name: str, spec: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not (name == error.name or name.startswith(error.name + ".")):
            raise  # the module is there, something that it imports is not
        raise UnknownAgentError(
            f"no agent and no module is called {name!r}{_nearest(name)}, asked for by {spec!r}; {_known()}"
        ) from error
    except (TypeError, ValueError) as error:  # an empty or relative name
        raise UnknownAgentError(f"{name!r} in {spec!r} is no module name; {_known()}") from error


def _check_options(factory: Callable[..., Any], options: dict[str, Any], spec: str) -> None:
    try:
        signature = inspect.signature(factory)
    except (TypeError, ValueError):
        return  # a factory written in C: it will complain itself
    try:
        signature.bind(**options)
    except TypeError as error:
        has = ", ".join(_with_default(option) for option in signature.parameters.values()) or "no options"
        raise InvalidAgentOptionError(f"{spec!r}: {error}; it takes {has}") from error


def _with_default(option: inspect.Parameter) -> str:
    return option.name if option.default is option.empty else f"{option.name}={option.default!r}"


def _nearest(name: str) -> str:
    near = difflib.get_close_matches(name, agent_names(), n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def _known() -> str:
    return f"known are {', '.join(agent_names())}, and module:Class for your own"
