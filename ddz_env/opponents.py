"""Opponents: who plays the other seats of a learner's environment.

An opponent is anything that :func:`ddz_env.registry.make_agent` takes: a name with options, ``module:Class``, or an
object.  The names ``random`` and ``random-staged`` run inside the compiled step.  An agent that offers ``batched``
answers for all games that wait for it in one call; any other agent is asked game by game.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ddz_env.agent import BatchPlayer
from ddz_env.engine.compiling import kernel
from ddz_env.engine.legal import count_legal, legal_mask, nth_legal
from ddz_env.engine.moves import all_moves
from ddz_env.engine.random import advance, below, mix
from ddz_env.engine.tables import KICKER_ID, MAIN_SEGMENT, MASK_WORDS, SEGMENT_KICKER_SIZE
from ddz_env.engine.words import PLANE, U0, U1, lowest, remove
from ddz_env.errors import InvalidOptionError
from ddz_env.registry import make_agent
from ddz_env.rules import Rules
from ddz_env.stepping import play_action
from ddz_env.view import ROLES

ASKED, UNIFORM, STAGED = 0, 1, 2
"""How a seat is played: by an agent that is asked, or compiled: uniform over whole moves, uniform over each stage."""

_COMPILED = {"random": UNIFORM, "random-staged": STAGED}
_KICKER_ID = np.uint64(KICKER_ID)


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
    mains, kickers = all_moves(row, rules)
    choice = np.int64(below(bits, np.uint64(mains.size)))
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


class Opponent(NamedTuple):
    """Who plays a role.

    Attributes:
        kind: ``ASKED``, ``UNIFORM`` or ``STAGED``.
        agent: Who is asked; None where the compiled step plays.
        batch: What answers for the agent in many games at once, if it offers that.
        role: The first role that it plays.
    """

    kind: int
    agent: Any = None
    batch: BatchPlayer | None = None
    role: int = 0


def make_opponent(opponent: Any, count: int, rules: Rules, role: int = 0) -> Opponent:
    """Resolve one opponent.

    Args:
        opponent: As for :func:`ddz_env.registry.make_agent`.
        count: How many games it plays in.
        rules: Their rules.
        role: The first role that it plays.

    Raises:
        UnknownAgentError: If no agent answers to the name, or what answers cannot act.
        InvalidAgentOptionError: If its options are wrong.
    """
    kind = _COMPILED.get(opponent.strip(), ASKED) if isinstance(opponent, str) else ASKED
    if kind != ASKED:
        return Opponent(kind)
    agent: Any = make_agent(opponent)
    return Opponent(ASKED, agent, agent.batched(count, rules) if hasattr(agent, "batched") else None, role)


def opponents_by_role(opponents: Any, role: str, rules: Rules, count: int) -> list[Opponent]:
    """Resolve the ``opponents`` option.

    Args:
        opponents: One opponent for all seats, or a dict by role.
        role: The learner's role, or ``"random"``.
        rules: The rules.
        count: How many games they play in.

    Returns:
        The opponent of each role; some of them may be the same object.

    Raises:
        InvalidOptionError: If a role is unknown or has no opponent, or an auction would have to know roles.
        UnknownAgentError: If an opponent cannot be found.
    """
    if not isinstance(opponents, Mapping):
        return [make_opponent(opponents, count, rules)] * rules.players
    roles = ROLES[: rules.players]
    unknown = [name for name in opponents if name not in roles]
    needed = [name for name in roles if name != role]
    missing = [name for name in needed if name not in opponents]
    if unknown or missing:
        raise InvalidOptionError(
            f"opponents by role must name {', '.join(needed)}; missing {missing or 'none'}, unknown {unknown or 'none'}"
        )
    if rules.bidding != "fixed" and len({id(opponents[name]) for name in needed}) > 1:
        raise InvalidOptionError("who bids has no role yet: with an auction give one opponent for all seats")
    made: dict[Any, Opponent] = {}
    by_role = []
    for number, name in enumerate(roles):
        given = opponents.get(name, "random")  # nobody but the learner plays a role without an opponent
        key = name if isinstance(given, str) else id(given)  # a name is an agent of its own for every role
        if key not in made:
            made[key] = make_opponent(given, count, rules, number)
        by_role.append(made[key])
    return by_role
