"""The table of speeds: every part that ``ddz speed`` measures, in order, and the rates that one process can measure."""

from __future__ import annotations

import itertools
import os
import random
import time
from typing import Any

from ddz_training.measure.speed import douzero, fresh_process, gpu, training, web
from ddz_training.measure.speed.benchmark import Contender, Part, Prepare, Repeat, rate_of

# --- Random games, engine only, one thread ----------------------------------------------------------------------------


def random_games(seconds: float) -> Repeat:
    """``random-staged`` games inside compiled code."""
    import numpy as np

    from ddz_env import Rules
    from ddz_env.core.engine import playout

    rules = Rules().words()
    games = 2_000 if seconds < 0.3 else 20_000
    seeds = itertools.count()

    def work() -> int:
        playout.random_games(games, np.uint64(next(seeds)), rules)
        return games

    return rate_of(work, seconds)


def open_spiel_games(seconds: float) -> Repeat:
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


def douzero_games(seconds: float) -> Repeat:
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

    def work() -> int:
        cards = list(deck)
        rng.shuffle(cards)
        env.card_play_init({name: sorted(cards[places]) for name, places in hands.items()})
        while not env.game_over:
            env.step()
        env.reset()
        return 1

    return rate_of(work, seconds)


def rlcard(*, per_decision: bool) -> Prepare:
    """RLCard's ``env.step`` with random choice; its states cannot be had without their encoding.

    Args:
        per_decision: Whether decisions are counted, or games.
    """

    def prepare(seconds: float) -> Repeat:
        import rlcard as library

        env = library.make("doudizhu", config={"seed": 0})
        choose = random.Random(0).choice

        def work() -> int:
            state, _ = env.reset()
            decisions = 0
            while not env.is_over():
                state, _ = env.step(choose(list(state["legal_actions"])))
                decisions += 1
            return decisions if per_decision else 1

        return rate_of(work, seconds)

    return prepare


ENGINE = (
    Contender("ddz-env random-staged", random_games, 400_000),
    Contender("OpenSpiel from Python", open_spiel_games, 80, is_peer=True),
    Contender("DouZero GameEnv", douzero_games, is_peer=True),
    Contender("RLCard env", rlcard(per_decision=False), is_peer=True),
)

# --- Tree search at the landlord's first decision: ours with hidden cards, OpenSpiel's with open ones -----------------

ITERATIONS = 10_000
_DEALS = 8


def hidden_search(simulation: str = "random") -> Prepare:
    """Information-set UCT, one thread."""

    def prepare(seconds: float) -> Repeat:
        from ddz_training.measure.speed.search_time import searching

        return searching(simulation, ITERATIONS, _DEALS)(seconds)

    return prepare


def drawn_worlds(seconds: float) -> Repeat:
    """What an iteration begins with."""
    from ddz_training.measure.speed.search_time import worlds

    return worlds(seconds)


def open_search(seconds: float) -> Repeat:
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
    deals = itertools.cycle(states)

    def work() -> int:
        bot.step(next(deals))
        return ITERATIONS

    return rate_of(work, seconds)


SEARCH = (
    Contender("ddz-env information-set UCT", hidden_search(), 400_000),
    Contender("OpenSpiel C++ MCTSBot (open cards)", open_search, 9, is_peer=True),
)
SEARCH_TIME = (
    Contender("whole iterations", hidden_search()),
    Contender(
        "the winner drawn in place of a simulation", hidden_search("ddz_training.measure.speed.search_time.draw_winner")
    ),
    Contender("worlds drawn, nothing else", drawn_worlds),
)

# --- Environments stepped from Python, with an observation and a mask at every decision -------------------------------


def aec(*, wrapped: bool) -> Prepare:
    """Random play by PettingZoo's loop; the choice from the mask is on the clock.

    Args:
        wrapped: With PettingZoo's wrappers, or without.
    """

    def prepare(seconds: float) -> Repeat:
        from ddz_env import dou_dizhu_v0

        env: Any = dou_dizhu_v0.env() if wrapped else dou_dizhu_v0.raw_env()
        rng = random.Random(0)
        env.reset(seed=0)

        def work() -> int:
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
            return decisions

        return rate_of(work, seconds)

    return prepare


AEC = (
    Contender("ddz-env raw_env()", aec(wrapped=False), 60_000),
    Contender("ddz-env env()", aec(wrapped=True), 25_000),
    Contender("RLCard env.step", rlcard(per_decision=True), is_peer=True),
)

# --- The self-play batch: 4,096 games stepped in one call by two threads ----------------------------------------------

GAMES, THREADS = 4096, 2


def stepping(*, observation: bool, sampling: bool = False) -> Prepare:
    """Decisions a second of ``step``.

    Args:
        observation: Whether observations and byte masks are written, or the masks alone.
        sampling: Whether the random choice of the actions is on the clock too.
    """

    def prepare(seconds: float) -> Repeat:
        from ddz_env.envs.batch import SelfPlayBatch

        threads = min(THREADS, os.cpu_count() or 1)
        batch = SelfPlayBatch(num_games=GAMES, seed=0, threads=threads, observation=observation)
        for _ in range(60):  # games at every age
            batch.step(batch.sample_actions())

        def repeat() -> float:
            spent, decisions = 0.0, 0
            while spent < seconds:
                start = time.perf_counter()
                actions = batch.sample_actions()
                if not sampling:
                    start = time.perf_counter()
                batch.step(actions)
                spent += time.perf_counter() - start
                decisions += GAMES
            return decisions / spent

        return repeat

    return prepare


BATCH = (
    Contender("step: observation and mask", stepping(observation=True), 2_000_000),
    Contender("step: mask only", stepping(observation=False), 5_000_000),
    Contender("step and sample_actions: observation and mask", stepping(observation=True, sampling=True)),
)

# --- A learner against opponents who answer inside `step` -------------------------------------------------------------

LEARNERS = 1024


def learning(opponents: str) -> Prepare:
    """Decisions a second of a learner against opponents who answer inside ``step``, theirs not counted."""

    def prepare(seconds: float) -> Repeat:
        import gymnasium
        import numpy as np

        import ddz_env  # noqa: F401  # registers the environment

        threads = min(THREADS, os.cpu_count() or 1)
        kind: dict[str, Any] = {"vectorization_mode": "vector_entry_point", "opponents": opponents, "threads": threads}
        games = gymnasium.make_vec("ddz_env/DouDizhu-v0", LEARNERS, autoreset_mode="SameStep", **kind)
        rng = np.random.default_rng(0)
        _, infos = games.reset(seed=0)

        def actions() -> Any:
            mask = infos["action_mask"]
            return (rng.random(mask.shape, np.float32) * mask).argmax(axis=1)

        def repeat() -> float:
            nonlocal infos
            spent, decisions = 0.0, 0
            while spent < seconds:
                chosen = actions()
                start = time.perf_counter()
                *_, infos = games.step(chosen)
                spent += time.perf_counter() - start
                decisions += LEARNERS
            return decisions / spent

        repeat()  # games at every age
        return repeat

    return prepare


LEARNER = tuple(Contender(f"make_vec, opponents={name}", learning(name)) for name in ("random", "rules", "policy"))

# --- The shipped policy, evaluated on one core ------------------------------------------------------------------------

_POSITIONS = 256


def evaluating(rows: int, *, pytorch: bool) -> Prepare:
    """Decisions a second of the shipped policy, in positions of its own games.

    Args:
        rows: Decisions of one evaluation.
        pytorch: Whether PyTorch evaluates the same weights, or what agents use.
    """

    def prepare(seconds: float) -> Repeat:
        import numpy as np

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
        given = itertools.cycle([(batch.observation[piece], batch.mask[piece]) for piece in pieces])

        def work() -> int:
            model.evaluate(*next(given))
            return rows

        return rate_of(work, seconds)

    return prepare


_SINGLE, _MANY = "ddz-env, one decision", "ddz-env, 64 at a time"
POLICY = (
    Contender(_SINGLE, evaluating(1, pytorch=False)),
    Contender(_MANY, evaluating(64, pytorch=False)),
    Contender("PyTorch, one decision", evaluating(1, pytorch=True), 1, is_peer=True, peer_of=_SINGLE),
    Contender("PyTorch, 64 at a time", evaluating(64, pytorch=True), 1, is_peer=True, peer_of=_MANY),
)

_UCT = "UCT at the landlord's first decision, 10,000 iterations, one thread"

PARTS: dict[str, Part] = {
    part.key: part
    for part in (
        Part("engine", "random games, engine only, one thread", "games/s", ENGINE),
        Part("search", _UCT, "iterations/s", SEARCH),
        Part("search-time", f"where the time goes: {_UCT}", "iterations/s", SEARCH_TIME, on_request=True),
        Part("aec", "environment step with observation and mask, random choice included", "decisions/s", AEC),
        Part("batch", "self-play batch, two threads, 4,096 games", "decisions/s", BATCH),
        Part("learner", "a learner's vector environment, two threads, 1,024 games", "decisions/s", LEARNER),
        Part("policy", "the shipped policy, one core, inputs included", "decisions/s", POLICY),
        fresh_process.START,
        fresh_process.MEMORY,
        douzero.PART,
        training.PART,
        gpu.STEPPED,
        gpu.TRAINED,
        web.WAITING,
        web.WEIGHT,
    )
}
"""Part by key."""
