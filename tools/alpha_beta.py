"""What alpha-beta saves, and which moves a monotone map of the evaluation changes: ``python tools/alpha_beta.py``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ddz_env import State
from ddz_env.playing.agent import agent_input
from ddz_env.playing.registry import make_agent
from ddz_papers.textbook_search.agent import CheatingAlphaBetaAgent, DepthLimitedAgent, ExpectiminimaxAgent

GAMES = 8
DEPTHS = 2, 3, 4


def decisions() -> list[State]:
    """Every other decision with a choice of games between rule agents."""
    rules, rng, states = make_agent("rules"), np.random.default_rng(0), list[State]()
    for seed in range(GAMES):
        state = State.new(seed)
        while not state.is_over:
            states += [state.copy()] if len(state.legal_moves()) > 1 else []
            state.step(rules.act(state.view(), rng))
    return states[::2]


def main() -> None:
    """Print nodes with and without pruning, and how many moves stay the same when all log-odds are doubled."""
    states, rng = decisions(), np.random.default_rng(0)
    for depth in DEPTHS:
        nodes = [0, 0]
        for pruning in (True, False):
            agent = CheatingAlphaBetaAgent(depth=depth, pruning=pruning, table=False, quiescence="off")
            for state in states:
                agent.act(state, rng)
                nodes[not pruning] += agent.nodes
        print(f"depth {depth}: {nodes[0]:,} of {nodes[1]:,} nodes", flush=True)
    same_moves(lambda: CheatingAlphaBetaAgent(depth=3, quiescence="off"), states)
    same_moves(lambda: ExpectiminimaxAgent(depth=2), states)


def same_moves(make: Callable[[], DepthLimitedAgent[Any]], states: list[State]) -> None:
    """Print how many moves of an agent stay the same when all its log-odds are doubled."""
    plain, doubled = make(), make()
    doubled.weights = 2 * plain.weights
    moves = [
        [agent.act(agent_input(agent, state), np.random.default_rng(1)) for state in states]
        for agent in (plain, doubled)
    ]
    same = sum(first == second for first, second in zip(*moves, strict=True))
    print(f"{type(plain).__name__}: {same} of {len(states)} moves are the same", flush=True)


if __name__ == "__main__":
    main()
