"""Practice decisions, which compile the functions of this package's agents before play.

A copy that is thrown away decides once for each kind of decision that the rules have.  Only agents that are named here
are asked: a program, an endpoint or a user's class may count its decisions, charge for them or take its time.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ddz_env import Move, Rules, State, View
from ddz_env.core.view import AUCTION_STAGES
from ddz_env.playing.agent import Agent, Decision, agent_input, close_agent
from ddz_env.playing.game import notify_of_game
from ddz_env.playing.generators import make_agent_generator
from ddz_env.support.compile_cache import announce_as

ENGINE_SECONDS = 12
"""About how many processor seconds a fresh machine compiles to play games at all."""
COMPILE_SECONDS = {
    **dict.fromkeys(("random", "random-staged"), 0),
    **dict.fromkeys(("rules", "rules-without", "rules-tuned"), 12),
    **dict.fromkeys(("isuct", "duct", "cheating-uct"), 12),
    "rollout": 30,
    **dict.fromkeys(("payoff", "payoff-search"), 13),
    **dict.fromkeys(("policy", "policy-without"), 28),
    "neural-ismcts": 66,
    **dict.fromkeys(("solver", "determinized-solver"), 20),
    **dict.fromkeys(("cheating-minimax", "determinized-minimax", "expectimax"), 20),
    **dict.fromkeys(("expectiminimax", "cheating-alpha-beta"), 20),
}
"""The agents that decide for practice, and about how many processor seconds each compiles besides."""

_SEED = 2026
_GAMES = 6
_CARDS = 6
"""In a hand from which an agent practises: enough to compare moves, and too few to take long."""
_MAX_POSITIONS = 5
"""Positions of a kind in which an agent is asked at most: a search may be sure of its move, and so not begin."""

_locks: dict[tuple[str, Rules], threading.Lock] = {}
_compiled: set[tuple[str, Rules]] = set()


def compile_agent(agent: str, make: Callable[[], Agent], rules: Rules, seconds: int) -> None:
    """Compile the functions that an agent runs, once per process, by having a copy make practice decisions.

    If something has to be compiled, a line says so.  An agent that fails is left alone: it will fail again where its
    fault is reported.

    Args:
        agent: Its specification.
        make: Makes a copy.
        rules: The rules under which it will play.
        seconds: About how long a fresh machine compiles, for the line.
    """
    with _locks.setdefault((agent, rules), threading.Lock()):
        if (agent, rules) not in _compiled:
            with contextlib.suppress(Exception), announce_as(agent, seconds), contextlib.ExitStack() as leave:
                copy = make()
                leave.callback(close_agent, copy)
                decide_for_practice(copy, rules)
            _compiled.add((agent, rules))


def decide_for_practice(agent: Agent, rules: Rules) -> None:
    """Let an agent make one practice decision of each kind, such as bidding, leading and replying.

    Args:
        agent: The agent, which is needed for nothing else.
        rules: The rules.
    """
    rng = make_agent_generator([_SEED])
    for kind, positions in list_practice_positions(rules).items():
        any(_exercises_kind(_decide(agent, state, rng), kind) for state in positions[:_MAX_POSITIONS])


def list_practice_positions(rules: Rules) -> dict[str, list[State]]:
    """List, for each kind of decision, positions from a few random games, the most suitable for practice first.

    Args:
        rules: The rules.

    Returns:
        By kind, as far as the rules have them: ``bid``, ``show``, ``double``; ``finish``, where a move wins at once;
        ``kickers``, where most moves have some; ``lead`` and ``reply``.  No move is forced.
    """
    found: dict[str, list[State]] = {}
    rng = np.random.default_rng(_SEED)
    for seed in range(_GAMES):
        state = State.new(seed, rules)
        while not state.is_over:
            moves, view = state.legal_moves(), state.view()
            if len(moves) > 1:
                found.setdefault(_kind_of_decision(view, moves), []).append(state.copy())
            state.step(moves[int(rng.integers(len(moves)))])
    return {
        kind: sorted(states, key=lambda state: abs(len(state.view().hand) - _CARDS)) for kind, states in found.items()
    }


def _kind_of_decision(view: View, moves: Sequence[Move]) -> str:
    """Classify a decision as a stage of the auction, ``finish``, ``kickers``, ``lead`` or ``reply``."""
    if view.stage in AUCTION_STAGES:
        return view.stage
    if any(len(move.cards) == len(view.hand) for move in moves):
        return "finish"
    if 2 * sum(bool(move.kickers) for move in moves) > len(moves):
        return "kickers"
    return "lead" if view.on_lead else "reply"


def _decide(agent: Any, state: State, rng: np.random.Generator) -> Decision:
    """Return an agent's decision in a position, with search statistics if the agent offers them."""
    notify_of_game(agent, state.seat, state.rules, state.history)
    decide = agent.decide if hasattr(agent, "decide") else lambda *seen: Decision(agent.act(*seen))
    decision: Decision = decide(agent_input(agent, state), rng)
    return decision


def _exercises_kind(decision: Decision, kind: str) -> bool:
    """Return whether a decision ran the code of its kind: it compared moves and, for ``kickers``, chose kickers."""
    return sum(decision.visits.values()) != 1 and (kind != "kickers" or bool(decision.move.kickers))
