"""Random play through pyspiel, ours and OpenSpiel's own game in turn: ``python -m tests.peers.openspiel_speed``."""

from __future__ import annotations

import statistics
import time

import numpy as np
import pyspiel

import ddz_env.peers.openspiel  # noqa: F401  # registers the game

GAMES = ("python_ddz(rules=mini)", "python_ddz(rules=openspiel)", "python_ddz(rules=standard)", "dou_dizhu")
ROUNDS, SAMPLES = 7, 100


def play(game: pyspiel.Game, rng: np.random.Generator) -> int:
    """Play a random game; return how many actions the players chose."""
    state, chosen = game.new_initial_state(), 0
    while not state.is_terminal():
        if state.is_chance_node():
            actions, probabilities = zip(*state.chance_outcomes(), strict=True)
            state.apply_action(actions[rng.choice(len(actions), p=probabilities)])
        else:
            actions = state.legal_actions()
            state.apply_action(actions[rng.integers(len(actions))])
            chosen += 1
    return chosen


def main() -> None:
    rng, speeds = np.random.default_rng(0), {name: [] for name in GAMES}
    for _ in range(ROUNDS + 1):
        for name, found in speeds.items():
            game, start = pyspiel.load_game(name), time.process_time()
            actions = sum(play(game, rng) for _ in range(SAMPLES))
            seconds = time.process_time() - start
            found.append((actions / seconds, SAMPLES / seconds))
    for name, found in speeds.items():
        actions, games = (statistics.median(column) for column in zip(*found[1:], strict=True))
        print(f"{name:30} {actions:8,.0f} actions/s {games:7,.1f} games/s")


if __name__ == "__main__":
    main()
