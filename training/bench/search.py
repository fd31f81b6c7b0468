"""Tree search at the landlord's first decision: ours with hidden cards, OpenSpiel's with open ones."""

from __future__ import annotations

import itertools
import random

from training.bench.benchmark import Contender, Part, Repeat, rate_of

ITERATIONS = 10_000
_DEALS = 8


def ours(seconds: float) -> Repeat:
    """Information-set UCT, random simulation, one thread."""
    import numpy as np

    from agents.mcts.agent import IsUctAgent
    from ddz_env import State

    agent = IsUctAgent(iterations=ITERATIONS)
    views = itertools.cycle([State.new(seed=0, game=game).view() for game in range(_DEALS)])
    rng = np.random.default_rng(0)

    def work() -> int:
        agent.act(next(views), rng)
        return ITERATIONS

    return rate_of(work, seconds)


def open_spiel(seconds: float) -> Repeat:
    """OpenSpiel's C++ ``MCTSBot`` with one random rollout an iteration; it sees all hands."""
    import pyspiel

    game = pyspiel.load_game("dou_dizhu")
    rng = random.Random(0)
    evaluator = pyspiel.RandomRolloutEvaluator(1, 0)
    bot = pyspiel.MCTSBot(game, evaluator, 1.0, ITERATIONS, 1000, False, 0, False)
    states = []
    for _ in range(_DEALS):
        state = game.new_initial_state()
        while state.is_chance_node():
            state.apply_action(rng.choice(state.legal_actions()))
        state.apply_action(state.legal_actions()[-1])  # a bid of three ends the auction
        while state.is_chance_node():
            state.apply_action(rng.choice(state.legal_actions()))
        states.append(state)
    deals = itertools.cycle(states)

    def work() -> int:
        bot.step(next(deals))
        return ITERATIONS

    return rate_of(work, seconds)


PART = Part(
    "search",
    "UCT at the landlord's first decision, 10,000 iterations, one thread",
    "iterations/s",
    (
        Contender("ddz-env information-set UCT", ours, 400_000),
        Contender("OpenSpiel C++ MCTSBot (open cards)", open_spiel, 9, is_peer=True),
    ),
)
