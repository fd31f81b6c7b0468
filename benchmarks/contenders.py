"""What is measured: generators that say how much work they have just done.

What a generator does before its first ``yield`` prepares it; the first piece of work warms up.  One that yields a pair
also says how many seconds of its time count.
"""

from __future__ import annotations

import itertools
import os
import random
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ddz_env import Rules, State

Work = Iterator[int | tuple[int, float]]


class Contender(NamedTuple):
    """Something that is measured.

    Attributes:
        name: Its name in the table.
        work: Its generator.
        beside: Of a peer: the name of ours that it is compared with.
    """

    name: str
    work: Callable[[], Work]
    beside: str = ""


class Part(NamedTuple):
    """Contenders that take turns.

    Attributes:
        title: What is measured.
        unit: Its unit.
        contenders: Ours first.
    """

    title: str
    unit: str
    contenders: tuple[Contender, ...]


# --- random games, engine only, one thread ---

_RANDOM_GAMES = 2_000


def random_games() -> Work:
    """``random-staged`` games inside compiled code."""
    from ddz_env.core.engine import playout

    rules = Rules().words()
    for seed in itertools.count():
        playout.play_random_games(_RANDOM_GAMES, np.uint64(seed), rules)
        yield _RANDOM_GAMES


def open_spiel_games() -> Work:
    """OpenSpiel's ``dou_dizhu``: chance, auction and play, each uniform over the legal actions."""
    import pyspiel

    game = pyspiel.load_game("dou_dizhu")
    choose = random.Random(0).choice
    while True:
        state = game.new_initial_state()
        while not state.is_terminal():
            state.apply_action(choose(state.legal_actions()))
        yield 1


def douzero_games() -> Work:
    """DouZero's ``GameEnv`` (no feature encoding) with its own random agents."""
    from douzero.env.env import deck
    from douzero.env.game import GameEnv
    from douzero.evaluation.random_agent import RandomAgent

    rng = random.Random(0)
    env = GameEnv({position: RandomAgent() for position in ("landlord", "landlord_up", "landlord_down")})
    hands = {
        "landlord": slice(20),
        "landlord_up": slice(20, 37),
        "landlord_down": slice(37, 54),
        "three_landlord_cards": slice(17, 20),
    }
    while True:
        cards = list(deck)
        rng.shuffle(cards)
        env.card_play_init({name: sorted(cards[places]) for name, places in hands.items()})
        while not env.game_over:
            env.step()
        env.reset()
        yield 1


def rlcard(*, per_decision: bool) -> Work:
    """RLCard's ``env.step`` with random choice; its states cannot be had without their encoding.

    Args:
        per_decision: Whether decisions are counted, or games.
    """
    import rlcard as library

    env = library.make("doudizhu", config={"seed": 0})
    choose = random.Random(0).choice
    while True:
        state, _ = env.reset()
        decisions = 0
        while not env.is_over():
            state, _ = env.step(choose(list(state["legal_actions"])))
            decisions += 1
        yield decisions if per_decision else 1


# --- tree search at the landlord's first decision: ours with hidden cards, OpenSpiel's with open ones ---

_ITERATIONS = 10_000
_DEALS = 8


def hidden_search() -> Work:
    """Information-set UCT, one thread."""
    from ddz_agents.tree_search.agent import IsUctAgent

    agent = IsUctAgent(iterations=_ITERATIONS)
    rng = np.random.default_rng(0)
    for view in itertools.cycle([State.new(seed=0, game=game).view() for game in range(_DEALS)]):
        agent.act(view, rng)
        yield _ITERATIONS


def open_search() -> Work:
    """OpenSpiel's C++ ``MCTSBot`` with one random rollout an iteration; it sees all hands."""
    import pyspiel

    game = pyspiel.load_game("dou_dizhu")
    rng = random.Random(0)
    bot = pyspiel.MCTSBot(game, pyspiel.RandomRolloutEvaluator(1, 0), 1.0, _ITERATIONS, 1000, False, 0, False)

    def chances(state: Any) -> None:
        while state.is_chance_node():
            state.apply_action(rng.choice(state.legal_actions()))

    states = [game.new_initial_state() for _ in range(_DEALS)]
    for state in states:
        chances(state)
        state.apply_action(state.legal_actions()[-1])  # a bid of three ends the auction
        chances(state)
    for state in itertools.cycle(states):
        bot.step(state)
        yield _ITERATIONS


# --- environments stepped from Python, with an observation and a mask at every decision ---


def aec(*, wrapped: bool) -> Work:
    """Random play by PettingZoo's loop; the choice from the mask is on the clock.

    Args:
        wrapped: With PettingZoo's wrappers, or without.
    """
    from ddz_env import dou_dizhu_v0

    env: Any = dou_dizhu_v0.env() if wrapped else dou_dizhu_v0.raw_env()
    rng = random.Random(0)
    env.reset(seed=0)
    while True:
        decisions = 0
        env.reset()
        for _ in env.agent_iter():
            observation, _, termination, truncation, _ = env.last()
            if termination or truncation:
                env.step(None)
                continue
            legal = observation["action_mask"].nonzero()[0]
            env.step(int(legal[int(rng.random() * len(legal))]))
            decisions += 1
        yield decisions


# --- batches, two threads ---

_GAMES, _LEARNERS, _THREADS = 4096, 1024, min(2, os.cpu_count() or 1)
_AGED = 60
"""Steps after which games are of every age."""


def stepping(*, observation: bool) -> Work:
    """Decisions of the self-play batch's ``step``; the random choice is not on the clock.

    Args:
        observation: Whether observations and byte masks are written, or the masks alone.
    """
    from ddz_env.envs.batch import SelfPlayBatch

    batch = SelfPlayBatch(num_games=_GAMES, seed=0, threads=_THREADS, observation=observation)
    for _ in range(_AGED):
        batch.step(batch.sample_actions())
    while True:
        actions = batch.sample_actions()
        start = time.perf_counter()
        batch.step(actions)
        yield _GAMES, time.perf_counter() - start


def learning(opponents: str) -> Work:
    """Decisions of a learner against opponents who answer inside ``step``, theirs not counted."""
    import gymnasium

    kind: dict[str, Any] = {"vectorization_mode": "vector_entry_point", "opponents": opponents, "threads": _THREADS}
    games = gymnasium.make_vec("ddz_env/DouDizhu-v0", _LEARNERS, autoreset_mode="SameStep", **kind)
    rng = np.random.default_rng(0)
    _, infos = games.reset(seed=0)
    for step in itertools.count():
        mask = infos["action_mask"]
        chosen = (rng.random(mask.shape, np.float32) * mask).argmax(axis=1)
        start = time.perf_counter()
        *_, infos = games.step(chosen)
        if step >= _AGED:
            yield _LEARNERS, time.perf_counter() - start


# --- the shipped policy, one core ---

_POSITIONS = 256


def evaluating(rows: int) -> Work:
    """Decisions of the shipped policy, in positions of its own games.

    Args:
        rows: Decisions of one evaluation.
    """
    from ddz_agents.neural.loading import load_policy
    from ddz_env.envs.batch import SelfPlayBatch

    model = load_policy()
    batch = SelfPlayBatch(_POSITIONS, seed=0, threads=1)
    for _ in range(30):
        batch.step(model.evaluate(batch.observation, batch.mask)[0].argmax(axis=1))
    chosen = np.flatnonzero(np.count_nonzero(batch.mask, axis=1) > 1)
    pieces = [chosen[first : first + rows] for first in range(0, len(chosen) - rows + 1, rows)]
    for given in itertools.cycle([(batch.observation[piece], batch.mask[piece]) for piece in pieces]):
        model.evaluate(*given)
        yield rows


# --- all of them ---

_ENGINE, _SEARCH, _AEC = "ddz-env random-staged", "ddz-env information-set UCT", "ddz-env raw_env()"

PARTS = {
    "engine": Part(
        "random games, engine only, one thread",
        "games/s",
        (
            Contender(_ENGINE, random_games),
            Contender("OpenSpiel from Python", open_spiel_games, _ENGINE),
            Contender("DouZero GameEnv", douzero_games, _ENGINE),
            Contender("RLCard env", partial(rlcard, per_decision=False), _ENGINE),
        ),
    ),
    "search": Part(
        "UCT at the landlord's first decision, 10,000 iterations, one thread",
        "iterations/s",
        (
            Contender(_SEARCH, hidden_search),
            Contender("OpenSpiel C++ MCTSBot (open cards)", open_search, _SEARCH),
        ),
    ),
    "aec": Part(
        "environment step with observation and mask, random choice included",
        "decisions/s",
        (
            Contender(_AEC, partial(aec, wrapped=False)),
            Contender("ddz-env env()", partial(aec, wrapped=True)),
            Contender("RLCard env.step", partial(rlcard, per_decision=True), _AEC),
        ),
    ),
    "batch": Part(
        "self-play batch, two threads, 4,096 games",
        "decisions/s",
        (
            Contender("step: observation and mask", partial(stepping, observation=True)),
            Contender("step: mask only", partial(stepping, observation=False)),
        ),
    ),
    "learner": Part(
        "a learner's vector environment, two threads, 1,024 games",
        "decisions/s",
        tuple(
            Contender(f"make_vec, opponents={name}", partial(learning, name)) for name in ("random", "rules", "policy")
        ),
    ),
    "policy": Part(
        "the shipped policy, one core, inputs included",
        "decisions/s",
        (
            Contender("one decision", partial(evaluating, 1)),
            Contender("64 at a time", partial(evaluating, 64)),
        ),
    ),
}
"""Part by key."""
