"""What alpha-beta saves, and which moves a monotone map of the evaluation changes: ``python tools/alpha_beta.py``.

The positions opened by depth and form of the search, and the depths reached within a time, go to
``docs/results/search_nodes.csv``; ``--positions 3 --out FILE`` counts less.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ddz_env import State
from ddz_env.playing.agent import agent_input
from ddz_env.playing.registry import make_agent
from ddz_papers.textbook_search.agent import CheatingAlphaBetaAgent, DepthLimitedAgent, ExpectiminimaxAgent

GAMES = 8
DEPTHS = range(2, 9)
FORMS: dict[str, dict[str, Any]] = {
    "minimax": {"pruning": False, "table": False},
    "minimax, table": {"pruning": False},
    "alpha-beta": {"table": False},
    "alpha-beta, table": {},
}
MINIMAX_DEPTH = 6
"""The deepest search without pruning and table."""
MILLISECONDS = 1, 4, 16


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
    """Write the nodes and depths, and print how many moves stay the same when all log-odds are doubled."""
    parser = argparse.ArgumentParser(description="Count the positions that depth-limited searches open.")
    parser.add_argument("--positions", type=int, default=30, help="positions for the nodes and the depths")
    parser.add_argument("--out", type=Path, default=Path("docs/results/search_nodes.csv"), help="a CSV file")
    given = parser.parse_args()
    states = decisions()
    chosen = states[:: max(1, len(states) // given.positions)][: given.positions]
    with given.out.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(("plies or time", *FORMS, "alpha-beta of minimax"))
        for depth in DEPTHS:
            nodes = [count_nodes(form, depth, chosen) for form in FORMS]
            least = min(count for count in nodes[:2] if count)
            share = f"{100 * nodes[2] / (nodes[0] or least):.0f} %"
            table.writerow((f"{depth} plies", *(f"{count:,}" if count else "–" for count in nodes), share))
        for milliseconds in MILLISECONDS:
            depths = (f"{depth_reached(form, milliseconds, chosen):.1f} plies" for form in FORMS)
            table.writerow((f"{milliseconds} ms", *depths, ""))
    print(given.out.read_text(encoding="utf-8"))
    same_moves(lambda: CheatingAlphaBetaAgent(depth=3, quiescence="off"), states)
    same_moves(lambda: ExpectiminimaxAgent(depth=2), states)


def count_nodes(form: str, depth: int, states: Sequence[State]) -> int:
    """Positions that a form of the search opens at a depth, quiescence off; 0 where it takes too long."""
    if form == "minimax" and depth > MINIMAX_DEPTH:
        return 0
    agent, nodes = CheatingAlphaBetaAgent(depth=depth, quiescence="off", **FORMS[form]), 0
    for state in states:
        agent.act(state, np.random.default_rng(0))
        nodes += agent.nodes
    return nodes


def depth_reached(form: str, milliseconds: int, states: Sequence[State]) -> float:
    """Plies that iterative deepening completes within a time, on average over the positions."""
    agent, depths = CheatingAlphaBetaAgent(milliseconds=milliseconds, quiescence="off", **FORMS[form]), list[int]()
    for state in states:
        agent.act(state, np.random.default_rng(0))
        depths.append(agent.depth)
    return float(np.mean(depths))


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
