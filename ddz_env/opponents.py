"""Opponents: who plays the other seats of a single-agent environment.

An opponent is any object with ``act(view, rng) -> Move``.  Optional: ``cheats = True`` (it gets the
:class:`~ddz_env.State`), ``reset(seat, rules)``, ``observe(seat, move)``, ``act_batch(views, rngs)``, ``close()``.
Names are looked up among the compiled ones, then in the entry-point group ``ddz_env.agents``; ``module:Class`` names
the user's own.  Only ``random`` and ``random-staged`` are built in, and run inside the compiled step.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from importlib import metadata
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ddz_env.engine.compiling import kernel
from ddz_env.engine.legal import count_legal, legal_mask, nth_legal
from ddz_env.engine.moves import list_moves
from ddz_env.engine.random import advance, below, mix
from ddz_env.engine.tables import KICKER_ID, MAIN_SEGMENT, MASK_WORDS, SEGMENT_KICKER_SIZE
from ddz_env.engine.words import PLANE, U0, U1, lowest, remove
from ddz_env.errors import InvalidOptionError, UnknownAgentError
from ddz_env.notation import Move
from ddz_env.rules import Rules
from ddz_env.stepping import play_action
from ddz_env.view import ROLES, View

GROUP = "ddz_env.agents"
"""Entry-point group of agents."""

PYTHON, UNIFORM, STAGED = 0, 1, 2
"""How a seat is played: by a Python object, or compiled: uniform over whole moves, uniform over each stage."""

_COMPILED = {"random": UNIFORM, "random-staged": STAGED}
_COMMON_MOVES = 512
_KICKER_ID = np.uint64(KICKER_ID)


@runtime_checkable
class Opponent(Protocol):
    """What an opponent must have."""

    def act(self, view: Any, rng: np.random.Generator) -> Move:
        """Choose a legal whole move (a bid or an answer to doubling, when asked for one)."""
        ...


class RandomOpponent:
    """Uniform over whole legal moves: the built-in ``random``."""

    name = "random"

    def act(self, view: View, rng: np.random.Generator) -> Move:
        """Draw a legal move."""
        moves = view.legal_moves()
        return moves[int(rng.integers(len(moves)))]


@kernel
def random_move(row: np.ndarray, rules: np.ndarray, bits: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Draw a whole move, uniformly over the legal ones.

    Args:
        row: The game at the start of a decision, shape ``[32]``, uint64.
        rules: The rules array.
        bits: 64 random bits.

    Returns:
        The main id and the kickers as a hand.
    """
    mains, kickers = np.empty(_COMMON_MOVES, np.uint64), np.empty(_COMMON_MOVES, np.uint64)
    found = list_moves(row, rules, mains, kickers)
    if found > _COMMON_MOVES:
        mains, kickers = np.empty(found, np.uint64), np.empty(found, np.uint64)
        list_moves(row, rules, mains, kickers)
    choice = np.int64(below(bits, np.uint64(found)))
    return mains[choice], kickers[choice]


@kernel
def play_whole_move(
    row: np.ndarray, ring: np.ndarray, log: np.ndarray, main: np.uint64, kickers: np.uint64, rules: np.ndarray
) -> None:
    """Play a legal whole move stage by stage.

    Args:
        row: The game, changed in place.
        ring: The recent moves, changed in place.
        log: All moves (:func:`ddz_env.stepping.play_action`).
        main: Action id of the main group, a bid or an answer to doubling.
        kickers: The kickers as a hand, 0 if none.
        rules: The rules array.
    """
    play_action(row, ring, log, main, rules)
    while kickers != U0:
        rank = lowest(kickers & PLANE)
        kickers = remove(kickers, U1 << rank, SEGMENT_KICKER_SIZE[MAIN_SEGMENT[main]])
        play_action(row, ring, log, _KICKER_ID + rank, rules)


@kernel
def play_randomly(
    row: np.ndarray, ring: np.ndarray, log: np.ndarray, rules: np.ndarray, kind: int, state: np.uint64
) -> np.uint64:
    """Play one whole move (``UNIFORM``) or one stage (``STAGED``) at random; returns the generator's new state."""
    state = advance(state)
    if kind == UNIFORM:
        main, kickers = random_move(row, rules, mix(state))
        play_whole_move(row, ring, log, main, kickers, rules)
    else:
        mask = np.empty(MASK_WORDS, np.uint64)
        legal_mask(row, rules, mask)
        play_action(row, ring, log, nth_legal(mask, below(mix(state), count_legal(mask))), rules)
    return state


def known_agents() -> dict[str, str]:
    """Names that :func:`make_opponent` knows, each with where it comes from."""
    known = {point.name: point.value for point in metadata.entry_points(group=GROUP)}
    return known | dict.fromkeys(_COMPILED, "built in")


def make_opponent(agent: Any) -> Any:
    """Resolve an opponent.

    Args:
        agent: A name, ``module:Class`` (a class or a factory without required arguments), or an object with ``act``.

    Returns:
        The object; for the built-in names the name itself, because the compiled step plays them.

    Raises:
        UnknownAgentError: If no agent answers to the name, or what answers cannot act.
    """
    if not isinstance(agent, str):
        return _checked(agent, repr(agent))
    if agent in _COMPILED:
        return agent
    if ":" in agent:
        return _checked(_load(agent)(), agent)
    for point in metadata.entry_points(group=GROUP):
        if point.name == agent:
            return _checked(point.load()(), agent)
    raise UnknownAgentError(
        f"no agent is called {agent!r}; known are {', '.join(sorted(known_agents()))}, and module:Class for your own"
    )


def _checked(agent: Any, name: str) -> Any:
    if isinstance(agent, type) or not callable(getattr(agent, "act", None)):
        raise UnknownAgentError(f"{name} is no agent: it needs a method act(view, rng) that returns a Move")
    return agent


def _load(name: str) -> Any:
    """Import ``module:Class``."""
    module_name, _, attribute = name.partition(":")
    try:
        found = importlib.import_module(module_name)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise UnknownAgentError(f"cannot load the agent {name!r}: {error}") from error
    return found


def opponents_by_role(opponents: Any, role: str, rules: Rules) -> tuple[Any, Any, Any]:
    """Resolve the ``opponents`` option.

    Args:
        opponents: One opponent for all seats, or a dict by role.
        role: The learner's role, or ``"random"``.
        rules: The rules.

    Returns:
        The opponent of each role: an object, a built-in name, or None where the learner always sits.

    Raises:
        InvalidOptionError: If a role is unknown or has no opponent, or an auction would have to know roles.
        UnknownAgentError: If an opponent cannot be found.
    """
    roles = ROLES[: rules.players]
    if not isinstance(opponents, Mapping):
        one = make_opponent(opponents)
        return one, one, one
    unknown = [name for name in opponents if name not in roles]
    needed = [name for name in roles if name != role]
    missing = [name for name in needed if name not in opponents]
    if unknown or missing:
        raise InvalidOptionError(
            f"opponents by role must name {', '.join(needed)}; missing {missing or 'none'}, unknown {unknown or 'none'}"
        )
    if rules.bidding != "fixed" and len({id(opponents[name]) for name in needed}) > 1:
        raise InvalidOptionError("who bids has no role yet: with an auction give one opponent for all seats")
    made = tuple(make_opponent(opponents[name]) if name in opponents else None for name in ROLES)
    return made  # type: ignore[return-value]  # three roles


def kind_of(opponent: Any) -> int:
    """``PYTHON``, ``UNIFORM`` or ``STAGED``."""
    return _COMPILED[opponent] if isinstance(opponent, str) else PYTHON
