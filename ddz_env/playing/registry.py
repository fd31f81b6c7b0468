"""Agents by name, with options: ``rules``, ``isuct:iterations=2000``, ``mymodule:MyAgent:depth=3``.

Every agent also takes ``bidder=AGENT``, another agent that bids and doubles in its place, whose options follow a
dot: ``isuct:iterations=2000,bidder=payoff,bidder.worlds=100``.

Names come from the entry-point group ``ddz_env.agents`` alone, so that every distribution adds its agents in the same
way; a level (``easy``, ``medium``, ``hard``, ``master``) stands for one of them (:data:`LEVELS`).
Factories are loaded when they are needed: ``random`` does not wait for search kernels.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from ddz_env.core.rules import Rules
from ddz_env.playing.agent import Agent
from ddz_env.playing.bidder import AgentWithBidder
from ddz_env.playing.game import describe_error
from ddz_env.playing.practice import COMPILE_SECONDS, ENGINE_SECONDS, compile_agent
from ddz_env.support.errors import InvalidAgentOptionError, Message, UnknownAgentError, short_repr, suggest_name
from ddz_env.support.options import (
    Option,
    find_options_type,
    list_signature_options,
    parse_option_value,
    refuse_unknown,
    split_options,
)

GROUP = "ddz_env.agents"
"""The entry-point group of agents."""

_DISTRIBUTION = "ddz-env"
_BIDDER = "bidder"
_TIME, _WORK = "milliseconds", ("iterations", "depth")
"""The option by which a search gets time, and those that it replaces."""


class Level(NamedTuple):
    """A level of play, such as ``easy``: an agent with options, and its Elo rating.

    Attributes:
        name: Its name.
        agent: The agent that plays it, as for :func:`make_agent`.
        elo: Its rating; ``rules`` is 0.
    """

    name: str
    agent: str
    elo: int


LEVELS = (
    Level("easy", "isuct:iterations=200", -327),
    Level("medium", "rules-without:rule=pass", -130),
    Level("hard", "rules", 0),
    Level("master", "neural-ismcts", 119),
)
"""The levels of play, from the weakest to the strongest."""


class ShippedPolicy(NamedTuple):
    """A trained policy that ships with the package under a fixed id, such as ``policy-v1``.

    Attributes:
        name: The id, which always names the same file.
        meaning: What it is.
    """

    name: str
    meaning: str

    @property
    def agent(self) -> str:
        """The name and options of the agent that plays this policy, ``policy:path=ID``."""
        return f"policy:path={self.name}"


POLICIES = (
    ShippedPolicy(
        "policy-v1",
        "Plays by the first policy that shipped: the yardstick of the benchmark and of later policies.",
    ),
    ShippedPolicy("policy-v2", "Plays by the second policy that shipped."),
    ShippedPolicy("policy-v3", "Plays by the third policy that shipped, the first that was trained on a GPU."),
    ShippedPolicy(
        "policy-raw",
        "Plays by the policy of bytes alone, which programs without this package play by; needs the extra `onnx`.",
    ),
)
"""The policies that have a name."""

_LEVELS = {level.name: level.agent for level in LEVELS}
_POLICIES = {policy.name: policy.agent for policy in POLICIES}


def expand_alias(agent: str) -> str:
    """Replace a level (``easy`` ...) or a policy id in a specification with the agent that it stands for.

    Its own options come before those that are added; an option that a level and its user name is the user's.

    Example:
        >>> expand_alias("medium"), expand_alias("easy:exploration=0.9"), expand_alias("random")
        ('rules-without:rule=pass', 'isuct:iterations=200,exploration=0.9', 'random')
        >>> expand_alias("policy-v1:temperature=1")
        'policy:path=policy-v1,temperature=1'
    """
    name, _, extra = agent.strip().partition(":")
    known = (_LEVELS | _POLICIES).get(name)
    if known is None or (extra and "=" not in extra.partition(":")[0]):  # `easy:MyAgent` is somebody's own module
        return agent
    player, _, text = known.partition(":")
    added = {option.partition("=")[0].strip() for option in extra.split(",")} if name in _LEVELS else set()
    added.update(_WORK if _TIME in added else ())
    own = [option for option in text.split(",") if option and option.partition("=")[0] not in added]
    options = ",".join([*own, *filter(None, [extra])])
    return f"{player}:{options}" if options else player


def list_agent_names() -> list[str]:
    """List the names of all installed agents and shipped policies in sorted order; levels are left out."""
    points = _find_entry_points()
    return sorted([*points, *(_POLICIES if "policy" in points else ())])


def make_agent(agent: str | object, rules: Rules | None = None) -> Agent:
    """Make an agent from its name and options.

    Args:
        agent: ``name``, ``name:option=value,option=value``, a level (:data:`LEVELS`), or the
            user's own ``module:factory`` with options after a second colon.  Values are integers, floats, ``true``,
            ``false``, ``none`` or text.  Agents with a ``main_option`` take it without its name (``botzone:./bot``).
            An object with ``act`` is an agent already, and is returned.
        rules: The rules under which it will play.  What an agent of this package then needs is compiled before it is
            handed over, once in a process (:mod:`ddz_env.playing.practice`); other agents are only made.  None
            compiles nothing in advance.

    Raises:
        UnknownAgentError: If nothing has the name, or what has it is not an agent.
        InvalidAgentOptionError: If the options cannot be read or the agent has no such option.

    Example:
        >>> make_agent("random").name
        'random'
    """
    if not isinstance(agent, str):
        return _check_agent(agent, short_repr(agent), type(agent).__name__)
    seconds = None if rules is None else estimate_compile_seconds(agent)
    if rules is not None and seconds is not None and sum(rules.deck) <= (max_cards_of_agent(agent) or sum(rules.deck)):
        compile_agent(agent, partial(make_agent, agent), rules, ENGINE_SECONDS + seconds)
    player, bidder = split_bidder(agent)
    factory, options = parse_agent(player)
    try:
        agent_object = _call_factory(factory, options)
    except InvalidAgentOptionError as error:
        raise InvalidAgentOptionError(f"{agent!r}: {error}") from error
    checked = _check_agent(agent_object, player, player)
    return checked if bidder is None else AgentWithBidder(checked, make_agent(bidder))


def max_cards_of_agent(agent: str) -> int | None:
    """Return the size of the largest deck that an agent supports, or None if there is no limit."""
    most: int | None = getattr(parse_agent(agent)[0], "max_cards", None)
    return most


def has_time_limit(agent: str) -> bool:
    """Return whether an agent has a time limit in milliseconds per decision instead of a number of iterations.

    Args:
        agent: As for :func:`make_agent`.

    Raises:
        UnknownAgentError: If nothing answers to the name.
        InvalidAgentOptionError: If the options cannot be read, or a value is not allowed.

    Example:
        >>> has_time_limit("ddz_agents.random:RandomAgent")
        False
    """
    factory, options = parse_agent(agent)
    declared = find_options_type(factory)
    made = vars(declared.from_values(**options)) if declared is not None else options
    return made.get(_TIME) is not None


def estimate_compile_seconds(agent: str) -> int | None:
    """Estimate how many processor seconds a fresh machine needs to compile an agent of this package.

    The engine's own kernels are not counted (:data:`ddz_env.playing.practice.ENGINE_SECONDS`).

    Args:
        agent: As for :func:`make_agent`.

    Returns:
        None for what never decides for practice: a program, an endpoint, a user's class, or an agent that asks one.

    Raises:
        UnknownAgentError: If nothing answers to the name.
        InvalidAgentOptionError: If the options cannot be read, or a value is not allowed.

    Example:
        >>> estimate_compile_seconds("rules"), estimate_compile_seconds("ddz_agents.random:RandomAgent")
        (12, None)
    """
    player, bidder = split_bidder(agent)
    name = _parse_agent_name(player)[0]
    point = _find_entry_points(name).get(name)
    if point is None or not _is_ours(point) or name not in COMPILE_SECONDS:
        return None
    factory, options = parse_agent(player)
    declared = find_options_type(factory)
    asked = () if declared is None else declared.from_values(**options).named_agents()
    parts = [estimate_compile_seconds(other) for other in {*asked, *filter(None, [bidder])}]
    return None if None in parts else COMPILE_SECONDS[name] + sum(filter(None, parts))


def parse_agent(agent: str) -> tuple[Callable[..., Any], dict[str, Any]]:
    """Parse an agent's specification into its factory and checked options, without making the agent.

    Args:
        agent: As for :func:`make_agent`; a bidder (:func:`split_bidder`) is left out.

    Returns:
        What makes the agent, and the options that it takes.

    Raises:
        UnknownAgentError: If nothing answers to the name.
        InvalidAgentOptionError: If the options cannot be read or the agent has no such option.
    """
    _, factory, text = _parse_agent_name(split_bidder(agent)[0])
    try:
        options = {name: parse_option_value(value) for name, value in _split_agent_options(text).items()}
        _check_options(factory, options)
    except InvalidAgentOptionError as error:
        raise InvalidAgentOptionError(f"{agent!r}: {error}") from None
    return factory, options


def split_bidder(agent: str) -> tuple[str, str | None]:
    """Split an agent's specification into the specifications of its card player and its bidder.

    Args:
        agent: As for :func:`make_agent`.

    Returns:
        The specification without ``bidder=`` and its options, and the bidder's; None where there is none, or where the
        agent has an option of that name itself.

    Raises:
        UnknownAgentError: If nothing answers to the name.
        InvalidAgentOptionError: If the options cannot be read, or are those of a bidder that is not named.

    Example:
        >>> split_bidder("isuct:iterations=20,bidder=payoff,bidder.worlds=100")
        ('isuct:iterations=20', 'payoff:worlds=100')
    """
    if _BIDDER not in agent:
        return agent, None
    name, factory, text = _parse_agent_name(agent)
    declared = find_options_type(factory)
    if declared is not None and _BIDDER in [option.name for option in declared.options()]:
        return agent, None
    written = _split_agent_options(text)
    bidder = written.pop(_BIDDER, None)
    dotted = [option for option in written if option.startswith(f"{_BIDDER}.")]
    bidder_options = [f"{option.partition('.')[2]}={written.pop(option)}" for option in dotted]
    if bidder_options and bidder is None:
        raise InvalidAgentOptionError(f"{agent!r}: options of a bidder need the bidder itself: bidder=AGENT")
    player_options = ",".join(map("=".join, written.items()))
    player = f"{name}:{player_options}" if player_options else name
    return player, f"{bidder}:{','.join(bidder_options)}" if bidder_options else bidder


def _parse_agent_name(agent: str) -> tuple[str, Callable[..., Any], str]:
    """Split a specification into the agent's name, its factory, and the string of its options."""
    name, _, options = expand_alias(agent).strip().partition(":")
    factory = _load_factory(name)
    if factory is None:
        attribute, _, options = options.partition(":")
        if not attribute or "=" in attribute:
            raise _unknown_agent_error(name, attribute)
        factory, name = _import_factory(name, attribute), f"{name}:{attribute}"
    main = getattr(factory, "main_option", None)
    return name, factory, f"{main}={options}" if main and options and "=" not in options.partition(",")[0] else options


def _check_agent(agent: Any, text: str, name: str) -> Agent:
    """Check that an object is an agent, and give it a name if it has no name."""
    if isinstance(agent, type):
        raise UnknownAgentError(f"{agent.__name__} is a class: give an object, as {agent.__name__}() makes it")
    if not callable(getattr(agent, "act", None)):
        raise UnknownAgentError(f"{text} is not an agent: it needs a method act(view, rng) that returns a Move")
    if not hasattr(agent, "name"):
        try:
            agent.name = name
        except AttributeError as error:  # slots, a frozen dataclass
            raise UnknownAgentError(f"{text} has no name and cannot be given one: add an attribute name") from error
    return agent  # type: ignore[no-any-return]


def list_agent_options(name: str) -> tuple[Option, ...]:
    """List the options of an agent that can be given as strings.

    Args:
        name: A name, a level, or the user's own ``module:factory``.

    Raises:
        UnknownAgentError: If there is no agent of that name.
    """
    factory = find_agent_factory(name)
    declared = find_options_type(factory)
    options = (list_signature_options(factory) or ()) if declared is None else declared.options()
    return tuple(option for option in options if option.is_textual)


def find_agent_factory(name: str) -> Callable[..., Any]:
    """Find the class or function that makes an agent, from a name, a level or a ``module:factory``.

    Raises:
        UnknownAgentError: If there is no agent of that name.
    """
    if not isinstance(name, str):
        raise _unknown_agent_error(name)
    return _parse_agent_name(name)[1]


def _split_agent_options(text: str) -> dict[str, str]:
    """Split ``option=value,option=value`` into a mapping from option names to values, all of them strings."""
    return split_options(filter(None, map(str.strip, text.split(","))), InvalidAgentOptionError)


def _find_entry_points(name: str | None = None) -> dict[str, metadata.EntryPoint]:
    """Map agent names to their entry points, preferring this package's own where a name is taken twice."""
    points = [point for point in metadata.entry_points(group=GROUP) if name in (None, point.name)]
    return {point.name: point for point in sorted(points, key=_is_ours)}


def _is_ours(point: metadata.EntryPoint) -> bool:
    return point.dist is not None and point.dist.name.replace("_", "-").lower() == _DISTRIBUTION


def _load_factory(name: str) -> Callable[..., Any] | None:
    """Load the factory of a registered name, or return None if the name is not registered."""
    point = _find_entry_points(name).get(name)
    return None if point is None else point.load()


def _is_missing(module: str, error: ImportError) -> bool:
    """Return whether an import failed because the named module, not one that it imports, is missing."""
    return bool(error.name) and f"{module}.".startswith(f"{error.name}.")


def _import_factory(module_name: str, attribute: str) -> Callable[..., Any]:
    """Import an agent factory named as ``module:factory``, also from the current folder."""
    if module_name.endswith(".py"):
        module = ".".join(Path(module_name).with_suffix("").parts)
        raise UnknownAgentError(f"{module_name!r} is a file; an agent's module is written {module}:{attribute}")
    folder = os.getcwd()
    if folder not in sys.path and "" not in sys.path:
        sys.path.append(folder)
    factory = _import_module(module_name)
    for part in attribute.split("."):
        factory = getattr(factory, part, None)
    if not callable(factory):
        raise UnknownAgentError(f"module {module_name!r} has no class or function {attribute!r}")
    return factory  # type: ignore[no-any-return]


def _import_module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if not _is_missing(name, error):
            raise
        near = suggest_name(name, list_agent_names())
        raise UnknownAgentError(
            "there is no module {name} in the current folder or on the path, and no such agent{near}",
            name=short_repr(name),
            near=near,
        ) from error
    except ImportError:
        raise
    except Exception as error:
        raise UnknownAgentError(f"the module {name!r} cannot be imported: {describe_error(error)}") from error


def _check_options(factory: Callable[..., Any], options: dict[str, Any]) -> None:
    """Reject options that an agent's factory does not accept."""
    declared = find_options_type(factory)
    if declared is None:
        named = list_signature_options(factory)
        if named is not None:
            refuse_unknown(options, [option.name for option in named], InvalidAgentOptionError)
        return
    declared.check_names(options)
    for name in _WORK if options.get(_TIME) is not None else ():
        if name in options:
            raise InvalidAgentOptionError(f"{_TIME} replaces {name}: leave one of the two out")


def _call_factory(factory: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Call an agent's factory, and report a ``TypeError`` about its parameters as an option error."""
    try:
        return factory(**options)
    except TypeError as error:
        if error.__traceback__ is not None and error.__traceback__.tb_next is not None:  # in the factory's own code
            raise
        raise InvalidAgentOptionError(str(error)) from None


def _unknown_agent_error(name: str, options: str = "") -> UnknownAgentError:
    near = suggest_name(name, [*list_agent_names(), *(level.name for level in LEVELS)])
    if not near and options.startswith("path="):  # a file of a policy, whatever wrote it
        near = Message(" (did you mean {near}?)", near=repr(f"policy:{options}"))
    return UnknownAgentError(
        "no agent is called {name}{near}; {names}", name=short_repr(name), near=near, names=_list_known_agents()
    )


def _list_known_agents() -> str:
    names, levels = list_agent_names(), ", ".join(level.name for level in LEVELS)
    if not names:
        return f"none is installed: run `pip install -e .` in a clone of {_DISTRIBUTION}"
    return f"known are {', '.join(names)}, the levels {levels}, and module:Class for your own"
