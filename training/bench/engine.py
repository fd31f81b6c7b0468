"""Random games, engine only, one thread: ours beside OpenSpiel, DouZero and RLCard driven from Python."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

from training.bench.benchmark import Contender, Part, Repeat, rate_of


def ours(seconds: float) -> Repeat:
    """``random-staged`` games inside compiled code."""
    import numpy as np

    from ddz_env import Rules
    from ddz_env.engine.playout import random_games

    rules = Rules().words()
    games = 2_000 if seconds < 0.3 else 20_000
    seeds = itertools.count()

    def work() -> int:
        random_games(games, np.uint64(next(seeds)), rules)
        return games

    return rate_of(work, seconds)


def open_spiel(seconds: float) -> Repeat:
    """OpenSpiel's ``dou_dizhu``: chance, auction and play, each uniform over the legal actions."""
    import pyspiel

    game = pyspiel.load_game("dou_dizhu")
    choose = random.Random(0).choice

    def work() -> int:
        for _ in range(10):
            state = game.new_initial_state()
            while not state.is_terminal():
                state.apply_action(choose(state.legal_actions()))
        return 10

    return rate_of(work, seconds)


def douzero_deal(rng: random.Random) -> dict[str, list[int]]:
    """A deal in the form that DouZero's ``GameEnv`` takes."""
    from douzero.env.env import deck

    cards = list(deck)
    rng.shuffle(cards)
    return {
        "landlord": sorted(cards[:20]),
        "landlord_up": sorted(cards[20:37]),
        "landlord_down": sorted(cards[37:54]),
        "three_landlord_cards": sorted(cards[17:20]),
    }


def douzero(seconds: float) -> Repeat:
    """DouZero's ``GameEnv`` (no feature encoding) with its own random agents."""
    from douzero.env.game import GameEnv
    from douzero.evaluation.random_agent import RandomAgent

    rng = random.Random(0)
    env = GameEnv({position: RandomAgent() for position in ("landlord", "landlord_up", "landlord_down")})

    def work() -> int:
        env.card_play_init(douzero_deal(rng))
        while not env.game_over:
            env.step()
        env.reset()
        return 1

    return rate_of(work, seconds)


def rlcard_game(env: Any, choose: Callable[[list[int]], int]) -> int:
    """One random game through RLCard's ``env.step``; returns its decisions."""
    state, _ = env.reset()
    decisions = 0
    while not env.is_over():
        state, _ = env.step(choose(list(state["legal_actions"])))
        decisions += 1
    return decisions


def rlcard(seconds: float) -> Repeat:
    """RLCard's environment; its states cannot be had without their encoding."""
    import rlcard as library

    env = library.make("doudizhu", config={"seed": 0})
    choose = random.Random(0).choice

    def work() -> int:
        rlcard_game(env, choose)
        return 1

    return rate_of(work, seconds)


PART = Part(
    "engine",
    "random games, engine only, one thread",
    "games/s",
    (
        Contender("ddz-env random-staged", ours, 400_000),
        Contender("OpenSpiel from Python", open_spiel, 80, is_peer=True),
        Contender("DouZero GameEnv", douzero, is_peer=True),
        Contender("RLCard env", rlcard, is_peer=True),
    ),
)
