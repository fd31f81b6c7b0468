"""Whether a policy that another library has trained beats random, and what the library's wrapper costs.

Programs run in their library's virtual environment, so only the core installation is imported here.
"""

from __future__ import annotations

import dataclasses
import importlib.metadata
import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode
from pettingzoo.utils.env_logger import EnvLogger

from ddz_env import dou_dizhu_v0
from training.arena.statistics import Interval, wilson_interval

Act = Callable[[npt.NDArray[Any], npt.NDArray[np.bool_]], Any]
"""Actions ``[n]`` for observations ``[n, 512]`` as it was trained and masks ``[n, 400]``, bool."""

Play = Callable[[int], int]
"""Plays about so many decisions with random legal actions, and returns how many."""

Clock = Callable[[], float]
"""Seconds."""

VECTOR = "ddz_env/DouDizhu-v0"
TABLES, GAMES, LEAST_DECISIONS = 100, 4000, 10_000
SPEED_DECISIONS, SPEED_REPEATS = 1000, 3


class Played(NamedTuple):
    """What a policy did in the judged games."""

    games: int
    won: int
    decisions: int
    illegal: int

    @property
    def rate(self) -> Interval:
        return wilson_interval(self.won, self.games)


def legal_choice(rng: np.random.Generator) -> Act:
    """A policy that plays any legal action."""
    return lambda observations, masks: (rng.random(masks.shape, np.float32) * masks).argmax(axis=1)


def play(act: Act, **options: Any) -> Played:
    """Play the judged games: the same deals and random opponents for every policy.

    Every table plays equally many games, so that short ones do not count more often.

    Args:
        act: The policy.
        **options: Of the vector environment.
    """
    games = gymnasium.make_vec(VECTOR, TABLES, autoreset_mode=AutoresetMode.SAME_STEP, opponents="random", **options)
    observations, infos = games.reset(seed=0)
    played, won, decisions, illegal = np.zeros(TABLES, np.int64), 0, 0, 0
    while (open_tables := played < GAMES // TABLES).any():
        masks = infos["action_mask"].astype(np.bool_)
        actions = np.asarray(act(observations, masks)).astype(np.int64).reshape(TABLES)
        decisions += int(open_tables.sum())
        illegal += int((~masks[np.arange(TABLES), actions] & open_tables).sum())
        observations, rewards, ended, _, infos = games.step(actions)
        won += int((rewards[open_tables] > 0).sum())
        played += ended
    games.close()
    return Played(GAMES // TABLES * TABLES, won, decisions, illegal)


def speed(play_some: Play, clock: Clock) -> float:
    """Decisions a second: the median of a few repeats, after one that is not counted."""
    rates = []
    for _ in range(SPEED_REPEATS + 1):
        start = clock()
        rates.append(play_some(SPEED_DECISIONS) / (clock() - start))
    return statistics.median(rates[1:])


def aec(**options: Any) -> Play:
    """Our AEC environment without a library around it."""
    games, rng = dou_dizhu_v0.env(**options), np.random.default_rng(0)

    def some(decisions: int) -> int:
        done = 0
        while done < decisions:
            games.reset()
            for _ in games.agent_iter():
                observation, _, over, _, _ = games.last()
                games.step(None if over else rng.choice(np.flatnonzero(observation["action_mask"])))
                done += not over
        return done

    return some


def single(**options: Any) -> Play:
    """Our Gymnasium environment without a library around it."""
    game, rng = gymnasium.make(VECTOR, opponents="random", **options), np.random.default_rng(0)

    def some(decisions: int) -> int:
        over = True
        for _ in range(decisions):
            info = game.reset()[1] if over else info  # noqa: F821
            *_, over, _, info = game.step(rng.choice(np.flatnonzero(info["action_mask"])))
        return decisions

    return some


def vector(num_envs: int) -> Callable[..., Play]:
    """Our vector environment without a library around it."""

    def make(**options: Any) -> Play:
        games = gymnasium.make_vec(VECTOR, num_envs, autoreset_mode="SameStep", opponents="random", **options)
        choose = legal_choice(np.random.default_rng(0))

        def some(decisions: int) -> int:
            observations, infos = games.reset()
            for _ in range(steps := -(-decisions // num_envs)):
                observations, *_, infos = games.step(choose(observations, infos["action_mask"]))
            return steps * num_envs

        return some

    return make


def _rounded(rate: Interval) -> dict[str, float]:
    return {name: round(value, 4) for name, value in dataclasses.asdict(rate).items()}


def judge(
    library: str,
    act: Act,
    *,
    steps: int,
    through: Play,
    ours: Callable[..., Play] = single,
    rules: str = "mini",
    role: str = "random",
    clock: Clock = time.process_time,
    **forms: Any,
) -> None:
    """Judge a trained policy, and print the row of the page's table as a line of JSON.

    Args:
        library: The distribution whose version is named.
        act: The trained policy.
        steps: Decisions that it was trained on.
        through: Random play through the library's wrapper, without learning.
        ours: What to compare that with: :func:`aec`, :func:`single` or ``vector(n)``.
        rules: The rules that it was trained for.
        role: Its role; ``random`` if it learned all of them.
        clock: What speeds are measured with: CPU time, which other programs on the machine do not change much;
            ``time.perf_counter`` where the library's games run in other processes.
        **forms: Other options of the environment that it was trained on, such as ``dtype``.
    """
    in_training = len(EnvLogger.mqueue)  # PettingZoo warns of an illegal move; Gymnasium's games are told to raise
    policy = play(act, rules=rules, role=role, **forms)
    chance = play(legal_choice(np.random.default_rng(1)), rules=rules, role=role)
    assert policy.decisions >= LEAST_DECISIONS, policy
    seat = {} if ours is aec else {"role": role}
    row = {
        "library": library,
        "versions": {
            "python": platform.python_version(),
            **{name: importlib.metadata.version(name) for name in (library, "torch", "gymnasium", "pettingzoo")},
        },
        "rules": rules,
        "role": role,
        "steps": steps,
        "games": policy.games,
        "decisions": policy.decisions,
        "illegal": policy.illegal + in_training,
        "wins": _rounded(policy.rate),
        "random": _rounded(chance.rate),
        "beats": policy.rate.low > chance.rate.high,
        "through": round(speed(through, clock)),
        "clock": clock.__name__,
        "ours": round(speed(ours(rules=rules, **seat, **forms), clock)),
        "cores": os.cpu_count(),
    }
    print(json.dumps(row), flush=True)
