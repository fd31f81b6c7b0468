"""The table of speeds: every part that ``ddz speed`` measures, in order, and the rates that one process can measure."""

from __future__ import annotations

import itertools
import os
import random
import time
from typing import Any

import numpy as np

from ddz_env import Rules, State
from ddz_training.measure.speed import douzero, fresh_process, training, web
from ddz_training.measure.speed.benchmark import Contender, Part, Work, rate

# --- Random games, engine only, one thread ----------------------------------------------------------------------------

_RANDOM_GAMES = 2_000


@rate
def random_games() -> Work:
    """``random-staged`` games inside compiled code."""
    from ddz_env.core.engine import playout

    rules = Rules().words()
    for seed in itertools.count():
        playout.random_games(_RANDOM_GAMES, np.uint64(seed), rules)
        yield _RANDOM_GAMES


@rate
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


@rate
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


@rate
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


ENGINE = (
    Contender("ddz-env random-staged", random_games(), 400_000),
    Contender("OpenSpiel from Python", open_spiel_games(), 80, is_peer=True),
    Contender("DouZero GameEnv", douzero_games(), is_peer=True),
    Contender("RLCard env", rlcard(per_decision=False), is_peer=True),
)

# --- Tree search at the landlord's first decision: ours with hidden cards, OpenSpiel's with open ones -----------------

ITERATIONS = 10_000
_DEALS = 8


@rate
def hidden_search(simulation: str = "random") -> Work:
    """Information-set UCT, one thread.

    Args:
        simulation: As the agent's option.
    """
    from ddz_agents.tree_search.agent import IsUctAgent

    agent = IsUctAgent(iterations=ITERATIONS, simulation=simulation)
    rng = np.random.default_rng(0)
    for view in itertools.cycle([State.new(seed=0, game=game).view() for game in range(_DEALS)]):
        agent.act(view, rng)
        yield ITERATIONS


@rate
def drawn_worlds() -> Work:
    """What an iteration begins with."""
    from ddz_training.measure.speed.search_time import draw_worlds

    view = State.new(seed=0).view()
    for state in itertools.count():
        draw_worlds(view.row, view.rule_words, ITERATIONS, np.uint64(state))
        yield ITERATIONS


@rate
def open_search() -> Work:
    """OpenSpiel's C++ ``MCTSBot`` with one random rollout an iteration; it sees all hands."""
    import pyspiel

    game = pyspiel.load_game("dou_dizhu")
    rng = random.Random(0)
    evaluator = pyspiel.RandomRolloutEvaluator(1, 0)
    bot = pyspiel.MCTSBot(game, evaluator, 1.0, ITERATIONS, 1000, False, 0, False)

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
        yield ITERATIONS


SEARCH = (
    Contender("ddz-env information-set UCT", hidden_search(), 400_000),
    Contender("OpenSpiel C++ MCTSBot (open cards)", open_search(), 9, is_peer=True),
)
_DRAWN = hidden_search("ddz_training.measure.speed.search_time.draw_winner")
SEARCH_TIME = (
    Contender("whole iterations", hidden_search()),
    Contender("the winner drawn in place of a simulation", _DRAWN),
    Contender("worlds drawn, nothing else", drawn_worlds()),
)

# --- Environments stepped from Python, with an observation and a mask at every decision -------------------------------


@rate
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


AEC = (
    Contender("ddz-env raw_env()", aec(wrapped=False), 60_000),
    Contender("ddz-env env()", aec(wrapped=True), 25_000),
    Contender("RLCard env.step", rlcard(per_decision=True), is_peer=True),
)

# --- The self-play batch: 4,096 games stepped in one call by two threads ----------------------------------------------

GAMES, THREADS = 4096, min(2, os.cpu_count() or 1)
_AGED = 60
"""Steps after which games are of every age."""


@rate
def stepping(*, observation: bool, sampling: bool = False, threads: int | None = THREADS) -> Work:
    """Decisions of ``step``.

    Args:
        observation: Whether observations and byte masks are written, or the masks alone.
        sampling: Whether the random choice of the actions is on the clock too.
        threads: Threads of the batch; None for all cores.
    """
    from ddz_env.envs.batch import SelfPlayBatch

    batch = SelfPlayBatch(num_games=GAMES, seed=0, threads=threads, observation=observation)
    for _ in range(_AGED):
        batch.step(batch.sample_actions())
    while True:
        begun = time.perf_counter()
        actions = batch.sample_actions()
        chosen = time.perf_counter()
        batch.step(actions)
        yield GAMES, time.perf_counter() - (begun if sampling else chosen)


BATCH = (
    Contender("step: observation and mask", stepping(observation=True), 2_000_000),
    Contender("step: mask only", stepping(observation=False), 5_000_000),
    Contender("step and sample_actions: observation and mask", stepping(observation=True, sampling=True)),
)

# --- A learner against opponents who answer inside `step` -------------------------------------------------------------

LEARNERS = 1024


@rate
def learning(opponents: str) -> Work:
    """Decisions of a learner against opponents who answer inside ``step``, theirs not counted."""
    import gymnasium

    kind: dict[str, Any] = {"vectorization_mode": "vector_entry_point", "opponents": opponents, "threads": THREADS}
    games = gymnasium.make_vec("ddz_env/DouDizhu-v0", LEARNERS, autoreset_mode="SameStep", **kind)
    rng = np.random.default_rng(0)
    _, infos = games.reset(seed=0)
    for step in itertools.count():
        mask = infos["action_mask"]
        chosen = (rng.random(mask.shape, np.float32) * mask).argmax(axis=1)
        start = time.perf_counter()
        *_, infos = games.step(chosen)
        if step >= _AGED:
            yield LEARNERS, time.perf_counter() - start


LEARNER = tuple(Contender(f"make_vec, opponents={name}", learning(name)) for name in ("random", "rules", "policy"))

# --- The shipped policy, evaluated on one core ------------------------------------------------------------------------

_POSITIONS = 256


@rate
def evaluating(rows: int, *, pytorch: bool) -> Work:
    """Decisions of the shipped policy, in positions of its own games.

    Args:
        rows: Decisions of one evaluation.
        pytorch: Whether PyTorch evaluates the same weights, or what agents use.
    """
    from ddz_agents.neural.loading import load_policy
    from ddz_env.envs.batch import SelfPlayBatch

    model = load_policy()
    batch = SelfPlayBatch(_POSITIONS, seed=0, threads=1)
    for _ in range(30):
        batch.step(model.evaluate(batch.observation, batch.mask)[0].argmax(axis=1))
    chosen = np.flatnonzero(np.count_nonzero(batch.mask, axis=1) > 1)
    if pytorch:
        from ddz_agents.neural.network import NetworkPolicy
        from ddz_agents.neural.shipped import shipped_policy_path
        from ddz_agents.neural.weights import load_weights

        model = NetworkPolicy(load_weights(shipped_policy_path()).policy)
    pieces = [chosen[first : first + rows] for first in range(0, len(chosen) - rows + 1, rows)]
    for given in itertools.cycle([(batch.observation[piece], batch.mask[piece]) for piece in pieces]):
        model.evaluate(*given)
        yield rows


_SINGLE, _MANY = "ddz-env, one decision", "ddz-env, 64 at a time"
POLICY = (
    Contender(_SINGLE, evaluating(1, pytorch=False)),
    Contender(_MANY, evaluating(64, pytorch=False)),
    Contender("PyTorch, one decision", evaluating(1, pytorch=True), 1, is_peer=True, peer_of=_SINGLE),
    Contender("PyTorch, 64 at a time", evaluating(64, pytorch=True), 1, is_peer=True, peer_of=_MANY),
)

# --- All of them ------------------------------------------------------------------------------------------------------

_UCT = "UCT at the landlord's first decision, 10,000 iterations, one thread"
_START = "process start to first finished game"
_DOUZERO = "DouZero's networks with random weights, features included, one thread"
_TRAINING = "moves consumed by training a second, each counted once, forced ones included, all cores"
_LESS: dict[str, Any] = {"less_is_better": True}
_LONG: dict[str, Any] = {"repeats": 3, "seconds": 30.0, "on_request": True}

_ALL = (
    Part("engine", "random games, engine only, one thread", "games/s", ENGINE),
    Part("search", _UCT, "iterations/s", SEARCH),
    Part("search-time", f"where the time goes: {_UCT}", "iterations/s", SEARCH_TIME, on_request=True),
    Part("aec", "environment step with observation and mask, random choice included", "decisions/s", AEC),
    Part("batch", "self-play batch, two threads, 4,096 games", "decisions/s", BATCH),
    Part("learner", "a learner's vector environment, two threads, 1,024 games", "decisions/s", LEARNER),
    Part("policy", "the shipped policy, one core, inputs included", "decisions/s", POLICY),
    Part("start", _START, "s", fresh_process.START, repeats=3, **_LESS),
    Part("memory", "memory above import", "MB", fresh_process.MEMORY, repeats=3, **_LESS),
    Part("douzero", _DOUZERO, "decisions/s", douzero.NETWORKS, repeats=5, seconds=2.0, on_request=True),
    Part("training", _TRAINING, "moves/s", training.OURS, **_LONG),
    Part("web", "what a person at `ddz web` waits for", "ms", web.WAITING, on_request=True, **_LESS),
    Part("web-weight", "what a first game at `ddz web` loads", "kB", web.WEIGHT, on_request=True, **_LESS),
)
PARTS: dict[str, Part] = {part.key: part for part in _ALL}
"""Part by key."""
